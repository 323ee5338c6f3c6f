"""What is judged of a repository, where the fixtures of the rules are too small to show it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from flux_texts import HOME, checked, config_map, kustomization, lay, policy

from krm_windows.cli import main

Judged = Callable[..., set[tuple[str, str]]]
FLUX = "clusters/north/flux.yaml"
TWO = kustomization("live") + kustomization("windowed")
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: r, namespace: flux-system}}
spec: {{{}}}
---
"""
PAIR = {FLUX: TWO, "windows/policy.yaml": policy()}
# What the two Kustomizations apply.
BOTH = {"live/live.yaml": config_map("l"), "windowed/windowed.yaml": config_map("w")}


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Judged:
    def check(files: dict[str, str], *options: str) -> set[tuple[str, str]]:
        lay(tmp_path, {**BOTH, **files})
        found = {
            (each["tags"]["rule"], each.get("resourceRef", {}).get("name", ""))
            for each in checked(tmp_path, capsys, *options)
        }
        # Most of these repositories have nothing of a policy but its file.
        return {(rule, name) for rule, name in found if rule != "policy-file-alone"}

    return check


def noted(note: str) -> str:
    return config_map("both").replace(
        "---", f"  annotations: {{kustomize.toolkit.fluxcd.io/{note}}}\n---"
    )


@pytest.mark.parametrize(
    ("live", "windowed", "targets"),
    [
        # One of the two leaves it as the other has it.
        (config_map("both"), noted("ssa: IfNotPresent"), "[windowed]"),
        (config_map("both"), noted("ssa: Ignore"), "[windowed]"),
        (config_map("both"), noted("reconcile: disabled"), "[windowed]"),
        # They change together; whether they should is not a matter of windows.
        (config_map("both"), config_map("both"), "[live, windowed]"),
        # Each Kustomization may give the variable another value.
        (config_map("${APP}"), config_map("${APP}"), "[windowed]"),
    ],
)
def test_what_is_not_shared(live: str, windowed: str, targets: str, judged: Judged) -> None:
    files = {"live/both.yaml": live, "windowed/both.yaml": windowed}
    assert judged(PAIR | files | {"windows/policy.yaml": policy(targets)}) == set()


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ("{secretRef: {name: spoke}}", {("object-shared", "both")}),
        ("{secretRef: {name: second}}", set()),
        ("{configMapRef: {name: spoke}}", {("object-shared", "both")}),
    ],
)
def test_objects_of_two_clusters_are_two(
    other: str, found: set[tuple[str, str]], judged: Judged
) -> None:
    remote = "  kubeConfig: {secretRef: {name: spoke}}\n"
    hub = kustomization("live") + kustomization("windowed", remote)
    both = {"live/both.yaml": config_map("both"), "windowed/both.yaml": config_map("both")}
    assert judged(PAIR | {FLUX: hub} | both) == set()
    spokes = kustomization("live", f"  kubeConfig: {other}\n") + kustomization("windowed", remote)
    assert judged(PAIR | {FLUX: spokes} | both) == found


@pytest.mark.parametrize(
    ("move", "found"),
    [
        ("live windowed", {("object-moved", "moves")}),
        ("live second", {("object-moved", "moves")}),
        ("windowed live", set()),
        ("windowed windowed", set()),
    ],
)
def test_a_move_is_judged_by_what_opens_later(
    move: str,
    found: set[tuple[str, str]],
    judged: Judged,
    tmp_path: Path,
    commit: Callable[[Path], None],
) -> None:
    before, after = move.split()
    policies = {
        "windows/policy.yaml": policy(),
        "windows/second.yaml": policy("[second]", name="second"),
    }
    second = {FLUX: TWO + kustomization("second"), "second/second.yaml": config_map("s")}
    lay(tmp_path, BOTH | {**second, f"{before}/moves.yaml": config_map("moves"), **policies})
    commit(tmp_path)
    (tmp_path / before / "moves.yaml").unlink()
    assert judged({f"{after}/moves.yaml": config_map("moves")}, "--base", "HEAD") == found


def test_a_dependency_with_an_expression_of_its_own_blocks_nothing(judged: Judged) -> None:
    """It is ready when the expression says so, whatever the revision (kustomize-controller)."""
    plain, expressed = ("{name: windowed}", '{name: windowed, readyExpr: "true"}')
    for entry, fires in ((plain, {("depends-blocked", "live")}), (expressed, set())):
        flux = kustomization("live", f"  dependsOn: [{entry}]\n") + kustomization("windowed")
        assert judged(PAIR | {FLUX: flux}) == fires


@pytest.mark.parametrize(
    ("spec", "first", "ignored", "found"),
    [
        ("suspend: true", "Wait", "[/spec/suspend]", set()),
        ("suspend: true", "Wait", "[]", {("target-suspend", "windowed")}),
        ("suspend: true", "Allow", "[]", {("target-suspend", "windowed")}),
        ("suspend: false", "Allow", "[/spec/suspend]", set()),
        ("interval: 5m", "Allow", "[]", set()),
    ],
)
def test_a_suspension_in_git_needs_a_parent_that_leaves_it_alone(
    spec: str, first: str, ignored: str, found: set[tuple[str, str]], judged: Judged
) -> None:
    """`firstApply: Wait` too: the parent would revert the opening."""
    root = kustomization(
        "flux-system", f"  ignore: [{{paths: {ignored}}}]\n", path="./clusters/north"
    )
    files = {FLUX: root + kustomization("windowed", f"  {spec}\n")}
    assert (
        judged(PAIR | files | {"windows/policy.yaml": policy(spec=f"  firstApply: {first}\n")})
        == found
    )


def test_what_delivers_the_policy_may_hang_on_what_it_gates(judged: Judged) -> None:
    """A live child of a closed parent is meant so (S5), and so is one that says that it is live."""
    files = {
        "windowed/child.yaml": kustomization("windows")
        + kustomization("meant").replace(
            "namespace: flux-system}",
            "namespace: flux-system, annotations: {krm-windows.dev/change-class: live}}",
        ),
        "windows/local.yaml": policy().replace(
            "namespace: flux-system}",
            'namespace: flux-system, annotations: {config.kubernetes.io/local-config: "true"}}',
        ),
        "meant/a.yaml": config_map("meant"),
    }
    assert judged({FLUX: TWO} | files) == set()


def test_what_is_suspended_reads_no_variables_anew(judged: Judged) -> None:
    variables = "  postBuild: {{substituteFrom: [{{kind: ConfigMap, name: {}}}]}}\n"
    flux = kustomization("live", variables.format("windowed")) + kustomization(
        "windowed", variables.format("live")
    )
    brought = {
        f"{name}/vars.yaml": config_map(name, "flux-system") for name in ("live", "windowed")
    }
    assert judged(PAIR | brought | {FLUX: flux}) == {("refers-to-windowed", "live")}


@pytest.mark.parametrize("version", ['"*"', '">=1.0.0"', "1.2", "~1.2.3", "1.x", "1.2.3 - 2"])
def test_a_range_of_versions_moves(version: str, judged: Judged) -> None:
    chart = f"{{chart: a, version: {version}, sourceRef: {{kind: HelmRepository, name: charts}}}}"
    text = RELEASE.format(f"chart: {{spec: {chart}}}")
    assert judged(PAIR | {"windowed/release.yaml": text}) == {("release-moves", "r")}


def test_a_gated_release_does_not_move(judged: Judged) -> None:
    chart = "{chart: a, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}"
    text = RELEASE.format(f"chart: {{spec: {chart}}}")
    both = policy().replace("]}]\n", "]}, {kind: HelmRelease, names: [r]}]\n")
    assert judged(PAIR | {"windowed/release.yaml": text, "windows/policy.yaml": both}) == set()


def test_a_target_in_another_namespace_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = kustomization("windowed").replace("namespace: flux-system}", "namespace: shop}", 1)
    lay(tmp_path, BOTH | PAIR | {FLUX: elsewhere})
    main(["check", "--repo", str(tmp_path), "--no-cache", "--source", HOME])
    assert "it exists in shop: set `namespace` (target-missing)" in capsys.readouterr().out
    nowhere = kustomization("windowed").replace(", namespace: flux-system}", "}", 1)
    lay(tmp_path, {FLUX: nowhere})
    main(["check", "--repo", str(tmp_path), "--no-cache", "--source", HOME])
    assert "it exists without a namespace: set `metadata.name" in capsys.readouterr().out


def test_one_source_that_moves_is_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chart = "{kind: OCIRepository, name: charts}"
    releases = "".join(
        RELEASE.format(f"chartRef: {chart}").replace("name: r", f"name: r{number}")
        for number in range(5)
    )
    source = (
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n"
        "metadata: {name: charts, namespace: flux-system}\n"
        "spec: {url: oci://example.com/c, ref: {semver: 1.x}}\n"
    )
    lay(tmp_path, BOTH | PAIR | {"windowed/releases.yaml": releases, "live/source.yaml": source})
    results = checked(tmp_path, capsys)
    found = [each for each in results if each["tags"]["rule"] == "source-moves"]
    assert [each["tags"]["count"] for each in found] == ["5"]
    assert "HelmRelease flux-system/r4" in found[0]["tags"]["objects"]
    assert "(5 objects: HelmRelease flux-system/r0" in found[0]["message"]
    assert "and 2 more)" in found[0]["message"]


RELEASED = "  released: [{kind: Kustomization, names: [windowed]}]\n"
OTHER = policy("[live]", name="other", spec=RELEASED)


@pytest.mark.parametrize(
    ("north", "south", "found"),
    [
        (policy(name="other"), "", {("two-policies", "window")}),
        (OTHER, "", {("two-policies", "other")}),
        # Objects of one name in two clusters are two.
        ("", policy(name="other"), set()),
        ("", OTHER, set()),
    ],
)
def test_one_policy_a_target(
    north: str, south: str, found: set[tuple[str, str]], judged: Judged
) -> None:
    files = {
        FLUX: TWO,
        "clusters/north/policies/window.yaml": policy(),
        "clusters/south/flux.yaml": TWO,
    }
    for cluster, text in {"north": north, "south": south}.items():
        if text:
            files[f"clusters/{cluster}/other/other.yaml"] = text
    assert {each for each in judged(files) if each[0] == "two-policies"} == found


def test_of_an_object_that_was_patched_no_file_says_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = kustomization("other").replace("{kind: GitRepository,", "{kind: Bucket,")
    assert "Bucket" in other
    patch = json.dumps([{"op": "add", "path": "/spec/wait", "value": True}])
    build = f"resources: [flux.yaml]\npatches: [{{target: {{name: other}}, patch: '{patch}'}}]\n"
    lay(tmp_path, {**BOTH, FLUX: TWO + other, "clusters/north/kustomization.yaml": build})
    [found] = [each for each in checked(tmp_path, capsys) if each["tags"]["rule"] == "not-followed"]
    assert "otherwise" not in found["message"]

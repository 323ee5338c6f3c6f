"""What a message proposes is accepted: it ends that finding, and causes no error."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import applied
import pytest
from flux_texts import config_map, kustomization, lay, policy

from krm_windows.checks.repository.gated import HOW_TO_GATE
from krm_windows.cli import main

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/repositories"
HOME = ("--source", "flux-system=.")
# Ways that need more than the files of the fixture, and sentences that are none, by rule and how
# they begin.
NOT_APPLIED = {
    ("admission-disabled", "start kustomize-controller"): "a flag of a Deployment of Flux",
    ("cluster-unbuilt", "so "): "it is none",
    ("delivery-changed", "apply it"): "there is no field that could be named",
    ("delivery-field", "to change windows"): "it says what to do for another end",
    ("new-cluster-blocked", ""): "test_new_cluster renders with `--resources`",
    ("refers-to-live", ""): "the class of an object is for its author to say",
    ("refers-to-windowed", ""): "the class of an object is for its author to say",
    ("target-suspend", "list it"): "its parent is not in the repository; test_repository does it",
    ("target-unseen", "it may be"): "it is none",
}


@pytest.fixture(autouse=True)
def kustomize(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")


def check(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> list[dict[str, Any]]:
    main(["check", "--repo", str(folder), "-o", "json", "--no-cache", *HOME, *options])
    results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
    return results


def assert_accepted(
    way: str, number: int, rule: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Apply a way to a copy; the finding is gone, no error is new, and the policies build."""
    before = check(folder, [], capsys)
    result = [each for each in before if each["tags"]["rule"] == rule][number]
    options = applied.apply(way, result, folder)
    assert options is not None, f"nothing applies {way!r} of {rule}: add it to tests/applied.py"
    after = check(folder, options, capsys)
    left = [each["message"] for each in after if each["tags"]["rule"] == rule]
    assert result["message"] not in left, way
    known = {each["message"] for each in before}
    new = [each for each in after if each["severity"] == "error" and each["message"] not in known]
    assert new == [], way
    for index, path in enumerate(applied.policies(folder)):
        out = str(folder / f"built-{index}")
        assert main(["render", str(path), "--output-dir", out]) == 0, capsys.readouterr().err


CASES = [each for each in sorted(FIXTURES.iterdir()) if not (each / "fires/before").is_dir()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_way_of_a_repositorys_finding_is_accepted(
    case: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        each for each in check(case / "fires", [], capsys) if each["tags"]["rule"] == case.name
    ]
    for number, result in enumerate(found):
        for index, way in enumerate(applied.ways(result["message"])):
            if any(way.startswith(begun) for rule, begun in NOT_APPLIED if rule == case.name):
                continue
            folder = tmp_path / f"{number}-{index}"
            shutil.copytree(case / "fires", folder)
            assert_accepted(way, number, case.name, folder, capsys)


def release(name: str, chart: str, namespace: str = "flux-system") -> str:
    return (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
        f"metadata: {{name: {name}, namespace: {namespace}}}\n"
        f"spec: {{interval: 1h, {chart}}}\n---\n"
    )


def source(kind: str, name: str, spec: str) -> str:
    return (
        f"apiVersion: source.toolkit.fluxcd.io/v1\nkind: {kind}\n"
        f"metadata: {{name: {name}, namespace: flux-system}}\nspec: {{interval: 1m, {spec}}}\n---\n"
    )


FROM = "chart: {{spec: {{chart: c, sourceRef: {{kind: {}, name: {}, namespace: flux-system}}}}}}"
OURS = FROM.format("GitRepository", "flux-system")
ROOT = source("GitRepository", "flux-system", "url: 'https://git.example/a', ref: {branch: main}")
ROOT += kustomization("flux-system", path="./clusters/north")
OTHER = source("GitRepository", "charts", "url: 'https://git.example/b', ref: {branch: main}")
AUTOMATION = (
    "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\n"
    "metadata: {name: bumps, namespace: shop}\nspec: {interval: 1h}\n"
)
POLICY = policy().replace(
    "{name: window,", "{annotations: {config.kubernetes.io/local-config: 'true'}, name: window,"
)
OF_A_RELEASE = "gate the HelmReleases that use it"
# The name of a case begins with the rule.
ADVICE = {
    "source-moves: the root's own source": (
        {"windowed/r.yaml": release("r", OURS)},
        [OF_A_RELEASE],
    ),
    "source-moves: a source of charts alone": (
        {
            "live/o.yaml": OTHER,
            "windowed/r.yaml": release("r", FROM.format("GitRepository", "charts")),
        },
        ["pin `spec.ref` to one version", OF_A_RELEASE],
    ),
    "source-moves: another namespace": (
        {"windowed/r.yaml": release("r", OURS, "shop")},
        [OF_A_RELEASE],
    ),
    "release-moves: another namespace": (
        {"windowed/r.yaml": release("r", FROM.format("HelmRepository", "charts"), "shop")},
        ["pin one version", "gate it"],
    ),
    "automation-moves: another namespace": ({"windowed/a.yaml": AUTOMATION}, ["gate it too"]),
    "depends-blocked: what depends is the root": (
        {
            "clusters/north/sync.yaml": ROOT.replace(
                "prune: true", "prune: true\n  dependsOn: [{name: windowed}]"
            ),
            "clusters/north/windows.yaml": kustomization("windows"),
            "clusters/north/policy.yaml": "",
            "windows/policy.yaml": POLICY,
        },
        ["remove the dependency"],
    ),
}


@pytest.mark.parametrize("case", ADVICE)
def test_what_is_proposed_depends_on_what_a_build_accepts(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, proposed = ADVICE[case]
    rule = case.partition(":")[0]
    every = {
        "clusters/north/sync.yaml": ROOT,
        "clusters/north/flux.yaml": kustomization("live") + kustomization("windowed"),
        "clusters/north/policy.yaml": POLICY,
        "live/live.yaml": config_map("l"),
        "windowed/windowed.yaml": config_map("w"),
        **files,
    }
    lay(tmp_path / "whole", every)
    [result] = [
        each for each in check(tmp_path / "whole", [], capsys) if each["tags"]["rule"] == rule
    ]
    # The objects of one fact are named behind it.
    found = applied.ways(re.sub(r" \(\d+ objects: .*\)", "", result["message"]))
    assert [each.removesuffix(f" {HOW_TO_GATE}") for each in found] == proposed
    for index, way in enumerate(found):
        lay(tmp_path / str(index), every)
        assert_accepted(way, 0, rule, tmp_path / str(index), capsys)

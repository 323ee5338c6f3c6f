"""The functionConfig: whose it is, what is wrong with it, and how its texts arrive."""

import pytest
import yaml
from calls import APPS, POLICY, call, spec, wire

PLACE = "internal.config.kubernetes.io"


@pytest.mark.parametrize(
    "config",
    [
        " null\n",
        "{data: {}, kind: ConfigMap, apiVersion: v1}\n",
        POLICY.replace("krm-windows.dev/", "windows.example.org/"),
        POLICY.replace("v1alpha1", "v1"),
        POLICY.replace("kind: WindowPolicy", "kind: WindowPolicies"),
        "{}\n",
    ],
    ids=["null", "kpt's ConfigMap", "group", "version", "kind", "empty"],
)
def test_C01_not_for_this_function(config: str) -> None:
    data = wire(APPS, config=config).replace(":\n   null", ": null")
    answer = call(data)
    assert answer.code == 3
    assert "expected a krm-windows.dev/v1alpha1 WindowPolicy" in answer.err
    assert len(answer.items) == 1


def test_C02_all_problems_together() -> None:
    config = POLICY.replace("timeZone", "timezone").replace("names: [apps]", "name: [apps]")
    config = config.replace("closes: Thu 17:00", "closes: Thu 1700") + "  closesEarly: soon\n"
    answer = call(wire(APPS, config=config))
    assert answer.code == 1
    lines = answer.err.splitlines()
    head = "[error] krm-windows.dev/v1alpha1/WindowPolicy/flux-system/week spec."
    assert all(line.startswith(head) for line in lines)
    paths = [result["field"]["path"] for result in answer.results]
    assert paths == sorted(paths)
    for path, hint in {
        "spec.timezone": 'did you mean "timeZone"',
        "spec.targets[0].name": 'did you mean "names"',
        "spec.windows.office.closes": 'got "Thu 1700"',
        "spec.closesEarly": "soon",
    }.items():
        assert [hint in line for line in lines if f" {path}: " in line] == [True], path


SPELLINGS = {
    "quoted": ('"Mon 22:00"', '"04:00"', '"2026-12-20"'),
    "plain, as kpt gives it": ("Mon 22:00", "04:00", "2026-12-20"),
    "as kustomize gives it": ("Mon 22:00", '"04:00"', '"2026-12-20T00:00:00Z"'),
    "single quotes": ("'Mon 22:00'", "'04:00'", "'2026-12-20'"),
    "folded": (">-\n        Mon\n        22:00", "|-\n        04:00", ">-\n        2026-12-20"),
}


def spelt(spelling: str) -> str:
    opens, closes, starts = SPELLINGS[spelling]
    rest = f"      closes: {closes}\n  freezes:\n    holiday:\n      starts: {starts}\n"
    rest += f"      ends: {closes}\n      reason: r\n"
    return POLICY.partition("      opens:")[0] + f"      opens: {opens}\n{rest}"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_C03_moments_in_every_spelling(spelling: str) -> None:
    got, want = (call(wire(APPS, config=spelt(text))) for text in (spelling, "quoted"))
    assert (got.code, got.err) == (0, "")
    assert got.items == want.items
    assert "00:00-03:00 closed freezes.holiday" in str(got.items)


def test_C03_a_time_that_kustomize_made_utc() -> None:
    """An unquoted date with a time has become UTC on its way."""
    freezes = "{f: {starts: '2026-12-20T10:00:00Z', ends: '2026-12-21', reason: r}}"
    answer = call(wire(APPS, config=spec(freezes=freezes)))
    assert (answer.code, answer.rules) == (1, ["moment-seconds"])
    assert "quote" in answer.err


@pytest.mark.parametrize("flag", ["true", '"true"'])
def test_C04_booleans_as_text(flag: str) -> None:
    """A setter of kpt may quote a boolean."""
    config = POLICY.replace("    names: [apps]\n", f"    names: [web]\n    mustExist: {flag}\n")
    answer = call(wire(config=config))
    assert (answer.code, answer.rules) == (1, ["target-missing"])


@pytest.mark.parametrize(
    "chosen",
    [
        "names: [2026]",
        'names: ["2026"]',
        "matchLabels: {tier: true, wave: 1}",
        'matchLabels: {tier: "true", wave: "1"}',
    ],
)
def test_C04_numbers_as_text(chosen: str) -> None:
    apps = APPS.replace("  name: apps\n", "  name: '2026'\n  labels: {tier: 'true', wave: '1'}\n")
    answer = call(wire(apps, config=POLICY.replace("names: [apps]", chosen)))
    assert (answer.code, answer.err) == (0, "")
    assert answer.of("Role")[0]["rules"][0]["resourceNames"] == ["2026"]


def test_C05_annotations_of_the_policy() -> None:
    said = {
        "config.kubernetes.io/function": "exec: {path: ./f}",
        "config.kubernetes.io/local-config": "true",
        f"{PLACE}/path": "policy.yaml",
        f"{PLACE}/index": "3",
        "config.kubernetes.io/index": "3",
        f"{PLACE}/package-path": "/pkg",
        "example.org/owner": "me",
    }
    config = yaml.safe_load(POLICY)
    config["metadata"] |= {"annotations": said, "labels": {"team": "us"}}
    answer = call(wire(APPS, config=yaml.safe_dump(config)))
    assert (answer.code, answer.err) == (0, "")
    for item in answer.objects[1:]:
        metadata = item["metadata"]
        assert metadata["annotations"].keys() & said <= {f"{PLACE}/path", f"{PLACE}/index"}
        assert metadata["annotations"][f"{PLACE}/path"] != "policy.yaml"
        assert "team" not in metadata["labels"]


BY_KUSTOMIZE = "config.kubernetes.io/path: x/policy.yaml"
BY_KPT = f"{BY_KUSTOMIZE}, {PLACE}/path: x/policy.yaml"


@pytest.mark.parametrize(
    ("annotations", "rules"), [(BY_KUSTOMIZE, ["config-path"]), (BY_KPT, []), ("", [])]
)
def test_C07_a_path_on_the_policy(annotations: str, rules: list[str]) -> None:
    """Under kustomize it narrows what an exec function sees; kpt sets it on everything."""
    config = POLICY.replace("  name: week\n", f"  name: week\n  annotations: {{{annotations}}}\n")
    answer = call(wire(APPS, config=config))
    assert (answer.code, answer.rules) == (0, rules)


ORIGIN = "config.kubernetes.io/origin"
NAMED = {
    "functions-spec": (f"{PLACE}/path: a/b.yaml, {PLACE}/index: '2'", ("a/b.yaml", "2")),
    "older orchestrators": (
        "config.kubernetes.io/path: a/b.yaml, config.kubernetes.io/index: '1'",
        ("a/b.yaml", "1"),
    ),
    "no index": (f"{PLACE}/path: a/b.yaml, {PLACE}/index: '²'", ("a/b.yaml", "0")),
    "originAnnotations": (f'{ORIGIN}: "path: ../a/b.yaml\\n"', ("../a/b.yaml", "0")),
    "a generator": (f'{ORIGIN}: "configuredIn: a/k.yaml\\n"', ("a/k.yaml", "0")),
    "another repository": (f'{ORIGIN}: "repo: https://example.com/a\\npath: b.yaml\\n"', None),
    "no note": (f'{ORIGIN}: "{{"', None),
    "a person": ("config.kubernetes.io/path: a", None),
}


@pytest.mark.parametrize("case", NAMED)
@pytest.mark.parametrize("wrong", ["policy", "target"])
def test_a_finding_names_the_file_that_the_orchestrator_read(case: str, wrong: str) -> None:
    annotations, place = NAMED[case]
    noted = f"\n  annotations: {{{annotations}}}\n"
    config, items = POLICY, APPS
    if wrong == "policy":
        config = config.replace("Mon 08:00", "Mno 08:00").replace(
            "name: week\n", f"name: week{noted}"
        )
        subject = "WindowPolicy flux-system/week spec.windows.office.opens: "
    else:
        items = items.replace("name: apps\n", f"name: apps{noted}") + "  suspend: true\n"
        subject = "Kustomization flux-system/apps spec.suspend: "
    answer = call(wire(items, config=config))
    [result] = [each for each in answer.results if each["severity"] == "error"]
    assert result.get("file") == (place and dict(zip(("path", "index"), place, strict=True)))
    prefix = f"{place[0]}: [error] {subject}" if place else "[error] "
    assert any(line.startswith(prefix) for line in answer.err.splitlines())

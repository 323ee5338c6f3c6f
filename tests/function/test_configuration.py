"""The functionConfig: whose it is, what is wrong with it, and how its texts arrive."""

import pytest
import yaml
from calls import APPS, POLICY, call, spec, wire

NEW = ("ServiceAccount", "Role", "RoleBinding", "ConfigMap", "CronJob", "Job")


@pytest.mark.parametrize(
    "config",
    [
        "",
        "functionConfig: null",
        "data: {}\nkind: ConfigMap\napiVersion: v1\n",
        POLICY.replace("krm-windows.dev/", "windows.example.org/"),
        POLICY.replace("v1alpha1", "v1"),
        POLICY.replace("kind: WindowPolicy", "kind: WindowPolicies"),
        "metadata:\n  name: neither\n",
        "{}\n",
    ],
    ids=["absent", "null", "kpt's ConfigMap", "group", "version", "kind", "neither", "empty"],
)
def test_C01_not_for_this_function(config: str) -> None:
    """Its exit code is its own, and it says what is expected."""
    data = (
        wire(APPS, config="") + "functionConfig: null\n"
        if "null" in config
        else wire(APPS, config=config)
    )
    answer = call(data)
    assert answer.code == 3
    assert "expected a krm-windows.dev/v1alpha1 WindowPolicy" in answer.err
    assert len(answer.items) == 1


def test_C02_all_problems_together() -> None:
    """Each unknown field comes with its path and what was meant.

    All that is wrong comes at once, sorted.
    """
    config = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week
  namespace: flux-system
spec:
  timezone: Europe/Berlin
  targets:
  - kind: Kustomization
    name: [apps]
  - kind: Kustomisation
    names: [infra]
  windows:
    office: {openss: Mon 08:00, closes: Thu 1700}
  closesEarly: soon
"""
    answer = call(wire(APPS, config=config))
    assert answer.code == 1
    lines = answer.err.splitlines()
    assert all(
        line.startswith("[error] krm-windows.dev/v1alpha1/WindowPolicy/flux-system/week spec.")
        for line in lines
    )
    paths = [result["field"]["path"] for result in answer.results]
    assert paths == sorted(paths)
    for path, hint in {
        "spec.timezone": 'did you mean "timeZone"',
        "spec.targets[0].name": 'did you mean "names"',
        "spec.targets[1].kind": 'did you mean "Kustomization"',
        "spec.windows.office.openss": 'did you mean "opens"',
        "spec.windows.office.closes": 'got "Thu 1700"',
        "spec.closesEarly": "soon",
    }.items():
        assert [hint in line for line in lines if f" {path}: " in line] == [True], path


MOMENTS = """\
  windows:
    night:
      opens: {opens}
      closes: {closes}
  freezes:
    holiday:
      starts: {starts}
      ends: {closes}
      reason: r
"""
SPELLINGS = {
    "quoted": ('"Mon 22:00"', '"04:00"', '"2026-12-20"'),
    "plain, as kpt gives it": ("Mon 22:00", "04:00", "2026-12-20"),
    "as kustomize gives it": ("Mon 22:00", '"04:00"', '"2026-12-20T00:00:00Z"'),
    "single quotes": ("'Mon 22:00'", "'04:00'", "'2026-12-20'"),
    "folded": (">-\n        Mon\n        22:00", "|-\n        04:00", ">-\n        2026-12-20"),
}


def spelt(spelling: str) -> str:
    """Return the policy with its moments in one spelling."""
    opens, closes, starts = SPELLINGS[spelling]
    return POLICY.partition("  windows:")[0] + MOMENTS.format(
        opens=opens, closes=closes, starts=starts
    )


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_C03_moments_in_every_spelling(spelling: str) -> None:
    """However a time or a date was quoted, folded or carried through JSON, one thing comes out."""
    got, want = (call(wire(APPS, config=spelt(text))) for text in (spelling, "quoted"))
    assert (got.code, got.err) == (0, "")
    assert got.items == want.items
    assert "00:00-03:00 closed freezes.holiday" in str(got.items)


def test_C03_a_time_that_kustomize_made_utc() -> None:
    """An unquoted date with a time has become UTC on its way.

    It is refused with what to do.
    """
    freezes = "{f: {starts: '2026-12-20T10:00:00Z', ends: '2026-12-21', reason: r}}"
    answer = call(wire(APPS, config=spec(freezes=freezes)))
    assert (answer.code, answer.rules) == (1, ["moment-seconds"])
    assert "quote" in answer.err


@pytest.mark.parametrize("flag", ["true", '"true"', "'true'"])
def test_C04_booleans_as_text(flag: str) -> None:
    """A setter of kpt may quote a boolean."""
    config = POLICY.replace("    names: [apps]\n", f"    names: [web]\n    mustExist: {flag}\n")
    answer = call(wire(config=config))
    assert (answer.code, answer.rules) == (1, ["target-missing"])


def test_C04_numbers_as_text() -> None:
    """Where text is meant, what looks like a number or a boolean is its text."""
    apps = APPS.replace("  name: apps\n", "  name: '2026'\n  labels: {tier: 'true', wave: '1'}\n")
    for names in ("2026", '"2026"'):
        answer = call(wire(apps, config=POLICY.replace("[apps]", f"[{names}]")))
        assert (answer.code, answer.err) == (0, "")
        assert answer.of("Role")[0]["rules"][0]["resourceNames"] == ["2026"]
    for labels in ("{tier: true, wave: 1}", '{tier: "true", wave: "1"}'):
        config = POLICY.replace("names: [apps]", f"matchLabels: {labels}")
        answer = call(wire(apps, config=config))
        assert (answer.code, answer.err) == (0, "")
        assert answer.of("Role")[0]["rules"][0]["resourceNames"] == ["2026"]


def test_C05_annotations_of_the_policy() -> None:
    """What is said to the orchestrator about the policy is said of nothing that comes from it."""
    said = {
        "config.kubernetes.io/function": "exec: {path: ./f}",
        "config.kubernetes.io/local-config": "true",
        "internal.config.kubernetes.io/path": "policy.yaml",
        "internal.config.kubernetes.io/index": "3",
        "config.kubernetes.io/index": "3",
        "internal.config.kubernetes.io/package-path": "/pkg",
        "example.org/owner": "me",
    }
    config = yaml.safe_load(POLICY)
    config["metadata"] |= {"annotations": said, "labels": {"team": "us"}}
    answer = call(wire(APPS, config=yaml.safe_dump(config)))
    assert (answer.code, answer.err) == (0, "")
    for item in answer.of(*NEW):
        metadata = item["metadata"]
        allowed = {"internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index"}
        assert set(metadata["annotations"]) & set(said) <= allowed
        assert metadata["annotations"]["internal.config.kubernetes.io/path"] != "policy.yaml"
        assert "team" not in metadata["labels"]


@pytest.mark.parametrize(
    ("annotations", "rules"),
    [
        ("{config.kubernetes.io/path: x/policy.yaml}", ["config-path"]),
        (
            (
                "{config.kubernetes.io/path: x/policy.yaml, "
                "internal.config.kubernetes.io/path: x/policy.yaml}"
            ),
            [],
        ),
        ("{internal.config.kubernetes.io/path: x/policy.yaml}", []),
        ("{}", []),
    ],
    ids=["kustomize", "kpt", "internal only", "none"],
)
def test_C07_a_path_on_the_policy(annotations: str, rules: list[str]) -> None:
    """Under kustomize it narrows what an exec function sees, which is warned about.

    kpt sets it on everything.
    """
    config = POLICY.replace("  name: week\n", f"  name: week\n  annotations: {annotations}\n")
    answer = call(wire(APPS, config=config))
    assert (answer.code, answer.rules) == (0, rules)


NAMED = {
    "functions-spec": (
        "internal.config.kubernetes.io/path: a/b.yaml, internal.config.kubernetes.io/index: '2'",
        {"path": "a/b.yaml", "index": "2"},
    ),
    "older orchestrators": (
        "config.kubernetes.io/path: a/b.yaml, config.kubernetes.io/index: '1'",
        {"path": "a/b.yaml", "index": "1"},
    ),
    "an index that is none": (
        "internal.config.kubernetes.io/path: a/b.yaml, internal.config.kubernetes.io/index: '²'",
        {"path": "a/b.yaml", "index": "0"},
    ),
    "originAnnotations": (
        'config.kubernetes.io/origin: "path: ../a/b.yaml\\n"',
        {"path": "../a/b.yaml", "index": "0"},
    ),
    "a generator": (
        'config.kubernetes.io/origin: "configuredIn: a/kustomization.yaml\\n"',
        {"path": "a/kustomization.yaml", "index": "0"},
    ),
    "another repository": (
        'config.kubernetes.io/origin: "repo: https://example.com/a\\npath: b.yaml\\n"',
        None,
    ),
    "no note": ('config.kubernetes.io/origin: "{"', None),
    "a person": ("config.kubernetes.io/path: a", None),
    "nobody": ("a: b", None),
}


@pytest.mark.parametrize("case", NAMED)
@pytest.mark.parametrize("wrong", ["policy", "target"])
def test_a_finding_names_the_file_that_the_orchestrator_read(case: str, wrong: str) -> None:
    """In `results` and on standard error; no orchestrator says the lines."""
    annotations, file = NAMED[case]
    config, items = POLICY, APPS
    if wrong == "policy":
        config = POLICY.replace("Mon 08:00", "Mno 08:00").replace(
            "  name: week\n", f"  name: week\n  annotations: {{{annotations}}}\n"
        )
        subject = "WindowPolicy flux-system/week spec.windows.office.opens: "
    else:
        items = APPS.replace("  name: apps\n", f"  name: apps\n  annotations: {{{annotations}}}\n")
        items = items.replace("spec:\n", "spec:\n  suspend: true\n")
        subject = "Kustomization flux-system/apps spec.suspend: "
    answer = call(wire(items, config=config))
    [result] = [each for each in answer.results if each["severity"] == "error"]
    assert result.get("file") == file
    prefix = f"{file['path']}: [error] {subject}" if file else "[error] "
    assert any(line.startswith(prefix) for line in answer.err.splitlines())

"""One policy, many clusters: merge patches, and where their mistakes are shown."""

import pytest
from calls import loaded

from krm_windows.krm import KubeObject
from krm_windows.krm.merge_patch import merge
from krm_windows.policy.load import Loaded, PolicyDocument, read

BASE = """
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: a, namespace: b}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows:
    week: {opens: Mon 08:00, closes: Thu 17:00}
    night: {opens: daily 22:00, closes: "04:00"}
  freezes: {x: {starts: "2026-12-20", ends: "2026-12-24", reason: r}}
  clusters: %s
"""


def patched(patch: str) -> Loaded:
    return loaded(BASE % patch)


def source(document: str) -> PolicyDocument:
    return read(KubeObject.parse(document.encode()).node)


def test_a_cluster_changes_one_entry_and_keeps_the_others() -> None:
    policy, results = patched(
        "{edge: {windows: {week: {closes: Fri 12:00}, night: null}, freezes: null}}"
    ).for_cluster("edge")
    assert results == ()
    assert policy is not None
    assert policy.spec.build_for == "edge"
    assert list(policy.spec.windows) == ["week"]
    assert policy.spec.windows["week"].words() == "Mon 08:00 to Fri 12:00"
    assert policy.spec.freezes == {}


def test_no_cluster_and_an_empty_patch_are_the_policy_as_it_stands() -> None:
    both = patched("{e: {}, f: {timeZone: Europe/Paris}}")
    policy, results = both.for_cluster(None)
    assert policy is not None
    assert (policy.spec.time_zone, policy.spec.build_for, results) == ("Europe/Berlin", None, ())
    empty, other = both.clusters["e"], both.clusters["f"]
    assert empty is not None
    assert other is not None
    assert (empty.spec.windows, empty.spec.build_for) == (policy.spec.windows, "e")
    assert (empty.spec.time_zone, other.spec.time_zone) == ("Europe/Berlin", "Europe/Paris")


def test_an_unknown_cluster_is_an_error_that_names_the_known() -> None:
    patches = "{edge-1: {interval: 5m}, edge-2: {interval: 10m}}"
    policy, (result,) = patched(patches).for_cluster("edge-3")
    assert policy is None
    assert result.message == (
        'must be one of the policy\'s clusters (edge-1, edge-2), got "edge-3"; '
        'did you mean "edge-2"?'
    )
    read_alone = source(BASE % patches)
    assert read_alone.version("edge-3") == read_alone.version(None) == (read_alone.policy, ())


@pytest.mark.parametrize(
    ("patch", "path", "rule"),
    [
        ("{e: {timeZone: Europe/Berln}}", "e.timeZone", "time-zone"),
        ("{e: {timeZone: null}}", "e.timeZone", "field-required"),
        ("{e: {windows: {week: {opens: Mno 08:00}}}}", "e.windows.week.opens", "moment-syntax"),
        ("{e: {windows: {week: {duration: 4h}}}}", "e.windows.week", "end-choice"),
        ("{e: {freezes: {x: {starts: '2026-12-25'}}}}", "e.freezes.x.ends", "end-order"),
        ("{e: {windows: null}}", "e", "outside-windows"),
        # Said, it is what only an override opens; without any edge nothing would close it.
        ("{e: {windows: null, outsideWindows: Closed}}", None, None),
        (
            "{e: {windows: null, outsideWindows: Closed, actuator: {type: Kubectl}}}",
            "e",
            "kubectl-field",
        ),
        ("{e: {freezes: {}}}", "e.freezes", "cluster-empty-map"),
        ("{e: {windows: {week: {}}}}", "e.windows.week", "cluster-empty-map"),
        ("{e: , f: {interval: 5m}}", "e", "cluster-null"),
        ("[e, f]", "", "field-type"),
        ("{e: [a]}", "e", "field-type"),
        ("{e: {window: {a: b}}}", "e.window", "field-unknown"),
        ("{e: {clusters: null}}", "e.clusters", "field-unknown"),
        ("{e: {buildFor: e}}", "e.buildFor", "field-unknown"),
        ("{E: {interval: 5m}}", "E", "name-syntax"),
        (
            "{e: {targets: [{kind: Kustomization, names: [a, a]}]}}",
            "e.targets[0].names[1]",
            "target-duplicate",
        ),
    ],
)
def test_a_mistake_is_shown_in_the_patch_that_makes_it(
    patch: str, path: str | None, rule: str | None
) -> None:
    found = [(result.path, result.rule) for result in patched(patch).results]
    wanted = ("spec.clusters" + (f".{path}" if path else ""), rule)
    assert wanted in found if rule else found == []


@pytest.mark.parametrize("cluster", [None, "e", "f"])
def test_no_cluster_is_forgotten(cluster: str | None) -> None:
    """Whichever is built: one without a patch has no windows, and no patch cures that."""
    _, results = patched("{e: , f: {interval: 5m}}").for_cluster(cluster)
    assert "cluster-null" in [result.rule for result in results]


def test_a_mistake_of_the_policy_is_reported_once() -> None:
    document = BASE.replace("Mon 08:00", "Mno 08:00") % "{e: {interval: 5m}, f: {interval: 10m}}"
    assert [result.path for result in loaded(document).results] == ["spec.windows.week.opens"]


def test_each_cluster_has_its_own_verdict() -> None:
    both = patched("{e: {interval: 7m}, f: {interval: 10m}}")
    assert both.clusters["e"] is None
    assert both.clusters["f"] is not None
    head = BASE.partition("  windows:")[0]
    window = "{d: {opens: Mon 08:00, duration: 1h}}"
    document = f"{head}  clusters: {{east: {{windows: {window}}}}}\n"
    both = loaded(document)
    assert [result.rule for result in both.for_cluster(None)[1]] == ["outside-windows"]
    east, results = both.for_cluster("east")
    assert east is not None
    assert results == ()
    assert source(document).version("east") == (east, ())


@pytest.mark.parametrize("document", ["{}", "spec: none", "spec: {clusters: []}"])
def test_what_is_no_policy_forgets_no_cluster(document: str) -> None:
    read_alone = source(f"{document}\n")
    assert (read_alone.patches, read_alone.lasting) == ({}, ())
    policy, results = read_alone.version("edge")
    assert policy is None
    assert results


@pytest.mark.parametrize("base", ["", "  overrides: null\n", "  suspend: true\n"])
@pytest.mark.parametrize(
    "patch",
    [
        "{windows: {week: {opens: Tue 09:00}}}",
        "{windows: {night: null}}",
        "{windows: {noon: {opens: daily 12:00, duration: 1h}}}",
        "{timeZone: America/New_York}",
        "{timeZone: Europe/Berln}",
        "{targets: [{kind: Kustomization, names: [a], namespace: null}]}",
        "{overrides: {o: {state: Open, ends: 2027-01-01, reason: r, x: null}}}",
        "{windows: closed}",
        "{freezes: {x: {ends: '2026-12-01'}}}",
        "{freezes: {x: null}}",
    ],
)
def test_a_version_means_what_its_text_means_alone(patch: str, base: str) -> None:
    text = BASE.replace("  clusters:", f"{base}  clusters:") % f"{{e: {patch}, f: {{}}}}"
    alone = KubeObject.parse(text.encode()).as_read()
    content = alone.get()
    assert isinstance(content, dict)
    merged = merge(content["spec"], {**content["spec"]["clusters"]["e"], "clusters": None})
    alone.set({**content, "spec": {**merged, "buildFor": "e"}})
    whole = read(KubeObject.parse(alone.span).node)
    # Twice, and after another cluster: what was read for one is not taken for the other.
    patched = source(text)
    for cluster in ("e", "f", "e"):
        policy, results = patched.version(cluster)
    assert policy == whole.policy
    assert {each.rule for each in results} == {each.rule for each in whole.version(None)[1]}

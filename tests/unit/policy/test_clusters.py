"""One policy, many clusters: merge patches, and where their mistakes are shown."""

import pytest

from krm_windows.krm import KubeObject
from krm_windows.krm.merge_patch import merge
from krm_windows.policy.load import Loaded, load, read

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
  clusters:
"""


def loaded(patch: str) -> Loaded:
    """Load the base with the patches of its clusters, in flow style."""
    return load(KubeObject.parse(f"{BASE}    {patch}\n".encode()).node)


def found(patch: str) -> list[tuple[str, str]]:
    """Give path and rule of every result."""
    return [
        (result.field.path if result.field else "", result.tags["rule"])
        for result in loaded(patch).results
    ]


def test_a_policy_without_windows_says_what_holds() -> None:
    """Closed, only an override opens it; so is a cluster of it."""
    assert found("{e: {windows: null, outsideWindows: Closed}}") == []


def test_a_cluster_changes_one_entry_and_keeps_the_others() -> None:
    """A patch over a map merges; null removes; a list is replaced."""
    policy, results = loaded(
        "{edge: {windows: {week: {closes: Fri 12:00}, night: null}, freezes: null}}"
    ).for_cluster("edge")
    assert results == ()
    assert policy is not None
    assert policy.spec.build_for == "edge"
    assert list(policy.spec.windows) == ["week"]
    assert policy.spec.windows["week"].words() == "Mon 08:00 to Fri 12:00"
    assert policy.spec.freezes == {}


def test_no_cluster_is_the_policy_without_patches() -> None:
    """Absent `buildFor`, nothing of `clusters` counts."""
    policy, results = loaded("{edge: {timeZone: Europe/Paris}}").for_cluster(None)
    assert results == ()
    assert policy is not None
    assert policy.spec.time_zone == "Europe/Berlin"


def test_an_unknown_cluster_is_an_error_that_names_the_known() -> None:
    """A misspelt cluster never gets the policy without its patch."""
    policy, (result,) = loaded("{edge-1: {interval: 5m}, edge-2: {interval: 10m}}").for_cluster(
        "edge-3"
    )
    assert policy is None
    assert result.message == (
        'must be one of the policy\'s clusters (edge-1, edge-2), got "edge-3"; '
        'did you mean "edge-2"?'
    )


@pytest.mark.parametrize(
    ("patch", "path", "rule"),
    [
        ("{e: {timeZone: Europe/Berln}}", "spec.clusters.e.timeZone", "time-zone"),
        (
            "{e: {windows: {week: {opens: Mno 08:00}}}}",
            "spec.clusters.e.windows.week.opens",
            "moment-syntax",
        ),
        ("{e: {windows: {week: {duration: 4h}}}}", "spec.clusters.e.windows.week", "end-choice"),
        (
            "{e: {freezes: {x: {starts: '2026-12-25'}}}}",
            "spec.clusters.e.freezes.x.ends",
            "end-order",
        ),
        ("{e: {windows: null}}", "spec.clusters.e", "outside-windows"),
        # Said, it is what only an override opens; without any edge nothing would close it.
        (
            "{e: {windows: null, outsideWindows: Closed, actuator: {type: Kubectl}}}",
            "spec.clusters.e",
            "kubectl-field",
        ),
        ("{e: {freezes: {}}}", "spec.clusters.e.freezes", "cluster-empty-map"),
        ("{e: {windows: {week: {}}}}", "spec.clusters.e.windows.week", "cluster-empty-map"),
        ("{e: , f: {interval: 5m}}", "spec.clusters.e", "cluster-null"),
        ("{e: null}", "spec.clusters.e", "cluster-null"),
        ("{e: ~, f: {}}", "spec.clusters.e", "cluster-null"),
        ("[e, f]", "spec.clusters", "field-type"),
        ("[{name: e}]", "spec.clusters", "field-type"),
        ("e", "spec.clusters", "field-type"),
        ("{e: {window: {a: b}}}", "spec.clusters.e.window", "field-unknown"),
        ("{e: {clusters: null}}", "spec.clusters.e.clusters", "field-unknown"),
        ("{e: {buildFor: e}}", "spec.clusters.e.buildFor", "field-unknown"),
        ("{e: [a]}", "spec.clusters.e", "field-type"),
        ("{E: {interval: 5m}}", "spec.clusters.E", "name-syntax"),
        (
            "{e: {targets: [{kind: Kustomization, names: [a, a]}]}}",
            "spec.clusters.e.targets[0].names[1]",
            "target-duplicate",
        ),
        ("{e: {timeZone: null}}", "spec.clusters.e.timeZone", "field-required"),
    ],
)
def test_a_mistake_is_shown_in_the_patch_that_makes_it(patch: str, path: str, rule: str) -> None:
    """Every cluster's policy is read as a whole, and what the patch breaks is said of the patch."""
    assert (path, rule) in found(patch)


def test_a_cluster_may_have_the_policy_as_it_stands() -> None:
    """An empty map as a whole says so, and is no trace of a null that got lost."""
    both = loaded("{e: {}, f: {interval: 5m}}")
    assert both.results == ()
    policy, plain = both.clusters["e"], both.policy
    assert policy is not None
    assert plain is not None
    assert policy.spec.windows == plain.spec.windows
    assert policy.spec.build_for == "e"


@pytest.mark.parametrize("cluster", [None, "e", "f"])
def test_no_cluster_is_forgotten(cluster: str | None) -> None:
    """Whichever cluster is built: one without a patch has no windows.

    So the policy is wrong, and no patch cures it.
    """
    _, results = loaded("{e: , f: {interval: 5m}}").for_cluster(cluster)
    assert "cluster-null" in [result.tags["rule"] for result in results]


def test_a_list_of_clusters_is_no_map() -> None:
    """Each cluster has a name, and a patch."""
    [result] = loaded("[plant-7, plant-8]").results
    assert (result.rule, result.path) == ("field-type", "spec.clusters")


def test_a_mistake_of_the_policy_is_reported_once() -> None:
    """What is wrong without any patch is not repeated for every cluster."""
    document = (
        BASE.replace("Mon 08:00", "Mno 08:00") + "    {e: {interval: 5m}, f: {interval: 10m}}\n"
    )
    results = load(KubeObject.parse(document.encode()).node).results
    assert [result.field.path for result in results if result.field] == ["spec.windows.week.opens"]


def test_a_patch_can_mend_what_is_wrong_for_others() -> None:
    """Each cluster has its own verdict."""
    both = loaded("{e: {interval: 7m}, f: {interval: 10m}}")
    assert both.clusters["e"] is None
    assert both.clusters["f"] is not None


def test_a_base_that_only_its_clusters_complete() -> None:
    """A base without windows is wrong by itself, but not for a cluster whose patch brings them."""
    base = (
        BASE.partition("  windows:")[0]
        + "  clusters: {east: {windows: {day: {opens: Mon 08:00, duration: 1h}}}}\n"
    )
    both = load(KubeObject.parse(base.encode()).node)
    assert [result.tags["rule"] for result in both.for_cluster(None)[1]] == ["outside-windows"]
    east, results = both.for_cluster("east")
    assert east is not None
    assert results == ()


@pytest.mark.parametrize("document", ["{}", "spec: none", "spec: {clusters: []}"])
def test_what_is_no_policy_forgets_no_cluster(document: str) -> None:
    """It has no clusters; what is wrong with it are other findings."""
    source = read(KubeObject.parse(f"{document}\n".encode()).node)
    assert source.patches == {}
    assert source.lasting == ()
    policy, results = source.version("edge")
    assert policy is None
    assert results


def test_a_cluster_without_a_patch_has_the_policy() -> None:
    """So has none."""
    source = read(KubeObject.parse(f"{BASE}    {{edge: {{interval: 5m}}}}\n".encode()).node)
    assert source.version("other") == source.version(None) == (source.policy, ())
    policy, _ = source.version("edge")
    assert policy is not None
    assert source.policy is not None
    assert policy.spec.interval != source.policy.spec.interval


PATCHES = {
    "nothing": "{}",
    "one window": "{windows: {week: {opens: Tue 09:00}}}",
    "a window less": "{windows: {night: null}}",
    "a window more": "{windows: {noon: {opens: daily 12:00, duration: 1h}}}",
    "another zone": "{timeZone: America/New_York}",
    "a zone that there is not": "{timeZone: Europe/Berln}",
    "nulls in a list": "{targets: [{kind: Kustomization, names: [a], namespace: null}]}",
    "nulls in a new map": "{overrides: {o: {state: Open, ends: 2027-01-01, reason: r, x: null}}}",
    "a target twice": "{targets: [{kind: Kustomization, names: [apps, apps]}]}",
    "a leaf for a map": "{windows: closed}",
    "an end before the beginning": "{freezes: {x: {ends: '2026-12-01'}}}",
    "two ends": "{windows: {week: {duration: 4h}}}",
    "an empty freeze": "{freezes: {x: null}}",
    "no zone": "{timeZone: null}",
}


@pytest.mark.parametrize("base", ["", "  overrides: null\n", "  suspend: true\n"])
@pytest.mark.parametrize("name", PATCHES)
def test_a_version_means_what_its_text_means_alone(name: str, base: str) -> None:
    """What is taken over from the policy itself is what reading the version as a whole gives."""
    text = (
        f"{BASE.replace('  clusters:', base + '  clusters:')}    {{e: {PATCHES[name]}, f: {{}}}}\n"
    )
    source = read(KubeObject.parse(text.encode()).node)
    alone = KubeObject.parse(text.encode()).as_read()
    content = alone.get()
    assert isinstance(content, dict)
    merged = merge(content["spec"], {**content["spec"]["clusters"]["e"], "clusters": None})
    alone.set({**content, "spec": {**merged, "buildFor": "e"}})
    whole = read(KubeObject.parse(alone.span).node)
    # Twice, and after another cluster: what was read for one is not taken for the other.
    for cluster in ("e", "f", "e"):
        policy, _ = source.version(cluster)
    assert policy == whole.policy
    expected = {result.tags["rule"] for result in whole.version(None)[1]}
    assert {result.tags["rule"] for result in source.version("e")[1]} == expected

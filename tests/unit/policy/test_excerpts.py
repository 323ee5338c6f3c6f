"""A policy whose clusters are read one by one is the one that is read as a whole."""

import pytest

from krm_windows.krm import KubeObject, excerpt
from krm_windows.policy import load, sizes
from krm_windows.policy.model import WindowPolicy

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
  clusters:
"""
CLUSTERS = """\
    north: {}
    south: {windows: {week: {opens: Tue 08:00}, night: null}}
    wrong: {windows: {week: {opens: Xri 08:00}}}
    emptied: {windows: {}}
    misplaced: {clusters: {}, buildFor: north}
    early: {timeZone: Europe/Pariss}
    UPPER: {}
"""
POLICIES = {
    "right": BASE + CLUSTERS,
    "wrong": BASE.replace("Mon 08:00", "Xon 08:00") + CLUSTERS,
    "cured": BASE.replace("closes: Thu 17:00", "closes: Xon 17:00")
    + "    north: {windows: {week: {closes: Thu 17:00}}}\n    south: {}\n",
    "without windows": BASE.replace("windows:\n    week", "freezes:\n    week") + CLUSTERS,
    "built for one": BASE.replace("  clusters:", "  buildFor: south\n  clusters:") + CLUSTERS,
    "built for none": BASE.replace("  clusters:", "  buildFor: west\n  clusters:") + CLUSTERS,
    "nothing else": "kind: WindowPolicy\nspec:\n  clusters:\n" + CLUSTERS,
}


def both(text: str) -> tuple[load.Source | None, load.Source]:
    """Read a policy in both ways."""
    item = KubeObject.parse(text.encode())
    _, found = excerpt.read(item, "spec", "clusters")
    assert found is not None
    return load.read_excerpt(found), load.read(item.node)


@pytest.mark.parametrize("name", POLICIES)
def test_every_version_and_every_finding_is_the_same(name: str) -> None:
    """Whatever is wrong with the policy, with a patch, or with both."""
    found, whole = both(POLICIES[name])
    assert found is not None
    assert list(found.patches) == list(whole.patches)
    assert len(found.patches) == len(whole.patches)
    assert found.build_for == whole.build_for
    for cluster in (*whole.patches, "unknown"):
        assert cluster in whole.patches or cluster not in found.patches
        assert found.version(cluster) == alone(whole.version(cluster)), cluster
    # The policy itself is the same but for the patches, which nobody asks it for.
    policy, results = found.version(None)
    assert results == whole.version(None)[1]
    assert (policy is None) is (whole.policy is None)
    if policy is not None and whole.policy is not None:
        spec = whole.policy.spec.replaced(clusters={})
        assert policy.spec == spec


def alone(version: tuple[object, object]) -> tuple[object, object]:
    """Leave the clusters out of a version that was read without a patch of its own."""
    policy, results = version
    if isinstance(policy, WindowPolicy) and policy.spec.clusters:
        spec = policy.spec.replaced(clusters={})
        policy = policy.replaced(spec=spec)
    return policy, results


def test_too_many_are_left_to_a_whole_reading() -> None:
    """Which says so; and so are those that may be too many, by their length."""
    many = "".join(f"    c{number}: {{}}\n" for number in range(sizes.MOST_CLUSTERS + 1))
    found, whole = both(BASE + many)
    assert found is None
    assert any(finding.rule.id == "too-many" for finding in whole.findings)
    long = "    north: {windows: {week: {reason: %s}}}\n" % ("x" * 3 * sizes.MOST_VERSIONS)
    assert both(BASE + long)[0] is None


def test_a_spec_that_is_no_map_is_left_to_it() -> None:
    """There is nothing to merge a patch onto."""
    text = "kind: WindowPolicy\nspec:\n  clusters:\n    north: {}\n"
    found, whole = both(text)
    assert found is not None
    assert found.version("north") == whole.version("north")

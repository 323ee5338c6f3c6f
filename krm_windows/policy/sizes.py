"""How many entries one policy may have, counted before any of them is read.

The numbers are far beyond what people write, and within what a cluster takes: a ConfigMap has 1
MiB, and the gate looks at all of its timetable in a Pod of 128 MiB.
"""

from collections.abc import Iterator

from krm_windows import rules
from krm_windows.policy.document import Tree
from krm_windows.policy.findings import Finding

MOST_RULES = 1_000
"""Windows, freezes and overrides, of each."""

MOST_TARGETS = 2_000
"""Names and selectors in `targets`, and in `released`.

A Role lists every name, and an object has 1.5 MB at most.
"""

MOST_CLUSTERS = 10_000
"""Clusters of one policy, ..."""

MOST_VERSIONS = 200_000
"""... and entries of it, counted again for each cluster, as each has a policy of its own."""

_RULES = ("windows", "freezes", "overrides")
_TARGETS = ("targets", "released")
_FIXES = {
    "windows": "write recurring ones as one moment, such as `Mon-Fri 08:00`",
    "freezes": "remove entries that are over, or write recurring ones as one moment",
    "overrides": "remove entries that are over",
    "targets": "select them with `matchLabels`, or use a policy per team",
    "released": "remove targets that are open by now",
    "clusters": "use a policy per group of clusters",
}


def check(tree: Tree) -> Iterator[Finding]:
    """Yield every list or map of a policy that has too many entries."""
    spec = _entry(tree, "spec")
    # From the tree as it was written: what has another shape has no entries, and its own error.
    for field in _RULES:
        yield from _excess(field, _length(_entry(spec, field)), MOST_RULES)
    for field in _TARGETS:
        yield from _excess(field, _named(_entry(spec, field)), MOST_TARGETS)
    yield from _clusters(spec)


def has_too_many_clusters(tree: Tree) -> bool:
    """Whether the versions of a policy for its clusters are too many to be read."""
    return any(_clusters(_entry(tree, "spec")))


def _clusters(spec: Tree) -> Iterator[Finding]:
    clusters = _entry(spec, "clusters")
    found = _length(clusters)
    yield from _excess("clusters", found, MOST_CLUSTERS)
    patches: list[Tree] = []
    if isinstance(clusters, dict):
        patches = list(clusters.values())
    # Every cluster has all of the policy, and what its patch adds.
    total = found * _entries(spec) + sum(_entries(patch) for patch in patches)
    # One of the two is enough to say.
    if found <= MOST_CLUSTERS and total > MOST_VERSIONS:
        must = (
            f"must have at most {MOST_VERSIONS} windows, freezes, overrides and targets "
            f"for all clusters together: {_FIXES['clusters']}"
        )
        yield Finding(rules.TOO_MANY, must, str(total), path="spec.clusters")


def _excess(field: str, found: int, most: int) -> Iterator[Finding]:
    if found > most:
        must = f"must have at most {most} entries: {_FIXES[field]}"
        yield Finding(rules.TOO_MANY, must, str(found), path=f"spec.{field}")


def _entries(spec: Tree) -> int:
    """Count what a version of the policy is made of."""
    named = sum(_named(_entry(spec, field)) for field in _TARGETS)
    listed = sum(_length(_entry(spec, field)) for field in _RULES)
    return named + listed


def _named(targets: Tree) -> int:
    """Count the names in a list of targets; a selector without names is one."""
    if not isinstance(targets, list):
        return 0
    names = (_length(_entry(target, "names")) for target in targets)
    return sum(max(number, 1) for number in names)


def _entry(tree: Tree, name: str) -> Tree:
    if isinstance(tree, dict):
        return tree.get(name)
    return None


def _length(tree: Tree) -> int:
    if isinstance(tree, dict | list):
        return len(tree)
    return 0

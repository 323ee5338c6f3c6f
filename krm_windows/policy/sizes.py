"""How many entries one policy may have, counted before any of them is read.

The numbers are far beyond what people write, and within what a cluster takes: a ConfigMap has 1
MiB, and the gate looks at all of its timetable in a Pod of 128 MiB.
"""

from collections.abc import Iterator, Mapping

from krm_windows import rules
from krm_windows.policy import clusters
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

_MOST = {
    **dict.fromkeys(("windows", "freezes", "overrides"), MOST_RULES),
    **dict.fromkeys(("targets", "released"), MOST_TARGETS),
    "clusters": MOST_CLUSTERS,
}
_FIXES = {
    "windows": "write recurring ones as one moment, such as `Mon-Fri 08:00`",
    "freezes": "remove entries that are over, or write recurring ones as one moment",
    "overrides": "remove entries that are over",
    "targets": "select them with `matchLabels`, or use a policy per team",
    "released": "remove targets that are open by now",
    "clusters": "use a policy per group of clusters",
}


def check(tree: Mapping[str, Tree]) -> Iterator[Finding]:
    """Yield every list or map of a policy that has too many entries."""
    spec = tree.get("spec")
    counts = _counts(spec)
    for field, found in counts.items():
        if found > _MOST[field]:
            must = f"must have at most {_MOST[field]} entries: {_FIXES[field]}"
            yield Finding(rules.TOO_MANY, must, str(found), path=f"spec.{field}")
    patches = clusters.patches(spec)
    # Every cluster has all of the policy, and what its patch adds.
    own = sum(counts.values()) - len(patches)
    total = sum(own + sum(_counts(patch).values()) for patch in patches.values())
    # One of the two is enough to say.
    if len(patches) <= MOST_CLUSTERS and total > MOST_VERSIONS:
        must = (
            f"must have at most {MOST_VERSIONS} windows, freezes, overrides and targets "
            f"for all clusters together: {_FIXES['clusters']}"
        )
        yield Finding(rules.TOO_MANY, must, str(total), path="spec.clusters")


def _counts(spec: Tree) -> dict[str, int]:
    """Count entries by their field; what has another shape has none, and its own error."""
    found: dict[str, int] = {}
    if isinstance(spec, dict):
        for field in _MOST.keys() & spec.keys():
            entries = spec[field]
            if isinstance(entries, dict):
                found[field] = len(entries)
            elif isinstance(entries, list):
                found[field] = sum(map(_names, entries))
    return found


def _names(target: Tree) -> int:
    """Count the names of a target; a selector without names is one."""
    names = target.get("names") if isinstance(target, dict) else None
    return len(names) if names and isinstance(names, list) else 1

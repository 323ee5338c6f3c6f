"""A report: the findings on a policy or a repository, and the lines of files they are about."""

import re
from dataclasses import dataclass
from datetime import date

from krm_windows import plurals
from krm_windows.krm import KubeObject, Mapping, Sequence
from krm_windows.results import Place, Result
from krm_windows.schedule import zones

# The steps of a path such as `spec.targets[0].kind`: an index, or a key.
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
# So many clusters are named behind a finding.
_FEW = 3


@dataclass(frozen=True)
class Report:
    """What was found on a policy, a repository, or a file that cannot be read.

    `name` is what was looked at, `heading` the same with how it was looked at, and `head` what
    JSON says of it. Of a policy are its name and the `clusters` that have it alike; there
    are none where it is audited as it is.
    """

    name: str
    heading: str
    head: dict[str, object]
    results: tuple[Result, ...]
    policy: str = ""
    clusters: tuple[str, ...] = ()

    def scope(self, result: Result) -> str:
        """Return what a result was found on: a policy with its clusters, an object, or a file."""
        if self.policy:
            return self.name
        if result.resource_ref:
            return str(result.resource_ref)
        return result.file.path if result.file else self.name

    def written(self, result: Result) -> str:
        """Return the line for a person, with the first few clusters that it is about."""
        names = result.clusters
        more = [f"{len(names) - _FEW} more"] if len(names) > _FEW else []
        on = ", ".join([*names[:_FEW], *more])
        return f"{result} [{on}]" if on else str(result)

    def record(self) -> dict[str, object]:
        """Return it all as JSON has it, the results as the functions specification does."""
        return {**self.head, "results": [result.value() for result in self.results]}


def on_policy(
    policy: str,
    clusters: tuple[str, ...],
    days: tuple[date, date],
    results: tuple[Result, ...],
) -> Report:
    """Return what was found on a policy in some clusters from the first to the last of `days`."""
    name = f"{policy} on {plurals.clusters(clusters)}" if clusters else policy
    first, last = days
    heading = f"{name}, {first} to {last}, zone rules {zones.release()}"
    head = {"policy": policy, "clusters": clusters, **_audited(days)}
    return Report(name, heading, head, results, policy, clusters)


def on_unreadable(file: str, days: tuple[date, date], result: Result) -> Report:
    """Return why a file was not audited: as the report on a policy that nobody knows."""
    head = {"policy": None, "clusters": (), **_audited(days)}
    return Report(file, file, head, (result,))


def _audited(days: tuple[date, date]) -> dict[str, object]:
    first, last = map(date.isoformat, days)
    return {"zoneRelease": zones.release(), "from": first, "until": last}


def line(item: KubeObject, path: str) -> int:
    """Return the line in its file, from 1, on which the field at `path` begins."""
    return place(item, path).line


def steps(path: str) -> list[str | int]:
    """Return the keys and indexes of a path such as `spec.targets[0]`."""
    return [int(index) if index else key for index, key in _STEP.findall(path)]


def place(item: KubeObject, path: str) -> Place:
    """Return where in its file the field at `path` begins."""
    node: object = item.node
    found = Place(item.node.line, item.node.column)
    for step in steps(path):
        if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
            found = Place(node.line, node.column)
            continue
        entries = node.entries if isinstance(node, Mapping) else ()
        entry = next((entry for entry in entries if entry[0].text == step), None)
        # A field that is absent: the line of what would hold it is nearest.
        if entry is None:
            break
        key, node = entry
        found = Place(key.line, key.column)
    # Lines of the node count from the beginning of its document.
    return Place(item.lines_above + found.line, found.column)

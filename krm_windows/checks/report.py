"""A report: the findings on one policy, and the lines of its file that they are about."""

import re
from dataclasses import dataclass
from datetime import date

from krm_windows.krm import KubeObject, Mapping, Sequence
from krm_windows.results import Result
from krm_windows.schedule import zones

_FEW = 5
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Report:
    """What was found on `policy` from `first` to `last`; `file` is where it stands, None for a stream.

    `clusters` are those that have it alike; there are none where it is audited as it stands.
    """

    policy: str
    clusters: tuple[str, ...]
    first: date
    last: date
    results: tuple[Result, ...]
    item: KubeObject
    file: str | None = None

    @property
    def name(self) -> str:
        """The policy, and the clusters: the first few of them."""
        named = [
            *self.clusters[:_FEW],
            *([f"{len(self.clusters) - _FEW} more"] if len(self.clusters) > _FEW else []),
        ]
        return f"{self.policy} on {', '.join(named)}" if named else self.policy

    @property
    def heading(self) -> str:
        """What was audited, and by which release of the zone data."""
        return f"{self.name}, {self.first} to {self.last}, zone rules {zones.release()}"

    def title(self, result: Result) -> str:
        """Return what a result is called."""
        return f"{self.name}: {result.tags['rule']}"

    def subject(self, result: Result) -> str:  # noqa: ARG002 - they are all about the policy
        """Return what a result is about."""
        return self.policy

    def mark(self, result: Result) -> str:  # noqa: ARG002 - likewise
        """Return by what a result is told from others of its rule on its field."""
        return " ".join(self.clusters)

    def written(self, result: Result) -> str:
        """Return the line for a person."""
        return str(result)

    def place(self, result: Result) -> tuple[str, int] | None:
        """Return file and line of a result: of its field, or of the nearest that holds it; None for a stream."""
        return (
            (self.file, line(self.item, result.field.path if result.field else ""))
            if self.file
            else None
        )

    def record(self) -> dict[str, object]:
        """Return what was audited and found, the results as the functions specification has them."""
        return {
            "policy": self.policy,
            "clusters": self.clusters,
            "zoneRelease": zones.release(),
            "from": self.first.isoformat(),
            "until": self.last.isoformat(),
            "results": [result.value() for result in self.results],
        }


def line(item: KubeObject, path: str) -> int:
    """Return the line on which the field at `path` begins, counted from 1 in the file of an object."""
    node, found = item.node, item.node.line
    held: object = node
    for index, key in _STEP.findall(path):
        if isinstance(held, Sequence) and index and int(index) < len(held.items):
            held = held.items[int(index)]
            found = held.line
            continue
        entries = held.entries if isinstance(held, Mapping) else ()
        entry = next(((name, value) for name, value in entries if name.text == key), None)
        if entry is None:
            break
        found, held = entry[0].line, entry[1]
    return item.source.count(b"\n", 0, item.start) + found

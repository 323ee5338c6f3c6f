"""A report: the findings on one policy, and the lines of its file that they are about."""

import re
from dataclasses import dataclass
from datetime import date

from krm_windows.krm import KubeObject, Mapping, Sequence
from krm_windows.results import Result

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
        named = [*self.clusters[:_FEW], *([f"{len(self.clusters) - _FEW} more"] if len(self.clusters) > _FEW else [])]
        return f"{self.policy} on {', '.join(named)}" if named else self.policy

    def line(self, result: Result) -> int:
        """Return the line of the file that a result is about: of its field, or of the nearest that holds it."""
        return line(self.item, result.field.path if result.field else "")


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

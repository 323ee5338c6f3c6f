"""A report: the findings on one policy, and the lines of its file that they are about."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date

from krm_windows.krm import KubeObject, Mapping, Sequence
from krm_windows.plurals import clusters
from krm_windows.results import Place, Result
from krm_windows.schedule import zones

# The steps of a path such as `spec.targets[0].kind`: an index, or a key.
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class Findings(ABC):
    """What was found on something, a policy or a repository: the `results` in order."""

    results: tuple[Result, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """What was looked at."""

    @property
    def heading(self) -> str:
        """What was looked at, as the line that counts has it."""
        return self.name

    def scope(self, result: Result) -> str:  # noqa: ARG002 - a repository has several
        """Return what a result was found on, as its heading has it: a policy with its clusters."""
        return self.name

    def subject(self, result: Result) -> str:
        """Return what a result is about."""
        return self.scope(result)

    def mark(self, result: Result) -> str:
        """Return what distinguishes a result from others of its rule on its field."""
        return result.message

    def written(self, result: Result) -> str:
        """Return the line for a person."""
        return str(result)

    def location(self, result: Result) -> tuple[str, Place] | None:
        """Return file and place of a result, None where there is no file."""
        if result.file is None:
            return None
        return result.file.path, result.place or Place(1, 1)

    def record(self) -> dict[str, object]:
        """Return it all as JSON has it, the results as the functions specification does."""
        return {"results": [result.value() for result in self.results]}


@dataclass(frozen=True)
class Report(Findings):
    """What was found on `policy` from `first` to `last`.

    `file` is where it was found, None for a stream. `clusters` are those that have it alike; there
    are none where it is audited as it is.
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
        """The policy, and the clusters."""
        return f"{self.policy} on {clusters(self.clusters)}" if self.clusters else self.policy

    @property
    def heading(self) -> str:
        """What was audited, and by which release of the zone data."""
        return f"{self.name}, {self.first} to {self.last}, zone rules {zones.release()}"

    # The results of a policy are all about the policy, and differ in its clusters alone.
    def subject(self, result: Result) -> str:  # noqa: ARG002
        """Return what a result is about."""
        return self.policy

    def mark(self, result: Result) -> str:  # noqa: ARG002
        """Return what distinguishes a result from others of its rule on its field."""
        return " ".join(self.clusters)

    def location(self, result: Result) -> tuple[str, Place] | None:
        """Return file and place of a result: of its field, or of the nearest that holds it."""
        # It may be about another object than the policy, in a file of its own.
        if result.file is not None and result.place is not None:
            return result.file.path, result.place
        if not self.file:
            return None
        return self.file, place(self.item, result.path)

    def record(self) -> dict[str, object]:
        """Return what was found, and on what."""
        audited = {"policy": self.policy, "clusters": self.clusters}
        return {**audited, **_audited(self.first, self.last), **super().record()}


def _audited(first: date, last: date) -> dict[str, object]:
    return {
        "zoneRelease": zones.release(),
        "from": first.isoformat(),
        "until": last.isoformat(),
    }


@dataclass(frozen=True)
class UnreadReport(Findings):
    """Why a file was not audited: it cannot be read, or holds no policy."""

    file: str
    first: date
    last: date
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        """The file."""
        return self.file

    def record(self) -> dict[str, object]:
        """Return it as the report on a policy that nobody knows."""
        unknown: dict[str, object] = {"policy": None, "clusters": ()}
        return {**unknown, **_audited(self.first, self.last), **super().record()}


def line(item: KubeObject, path: str) -> int:
    """Return the line in its file, from 1, on which the field at `path` begins."""
    return place(item, path).line


def steps(path: str) -> list[str | int]:
    """Return the keys and indexes of a path such as `spec.targets[0]`."""
    return [int(index) if index else key for index, key in _STEP.findall(path)]


def place(item: KubeObject, path: str) -> Place:
    """Return where in its file the field at `path` begins."""
    found = Place(item.node.line, item.node.column)
    node: object = item.node
    for name in steps(path):
        step = _element(node, name) if isinstance(name, int) else _entry(node, name)
        # A field that is absent: the line of what would hold it is nearest.
        if step is None:
            break
        found, node = step
    # Lines of the node count from the beginning of its document.
    return Place(item.lines_above + found.line, found.column)


def _element(node: object, index: int) -> tuple[Place, object] | None:
    """Return an element of a list, behind its place."""
    if not isinstance(node, Sequence) or index >= len(node.items):
        return None
    element = node.items[index]
    return Place(element.line, element.column), element


def _entry(node: object, key: str) -> tuple[Place, object] | None:
    """Return the value of an entry of a mapping, behind the place of its key."""
    if not isinstance(node, Mapping):
        return None
    for name, value in node.entries:
        if name.text == key:
            return Place(name.line, name.column), value
    return None

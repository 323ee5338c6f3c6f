"""Results as the KRM functions specification writes them, their order and their line."""

import re
from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from krm_windows.plurals import counted


class Severity(StrEnum):
    """How much a result weighs: an error fails the build, a warning under `--strict`."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


def named(namespace: str, name: str) -> str:
    """Give `namespace/name` for a person, also where a document lacks one of them."""
    name = name or "(unnamed)"
    return f"{namespace}/{name}" if namespace else name


class ResourceRef(NamedTuple):
    """The object a result is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        """Give `apiVersion/kind/namespace/name`, without a namespace where there is none."""
        return "/".join(
            part for part in (self.api_version, self.kind, self.namespace, self.name) if part
        )

    @property
    def short(self) -> str:
        """Give `kind namespace/name`, for where a file and a line are named beside it."""
        return f"{self.kind} {named(self.namespace, self.name)}"

    def value(self) -> dict[str, object]:
        """Give the mapping under the specification's names."""
        names = ("apiVersion", "kind", "name", "namespace")
        # Only an object of the whole cluster has none.
        return {
            key: value
            for key, value in zip(names, self, strict=True)
            if value or key != "namespace"
        }


class Field(NamedTuple):
    """The field a result is about, as a path from the object's root: `spec.targets[0].kind`."""

    path: str
    current_value: str | None = None
    proposed_value: str | None = None

    def value(self) -> dict[str, object]:
        """Give the mapping under the specification's names."""
        values = zip(("path", "currentValue", "proposedValue"), self, strict=True)
        return {name: value for name, value in values if value is not None}


class File(NamedTuple):
    """The file an object came from, and its index among the documents of that file, from 0."""

    path: str
    document: int = 0

    def value(self) -> dict[str, object]:
        """Give the mapping under the specification's names."""
        return {"path": self.path, "index": self.document}


class Place(NamedTuple):
    """Where something begins in a file, both from 1."""

    line: int
    column: int


class Result(NamedTuple):
    """One of `ResourceList.results` (functions-spec).

    `rule` is the id of its rule. `line` and `column` say where in `file` it is, from 1, as far as
    they are known. `on` is the day that it is about, `clusters` and `objects` are those that share
    it, as a person calls them.
    """

    message: str
    severity: Severity
    resource_ref: ResourceRef | None = None
    field: Field | None = None
    file: File | None = None
    rule: str = ""
    line: int | None = None
    column: int | None = None
    on: date | None = None
    clusters: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """The path of the field, empty where it is about no field."""
        return self.field.path if self.field else ""

    @property
    def place(self) -> Place | None:
        """Where in `file` it is, None where that is not known."""
        if self.line is None:
            return None
        return Place(self.line, 1 if self.column is None else self.column)

    def at(self, place: Place) -> "Result":
        """Return the same result with its place in `file`."""
        return self._replace(line=place.line, column=place.column)

    @property
    def location(self) -> str:
        """`path:line:column`, as compilers write it and editors find it.

        Without a line where only the file is known, as an orchestrator names it; else empty.
        """
        if self.file is None:
            return ""
        known = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([self.file.path, *known])

    def __str__(self) -> str:
        """Give the line for a person: location, severity, object, field, message, rule id."""
        text = f"[{self.severity}] "
        about = " ".join(filter(None, (self._subject(), self.path)))
        if about:
            text += f"{about}: "
        text += self.message
        if self.rule:
            text += f" ({self.rule})"
        location = self.location
        # First on the line, as editors and CI look for `path:line:` there.
        if location:
            text = f"{location}: {text}"
        return text

    def _subject(self) -> str:
        """Give what it is about: in full where no location leads there."""
        if self.resource_ref is None:
            return ""
        if self.location:
            return self.resource_ref.short
        return str(self.resource_ref)

    def value(self) -> dict[str, object]:
        """Give the mapping for `results` of a ResourceList, without what is absent or empty."""
        found: dict[str, object] = {"message": self.message, "severity": str(self.severity)}
        parts = {"resourceRef": self.resource_ref, "field": self.field, "file": self.file}
        found |= {name: part.value() for name, part in parts.items() if part is not None}
        tags = self.tags
        if tags:
            found["tags"] = tags
        return found

    @property
    def tags(self) -> dict[str, str]:
        """What it says to programs alone, as the specification has it: texts by name."""
        values = {
            "rule": self.rule,
            "date": self.on,
            "line": self.line,
            "column": self.column,
            "clusters": ", ".join(self.clusters),
            "count": len(self.objects) or None,
            "objects": ", ".join(self.objects),
        }
        return {name: str(value) for name, value in values.items() if value not in (None, "")}


def fails(results: Iterable[Result], *, strict: bool = False) -> bool:
    """Whether results fail a build: an error does, and with `strict` a warning too."""
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return any(result.severity in failing for result in results)


def tally(results: Iterable[Result]) -> str:
    """Count results by their severity, the worst first: `1 error, 2 warnings`, `no findings`."""
    severities = [result.severity for result in results]
    counts = {each: severities.count(each) for each in Severity}
    found = [counted(count, each) for each, count in counts.items() if count]
    return ", ".join(found) or "no findings"


_NUMBER = re.compile(r"([0-9]+)")
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def sort(results: Iterable[Result]) -> list[Result]:
    """Order results: errors first, then by object, field, rule and message; equal ones once."""
    return sorted(dict.fromkeys(results), key=_key)


def _key(result: Result) -> tuple[object, ...]:
    # `targets[2]` comes before `targets[10]`.
    place = tuple(map(_part, _NUMBER.split(result.path)))
    return (
        _RANK[result.severity],
        str(result.resource_ref or ""),
        place,
        result.rule,
        result.message,
    )


def _part(part: str) -> tuple[bool, int, str]:
    """Give a part of a path so that numbers are ordered by value: a longer one is greater.

    A name in a path may be a number of any length, which Python would refuse to convert.
    """
    if not (part.isascii() and part.isdigit()):
        return (False, 0, part)
    digits = part.lstrip("0")
    return (True, len(digits), digits or part)

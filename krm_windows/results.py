"""What a function has to say: results as the KRM functions specification writes them, their order and their line."""

import operator
import re
from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict
from pydantic import Field as Default


class Severity(StrEnum):
    """How much a result weighs: an error fails the build, a warning only under `--strict`, an info never."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class _Part(BaseModel):
    """A frozen value under the specification's camelCase names, built on first use: most runs have no results."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class ResourceRef(_Part):
    """The object a result is about."""

    api_version: str = Default(alias="apiVersion")
    kind: str
    name: str
    namespace: str = Default(default="", exclude_if=operator.not_)

    def __str__(self) -> str:
        """Give `apiVersion/kind/namespace/name`, without the namespace of an object that has none."""
        return "/".join(part for part in (self.api_version, self.kind, self.namespace, self.name) if part)


class Field(_Part):
    """The field a result is about, as a path from the object's root: `spec.targets[0].kind`."""

    path: str
    current_value: str | None = Default(default=None, alias="currentValue")
    proposed_value: str | None = Default(default=None, alias="proposedValue")


class File(_Part):
    """The file an object came from, and its index among the documents of that file."""

    path: str
    index: int = 0


class Result(_Part):
    """One finding; `tags["rule"]` is the id of the rule that found it (functions-spec, `ResourceList.results`)."""

    message: str
    severity: Severity
    resource_ref: ResourceRef | None = Default(default=None, alias="resourceRef")
    field: Field | None = None
    file: File | None = None
    tags: dict[str, str] = Default(default_factory=dict, exclude_if=operator.not_)

    def __str__(self) -> str:
        """Give the line for stderr: severity, object, field, message, rule id."""
        subject = str(self.resource_ref or (self.file.path if self.file else ""))
        place = " ".join(part for part in (subject, self.field.path if self.field else "") if part)
        rule = f" ({self.tags['rule']})" if "rule" in self.tags else ""
        return f"[{self.severity}] {place}{': ' if place else ''}{self.message}{rule}"

    def value(self) -> dict[str, object]:
        """Give the mapping that belongs into `results` of a ResourceList: what is absent or empty is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def fails(results: Iterable[Result], *, strict: bool = False) -> bool:
    """Whether results fail a build: an error does, and with `strict` a warning too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(result.severity in failing for result in results)


_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def sort(results: Iterable[Result]) -> list[Result]:
    """Order results: errors first, then by object, field (numbers by value), rule and message; equal ones once."""
    unique = {str(result): result for result in results}
    return sorted(unique.values(), key=_key)


def _key(result: Result) -> tuple[object, ...]:
    path = result.field.path if result.field else ""
    place = tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", path))
    return (_RANK[result.severity], str(result.resource_ref or ""), place, result.tags.get("rule", ""), result.message)

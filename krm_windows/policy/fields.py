"""The leaves of the API.

A leaf is a type that reads one text, and says in a JSON schema what it takes.

Every scalar arrives as text, because kustomize hands over JSON and kpt the file as it was written:
the two would make different values of one policy (`22:00`, `on`, dates).
"""

import re
from collections.abc import Mapping
from datetime import datetime, time, timedelta
from functools import partial
from typing import Annotated, Literal

from pydantic import model_validator

from krm_windows import rules
from krm_windows.escape.characters import HIDDEN
from krm_windows.policy import moments
from krm_windows.policy.findings import Finding, RefusedError, closest
from krm_windows.policy.moments import Moment, Role, Value
from krm_windows.policy.parts import Leaf, Part, Schema
from krm_windows.rules import Rule
from krm_windows.schedule import zones
from krm_windows.schedule.recurrence import Recurrence

# DNS label and subdomain: k8s.io/apimachinery, pkg/util/validation.
LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
# The fields of Kubernetes' ObjectMeta (apimachinery, pkg/apis/meta/v1/types.go): a key of
# `metadata` that is none of them is one that was mistyped.
_TYPES = {
    "object": ("labels", "annotations"),
    "array": ("finalizers", "ownerReferences", "managedFields"),
    "integer": ("generation", "deletionGracePeriodSeconds"),
    "string": (
        *("namespace", "generateName", "resourceVersion", "selfLink", "uid"),
        *("creationTimestamp", "deletionTimestamp"),
    ),
}
OBJECT_META: dict[str, Schema] = {}
for _type, _names in _TYPES.items():
    OBJECT_META |= {_name: {"type": _type} for _name in _names}
# What divides an hour or a day: a schedule has no other even intervals.
INTERVALS = {f"{n}m": timedelta(minutes=n) for n in (1, 2, 3, 5, 10, 15, 20, 30)}
INTERVALS |= {f"{n}h": timedelta(hours=n) for n in (1, 2, 3, 4, 6, 8, 12, 24)}
# A colon after the last slash begins the tag; one before it is the port of a registry.
# Not `latest`, and not without a tag, which means the same.
_PINNED = (
    r"^([A-Za-z0-9_.-]+(:[0-9]+)?/)?([A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+"
    r"(:(?!latest$)[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
    r"|(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?@sha256:[0-9a-f]{64})$"
)
_FIELD_PATH = r"^spec(\.[A-Za-z][A-Za-z0-9]*)+$"
_GROUP_VERSION = rf"^({NAME}/)?v[a-z0-9]+$"
# Days, hours and minutes in this order, and at least one of them.
_LENGTH = r"^(?=[0-9])([0-9]{1,4}d)?([0-9]{1,5}h)?([0-9]{1,7}m)?$"


def _with_others(schema: Schema) -> None:
    for name, described in OBJECT_META.items():
        schema["properties"].setdefault(name, described)


class ObjectMeta(Part, json_schema_extra=_with_others):
    """An object's metadata, of which all that is Kubernetes' own is passed over."""

    @model_validator(mode="before")
    @classmethod
    def _own(cls, tree: object) -> object:
        if not isinstance(tree, Mapping):
            return tree
        others = OBJECT_META.keys() - cls.model_fields.keys()
        return {name: value for name, value in tree.items() if name not in others}


def _text(text: str) -> str:
    # What nobody sees would look like nothing in a report.
    if not HIDDEN.sub("", text).strip():
        raise RefusedError(Finding(rules.FIELD_REQUIRED, "must not be empty"))
    return text


def _any_text(text: str) -> str:
    return text


def _matching(
    text: str,
    *,
    pattern: re.Pattern[str],
    must: str,
    rule: Rule = rules.FIELD_VALUE,
    longest: int | None = None,
) -> str:
    # The pattern may have its anchors for the schema; `$` alone would let a last newline pass.
    if len(text) > (longest or len(text)) or not pattern.fullmatch(text):
        # `*` for all of a kind would gate what delivers the windows, too.
        if pattern.pattern == NAME and "*" in text:
            must += "; there are no wildcards: list the names, or use `matchLabels`"
        raise RefusedError(Finding(rule, must, text))
    return text


def _duration(text: str) -> timedelta:
    length = moments.duration(text)
    # `0m` is a margin, and no duration of anything.
    if not length:
        raise RefusedError(Finding(rules.DURATION_SYNTAX, "must be longer than zero", text))
    return length


def _margin(text: str) -> timedelta | Literal["auto"]:
    return "auto" if text == "auto" else moments.duration(text)


def _interval(text: str) -> timedelta:
    if text in INTERVALS:
        return INTERVALS[text]
    must = f"must be one of {', '.join(INTERVALS)}, which divide an hour or a day evenly"
    raise RefusedError(Finding(rules.INTERVAL, must, text))


def _flag(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise RefusedError(Finding(rules.FIELD_VALUE, "must be true or false", text))


def _time_zone(text: str) -> str:
    if text in zones.names():
        return text
    must = "must be an IANA time zone such as Europe/Berlin or Etc/UTC"
    meant = None
    # `PST` is near to `MST`, and `Etc/UTC+1` to `Etc/UTC`: those are other times.
    if "/" in text and not re.search(r"[+0-9]", text):
        meant = closest(text, zones.names(), most=1000, alike=0.9)
    raise RefusedError(Finding(rules.TIME_ZONE, must, text, meant))


def _of_pattern(pattern: str, must: str, rule: Rule = rules.FIELD_VALUE) -> Leaf:
    """Give reader and schema of a text that a pattern matches."""
    compiled = re.compile(pattern, re.ASCII)
    return Leaf(
        partial(_matching, pattern=compiled, must=must, rule=rule),
        {"type": "string", "pattern": pattern},
    )


# Schemas are for files, where a text need not be quoted.
_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_STRING: Schema = {"type": "string", "minLength": 1}


def named(
    pattern: str,
    longest: int,
    must: str,
    types: tuple[str, ...] = ("string", "integer", "boolean"),
) -> Leaf:
    """Give reader and schema of a name; a name of digits only need not be quoted."""
    schema: Schema = {
        "type": list(types),
        "minimum": 0,
        "maxLength": longest,
        "pattern": f"^{pattern}$",
    }
    read = partial(
        _matching,
        pattern=re.compile(pattern, re.ASCII),
        must=must,
        rule=rules.NAME_SYNTAX,
        longest=longest,
    )
    return Leaf(read, schema)


def _at(role: Role, example: str) -> Leaf:
    schema: Schema = {**_STRING, "examples": [example]}
    return Leaf(partial(moments.parse, role=role), schema)


Text = Annotated[str, Leaf(_text, {**_TEXT, "pattern": r"\S"})]
AnyText = Annotated[str, Leaf(_any_text, _TEXT)]
Label = Annotated[
    str,
    named(
        LABEL,
        63,
        "must be a DNS label: a-z, 0-9 and -, starting and ending with a letter or digit, at "
        "most 63 characters",
    ),
]
Name = Annotated[str, named(NAME, 253, "must be a valid Kubernetes name: a-z, 0-9, - and .")]
VariableName = Annotated[
    str, named("[A-Za-z_][A-Za-z0-9_]*", 253, "must consist of letters, digits and _")
]
CronJobName = Annotated[
    str, named(NAME, 52, "must be a valid CronJob name: at most 52 characters, a-z, 0-9, - and .")
]
PolicyName = Annotated[
    str,
    named(
        f"{LABEL}/{NAME}",
        317,
        "must be the namespace and name of a policy, such as flux-system/office-hours",
    ),
]
Begin = Annotated[Moment[Recurrence | datetime], _at(Role.BEGIN, "Mon 08:00")]
End = Annotated[Moment[Value], _at(Role.END, "Thu 17:00")]
Once = Annotated[Moment[datetime], _at(Role.ONCE, "2026-12-22T09:00")]
OnceEnd = Annotated[Moment[datetime | time], _at(Role.ONCE_END, "2026-12-22T12:00")]
Deadline = Annotated[Moment[datetime], _at(Role.DEADLINE, "2026-12-31")]
Duration = Annotated[
    timedelta,
    Leaf(_duration, {"type": "string", "pattern": _LENGTH, "examples": ["4h"]}),
]
Margin = Annotated[
    timedelta | Literal["auto"],
    Leaf(_margin, {"type": "string", "pattern": f"^auto$|{_LENGTH}", "examples": ["10m"]}),
]
Interval = Annotated[timedelta, Leaf(_interval, {"enum": list(INTERVALS)})]
Flag = Annotated[bool, Leaf(_flag, {"enum": [True, False, "true", "false"]})]
TimeZone = Annotated[str, Leaf(_time_zone, {**_STRING, "examples": ["Europe/Berlin"]})]
Image = Annotated[
    str,
    _of_pattern(
        _PINNED,
        "must be pinned by a digest, or by a tag other than latest, so that every run uses the "
        "same image",
        rules.IMAGE_PINNED,
    ),
]
FieldPath = Annotated[
    str,
    _of_pattern(
        _FIELD_PATH, "must be the path of a boolean field below spec, such as spec.suspend"
    ),
]
ApiVersion = Annotated[
    str,
    _of_pattern(_GROUP_VERSION, "must be a group and a version such as batch/v1"),
]

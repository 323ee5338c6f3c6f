"""The bodies of requests and responses, as the description of the interface has them.

Responses are written from the records of other rooms; a test compares each with its model.
"""

from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel

from krm_windows.edit.overrides import OverrideRequest
from krm_windows.policy import moments
from krm_windows.preview import parameters


def _without_defaults(schema: dict[str, Any]) -> None:
    for each in schema["properties"].values():
        each.pop("default", None)


class _Closed(BaseModel):
    """A member that is not described would be one that nobody knows of."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, json_schema_extra=_without_defaults
    )


# The default of what is left out where there is none; it is never null.
_ABSENT: Any = None
_Count = Annotated[int, Field(ge=0)]
_From = Annotated[datetime, Field(alias="from")]
_InCluster = Annotated[
    bool | None, Field(description="Always null, for unknown: no cluster is asked.")
]
_MayDiffer = Annotated[
    list[str],
    Field(description="Without a cluster: those that may have other hours than these."),
]


class Reference(_Closed):
    """The object that a finding is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = _ABSENT


class FieldReference(_Closed):
    """The field that a finding is about."""

    path: str
    current_value: str = _ABSENT
    proposed_value: str = _ABSENT


class Finding(_Closed):
    """What a rule says of a policy."""

    rule: str
    severity: Literal["error", "warning", "info"]
    message: str
    field: FieldReference = _ABSENT
    resource_ref: Reference = _ABSENT
    file: str = _ABSENT
    line: _Count = _ABSENT


class Problem(_Closed):
    """Problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    findings: list[Finding] = _ABSENT


class Turn(_Closed):
    """A time that a change opens or closes."""

    start: _From
    until: datetime | None
    rules: list[str]
    instead: list[str]


class Difference(_Closed):
    """The hours that a change moves on a cluster."""

    policy: str
    cluster: str | None
    time_zone: str
    start: _From
    until: datetime
    opens: list[Turn]
    closes: list[Turn]


class RenderedDirectory(_Closed):
    """A directory that is rendered from a policy."""

    directory: str
    stale: bool | None = Field(
        description="Whether it is not what the policy yields; null: unknown."
    )
    files: list[str] = Field(description="What is out of date, or what a change renders.")
    reason: str | None = Field(description="Why it is unknown.")
    command: str | None = Field(description="What renders it; null: unknown.")
    in_git: bool | None = Field(description="Whether the branch has it so.")


_Directories = Annotated[
    list[RenderedDirectory] | None,
    Field(description="The directories that are rendered from the policy; null: unknown."),
]


class _Outcome(_Closed):
    policy: str
    file: str
    differences: list[Difference]
    findings: list[Finding]
    summary: str = _ABSENT


class Change(_Outcome):
    """What became of a change."""

    written: bool = Field(description="The branch has it. Clusters may not: see `missing`.")
    commit: str | None
    missing: list[Literal["merge", "push", "reconcile"]] = Field(
        description="What has to happen before a cluster knows of the change, in this order."
    )
    rendered: _Directories
    override: str = _ABSENT
    pull_request: str = _ABSENT
    branch: str = _ABSENT


class Preview(_Outcome):
    """What would become of a change."""

    writable: bool
    changes: bool


class State(_Closed):
    """Whether a policy should be open."""

    policy: str
    cluster: str | None
    clusters_may_differ: _MayDiffer
    time_zone: str
    open: bool = Field(description="Whether it should be open by what is in Git.")
    rule: str | None
    reason: str
    since: datetime | None
    until: datetime | None
    in_git: bool
    in_cluster: _InCluster


class Failed(_Closed):
    """Why the state of a policy is not known."""

    policy: str
    cluster: str | None
    error: str


class Rendered(_Closed):
    """What is rendered from a policy."""

    policy: str
    file: str
    commit: str
    rendered: _Directories
    in_cluster: _InCluster


class Commit(_Closed):
    """A commit of the branch."""

    commit: str
    committed: _Count
    author: str
    subject: str


class Target(_Closed):
    """What waits for a target; null is unknown."""

    kind: str
    namespace: str
    name: str
    pending: bool | None
    count: _Count | None
    commits: list[Commit] | None
    reverted: list[Commit]
    notes: list[str]


class Pending(State):
    """What waits for a policy to open."""

    branch: str
    start: str | None = Field(alias="from")
    to: str
    count: _Count | None = Field(
        description="How many commits came since it closed; null: unknown."
    )
    count_besides_windows: _Count | None = Field(
        description="How many of them change more than windows, as pages count; null: unknown."
    )
    complete: bool = Field(description="Whether `commits` are all that came.")
    commits: list[Commit]
    targets: list[Target] | None
    notes: list[str]


class Interval(_Closed):
    """A time in which a policy is open."""

    opens: datetime | None
    closes: datetime | None
    rules: list[str]


class CalendarException(_Closed):
    """A freeze or an override."""

    rule: str
    kind: str
    reason: str | None
    start: _From
    until: datetime


class Calendar(_Closed):
    """When a policy should be open."""

    policy: str
    cluster: str | None
    clusters_may_differ: _MayDiffer
    time_zone: str
    zone_release: str
    start: _From
    until: datetime
    intervals: list[Interval]
    exceptions: list[CalendarException]


class CalendarAddress(_Closed):
    """An address that was made, for calendar programs: whoever has it can read these hours."""

    id: str
    path: str = Field(description="The path of the address; nobody is told it again.")


class ListedCalendarAddress(_Closed):
    """An address that somebody made."""

    id: str
    cluster: str | None
    owner: str
    made: datetime
    asked: date | None = Field(description="The day on which it was last read.")


class CalendarAddressList(_Closed):
    """The addresses of a policy's calendar that the caller may revoke."""

    policy: str
    calendars: list[ListedCalendarAddress]


class ListedPolicy(_Closed):
    """A policy of the branch."""

    namespace: str
    name: str
    file: str
    etag: str


class Unreadable(_Closed):
    """A file that may hold policies and cannot be read."""

    file: str
    detail: str


class PolicyList(_Closed):
    """A page of policies."""

    commit: str
    policies: list[ListedPolicy]
    unreadable: list[Unreadable]
    next: str | None


class ListedOverride(_Closed):
    """An override of a policy."""

    name: str
    cluster: str | None
    except_clusters: list[str] = Field(
        description="Of one of all clusters, those that have another one, or none."
    )
    state: str
    begins: datetime | None
    ends: datetime
    phase: Literal["coming", "active", "over"] = Field(description="By what is in Git.")
    reason: str
    requested_by: str | None
    ticket: str | None


class OverrideList(_Closed):
    """The overrides of a policy."""

    policy: str
    overrides: list[ListedOverride]


class Fleet(_Closed):
    """A page of policies on clusters."""

    commit: str
    at: datetime
    count: _Count
    rows: list[State | Failed]
    next: str | None


class Health(_Closed):
    """Whether the service lives, and what it knows of its remote, if it has one."""

    status: str
    commit: str
    remote: Literal["NotTried", "Reached", "Unreachable"] = _ABSENT


_Length = Annotated[
    timedelta,
    PlainValidator(parameters.length),
    WithJsonSchema({"type": "string", "examples": ["2h"]}),
]


class Override(_Closed):
    """An override that is asked for: `for` or `until` says when it ends."""

    state: Literal["open", "closed"]
    reason: str = Field(min_length=1, max_length=500)
    starts: str | None = Field(
        None,
        alias="from",
        description="When it begins: 'tomorrow 06:00', 'Monday 06:00', 2026-12-24T20:00, or an "
        "instant with an offset (default: now). Without one it is on the clock of the cluster, or "
        "of all clusters; where theirs differ, on the policy's.",
    )
    length: _Length = Field(_ABSENT, alias="for", description="How long: 2h, 90m, 1d.")
    until: str | None = Field(
        None,
        description="Until when: 18:00 (the next after it begins), 'tomorrow 06:00', "
        "'Monday 06:00', 2026-12-24, or an instant with an offset. Without one as `from`.",
    )
    ticket: str | None = Field(None, description="The ticket with the request.")
    requested_by: str | None = Field(None, description="Who requested it (default: the caller).")
    name: str | None = Field(None, description="Its name (default: made from state and time).")
    cluster: str | None = Field(None, description="Only on this cluster (default: on all).")

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if (self.length is None) is (self.until is None):
            raise ValueError("an override needs one end: give for, such as 2h, or until")
        return self

    def request(self, requested_by: str | None, **more: Any) -> OverrideRequest:  # noqa: ANN401
        """Return what is asked for, with more that is known of it."""
        given = self.model_dump() | {"requested_by": requested_by} | more
        return OverrideRequest(**given, longest=moments.LONGEST)

"""The parameters of paths, queries and headers: types that read, check and describe them."""

from datetime import date, datetime
from typing import Annotated

from fastapi import Header, Path, Query
from pydantic import BeforeValidator, PlainValidator, WithJsonSchema

from krm_windows.preview import parameters

_MOST_DAYS = 400
_MOST_ROWS = 1000
# As far as a list can be followed.
_LAST_ROW = 10**8
MOST_REASON = 500
"""Characters of a reason, which becomes the first line of a commit."""
# From 1970 to 2999: see `parameters.YEARS`.
_YEAR = r"^(19[7-9]\d|2\d{3})-\d{2}-\d{2}"
# As a header comes, without the blanks around it (RFC 9110, 5.5).
_KEY = r"^[^\x00-\x20]"
_PART = r"^[^/]+$"


_Instant = Annotated[
    datetime,
    PlainValidator(parameters.instant),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": _YEAR + r"T\d{2}:\d{2}"}),
]
_Day = Annotated[
    date,
    PlainValidator(parameters.day_or_moment),
    WithJsonSchema({"type": "string", "pattern": _YEAR + r"(T\d{2}:\d{2}|$)"}),
]
Namespace = Annotated[
    str, Path(description="The namespace; `-` where the file names none.", pattern=_PART)
]
Name = Annotated[str, Path(description="The name of the policy.", pattern=_PART)]
OverrideName = Annotated[
    str, Path(alias="override", description="The name of the override.", pattern=_PART)
]
Token = Annotated[str, Path(description="The token of the calendar's address.", pattern=_PART)]
CalendarId = Annotated[
    str, Path(alias="calendar", description="The `id` of the address.", pattern=_PART)
]
File = Annotated[
    str | None, Query(description="The file, if several contain a policy of this name.")
]
Cluster = Annotated[str | None, Query(description="A cluster of the policy.")]
At = Annotated[_Instant | None, Query(description="The instant to decide for (default: now).")]
From = Annotated[
    _Day | None,
    Query(
        alias="from",
        description="The first day, or an instant; after an instant, a day is 24 hours "
        "(default: today).",
    ),
]
Days = Annotated[int, Query(ge=1, le=_MOST_DAYS, description="How many days.")]
# Three months and a few days: each is drawn for each group of clusters.
DrawnDays = Annotated[int, Query(alias="days", ge=1, le=100)]
# Of a month, such as 2026-12, its first day. `str.format` has no signature in every Python.
Month = Annotated[
    date | None,
    Query(ge=date(1970, 1, 1), lt=date(3000, 1, 1)),
    BeforeValidator(lambda month: f"{month}-01"),
]
# `limit` and `continue`, as in the API of Kubernetes ("API Concepts", large collections).
Limit = Annotated[int, Query(ge=1, le=_MOST_ROWS, description="The maximum number of rows.")]
Continue = Annotated[
    int,
    Query(alias="continue", ge=0, le=_LAST_ROW, description="`next` of the previous page."),
]
Reason = Annotated[
    str, Query(description="Why; used as the commit message.", max_length=MOST_REASON)
]
_MATCHED = "The ETag of the policy as it was read."
IfMatch = Annotated[str | None, Header(alias="If-Match", description=_MATCHED)]
# Without it two people who began alike would undo each other (RFC 9110, 13.1.1).
MustMatch = Annotated[str, Header(alias="If-Match", description=_MATCHED)]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="`*` to create a new policy.")
]
# A caller who got no answer can ask again (draft-ietf-httpapi-idempotency-key-header): the key is
# the caller's own, and is kept as a digest alone.
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A request repeated with the same key is carried out once.",
        min_length=1,
        max_length=MOST_REASON,
        pattern=_KEY,
    ),
]

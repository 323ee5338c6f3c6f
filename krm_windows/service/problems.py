"""Problem details (RFC 9457): every answer that is none, with the findings behind it."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from starlette.responses import Response

from krm_windows.checks import report
from krm_windows.krm import KubeObject
from krm_windows.policy.findings import closest
from krm_windows.results import Result

MEDIA_TYPE = "application/problem+json"
# A text of a caller, or of Git, in an answer.
_LONGEST = 2000

# What pydantic says, in plain words, by its types of errors.
_WORDS = {
    "date_from_datetime_inexact": "must be a date such as 2026-12-24",
    "date_from_datetime_parsing": "must be a date such as 2026-12-24",
    "enum": "must be {expected}",
    "extra_forbidden": "is not known",
    "greater_than_equal": "must be at least {ge}",
    "int_parsing": "must be a whole number",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "string_pattern_mismatch": "has a form that is not possible",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "string_type": "must be a text",
}

Record = dict[str, object]
# Made once: for other than the default options `json.dumps` makes one each time.
_JSON = json.JSONEncoder(ensure_ascii=False)


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - RFC 9457 calls it so
    """An answer that says why there is none.

    `findings` are records as `finding` makes them; `reason` is for the log alone. Whoever visits
    for the first time has done nothing wrong: a page says no error to them.
    """

    status: HTTPStatus
    detail: str
    findings: Sequence[Record] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    is_first_visit: bool = False

    def record(self) -> Record:
        """Return the members of the problem details object."""
        found: Record = {
            # RFC 9457, 4.2.1: no more than the status says, so `title` is the status's phrase.
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail[:_LONGEST],
        }
        if self.findings:
            found["findings"] = list(self.findings)
        return found


def bad_request(detail: str) -> Problem:
    """Return a problem of a request that is not understood."""
    return Problem(HTTPStatus.BAD_REQUEST, detail)


def no_match() -> Problem:
    """Return the problem of a change that does not say what it is a change of."""
    return Problem(
        HTTPStatus.PRECONDITION_REQUIRED,
        "If-Match is required, with the ETag of the policy as you read it",
    )


def invalid(
    error: ValidationError | RequestValidationError, known: Collection[str] = ()
) -> Problem:
    """Return the problem of parameters, or of a body of `known` names, that are wrong."""
    first = error.errors()[0]
    place = first["loc"][-1:]
    if (place, first["type"]) == (("If-Match",), "missing"):
        return no_match()
    word, allowed = {
        "extra_forbidden": ("".join(map(str, place)), known),
        "literal_error": (first["input"], re.findall(r"'(\w+)'", first["msg"])),
    }.get(first["type"], ("", ()))
    return bad_request(f"{invalid_words(place, first)}{meant(str(word), allowed)}")


def meant(word: str, known: Collection[str]) -> str:
    """Say which known word may be meant by another one; empty where none is near."""
    found = closest(word, known)
    return f'; did you mean "{found}"?' if found else ""


def invalid_words(place: Iterable[int | str], error: ErrorDetails) -> str:
    """Return what is wrong at a place: `limit must be at least 1`."""
    where, said = ".".join(map(str, place)), error["msg"]
    words = _WORDS.get(error["type"])
    if words is not None:
        return f"{where} {words.format(**error.get('ctx', {}))}"
    # What pydantic puts before the words of a ValueError, which are ours.
    words = said.removeprefix("Value error, ")
    between = ": " if words == said else " "
    return f"{where}{between}{words}".strip()


def findings(
    results: Iterable[Result],
    policy: KubeObject | None = None,
    file: str | None = None,
) -> list[Record]:
    """Return results as records: those of the function, with file and line where they are known."""
    return [_finding(result, policy, file) for result in results]


def _finding(result: Result, policy: KubeObject | None, file: str | None) -> Record:
    found: Record = {
        "rule": result.rule,
        "severity": str(result.severity),
        "message": result.message,
        "field": result.field and result.field.value(),
        "resourceRef": result.resource_ref and result.resource_ref.value(),
        "file": file,
        "line": policy and report.line(policy, result.path),
    }
    return {name: part for name, part in found.items() if part is not None}


def json_body(value: object) -> bytes:
    """Write a value as a body of JSON, with a line end, for whoever reads it at a terminal."""
    return f"{_JSON.encode(value)}\n".encode(errors="backslashreplace")


def as_response(problem: Problem) -> Response:
    """Answer with problem details."""
    body = json_body(problem.record())
    return Response(body, problem.status.value, dict(problem.headers), MEDIA_TYPE)

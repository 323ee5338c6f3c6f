"""Problem details (RFC 9457): every answer that is none, with the findings behind it."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from krm_windows.checks import report
from krm_windows.krm import KubeObject
from krm_windows.policy.findings import closest
from krm_windows.results import Result

MEDIA_TYPE = "application/problem+json"
# A text of a caller, or of Git, in an answer.
_LONGEST = 2000

# How what pydantic says begins, and how it does in plain words.
_PLAIN = {
    "Extra inputs are not permitted": "is not known",
    "Field required": "is missing",
    "Input should be a valid date or datetime": "is no valid date",
    "Input should ": "must ",
    "String should ": "must ",
    # What it puts before the words of a ValueError, which are ours.
    "Value error, ": "",
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
    return bad_request(f"{invalid_words(place, first['msg'])}{meant(str(word), allowed)}")


def meant(word: str, known: Collection[str]) -> str:
    """Say which known word may be meant by another one; empty where none is near."""
    found = closest(word, known)
    return f'; did you mean "{found}"?' if found else ""


def invalid_words(place: Iterable[int | str], message: str) -> str:
    """Return what pydantic says of a place: `limit must be a valid integer`."""
    where = ".".join(map(str, place))
    for theirs, plain in _PLAIN.items():
        if message.startswith(theirs):
            return f"{where} {plain}{message.removeprefix(theirs)}".strip()
    return f"{where}: {message}"


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

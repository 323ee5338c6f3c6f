"""A request as a handler gets it: who calls, what is asked, and the body, all of it checked."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ParamSpec, TypeVar
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from krm_windows.krm import InputError, KubeObject, Value, documents, plain_json
from krm_windows.krm.errors import ExcessError
from krm_windows.service.access import Access, Caller, Scope
from krm_windows.service.log import Log
from krm_windows.service.policies import NO_NAMESPACE, Stored
from krm_windows.service.problems import Problem
from krm_windows.service.windows import Windows
from krm_windows.service.writing import Order, Outcome, Place, Writer

_P = ParamSpec("_P")
_R = TypeVar("_R")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
YAML = "application/yaml"
ICS = "text/calendar"
HTML = "text/html"
FORM = "application/x-www-form-urlencoded"

Schema = dict[str, object]
_MOST_FIELDS = 1000


def schema_ref(name: str) -> Schema:
    """Return a schema that refers to one of the components of the OpenAPI document."""
    return {"$ref": f"#/components/schemas/{name}"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a query or a header: its schema is published, `read` is what counts.

    `read` raises ValueError for what it cannot be.
    """

    name: str
    description: str
    schema: Schema
    read: Callable[[str], object] = str
    place: str = "query"
    required: bool = False


@dataclass(frozen=True, slots=True)
class ResponseModel:
    """An answer that an operation may give: media types with their schemas, and headers."""

    description: str
    content: Mapping[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """What an operation takes: media types with their schemas."""

    content: Mapping[str, Schema]
    description: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path: a row of the table that routes and documentation are made from.

    `scope` is None for what everybody may ask. `problem` makes the answer of a refusal; it is JSON
    unless an operation says otherwise, as pages do.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: "Handler"
    scope: Scope | None
    answers: Mapping[int, ResponseModel]
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    problem: Callable[["Problem", Request], Response] | None = None
    tag: str = "policies"

    @property
    def changes(self) -> bool:
        """Whether it changes anything, so that it is logged."""
        return self.method != "GET" and self.scope not in (None, Scope.READ)

    @property
    def is_costly(self) -> bool:
        """Whether it takes an audit or a commit, so that nobody may ask it often."""
        return self.method != "GET"


@dataclass(frozen=True, slots=True)
class Call:
    """A request whose caller, parameters and size have been checked."""

    request: Request
    windows: Windows
    writer: Writer
    caller: Caller
    values: Mapping[str, object]
    body: bytes
    media_type: str
    logged: dict[str, object]
    access: Access
    log: Log

    @property
    def place(self) -> Place:
        """The policy that the path names."""
        parts = self.request.path_params
        # No namespace of Kubernetes is called so.
        namespace = parts["namespace"]
        if namespace == NO_NAMESPACE:
            namespace = ""
        return Place(namespace, parts["name"], self.text("file"))

    def stored(self) -> Stored:
        """Return the policy that the path names, as the branch has it now.

        Raises Problem where there is none, or where several files have it.
        """
        place = self.place
        return self.windows.find(place.namespace, place.name, place.file)

    def text(self, name: str) -> str | None:
        """Return a parameter that is a text; None where it was not given."""
        found = self.values.get(name)
        if isinstance(found, str):
            return found
        return None

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is a number; the default where it was not given."""
        found = self.values.get(name)
        if isinstance(found, int):
            return found
        return default

    def flag(self, name: str) -> bool:
        """Whether a parameter was given as `true`."""
        return self.values.get(name) is True

    def order(self, reason: str, *, urgent: bool = False) -> Order:
        """Return the change as the caller's."""
        return Order(
            caller=self.caller,
            reason=self.text("reason") or reason,
            # None for an override: it holds for whichever version there is.
            if_match=self.text("If-Match"),
            urgent=urgent,
            strict=self.flag("strict"),
        )

    def form(self) -> dict[str, str]:
        """Return the fields of a form; raises Problem for one that cannot be read."""
        try:
            pairs = parse_qsl(
                self.body.decode(),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=_MOST_FIELDS,
            )
        except ValueError:
            raise bad_request("the form cannot be read") from None
        # Of two fields of one name the last counts, as in the browser's own order.
        return dict(pairs)

    def form_token(self) -> str:
        """Return what a form of ours has in its field `form-token`."""
        return self.access.form_token(self.caller)

    def note(self, outcome: Outcome) -> None:
        """Have the log say what became of a change: each commit is `changed` in one line alone."""
        self.logged["commit"] = outcome.commit
        if outcome.is_replayed:
            self.logged["event"] = "repeated"
        elif outcome.commit is None:
            self.logged["event"] = "unchanged"

    def json(self) -> Value:
        """Return the body as JSON; raises Problem where it is none."""
        return parsed_json(self.body)

    def policy(self) -> KubeObject:
        """Return the body as one object, YAML or JSON; raises Problem where it is none."""
        # YAML keeps its text, with comments; JSON is written into the text that is there.
        if self.media_type == YAML:
            return _only(self.body)
        found = self.json()
        if not isinstance(found, dict):
            raise bad_request("the body must be a JSON object")
        return KubeObject.from_value(found)

    async def run(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Run what takes long in a thread."""
        # A pool of threads: as many requests work at once as Starlette allows, 40.
        return await run_in_threadpool(function, *args, **kwargs)


Handler = Callable[[Call], Awaitable[Response]]


def bad_request(detail: str) -> Problem:
    """Return a problem of a request that is not understood."""
    return Problem(HTTPStatus.BAD_REQUEST, detail)


def parsed_json(body: bytes) -> Value:
    """Return what JSON says; raises Problem for what RFC 8259 leaves to the reader, too."""
    try:
        text = body.decode()
        found: Value = json.loads(
            text, object_pairs_hook=_once, parse_constant=_refuse_constant, parse_float=_number
        )
        # The decoder takes more levels than a text may have, and than is written without failing.
        plain_json.check_depth(found)
        # A lone surrogate is no character, and could be written nowhere.
        json.dumps(found, ensure_ascii=False).encode()
    except (RecursionError, ExcessError):
        raise bad_request("the body is nested too deeply") from None
    except UnicodeError:
        raise bad_request("the body is not valid UTF-8") from None
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    return found


def _once(pairs: list[tuple[str, Value]]) -> Value:
    # Readers differ in which of two they take (RFC 8259, 4).
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate name")
    return found


def _refuse_constant(name: str) -> Value:
    raise ValueError(f"{name} is not a valid JSON number")


def _number(text: str) -> float:
    # Python reads `1e999` as infinity, which JSON cannot say.
    found = float(text)
    if found in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]} is too large")
    return found


def _only(body: bytes) -> KubeObject:
    try:
        found = documents(body)
        if len(found) != 1:
            raise bad_request(f"the body must be one YAML document, found {len(found)}")
        # Read now, so that what cannot be read is found here.
        found[0].get()
    except InputError as error:
        raise bad_request(f"the body cannot be read: {error}") from None
    return found[0]

"""Who is let in: one place for what holds for every request, before a handler gets it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Security, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.security import HTTPBearer, SecurityScopes
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from krm_windows.service import bodies
from krm_windows.service.access import Access, Caller, Scope
from krm_windows.service.bodies import FORM
from krm_windows.service.log import Log
from krm_windows.service.parameters import Cluster, File, Name, Namespace
from krm_windows.service.policies import NO_NAMESPACE, Place, Stored
from krm_windows.service.problems import Problem, bad_request, meant
from krm_windows.service.rates import Rate
from krm_windows.service.settings import SERVICE
from krm_windows.service.subscriptions import Subscriptions
from krm_windows.service.windows import Windows
from krm_windows.service.writing import WriteOutcome, Writer
from krm_windows.system import addresses

Body = tuple[bytes, str]
"""What comes with a request, and its media type."""
# Of who fails to say who they are, from one address: enough for typing errors.
_FAILURES_A_MINUTE = 60
# Bytes of a body, and seconds in which it has to be here.
_MOST_BODY = 1 << 20
_RECEIVE_SECONDS = 10.0
_TOKEN = HTTPBearer(
    scheme_name="token",
    auto_error=False,
    description="A token of the service, or a JWT of its identity provider; not needed if the "
    "service can be reached only from its own machine. The scope `write` is for hours; `admin` is "
    "for everything.",
)
_NOWHERE = Place("", "")
EVERYBODY = Caller("", SERVICE, frozenset())
"""Who asks for what everybody may ask."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in: who calls, of which policy, and what answers it.

    `logged` is what a line of the log says of it, gathered on the way.
    """

    request: Request
    service: "Service"
    caller: Caller
    logged: dict[str, object]
    place: Place = _NOWHERE
    cluster: str | None = None

    @property
    def windows(self) -> Windows:
        """The policies that are served."""
        return self.service.windows

    @property
    def writer(self) -> Writer:
        """What changes them."""
        return self.service.writer

    def stored(self) -> Stored:
        """Return the policy that the path names, as the branch has it now.

        Raises Problem where there is none, or where several files have it.
        """
        return self.windows.snapshot.one(self.place)

    def note(self, outcome: WriteOutcome) -> None:
        """Have the log say what became of a change: each commit is `changed` in one line alone."""
        self.logged["commit"] = outcome.commit
        if outcome.is_replayed:
            self.logged["event"] = "repeated"
        elif outcome.commit is None:
            self.logged["event"] = "unchanged"


@dataclass
class Service:
    """What requests share: what is served, to whom, how often, and what is said of it."""

    windows: Windows
    access: Access
    log: Log

    def __post_init__(self) -> None:
        """Begin to count, each caller from nothing."""
        settings = self.windows.settings
        self.writer = Writer(self.windows)
        self.subscriptions = Subscriptions(self.windows, self.access)
        self.changes = Rate(settings.rate)
        self.failures = Rate(_FAILURES_A_MINUTE)
        # What is being sent to browsers until it is over, and to whom.
        self.streams: dict[Response, str] = {}

    def admit(self, request: Request, scope: Scope | None) -> Call:
        """Let a request in that takes a scope, or None; raises Problem."""
        settings = self.windows.settings
        # Where everybody is let in, no other name may lead here (DNS rebinding).
        if settings.is_open and _host(request) not in addresses.LOCAL:
            raise Problem(HTTPStatus.FORBIDDEN, "unknown host name")
        if request.method != "GET":
            _check_origin(request)
        logged: dict[str, object] = request.state.logged
        request.state.scope = scope
        # Whether the service lives is asked by programs that have no token.
        caller = EVERYBODY if scope is None else self._caller(request)
        # Who begins a session is nobody yet.
        logged["caller"] = caller.name or None
        request.state.caller = caller
        if scope is not None and not caller.may(scope):
            raise Problem(HTTPStatus.FORBIDDEN, f"{caller.name} has no scope {scope.value!r}")
        # What takes an audit or a commit.
        if request.method != "GET":
            if {"if-match", "if-none-match"} <= {*request.headers}:
                raise bad_request("give If-Match or If-None-Match, not both")
            # Who is not known is counted by address.
            _take(self.changes, caller.name or f"@{address(request)}")
        _check_query(request)
        return Call(request, self, caller, logged)

    def subscribe(self, call: Call) -> str:
        """Make a calendar address of what a call names; return its token. Raises Problem."""
        # What could not be read later is not made.
        self.windows.evaluator.subscribed(call.stored(), call.cluster, self.windows.now())
        token = self.subscriptions.make(call.caller, call.place, call.cluster)
        call.logged["event"] = "subscribed"
        return token

    def count_failure(self, request: Request) -> None:
        """Count that somebody did not say who they are; raises Problem where it is too often."""
        _take(self.failures, address(request) or "")

    def _caller(self, request: Request) -> Caller:
        try:
            found = self.access.caller(request)
        except Problem:
            self.count_failure(request)
            raise
        if found is None:
            raise Problem(
                HTTPStatus.UNAUTHORIZED,
                "authentication required: Authorization: Bearer TOKEN",
                headers={"WWW-Authenticate": 'Bearer realm="krm-windows"'},
                is_first_visit=True,
            )
        return found


def _check_origin(request: Request) -> None:
    """Refuse what a page of another site has a browser send (Fetch Metadata, RFC 6454)."""
    # Only browsers send it, and no script can set it; curl does not.
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        is_ours = site in ("same-origin", "none")
    else:
        # A browser of before 2023.
        is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not is_ours:
        raise Problem(HTTPStatus.FORBIDDEN, "the request comes from another site")


async def _admit(
    request: Request, scopes: SecurityScopes, _: Annotated[object, Security(_TOKEN)]
) -> Call:
    service: Service = request.app.state.service
    return service.admit(request, Scope(scopes.scope_str))


async def _admit_everybody(request: Request) -> Call:
    service: Service = request.app.state.service
    return service.admit(request, None)


async def _of_policy(
    call: Annotated[Call, Depends(_admit)],
    namespace: Namespace,
    name: Name,
    file: File = None,
) -> Call:
    # No namespace of Kubernetes is called so.
    known = "" if namespace == NO_NAMESPACE else namespace
    return replace(call, place=Place(known, name, file))


async def _on_cluster(call: Annotated[Call, Depends(_of_policy)], cluster: Cluster = None) -> Call:
    return replace(call, cluster=cluster)


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    body, _ = await _body(request, (FORM,))
    return bodies.parsed_form(body)


async def _body(request: Request, taken: Sequence[str]) -> Body:
    # Without parameters, such as `; charset=utf-8`: JSON and YAML are UTF-8 here.
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given not in taken:
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be one of {', '.join(taken)}"
        )
    body = bytearray()
    # Where it is refused, the rest of it is not waited for.
    closing = {"Connection": "close"}
    try:
        async with asyncio.timeout(_RECEIVE_SECONDS):
            async for part in request.stream():
                body += part
                if len(body) > _MOST_BODY:
                    raise Problem(
                        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                        f"the body must have at most {_MOST_BODY} bytes",
                        headers=closing,
                    )
    except TimeoutError:
        raise Problem(
            HTTPStatus.REQUEST_TIMEOUT, "timed out reading the body", headers=closing
        ) from None
    except ClientDisconnect:
        raise bad_request("the body is incomplete") from None
    return bytes(body), given


def body(*taken: str) -> Any:  # noqa: ANN401 - as FastAPI's own
    """Return what reads a body of some media types; a handler names it behind who calls."""

    async def read(request: Request) -> Body:
        return await _body(request, taken)

    return Depends(read)


Fields = Annotated[dict[str, str], Depends(_fields)]
"""The fields of a form; a handler names them behind who calls, as they are read in this order."""
# What a handler takes: by these the scope is checked, and described.
Anybody = Annotated[Call, Depends(_admit_everybody)]
Read = Annotated[Call, Security(_admit, scopes=[Scope.READ])]
ReadPolicy = Annotated[Call, Security(_of_policy, scopes=[Scope.READ])]
ReadCluster = Annotated[Call, Security(_on_cluster, scopes=[Scope.READ])]
WritePolicy = Annotated[Call, Security(_of_policy, scopes=[Scope.WRITE])]
WriteCluster = Annotated[Call, Security(_on_cluster, scopes=[Scope.WRITE])]
OverridePolicy = Annotated[Call, Security(_of_policy, scopes=[Scope.OVERRIDE])]
OverrideCluster = Annotated[Call, Security(_on_cluster, scopes=[Scope.OVERRIDE])]
AdminPolicy = Annotated[Call, Security(_of_policy, scopes=[Scope.ADMIN])]


def address(request: Request) -> str | None:
    """Return the address that a request comes from; a socket of this machine has none."""
    return request.client.host if request.client is not None else None


def _host(request: Request) -> str | None:
    """Return the name by which a request calls us, without the port; None where it is none."""
    # Of IPv6 in brackets: `[::1]:8080`.
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:
        return None


def _take(rate: Rate, key: str) -> None:
    wait = rate.take(key)
    if wait:
        raise Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            "too many requests: try again later",
            headers={"Retry-After": str(int(wait) + 1)},
        )


def _check_query(request: Request) -> None:
    """Refuse a parameter that is given twice, or that nobody reads: it is a typing error."""
    read = get_flat_params(request.scope["route"].dependant)
    known = {each.alias for each in read if isinstance(each.field_info, params.Query)}
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise bad_request(
                f"unknown parameter {name[:100]!r} (known: {listed}){meant(name, known)}"
            )
        if names.count(name) > 1:
            raise bad_request(f"{name} is given twice")

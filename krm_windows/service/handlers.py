"""The handlers of the REST interface: each takes a call that was let in, and answers it."""

import asyncio
import hashlib
from datetime import date, datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.patches import patched, patched_cluster
from krm_windows.krm import KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.preview import html, stages
from krm_windows.preview.calendar import Period
from krm_windows.schedule import timeline
from krm_windows.service import admission, bodies, models, problems, routing
from krm_windows.service.access import Scope
from krm_windows.service.admission import (
    AdminPolicy,
    Body,
    Call,
    OverrideCluster,
    OverridePolicy,
    Read,
    ReadCluster,
    ReadPolicy,
    WriteCluster,
    WritePolicy,
)
from krm_windows.service.bodies import HTML, ICS, JSON, MERGE_PATCH, YAML
from krm_windows.service.evaluation import state_record
from krm_windows.service.parameters import (
    At,
    Continue,
    Days,
    From,
    IdempotencyKey,
    IfMatch,
    IfNoneMatch,
    Limit,
    MustMatch,
    OverrideName,
    Reason,
    Strict,
)
from krm_windows.service.policies import NO_NAMESPACE, Stored
from krm_windows.service.problems import Problem, json_body
from krm_windows.service.writing import Change, Order, Outcome, entity_tag, proposed

# Who asks what waits has it after so many seconds, or asks again.
_PATIENCE = 20.0
_POLICY = "/policies/{namespace}/{name}"
_TEXT = {"schema": {"type": "string"}}
_OBJECT = {"schema": {"type": "object"}}
_WINDOW_POLICY = {"schema": {"$ref": "#/components/schemas/WindowPolicy"}}
_OVERRIDE = {"schema": {"$ref": "#/components/schemas/Override"}}
_ETAG = {"headers": {"ETag": {"description": "The name of this version.", **_TEXT}}}
_Answers = dict[int | str, dict[str, Any]]
_TAGGED: _Answers = {200: _ETAG}
# The caller has it already: it was asked with If-None-Match (RFC 9110, 15.4.5).
_KNOWN: _Answers = {304: {"description": "Not modified.", **_ETAG}}
# Accepted and not yet acted upon (RFC 9110, 15.3.3): a person merges it, or does not.
_PROPOSED: _Answers = {
    202: {
        "description": "The change was proposed, as a branch or a pull request.",
        "model": models.Change,
    }
}
_CHANGES: dict[str, Any] = {
    "response_model": models.Change,
    "responses": {**_TAGGED, **_PROPOSED},
}

router = routing.router("policies")


def _takes(description: str, content: dict[str, object]) -> dict[str, Any]:
    """Describe the body that a handler reads itself, once the caller is let in."""
    return {"requestBody": {"description": description, "required": True, "content": content}}


def as_json(
    value: object,
    status: HTTPStatus = HTTPStatus.OK,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with JSON."""
    return Response(json_body(value), status.value, headers, JSON)


@router.get("/policies", response_model=models.PolicyList)
def list_policies(
    call: Read,
    namespace: Annotated[str | None, Query(description="Only of this namespace.")] = None,
    limit: Limit = 500,
    start: Continue = 0,
) -> Response:
    """Return the policies of the branch, page by page."""
    snapshot = call.windows.snapshot
    # All of one commit, whatever is changed meanwhile.
    # Sorted by name, so that a page begins where the one before ended.
    found = list(snapshot.every())
    if namespace is not None:
        found = [stored for stored in found if (stored.namespace or NO_NAMESPACE) == namespace]
    # `next` is a number: a policy that is added meanwhile may move one row to the next page.
    shown = found[start : start + limit]
    body = {
        "commit": snapshot.commit,
        "policies": [_listed(stored) for stored in shown],
        "unreadable": [
            {"file": each.file, "detail": each.detail} for each in snapshot.unreadable[:limit]
        ],
        "next": _next(start + limit, len(found)),
    }
    return as_json(body)


@router.get(
    _POLICY, responses={200: {"content": {JSON: _WINDOW_POLICY, YAML: _TEXT}, **_ETAG}, **_KNOWN}
)
def get_policy(call: ReadPolicy) -> Response:
    """Return a policy: the file's text as YAML, or its meaning as JSON."""
    stored = call.stored()
    if _preferred(call, JSON, YAML) == YAML:
        return _unless_known(call, stored.config.span, YAML, ETag=entity_tag(stored, json=False))
    content = json_body(stored.config.get())
    return _unless_known(call, content, JSON, ETag=entity_tag(stored, json=True))


@router.put(
    _POLICY,
    response_model=models.Change,
    responses={**_TAGGED, 201: {"model": models.Change, **_ETAG}, **_PROPOSED},
    openapi_extra=_takes(
        "The policy: JSON keeps the comments of the file; YAML is its text, without the scope "
        "`admin` only its values.",
        {JSON: _WINDOW_POLICY, YAML: _WINDOW_POLICY},
    ),
)
def put_policy(  # noqa: PLR0913 - FastAPI gives each by its name
    call: WritePolicy,
    *,
    body: Annotated[Body, admission.body(JSON, YAML)],
    reason: Reason = None,
    strict: Strict = False,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Replace a policy (If-Match), or create one (If-None-Match: *; scope `admin`)."""
    new = _identified(call, bodies.parsed_policy(*body))
    # RFC 9110, 13.1.2: only if there is none yet.
    if if_none_match == "*":
        reason = reason or f"Add windows {call.place.title}"
        made = call.writer.create(call.place, new, Order(call.caller, reason, strict=strict))
        return _written(call, made, HTTPStatus.CREATED)
    if if_match is None:
        raise problems.no_match()
    reason = reason or f"Replace windows {call.place.title}"
    order = Order(call.caller, reason, if_match, strict=strict)
    return _written(call, call.writer.change(call.place, _replaced(call, new, body[1]), order))


@router.patch(
    _POLICY, openapi_extra=_takes("A merge patch (RFC 7396).", {MERGE_PATCH: _OBJECT}), **_CHANGES
)
def patch_policy(
    call: WriteCluster,
    *,
    if_match: MustMatch,
    body: Annotated[Body, admission.body(MERGE_PATCH)],
    reason: Reason = None,
    strict: Strict = False,
) -> Response:
    """Change a policy with a JSON merge patch of the whole object, or of its spec on a cluster."""
    reason = reason or f"Change windows {call.place.title}"
    order = Order(call.caller, reason, if_match, strict=strict)
    return _written(call, call.writer.change(call.place, _patch(call, body[0]), order))


@router.delete(_POLICY, **_CHANGES)
def delete_policy(call: AdminPolicy, if_match: MustMatch, reason: Reason = None) -> Response:
    """Remove a policy from its file."""
    order = Order(call.caller, reason or f"Remove windows {call.place.title}", if_match)
    return _written(call, call.writer.remove(call.place, order))


@router.post(
    f"{_POLICY}/preview",
    response_model=models.Preview,
    responses=_TAGGED,
    openapi_extra=_takes(
        "A merge patch, or a policy.",
        {MERGE_PATCH: _OBJECT, JSON: _WINDOW_POLICY, YAML: _WINDOW_POLICY},
    ),
)
def preview(
    call: ReadCluster,
    *,
    body: Annotated[Body, admission.body(MERGE_PATCH, JSON, YAML)],
    strict: Strict = False,
) -> Response:
    """Preview a change: findings and hours. Nothing is saved."""
    content, media_type = body
    order, place, snapshot = Order(call.caller), call.place, call.windows.snapshot
    headers: dict[str, str] = {}
    new = None
    if media_type != MERGE_PATCH:
        new = _identified(call, bodies.parsed_policy(content, media_type))
    if new is not None and place.key not in snapshot.policies:
        file, proposal = call.writer.preview_new(snapshot, place, new, order)
    else:
        change = _patch(call, content) if new is None else _replaced(call, new, media_type)
        stored = call.stored()
        file, proposal = stored.file, call.writer.preview(stored, change, order)
        headers["ETag"] = entity_tag(stored, json=True)
    found = {
        "policy": place.title,
        "file": file,
        "writable": not proposal.fails(strict=strict, urgent=False),
        "changes": proposal.changes_text,
        **proposed(proposal, file),
    }
    return as_json(found, headers=headers)


@router.get(f"{_POLICY}/state", response_model=models.State, responses={**_TAGGED, **_KNOWN})
def get_state(call: ReadCluster, at: At = None) -> Response:
    """Say whether a policy should be open by what is in Git, why, since when, until when."""
    found = at or call.windows.now()
    record = call.windows.evaluator.record(call.stored(), call.cluster, found)
    return _unless_known(call, json_body(record), JSON)


@router.get(f"{_POLICY}/pending", response_model=models.Pending)
async def get_pending(call: ReadCluster) -> Response:
    """Return the commits since a policy should have closed, and what its targets take of them."""
    stored, windows = call.stored(), call.windows
    timetable = await run_in_threadpool(windows.evaluator.timetable, stored, call.cluster)
    decision = timeline.decide(timetable, windows.now())
    tip = windows.snapshot.commit
    waits = await run_in_threadpool(windows.waiting.of, stored, call.cluster, decision, tip)
    if waits.asked is not None:
        # It goes on, whoever has gone away: the next caller has it sooner.
        await asyncio.wait([asyncio.wrap_future(waits.asked)], timeout=_PATIENCE)
    state = state_record(stored, timetable, decision)
    return as_json({**state, "branch": windows.branch.name, **waits.record()})


@router.get(f"{_POLICY}/rendered", response_model=models.Rendered)
def get_rendered(call: ReadPolicy) -> Response:
    """Return the directories that are rendered from a policy, and whether they are current."""
    stored = call.stored()
    renderer, commit = call.windows.renderer, call.windows.snapshot.commit
    found = None if renderer is None else renderer.check(commit, stored)
    body = {"policy": stored.title, "file": stored.file, "commit": commit}
    return as_json({**body, "rendered": stages.records(found), "inCluster": None})


@router.get(
    f"{_POLICY}/calendar",
    response_model=models.Calendar,
    responses={200: {"content": {ICS: _TEXT, HTML: _TEXT}, **_ETAG}, **_KNOWN},
)
def get_calendar(call: ReadCluster, start: From = None, days: Days = 7) -> Response:
    """Say when a policy should be open by what is in Git: as JSON, as iCalendar, or as a page."""
    return calendar_as(call, _preferred(call, JSON, ICS, HTML), start, days)


def calendar_as(call: Call, media_type: str, start: date | None, days: int) -> Response:
    """Answer with a policy's calendar in one form."""
    windows = call.windows
    period = Period(start or Today(windows.now()), days)
    drawn = windows.evaluator.calendar
    body = drawn(call.stored(), call.cluster, period, media_type)
    headers: dict[str, str] = {}
    if media_type == HTML:
        # It carries its own style and script: apart from all else of this origin.
        headers["Content-Security-Policy"] = f"{html.POLICY}; sandbox allow-scripts"
    return _unless_known(call, body, media_type, **headers)


@router.get(f"{_POLICY}/overrides", response_model=models.OverrideList, tags=["overrides"])
def list_overrides(call: ReadPolicy) -> Response:
    """Return the overrides that a policy has in Git: future, active and over."""
    stored = call.stored()
    found = overrides.listed(stored.config, call.windows.now())
    return as_json({"policy": stored.title, "overrides": [each.record() for each in found]})


@router.post(
    f"{_POLICY}/overrides",
    status_code=HTTPStatus.CREATED,
    response_model=models.Change,
    responses={201: _ETAG, **_PROPOSED},
    openapi_extra=_takes("The override.", {JSON: _OVERRIDE}),
    tags=["overrides"],
)
def add_override(
    call: OverridePolicy,
    body: Annotated[Body, admission.body(JSON)],
    if_match: IfMatch = None,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Open or close a policy until a given time: in Git now, in a cluster once it is applied."""
    try:
        asked = models.Override.model_validate(bodies.parsed_object(body[0]))
    except ValidationError as error:
        raise problems.invalid(error) from None
    now = call.windows.now()
    # Named before it is made, so that the answer to a repetition has the same name.
    name = asked.name or overrides.default_name(asked.state, now)
    request = asked.request(asked.requested_by or call.caller.name, name=name)
    change = partial(overrides.made, request=request, at=now)
    # Path and body: the same key for another override is refused.
    url = call.request.url
    digest = hashlib.sha256(f"{url.path}?{url.query}\n".encode() + body[0]).hexdigest()
    order = Order(
        call.caller,
        asked.reason,
        if_match,
        urgent=True,
        key=idempotency_key,
        digest=digest,
        override=name,
    )
    return _written(call, call.writer.change(call.place, change, order), HTTPStatus.CREATED)


@router.delete(f"{_POLICY}/overrides/{{override}}", tags=["overrides"], **_CHANGES)
def end_override(
    call: OverrideCluster, name: OverrideName, reason: Reason = None, if_match: IfMatch = None
) -> Response:
    """End an override: remove it from the file."""
    change = partial(overrides.ended, name=name, cluster=call.cluster)
    reason = reason or f"End override {name} of {call.place.title}"
    order = Order(call.caller, reason, if_match, urgent=True, override=name)
    return _written(call, call.writer.change(call.place, change, order))


@router.get("/fleet", response_model=models.Fleet, tags=["fleet"])
def get_fleet(call: Read, limit: Limit = 500, start: Continue = 0) -> Response:
    """Say what should be open now by what is in Git, for all policies and clusters, by page."""
    windows = call.windows
    now, snapshot = windows.now(), windows.snapshot
    rows: list[dict[str, object]] = []
    count = 0
    for stored in snapshot.every():
        clusters: tuple[str | None, ...] = windows.evaluator.clusters(stored) or (None,)
        # Rows are counted over all policies: this one may begin before the page does.
        first = max(start - count, 0)
        shown = clusters[first : first + limit - len(rows)]
        rows += [_row(call, stored, cluster, now) for cluster in shown]
        count += len(clusters)
    at = now.isoformat(timespec="seconds")
    body = {"commit": snapshot.commit, "at": at, "count": count, "rows": rows}
    return as_json({**body, "next": _next(start + limit, count)})


def _written(call: Call, outcome: Outcome, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Answer with what became of a change."""
    call.note(outcome)
    headers: dict[str, str] = {}
    if outcome.branch is not None:
        # It may be made one day, and is not made yet.
        status = HTTPStatus.ACCEPTED
    if outcome.stored is not None:
        headers["ETag"] = entity_tag(outcome.stored, json=True)
    if outcome.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return as_json(outcome.record(), status, headers)


def _preferred(call: Call, *offered: str) -> str:
    """Return the media type that the caller wants most (RFC 9110, 12.5.1), else a Problem."""
    accept = call.request.headers.get("accept", "").strip() or "*/*"
    wanted = dict(map(_weighed, accept.split(",")))

    def quality(media_type: str) -> float:
        # By the most specific range for it.
        ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
        return next((wanted[each] for each in ranges if each in wanted), 0.0)

    # Of two that are as welcome, the one that is offered first.
    best = max(offered, key=quality)
    if quality(best) <= 0:
        detail = f"available formats: {', '.join(offered)}"
        raise Problem(HTTPStatus.NOT_ACCEPTABLE, detail)
    return best


def _weighed(part: str) -> tuple[str, float]:
    """Read `text/html;q=0.8`; other parameters are left out, as in `text/html;level=1`."""
    name, *parameters = (each.strip().lower() for each in part.split(";"))
    weight = next((each for each in parameters if each.startswith("q=")), "q=1")
    try:
        return name, float(weight.removeprefix("q="))
    except ValueError:
        return name, 0.0


def _unless_known(
    call: Call,
    body: bytes,
    media_type: str,
    **headers: str,
) -> Response:
    """Answer with a body, or with 304 where the caller has it already."""
    # It may be kept, and has to be asked for again each time.
    headers = {**headers, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
    # Strong (RFC 9110, 8.8.3). Short: it is compared with other versions of one thing, and keeps
    # nobody from forging one.
    headers.setdefault("ETag", f'"{hashlib.sha256(body).hexdigest()[:32]}"')
    # One tag, or several with commas between; a tag is in quotes, so none is part of another. `*`
    # is whatever there is (RFC 9110, 13.1.2).
    known = call.request.headers.get("if-none-match", "")
    if headers["ETag"] in known or known.strip() == "*":
        return Response(status_code=HTTPStatus.NOT_MODIFIED.value, headers=headers)
    if media_type != JSON:
        media_type = f"{media_type}; charset=utf-8"
    return Response(body, headers=headers, media_type=media_type)


def _identified(call: Call, new: KubeObject) -> KubeObject:
    place = call.place
    found = (new.api_version, new.kind, new.namespace, new.name)
    wanted = (API_VERSION, KIND, place.namespace, place.name)
    if found != wanted:
        # As RFC 9110, 9.3.4, has it for what is not consistent with the place it is put at.
        raise Problem(
            HTTPStatus.CONFLICT,
            f"the body must be the {KIND} {place.title} ({API_VERSION}), as in the path",
        )
    return new


def _replaced(call: Call, new: KubeObject, media_type: str) -> Change:
    def change(old: KubeObject) -> KubeObject:
        # A comment may be code to others (`{"$imagepolicy": …}`), and differs in no field.
        if media_type == YAML and call.caller.may(Scope.ADMIN):
            return _framed(new, old)
        # Only what differs is written: comments and order of the file stay.
        changed = old.as_read()
        changed.set(new.get())
        return changed

    return change


def _framed(new: KubeObject, old: KubeObject) -> KubeObject:
    """Return a text as the document that takes the place of another one in its file."""
    # Documents of one file have a line of three dashes between them.
    text = new.span
    if old.start > 0 and not text.lstrip().startswith(b"---"):
        text = b"---\n" + text
    if old.end < len(old.source) and not text.endswith(b"\n"):
        text += b"\n"
    return KubeObject.parse(text)


def _patch(call: Call, body: bytes) -> Change:
    patch = bodies.parsed_json(body)

    def change(policy: KubeObject) -> KubeObject:
        if call.cluster is None:
            return patched(policy, patch)
        return patched_cluster(policy, call.cluster, patch)

    return change


def _listed(stored: Stored) -> dict[str, object]:
    return {
        "namespace": stored.namespace or NO_NAMESPACE,
        "name": stored.name,
        "file": stored.file,
        "etag": entity_tag(stored, json=True),
    }


def _next(after: int, count: int) -> str | None:
    return str(after) if after < count else None


def _row(call: Call, stored: Stored, cluster: str | None, now: datetime) -> dict[str, object]:
    try:
        return call.windows.evaluator.record(stored, cluster, now)
    except Problem as problem:
        return {"policy": stored.title, "cluster": cluster, "error": problem.detail}

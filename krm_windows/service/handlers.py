"""The handlers of the REST interface: each takes a call that was let in, and answers it."""

import hashlib
from dataclasses import asdict
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, Request
from pydantic import ValidationError
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.patches import patched, patched_clusters
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.preview import stages
from krm_windows.preview.calendar import Period
from krm_windows.schedule import timeline
from krm_windows.service import admission, bodies, models, problems, routing
from krm_windows.service.access import digest
from krm_windows.service.admission import (
    AdminPolicy,
    Anybody,
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
from krm_windows.service.bodies import ICS, JSON, MERGE_PATCH
from krm_windows.service.parameters import (
    At,
    CalendarId,
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
    Token,
)
from krm_windows.service.policies import NO_NAMESPACE, Stored
from krm_windows.service.problems import Problem, bad_request, json_body
from krm_windows.service.writing import Change, Order, WriteOutcome, entity_tag, proposed

_POLICY = "/policies/{namespace}/{name}"
_TEXT = {"schema": {"type": "string"}}
_OBJECT = {"schema": {"type": "object"}}
_WINDOW_POLICY = {"schema": {"$ref": "#/components/schemas/WindowPolicy"}}
_OVERRIDE = {"schema": {"$ref": "#/components/schemas/Override"}}
_OVERRIDE_NAMES = models.Override.model_json_schema()["properties"]
_Answers = dict[int | str, dict[str, Any]]
# The caller has it already: it was asked with If-None-Match (RFC 9110, 15.4.5).
_KNOWN: _Answers = {304: {"description": "Not modified."}}
# Accepted and not yet acted upon (RFC 9110, 15.3.3): a person merges it, or does not.
_PROPOSED: _Answers = {
    202: {
        "description": "The change was proposed, as a branch or a pull request.",
        "model": models.Change,
    }
}
_CHANGES: dict[str, Any] = {"response_model": models.Change, "responses": _PROPOSED}

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
def list_policies(call: Read, limit: Limit = 500, start: Continue = 0) -> Response:
    """Return the policies of the branch, page by page."""
    snapshot = call.windows.snapshot
    # All of one commit, whatever is changed meanwhile.
    # Sorted by name, so that a page begins where the one before ended.
    found = list(snapshot.every())
    # `next` is a number: a policy that is added meanwhile may move one row to the next page.
    return as_json(
        {
            "commit": snapshot.commit,
            "policies": list(map(_listed, found[start : start + limit])),
            "unreadable": list(map(asdict, snapshot.unreadable[:limit])),
            "next": _next(start + limit, len(found)),
        }
    )


@router.get(_POLICY, responses={200: {"content": {JSON: _WINDOW_POLICY}}, **_KNOWN})
def get_policy(call: ReadPolicy) -> Response:
    """Return a policy."""
    stored = call.stored()
    return _unless_known(call, json_body(stored.config.get()), JSON, entity_tag(stored))


@router.put(
    _POLICY,
    response_model=models.Change,
    responses={201: {"model": models.Change}, **_PROPOSED},
    openapi_extra=_takes("The policy; the file keeps its comments.", {JSON: _WINDOW_POLICY}),
)
def put_policy(
    call: WritePolicy,
    body: Annotated[Body, admission.body(JSON)],
    reason: Reason = "",
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Replace a policy (If-Match), or create one (If-None-Match: *; scope `admin`)."""
    new = _policy(call, body[0])
    # RFC 9110, 13.1.2: only if there is none yet.
    is_new = if_none_match == "*"
    verb = "Add" if is_new else "Replace"
    order = Order(call.caller, reason or f"{verb} windows {call.place.title}", if_match)
    if is_new:
        return _written(call, call.writer.create(call.place, new, order), HTTPStatus.CREATED)
    if if_match is None:
        raise problems.no_match()
    return _written(call, call.writer.change(call.place, _replaced(new), order))


@router.patch(
    _POLICY, openapi_extra=_takes("A merge patch (RFC 7396).", {MERGE_PATCH: _OBJECT}), **_CHANGES
)
def patch_policy(
    call: WriteCluster,
    if_match: MustMatch,
    body: Annotated[Body, admission.body(MERGE_PATCH)],
    reason: Reason = "",
) -> Response:
    """Change a policy with a JSON merge patch of the whole object, or of its spec on a cluster."""
    order = Order(call.caller, reason or f"Change windows {call.place.title}", if_match)
    return _written(call, call.writer.change(call.place, _patch(call, body[0]), order))


@router.delete(_POLICY, **_CHANGES)
def delete_policy(call: AdminPolicy, if_match: MustMatch, reason: Reason = "") -> Response:
    """Remove a policy from its file."""
    order = Order(call.caller, reason or f"Remove windows {call.place.title}", if_match)
    return _written(call, call.writer.remove(call.place, order))


@router.post(
    f"{_POLICY}/preview",
    response_model=models.Preview,
    openapi_extra=_takes(
        "A merge patch, or a policy.", {MERGE_PATCH: _OBJECT, JSON: _WINDOW_POLICY}
    ),
)
def preview(
    call: ReadCluster, body: Annotated[Body, admission.body(MERGE_PATCH, JSON)]
) -> Response:
    """Preview a change: findings and hours. Nothing is saved."""
    content, media_type = body
    order, place, snapshot = Order(call.caller), call.place, call.windows.snapshot
    headers: dict[str, str] = {}
    new = _policy(call, content) if media_type == JSON else None
    if new is not None and place.key not in snapshot.policies:
        file, proposal = call.writer.preview_new(snapshot, place, new, order)
    else:
        stored = call.stored()
        change = _patch(call, content) if new is None else _replaced(new)
        file, proposal = stored.file, call.writer.preview(stored, change, order)
        headers["ETag"] = entity_tag(stored)
    found = {
        "policy": place.title,
        "file": file,
        "writable": not proposal.fails(strict=False, urgent=False),
        "changes": proposal.changes_text,
        **proposed(proposal, file),
    }
    return as_json(found, headers=headers)


@router.get(f"{_POLICY}/state", response_model=models.State, responses=_KNOWN)
def get_state(call: ReadCluster, at: At = None) -> Response:
    """Say whether a policy should be open by what is in Git, why, since when, until when."""
    windows = call.windows
    record = windows.evaluator.record(call.stored(), call.cluster, at or windows.now())
    return _unless_known(call, json_body(record), JSON)


@router.get(f"{_POLICY}/pending", response_model=models.Pending)
def get_pending(call: ReadCluster) -> Response:
    """Return the commits since a policy should have closed, and what its targets take of them."""
    stored, windows, now = call.stored(), call.windows, call.windows.now()
    timetable = windows.evaluator.timetable(stored, call.cluster)
    waits = windows.waits(timeline.decide(timetable, now))
    targets = windows.waiting.targets(stored, call.cluster, waits)
    state = windows.evaluator.record(stored, call.cluster, now)
    return as_json({**state, "branch": windows.branch.name, **waits.record(), **targets.record()})


@router.get(f"{_POLICY}/rendered", response_model=models.Rendered)
def get_rendered(call: ReadPolicy) -> Response:
    """Return the directories that are rendered from a policy, and whether they are current."""
    stored = call.stored()
    renderer, commit = call.windows.renderer, call.windows.snapshot.commit
    found = None if renderer is None else renderer.check(commit, stored)
    return as_json(
        {
            "policy": stored.title,
            "file": stored.file,
            "commit": commit,
            "rendered": stages.records(found),
            "inCluster": None,
        }
    )


@router.get(
    f"{_POLICY}/calendar",
    response_model=models.Calendar,
    responses={200: {"content": {ICS: _TEXT}}, **_KNOWN},
)
def get_calendar(call: ReadCluster, start: From = None, days: Days = 7) -> Response:
    """Say when a policy should be open by what is in Git: as JSON, or as iCalendar."""
    windows = call.windows
    wanted = ICS if ICS in call.request.headers.get("accept", "") else JSON
    period = Period(start or Today(windows.now()), days)
    body = windows.evaluator.calendar(call.stored(), call.cluster, period, wanted)
    return _unless_known(call, body, wanted)


@router.get(
    "/calendars/{token}.ics",
    response_class=Response,
    responses={200: {"content": {ICS: _TEXT}}, **_KNOWN},
    tags=["calendars"],
)
def get_subscribed_calendar(call: Anybody, token: Token) -> Response:
    """Return a year of the calendar that has this address, from today on, as iCalendar."""
    windows, subscriptions = call.windows, call.service.subscriptions
    found = subscriptions.find(token)
    if found is None:
        call.service.count_failure(call.request)
        raise _no_calendar()
    subscriptions.note(found)
    try:
        stored = windows.snapshot.one(found.place)
        body = windows.evaluator.subscribed(stored, found.cluster, windows.now())
    except Problem as problem:
        # A policy or a cluster that is gone: which others there are is not for whoever asks.
        raise _no_calendar() if problem.status is HTTPStatus.NOT_FOUND else problem from None
    return _unless_known(call, body, ICS)


@router.get(f"{_POLICY}/calendars", response_model=models.CalendarAddressList, tags=["calendars"])
def list_calendar_addresses(call: ReadCluster) -> Response:
    """Return the calendar addresses of a policy that the caller may revoke."""
    found = call.service.subscriptions.of(call.caller, call.place, call.cluster)
    return as_json({"policy": call.place.title, "calendars": [each.record() for each in found]})


async def _without_body(request: Request) -> None:
    async for part in request.stream():
        if part:
            raise bad_request("it takes no body: for one cluster alone, add ?cluster=NAME")


@router.post(
    f"{_POLICY}/calendars",
    status_code=HTTPStatus.CREATED,
    response_model=models.CalendarAddress,
    tags=["calendars"],
    dependencies=[Depends(_without_body)],
)
def add_calendar_address(call: ReadCluster) -> Response:
    """Make a calendar address: whoever has it reads these hours without signing in.

    It takes no body: `cluster` is a parameter.
    """
    token = call.service.subscribe(call)
    made = {"id": digest(token), "path": f"/calendars/{token}.ics"}
    return as_json(made, HTTPStatus.CREATED)


@router.delete(
    f"{_POLICY}/calendars/{{calendar}}", status_code=HTTPStatus.NO_CONTENT, tags=["calendars"]
)
def revoke_calendar_address(call: ReadPolicy, calendar: CalendarId) -> Response:
    """Revoke a calendar address."""
    if not call.service.subscriptions.revoke(call.caller, call.place, calendar):
        raise _no_calendar()
    call.logged["event"] = "unsubscribed"
    return Response(status_code=HTTPStatus.NO_CONTENT.value)


@router.get(f"{_POLICY}/overrides", response_model=models.OverrideList, tags=["overrides"])
def list_overrides(call: ReadPolicy) -> Response:
    """Return the overrides that a policy has in Git: coming, active and over."""
    stored = call.stored()
    found = overrides.listed(stored.config, call.windows.now())
    return as_json({"policy": stored.title, "overrides": [each.record() for each in found]})


@router.post(
    f"{_POLICY}/overrides",
    status_code=HTTPStatus.CREATED,
    response_model=models.Change,
    responses=_PROPOSED,
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
        raise problems.invalid(error, _OVERRIDE_NAMES) from None
    now = call.windows.now()
    request = asked.request(asked.requested_by or call.caller.name)
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
        override=asked.name or "",
    )
    return _written(call, call.writer.change(call.place, change, order), HTTPStatus.CREATED)


@router.delete(f"{_POLICY}/overrides/{{override}}", tags=["overrides"], **_CHANGES)
def end_override(
    call: OverrideCluster, name: OverrideName, reason: Reason = "", if_match: IfMatch = None
) -> Response:
    """End an override: remove it from the file."""
    change = partial(overrides.ended, name=name, places=[call.cluster])
    on = f" on {call.cluster}" if call.cluster else ""
    reason = reason or f"End override {name} of {call.place.title}{on}"
    order = Order(call.caller, reason, if_match, urgent=True, override=name)
    return _written(call, call.writer.change(call.place, change, order))


@router.get("/fleet", response_model=models.Fleet, tags=["fleet"])
def get_fleet(call: Read, limit: Limit = 500, start: Continue = 0) -> Response:
    """Say what should be open now by what is in Git, for all policies and clusters, by page."""
    windows = call.windows
    now, snapshot = windows.now(), windows.snapshot
    places = list(windows.places())
    return as_json(
        {
            "commit": snapshot.commit,
            "at": now.isoformat(timespec="seconds"),
            "count": len(places),
            "rows": [_row(call, *place, now) for place in places[start : start + limit]],
            "next": _next(start + limit, len(places)),
        }
    )


def _no_calendar() -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "calendar not found")


def _written(call: Call, outcome: WriteOutcome, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Answer with what became of a change."""
    call.note(outcome)
    headers: dict[str, str] = {}
    if outcome.branch is not None:
        # It may be made one day, and is not made yet.
        status = HTTPStatus.ACCEPTED
    if outcome.stored is not None:
        headers["ETag"] = entity_tag(outcome.stored)
    if outcome.is_replayed:
        headers["Idempotency-Replayed"] = "true"
    return as_json(outcome.record(), status, headers)


def _unless_known(call: Call, body: bytes, media_type: str, tag: str = "") -> Response:
    """Answer with a body, or with 304 where the caller has it already."""
    # Strong (RFC 9110, 8.8.3). Short: it is compared with other versions of one thing, and keeps
    # nobody from forging one.
    tag = tag or f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    # It may be kept, and has to be asked for again each time.
    headers = {
        "ETag": tag,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept, Authorization",
    }
    # One tag, or several with commas between; a tag is in quotes, so none is part of another. `*`
    # is whatever there is (RFC 9110, 13.1.2).
    known = call.request.headers.get("if-none-match", "")
    if tag in known or known.strip() == "*":
        return Response(status_code=HTTPStatus.NOT_MODIFIED.value, headers=headers)
    # Who reads it may take a text without it for Latin-1.
    charset = "; charset=utf-8" if media_type == ICS else ""
    return Response(body, headers={**headers, "Content-Type": media_type + charset})


def _policy(call: Call, body: bytes) -> KubeObject:
    """Return the policy that a body is; raises Problem for another one than the path names."""
    new = KubeObject.from_value(bodies.parsed_object(body))
    place = call.place
    try:
        found = (new.api_version, new.kind, new.namespace, new.name)
    except InputError as error:  # nested too deeply
        raise bad_request(str(error)) from None
    if found != (API_VERSION, KIND, place.namespace, place.name):
        # As RFC 9110, 9.3.4, has it for what is not consistent with the place it is put at.
        raise Problem(
            HTTPStatus.CONFLICT,
            f"the body must be the {KIND} {place.title} ({API_VERSION}), as in the path",
        )
    return new


def _replaced(new: KubeObject) -> Change:
    def change(old: KubeObject) -> KubeObject:
        # Only what differs is written: comments and order of the file stay. A comment may be code
        # to others (`{"$imagepolicy": …}`).
        changed = old.as_read()
        changed.set(new.get())
        return changed

    return change


def _patch(call: Call, body: bytes) -> Change:
    patch = bodies.parsed_json(body)

    def change(policy: KubeObject) -> KubeObject:
        if call.cluster is None:
            return patched(policy, patch)
        return patched_clusters(policy, {call.cluster: patch})

    return change


def _listed(stored: Stored) -> dict[str, object]:
    return {
        "namespace": stored.namespace or NO_NAMESPACE,
        "name": stored.name,
        "file": stored.file,
        "etag": entity_tag(stored),
    }


def _next(after: int, count: int) -> str | None:
    return str(after) if after < count else None


def _row(call: Call, stored: Stored, cluster: str | None, now: datetime) -> dict[str, object]:
    try:
        return call.windows.evaluator.record(stored, cluster, now)
    except Problem as problem:
        return {"policy": stored.title, "cluster": cluster, "error": problem.detail}

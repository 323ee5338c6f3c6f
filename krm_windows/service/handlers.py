"""The handlers of the REST interface: each takes a call that was let in, and answers it."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Query
from pydantic import ValidationError
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.patches import patched, patched_cluster
from krm_windows.edit.proposal import Proposal
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.preview import html, stages
from krm_windows.preview.calendar import Period
from krm_windows.schedule import timeline
from krm_windows.service import bodies, models, problems, routing
from krm_windows.service.access import Scope
from krm_windows.service.admission import (
    AdminPolicy,
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
async def list_policies(
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
async def get_policy(call: ReadPolicy) -> Response:
    """Return a policy: the file's text as YAML, or its meaning as JSON."""
    stored = call.stored()
    if preferred(call, (JSON, YAML)) == YAML:
        return _unless_known(call, stored.config.span, YAML, ETag=entity_tag(stored, json=False))
    content = await call.run(_content, stored)
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
async def put_policy(
    call: WritePolicy,
    reason: Reason = None,
    strict: Strict = False,  # noqa: FBT002 - FastAPI gives each by its name
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Replace a policy (If-Match), or create one (If-None-Match: *; scope `admin`)."""
    new, media_type = await _policy(call, JSON, YAML)
    order = Order(call.caller, reason or f"Replace windows {call.place.title}", if_match)
    order = replace(order, strict=strict)
    # RFC 9110, 13.1.2: only if there is none yet.
    if if_none_match == "*":
        order = replace(order, reason=reason or f"Add windows {call.place.title}")
        made = await call.run(call.writer.create, call.place, new, order)
        return written(call, made, HTTPStatus.CREATED)
    if if_match is None:
        raise problems.no_match()
    change = _replaced(call, new, media_type)
    return written(call, await call.run(call.writer.change, call.place, change, order))


@router.patch(
    _POLICY,
    response_model=models.Change,
    responses={**_TAGGED, **_PROPOSED},
    openapi_extra=_takes("A merge patch (RFC 7396).", {MERGE_PATCH: _OBJECT}),
)
async def patch_policy(
    call: WriteCluster,
    if_match: MustMatch,
    reason: Reason = None,
    strict: Strict = False,  # noqa: FBT002 - likewise
) -> Response:
    """Change a policy with a JSON merge patch of the whole object, or of its spec on a cluster."""
    body, _ = await call.body(MERGE_PATCH)
    order = Order(call.caller, reason or f"Change windows {call.place.title}", if_match)
    order = replace(order, strict=strict)
    change = _patch(call, body)
    return written(call, await call.run(call.writer.change, call.place, change, order))


@router.delete(_POLICY, response_model=models.Change, responses={**_TAGGED, **_PROPOSED})
async def delete_policy(call: AdminPolicy, if_match: MustMatch, reason: Reason = None) -> Response:
    """Remove a policy from its file."""
    order = Order(call.caller, reason or f"Remove windows {call.place.title}", if_match)
    return written(call, await call.run(call.writer.remove, call.place, order))


@router.post(
    f"{_POLICY}/preview",
    response_model=models.Preview,
    responses=_TAGGED,
    openapi_extra=_takes(
        "A merge patch, or a policy.",
        {MERGE_PATCH: _OBJECT, JSON: _WINDOW_POLICY, YAML: _WINDOW_POLICY},
    ),
)
async def preview(call: ReadCluster, strict: Strict = False) -> Response:  # noqa: FBT002 - likewise
    """Preview a change: findings and hours. Nothing is saved."""
    body, media_type = await call.body(MERGE_PATCH, JSON, YAML)
    order, place = Order(call.caller), call.place
    if media_type == MERGE_PATCH:
        change = _patch(call, body)
    else:
        new = _identified(call, bodies.parsed_policy(body, media_type))
        snapshot = call.windows.snapshot
        if (place.namespace, place.name) not in snapshot.policies:
            file, made = await call.run(call.writer.preview_new, snapshot, place, new, order)
            return _previewed(call, file, made, None, strict=strict)
        change = _replaced(call, new, media_type)
    stored = call.stored()
    proposal = await call.run(call.writer.preview, stored, change, order)
    return _previewed(call, stored.file, proposal, stored, strict=strict)


def _previewed(
    call: Call,
    file: str,
    proposal: Proposal,
    stored: Stored | None,
    *,
    strict: bool,
) -> Response:
    body = {
        "policy": call.place.title,
        "file": file,
        "writable": not proposal.fails(strict=strict, urgent=False),
        "changes": proposal.changes_text,
        **proposed(proposal, file),
    }
    headers: dict[str, str] = {}
    # What is not there has no version.
    if stored is not None:
        headers["ETag"] = entity_tag(stored, json=True)
    return as_json(body, headers=headers)


@router.get(f"{_POLICY}/state", response_model=models.State, responses={**_TAGGED, **_KNOWN})
async def get_state(call: ReadCluster, at: At = None) -> Response:
    """Say whether a policy should be open by what is in Git, why, since when, until when."""
    found = at or call.windows.now()
    record = await call.run(call.windows.evaluator.record, call.stored(), call.cluster, found)
    return _unless_known(call, json_body(record), JSON)


@router.get(f"{_POLICY}/pending", response_model=models.Pending)
async def get_pending(call: ReadCluster) -> Response:
    """Return the commits since a policy should have closed, and what its targets take of them."""
    stored, windows = call.stored(), call.windows
    timetable = await call.run(windows.evaluator.timetable, stored, call.cluster)
    decision = timeline.decide(timetable, windows.now())
    tip = windows.snapshot.commit
    waits = await call.run(windows.waiting.of, stored, call.cluster, decision, tip)
    if waits.asked is not None:
        # It goes on, whoever has gone away: the next caller has it sooner.
        await asyncio.wait([asyncio.wrap_future(waits.asked)], timeout=_PATIENCE)
    state = state_record(stored, timetable, decision)
    return as_json({**state, "branch": windows.branch.name, **waits.record()})


@router.get(f"{_POLICY}/rendered", response_model=models.Rendered)
async def get_rendered(call: ReadPolicy) -> Response:
    """Return the directories that are rendered from a policy, and whether they are current."""
    stored = call.stored()
    renderer, commit = call.windows.renderer, call.windows.snapshot.commit
    found = None if renderer is None else await call.run(renderer.check, commit, stored)
    body = {
        "policy": stored.title,
        "file": stored.file,
        "commit": commit,
        "rendered": stages.records(found),
        "inCluster": None,
    }
    return as_json(body)


@router.get(
    f"{_POLICY}/calendar",
    response_model=models.Calendar,
    responses={200: {"content": {ICS: _TEXT, HTML: _TEXT}, **_ETAG}, **_KNOWN},
)
async def get_calendar(call: ReadCluster, start: From = None, days: Days = 7) -> Response:
    """Say when a policy should be open by what is in Git: as JSON, as iCalendar, or as a page."""
    return await calendar_as(call, preferred(call, (JSON, ICS, HTML)), start, days)


async def calendar_as(call: Call, media_type: str, start: date | None, days: int) -> Response:
    """Answer with a policy's calendar in one form."""
    windows = call.windows
    period = Period(start or Today(windows.now()), days)
    drawn = windows.evaluator.calendar
    body = await call.run(drawn, call.stored(), call.cluster, period, media_type)
    headers: dict[str, str] = {}
    if media_type == HTML:
        # It carries its own style and script: apart from all else of this origin.
        headers["Content-Security-Policy"] = f"{html.POLICY}; sandbox allow-scripts"
    return _unless_known(call, body, media_type, **headers)


@router.get(f"{_POLICY}/overrides", response_model=models.OverrideList, tags=["overrides"])
async def list_overrides(call: ReadPolicy) -> Response:
    """Return the overrides that a policy has in Git: future, active and over."""
    stored = call.stored()
    try:
        found = await call.run(overrides.listed, stored.config, call.windows.now())
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    return as_json({"policy": stored.title, "overrides": [each.record() for each in found]})


@router.post(
    f"{_POLICY}/overrides",
    status_code=HTTPStatus.CREATED,
    response_model=models.Change,
    responses={201: _ETAG, **_PROPOSED},
    openapi_extra=_takes("The override.", {JSON: _OVERRIDE}),
    tags=["overrides"],
)
async def add_override(
    call: OverridePolicy, if_match: IfMatch = None, idempotency_key: IdempotencyKey = None
) -> Response:
    """Open or close a policy until a given time: in Git now, in a cluster once it is applied."""
    body, _ = await call.body(JSON)
    try:
        asked = models.Override.model_validate(bodies.parsed_object(body))
    except ValidationError as error:
        raise problems.invalid(error) from None
    now = call.windows.now()
    # Named before it is made, so that the answer to a repetition has the same name.
    name = asked.name or overrides.default_name(asked.state, now)
    request = asked.request(asked.requested_by or call.caller.name, name=name)
    change = partial(overrides.made, request=request, at=now)
    # Path and body: the same key for another override is refused.
    url = call.request.url
    digest = hashlib.sha256(f"{url.path}?{url.query}\n".encode() + body).hexdigest()
    order = Order(call.caller, asked.reason, if_match, urgent=True, override=name)
    order = replace(order, key=idempotency_key, digest=digest)
    outcome = await call.run(call.writer.change, call.place, change, order)
    return written(call, outcome, HTTPStatus.CREATED)


@router.delete(
    f"{_POLICY}/overrides/{{override}}",
    response_model=models.Change,
    responses={**_TAGGED, **_PROPOSED},
    tags=["overrides"],
)
async def end_override(
    call: OverrideCluster, name: OverrideName, reason: Reason = None, if_match: IfMatch = None
) -> Response:
    """End an override: remove it from the file."""
    change = partial(overrides.ended, name=name, cluster=call.cluster)
    reason = reason or f"End override {name} of {call.place.title}"
    order = Order(call.caller, reason, if_match, urgent=True, override=name)
    return written(call, await call.run(call.writer.change, call.place, change, order))


@router.get("/fleet", response_model=models.Fleet, tags=["fleet"])
async def get_fleet(call: Read, limit: Limit = 500, start: Continue = 0) -> Response:
    """Say what should be open now by what is in Git, for all policies and clusters, by page."""
    return as_json(await call.run(_fleet, call, start, limit))


def written(
    call: Call,
    outcome: Outcome,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
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


def preferred(call: Call, offered: tuple[str, ...]) -> str:
    """Return the media type that the caller wants most (RFC 9110, 12.5.1), else a Problem."""
    accept = call.request.headers.get("accept", "")
    wanted: dict[str, float] = {}
    # `text/html;level=1` and the like are taken for the type alone.
    for part in (accept.strip() or "*/*").split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        wanted[name] = _weight(parameters)

    def quality(media_type: str) -> float:
        # By the most specific range for it.
        ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
        return next((wanted[each] for each in ranges if each in wanted), 0.0)

    # Of two that are as welcome, the one that is offered first.
    best = max(offered, key=quality)
    if quality(best) <= 0:
        names = ", ".join(offered)
        raise Problem(HTTPStatus.NOT_ACCEPTABLE, f"available formats: {names}")
    return best


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter.removeprefix("q="))
            except ValueError:
                return 0.0
    return 1.0


def _content(stored: Stored) -> bytes:
    try:
        return json_body(stored.config.get())
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, f"{stored.file}: {error}") from error


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


async def _policy(call: Call, *taken: str) -> tuple[KubeObject, str]:
    """Return the policy that a body is, which must be that of the path, and its media type."""
    body, media_type = await call.body(*taken)
    return _identified(call, bodies.parsed_policy(body, media_type)), media_type


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
    if after >= count:
        return None
    return str(after)


def _fleet(call: Call, start: int, limit: int) -> dict[str, object]:
    windows = call.windows
    now = windows.now()
    snapshot = windows.snapshot
    rows: list[dict[str, object]] = []
    count = 0
    for stored in snapshot.every():
        clusters: tuple[str | None, ...] = windows.evaluator.clusters(stored) or (None,)
        # Rows are counted over all policies: this one may begin before the page does.
        first = max(start - count, 0)
        rows += [
            _row(call, stored, cluster, now)
            for cluster in clusters[first : first + limit - len(rows)]
        ]
        count += len(clusters)
    return {
        "commit": snapshot.commit,
        "at": now.isoformat(timespec="seconds"),
        "count": count,
        "rows": rows,
        "next": _next(start + limit, count),
    }


def _row(call: Call, stored: Stored, cluster: str | None, now: datetime) -> dict[str, object]:
    try:
        return call.windows.evaluator.record(stored, cluster, now)
    except Problem as problem:
        return {"policy": stored.title, "cluster": cluster, "error": problem.detail}

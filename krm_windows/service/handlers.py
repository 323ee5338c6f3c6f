"""The handlers of the REST interface: each takes a call that is checked, and answers it."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from http import HTTPStatus

from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import Wanted
from krm_windows.edit.patches import patched, patched_cluster
from krm_windows.edit.proposal import Proposal
from krm_windows.gate.timetable import Decision
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.plurals import counted
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.preview import html, stages
from krm_windows.preview.calendar import Period
from krm_windows.schedule import timeline
from krm_windows.schedule.timetable import Timetable
from krm_windows.service import waiting
from krm_windows.service.access import Scope
from krm_windows.service.calls import HTML, ICS, JSON, MERGE_PATCH, YAML, Call, bad_request
from krm_windows.service.evaluation import Format, state_record
from krm_windows.service.policies import NO_NAMESPACE, Stored
from krm_windows.service.problems import Problem, json_body
from krm_windows.service.waiting import Arrived, Asked, Found
from krm_windows.service.writing import Change, Outcome, Place, entity_tag, proposed

_FORMATS = {JSON: Format.JSON, ICS: Format.ICS, HTML: Format.HTML}
_DAYS = 7
_ROWS = 500
# Who asks what waits has it after so many seconds, or asks again.
_PATIENCE = 20.0


def as_json(
    value: object,
    status: HTTPStatus = HTTPStatus.OK,
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with JSON."""
    body = json_body(value)
    return Response(body, status.value, headers, JSON)


async def list_policies(call: Call) -> Response:
    """Answer with the policies, page by page."""
    snapshot = call.windows.snapshot
    # All of one commit, whatever is changed meanwhile.
    # Sorted by name, so that a page begins where the one before ended.
    found = list(snapshot.every())
    limit, start = _page(call)
    namespace = call.text("namespace")
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


async def get_policy(call: Call) -> Response:
    """Answer with a policy: its own text as YAML, or what it means as JSON."""
    stored = call.stored()
    if preferred(call, (JSON, YAML)) == YAML:
        headers = {"ETag": entity_tag(stored, json=False)}
        return _unless_known(call, stored.config.span, YAML, headers)
    content = await call.run(_content, stored)
    return _unless_known(call, content, JSON, {"ETag": entity_tag(stored, json=True)})


async def put_policy(call: Call) -> Response:
    """Replace a policy, or make it."""
    new = call.policy()
    _check_identity(new, call.place)
    # RFC 9110, 13.1.2: only if there is none yet.
    if call.text("If-None-Match") == "*":
        order = call.order(f"Add windows {call.place.title}")
        made = await call.run(call.writer.create, call.place, new, order)
        return written(call, made, HTTPStatus.CREATED)
    _require_match(call)
    change = _replaced(call, new)
    order = call.order(f"Replace windows {call.place.title}")
    return written(call, await call.run(call.writer.change, call.place, change, order))


async def patch_policy(call: Call) -> Response:
    """Change a policy by a merge patch: the whole object, or its spec on one cluster."""
    _require_match(call)
    change = _patch(call)
    order = call.order(f"Change windows {call.place.title}")
    return written(call, await call.run(call.writer.change, call.place, change, order))


async def delete_policy(call: Call) -> Response:
    """Take a policy out of its file."""
    _require_match(call)
    order = call.order(f"Remove windows {call.place.title}")
    return written(call, await call.run(call.writer.remove, call.place, order))


async def preview(call: Call) -> Response:
    """Say what would come of a change, or of a policy that is not there yet."""
    now = call.windows.now()
    if call.media_type == MERGE_PATCH:
        stored = call.stored()
        proposal = await call.run(call.writer.preview, stored, _patch(call), now, call.caller)
        return _previewed(call, stored.file, proposal, stored)
    new = call.policy()
    _check_identity(new, call.place)
    if call.windows.is_new(call.place.namespace, call.place.name):
        file, proposal = await call.run(call.writer.preview_new, call.place, new, now, call.caller)
        return _previewed(call, file, proposal, None)
    stored = call.stored()
    change = _replaced(call, new)
    proposal = await call.run(call.writer.preview, stored, change, now, call.caller)
    return _previewed(call, stored.file, proposal, stored)


def _previewed(
    call: Call,
    file: str,
    proposal: Proposal,
    stored: Stored | None,
) -> Response:
    strict = call.flag("strict")
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


async def get_state(call: Call) -> Response:
    """Say whether a policy is open."""
    stored = call.stored()
    cluster = call.text("cluster")
    at = call.values.get("at")
    if not isinstance(at, datetime):
        at = call.windows.now()
    answer = await call.run(call.windows.evaluator.state, stored, cluster, at)
    return _unless_known(call, answer.body, JSON, {"ETag": answer.tag})


async def get_pending(call: Call) -> Response:
    """Say what has come to the branch since a policy closed, and what its targets take of it."""
    stored = call.stored()
    cluster = call.text("cluster")
    timetable, decision, arrived = await call.run(_arrived, call, stored, cluster)
    found: Found | None = None
    notes: list[str] = []
    if arrived.commits and arrived.old is not None:
        asked = Asked(stored, cluster, arrived.old, arrived.tip)
        found = await _found(call, asked)
        if found is None:
            notes.append("the targets are being read: try again")
    elif arrived.commits:
        notes.append(f"at least {counted(len(arrived.commits), 'commit')} since it closed")
    elif arrived.old is None:
        notes.append("it is unknown when it closed")
    else:
        since = "it should be open" if decision.open else "no commits since it closed"
        notes.append(f"{since}; what its targets have applied is unknown: no cluster was asked")
    body = {
        **state_record(stored, timetable, decision),
        "branch": call.windows.branch.name,
        **waiting.record(arrived, found, notes),
    }
    return as_json(body)


async def get_rendered(call: Call) -> Response:
    """Say which directories are rendered from a policy, and whether they are current."""
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


def _arrived(
    call: Call, stored: Stored, cluster: str | None
) -> tuple[Timetable, Decision, Arrived]:
    windows = call.windows
    timetable = windows.evaluator.timetable(stored, cluster)
    decision = timeline.decide(timetable, windows.now())
    return timetable, decision, windows.waiting.arrived(decision, windows.snapshot.commit)


async def _found(call: Call, asked: Asked) -> Found | None:
    """Wait a while for what the targets take; None where it takes longer."""
    found = asyncio.wrap_future(call.windows.waiting.find(asked))
    # It goes on, whoever has gone away: the next caller has it sooner.
    await asyncio.wait([found], timeout=_PATIENCE)
    if not found.done():
        return None
    return found.result()


async def get_calendar(call: Call) -> Response:
    """Answer with a policy's calendar, in the form that the caller wants most."""
    return await calendar_as(call, preferred(call, tuple(_FORMATS)))


async def calendar_as(call: Call, media_type: str) -> Response:
    """Answer with a policy's calendar in one form."""
    stored = call.stored()
    cluster = call.text("cluster")
    evaluator = call.windows.evaluator
    asked = call.values.get("from")
    if isinstance(asked, date):
        start = asked
    else:
        start = await call.run(evaluator.today, stored, cluster, call.windows.now())
    period = Period(start, call.number("days", _DAYS))
    answer = await call.run(evaluator.calendar, stored, cluster, period, _FORMATS[media_type])
    headers = {"ETag": answer.tag}
    if media_type == HTML:
        # It carries its own style and script: apart from all else of this origin.
        headers["Content-Security-Policy"] = f"{html.POLICY}; sandbox allow-scripts"
    return _unless_known(call, answer.body, media_type, headers)


async def list_overrides(call: Call) -> Response:
    """Answer with the overrides of a policy, as they are now."""
    stored = call.stored()
    try:
        found = await call.run(overrides.listed, stored.config, call.windows.now())
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    return as_json({"policy": stored.title, "overrides": [each.record() for each in found]})


async def add_override(call: Call) -> Response:
    """Open or close at once, until a moment."""
    wanted = _wanted(call)
    now = call.windows.now()
    # Named before it is made, so that the answer to a repetition has the same name.
    name = wanted.name or overrides.default_name(wanted.state, now)
    change = partial(overrides.made, wanted=replace(wanted, name=name), at=now)
    order = call.order(wanted.reason, urgent=True)
    # Path and body: the same key for another override is refused.
    url = call.request.url
    digest = hashlib.sha256(f"{url.path}?{url.query}\n".encode() + call.body).hexdigest()
    key = call.text("Idempotency-Key")
    order = replace(order, key=key, digest=digest, override=name)
    outcome = await call.run(call.writer.change, call.place, change, order)
    return written(call, outcome, HTTPStatus.CREATED)


async def end_override(call: Call) -> Response:
    """Take an override out of the file."""
    name = call.request.path_params["override"]
    change = partial(overrides.ended, name=name, cluster=call.text("cluster"))
    order = call.order(f"End override {name} of {call.place.title}", urgent=True)
    order = replace(order, override=name)
    return written(call, await call.run(call.writer.change, call.place, change, order))


async def get_fleet(call: Call) -> Response:
    """Say what is open now: a row for each policy and cluster."""
    limit, start = _page(call)
    body = await call.run(_fleet, call, start, limit)
    return as_json(body)


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
    if not accept.strip():
        return offered[0]
    # Its quality, its place among what is offered (the first is best), and the type.
    best: tuple[float, int, str] | None = None
    for order, media_type in enumerate(offered):
        quality = _quality(accept, media_type)
        # Of two that are as welcome, the one that is offered first.
        if quality > 0 and (best is None or (quality, -order) > best[:2]):
            best = (quality, -order, media_type)
    if best is None:
        names = ", ".join(offered)
        raise Problem(HTTPStatus.NOT_ACCEPTABLE, f"available formats: {names}")
    return best[2]


def _quality(accept: str, media_type: str) -> float:
    """Return how welcome a media type is, from 0 to 1, by the most specific range for it."""
    found: tuple[int, float] = (-1, 0.0)
    kind = media_type.partition("/")[0]
    ranks = {media_type: 2, f"{kind}/*": 1, "*/*": 0}
    for part in accept.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        # `text/html;level=1` and the like are taken for the type alone.
        rank = ranks.get(name, -1)
        if rank > found[0]:
            found = (rank, _weight(parameters))
    return found[1]


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
    headers: dict[str, str],
) -> Response:
    """Answer with a body, or with 304 where the caller has it already."""
    # It may be kept, and has to be asked for again each time.
    headers = {**headers, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}
    # One tag, or several with commas between; a tag is in quotes, so none is part of another. `*`
    # is whatever there is (RFC 9110, 13.1.2).
    known = call.request.headers.get("if-none-match", "")
    if headers["ETag"] in known or known.strip() == "*":
        return Response(status_code=HTTPStatus.NOT_MODIFIED.value, headers=headers)
    if media_type != JSON:
        media_type = f"{media_type}; charset=utf-8"
    return Response(body, headers=headers, media_type=media_type)


def _require_match(call: Call) -> None:
    if call.text("If-Match") is None:
        raise Problem(
            HTTPStatus.PRECONDITION_REQUIRED,
            "If-Match is required, with the ETag of the policy as you read it",
        )


def _check_identity(new: KubeObject, place: Place) -> None:
    found = (new.api_version, new.kind, new.namespace, new.name)
    wanted = (API_VERSION, KIND, place.namespace, place.name)
    if found != wanted:
        # As RFC 9110, 9.3.4, has it for what is not consistent with the place it is put at.
        raise Problem(
            HTTPStatus.CONFLICT,
            f"the body must be the {KIND} {place.title} ({API_VERSION}), as in the path",
        )


def _replaced(call: Call, new: KubeObject) -> Change:
    def change(old: KubeObject) -> KubeObject:
        # A comment may be code to others (`{"$imagepolicy": …}`), and differs in no field.
        if call.media_type == YAML and call.caller.may(Scope.ADMIN):
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


def _patch(call: Call) -> Change:
    patch = call.json()
    cluster = call.text("cluster")

    def change(policy: KubeObject) -> KubeObject:
        if cluster is None:
            return patched(policy, patch)
        return patched_cluster(policy, cluster, patch)

    return change


def _wanted(call: Call) -> Wanted:
    """Return the override that the body asks for."""
    asked = call.json()
    if not isinstance(asked, dict):
        raise bad_request("the body must be a JSON object")
    # A misspelt member would be an override that is another than was meant.
    unknown = asked.keys() - {
        "state",
        "for",
        "until",
        "reason",
        "ticket",
        "requestedBy",
        "name",
        "cluster",
    }
    if unknown:
        raise bad_request(f"the body has an unknown member {min(unknown)!r}")
    texts = {name: _text(asked, name) for name in asked}
    state = texts.get("state")
    if state not in overrides.STATES:
        raise bad_request("state must be open or closed")
    reason = texts.get("reason")
    if not reason:
        raise bad_request("an override needs a reason: give reason")
    length, until = texts.get("for"), texts.get("until")
    if (length is None) is (until is None):
        raise bad_request("an override needs an end: give for, such as 2h, or until")
    return Wanted(
        state=state,
        reason=reason,
        length=_length(length),
        until=until,
        ticket=texts.get("ticket"),
        requested_by=texts.get("requestedBy", call.caller.name),
        name=texts.get("name"),
        cluster=texts.get("cluster"),
        longest=moments.LONGEST,
    )


def _text(asked: dict[str, Value], name: str) -> str | None:
    found = asked[name]
    if found is None or isinstance(found, str):
        return found
    raise bad_request(f"{name} must be a string")


def _length(text: str | None) -> timedelta | None:
    """Read how long an override holds; raises Problem for no length, and for none at all."""
    if text is None:
        return None
    try:
        found = moments.duration(text)
    except RefusedError as error:
        raise bad_request(f"for: {error}") from None
    if not found:
        raise bad_request("for must be longer than zero")
    return found


def _listed(stored: Stored) -> dict[str, object]:
    return {
        "namespace": stored.namespace or NO_NAMESPACE,
        "name": stored.name,
        "file": stored.file,
        "etag": entity_tag(stored, json=True),
    }


def _page(call: Call) -> tuple[int, int]:
    """Return how many rows are asked for, and from which on."""
    return call.number("limit", _ROWS), call.number("continue", 0)


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

"""The form that opens or closes for a while: checked, confirmed, and ended again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import OverrideRequest
from krm_windows.edit.proposal import Proposal, Turn
from krm_windows.gate.timetable import Decision
from krm_windows.plan import clocks
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.results import Result, fails
from krm_windows.service import parameters, routing
from krm_windows.service.admission import Call, OverrideCluster, OverridePolicy, ReadPolicy
from krm_windows.service.pages import forms, policy
from krm_windows.service.pages.forms import Form, Found
from krm_windows.service.pages.rendering import page
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, bad_request
from krm_windows.service.writing import Order

_OVERRIDE = "/ui/policies/{namespace}/{name}/override"
router = routing.pages()
FIELDS = ("state", "for", "until", "reason", "ticket", "requested-by", "cluster")
"""The fields of the form."""
# So many fit a list to choose from; of more, the name is typed.
MOST_CHOICES = 100
_DEFAULT_LENGTH = "2h"
# Where the policy has what the fields say.
_PATHS = {
    "state": "state",
    "ends": "until",
    "reason": "reason",
    "ticket": "ticket",
    "requestedBy": "requested-by",
}


@dataclass(frozen=True, slots=True)
class Effect:
    """What an override makes hold, on clusters where it makes the same hold."""

    clusters: tuple[str, ...]
    targets: tuple[str, ...]
    was: Decision
    now: Decision
    zone: ZoneInfo


@router.get(_OVERRIDE)
async def show_override_form(
    call: OverrideCluster, state: Annotated[str, Query()] = "open"
) -> Response:
    """Show the form."""
    stored = call.stored()
    form = Form(dict.fromkeys(FIELDS, ""))
    # So that a tired reader can confirm it as it is.
    form.texts["for"] = _DEFAULT_LENGTH
    form.texts["requested-by"] = call.caller.person.name
    form.texts["cluster"] = call.cluster or ""
    form.texts["state"] = state
    return _answer(call, stored, form)


# Likewise: what is checked has not happened.
@router.post(f"{_OVERRIDE}/check")
async def check_override(call: ReadPolicy) -> Response:
    """Show what an override would do, to be confirmed; or the form, with what is wrong."""
    stored = call.stored()
    sent = await call.form()
    form = _sent_form(sent)
    # From the confirmation back to the form, with all that was typed.
    if sent.get("edit"):
        return _answer(call, stored, form)
    now = call.windows.now()
    wanted = _wanted(call, stored, form, now)
    if wanted is None:
        return _answer(call, stored, form)
    proposal = await call.run(_proposal, call, stored, form, wanted)
    if proposal is None or form.fails:
        return _answer(call, stored, form)
    values = {
        "stored": stored,
        "here": policy.here(call, stored),
        "form": form,
        "wanted": wanted,
        "effects": _effects(proposal, wanted.cluster),
    }
    return page(call, "confirm.html", values)


@router.post(_OVERRIDE)
async def make_override(call: OverridePolicy) -> Response:
    """Make the override that was confirmed."""
    stored = call.stored()
    form = _sent_form(await call.form())
    now = call.windows.now()
    # Hidden fields come back as anything: they are read as if they had been typed.
    wanted = _wanted(call, stored, form, now)
    if wanted is None:
        return _answer(call, stored, form)
    order = Order(call.caller, wanted.reason, urgent=True, override=wanted.name)
    change = partial(overrides.made, request=wanted, at=now)
    outcome = await call.run(forms.try_change, call, form, change, order)
    # Whatever changed since it was confirmed: the form says it, with all that was typed.
    if outcome is None:
        await call.run(_proposal, call, call.stored(), form, wanted)
        return _answer(call, stored, form)
    return forms.done(call, outcome)


@router.post(f"{_OVERRIDE}/end")
async def end_override_on_page(call: OverrideCluster) -> Response:
    """End an override, or take one away that is over."""
    # In a field and not in the path: a name may be any key of YAML.
    name = (await call.form()).get("override", "")
    if not name:
        raise bad_request("the form does not name the override to end")
    change = partial(overrides.ended, name=name, cluster=call.cluster)
    # Ended in a hurry, as it was made: the message says what and where.
    reason = f"End override {name} of {call.place.title}"
    order = Order(call.caller, reason, urgent=True, override=name)
    outcome = await call.run(call.writer.change, call.place, change, order)
    call.note(outcome)
    return forms.done(call, outcome)


@router.post(f"{_OVERRIDE}/prune")
async def prune_overrides(call: OverridePolicy) -> Response:
    """Take all overrides away that are over."""
    await call.form()
    change = partial(overrides.pruned, at=call.windows.now())
    reason = f"Remove overrides of {call.place.title} that are over"
    order = Order(call.caller, reason, urgent=True)
    outcome = await call.run(call.writer.change, call.place, change, order)
    call.note(outcome)
    return forms.done(call, outcome)


def _sent_form(sent: dict[str, str]) -> Form:
    texts = {name: sent.get(name, "").strip() for name in FIELDS}
    return Form(texts)


def _wanted(call: Call, stored: Stored, form: Form, now: datetime) -> OverrideRequest | None:
    """Return the override that the form asks for; None where the form says what is wrong."""
    texts = form.texts
    if texts["state"] not in overrides.STATES:
        form.add("state", "Choose whether to open or to close.")
    length = _length(form)
    if texts["cluster"]:
        # An unknown one is a problem, and said to be one.
        call.windows.evaluator.version(stored, texts["cluster"])
    # An instant from here on: what is confirmed is what is made.
    zone = overrides.zone_of_ends(stored.config, texts["cluster"] or None)
    ends = overrides.end(texts["until"], overrides.minute(now), zone)
    if length is not None:
        ends = overrides.until(now, length).astimezone(zone).isoformat(timespec="minutes")
    try:
        reason = parameters.line(texts["reason"])
    except ValueError:
        form.add("reason", "Give a reason in one line; everyone who waits can read it.")
    if form.fails:
        return None
    return OverrideRequest(
        state=texts["state"],
        reason=reason,
        until=ends,
        ticket=texts["ticket"] or None,
        requested_by=texts["requested-by"] or None,
        # By the minute: pressed twice, the second finds the name taken, and nothing happens twice.
        name=overrides.default_name(texts["state"], now),
        cluster=texts["cluster"] or None,
        longest=moments.LONGEST,
    )


def _length(form: Form) -> timedelta | None:
    """Return for how long; None where the form has a moment instead, or says what is wrong."""
    # Exactly one of both, as `override` wants it.
    text, until = form.texts["for"], form.texts["until"]
    if until and text:
        form.add("for", "Give a duration or an end, and leave the other empty.")
        return None
    if until:
        return None
    # In the form's own words: a person reads it, who has never seen a policy.
    try:
        length = moments.duration(text)
    except RefusedError:
        form.add("for", "Give a duration such as 2h or 1h30m, or an end below.")
        return None
    if not length:
        form.add("for", "It must last at least one minute.")
    return length


def _proposal(call: Call, stored: Stored, form: Form, wanted: OverrideRequest) -> Proposal | None:
    """Work out what would come of it, and put what is in its way beside the fields."""
    now = call.windows.now()
    try:
        change = partial(overrides.made, request=wanted, at=now)
        proposal = call.writer.preview(stored, change, Order(call.caller, urgent=True))
    except Problem as problem:
        form.general.append(Found(problem.detail))
        return None
    # It is urgent: no finding of an audit of years to come is in its way.
    errors = [result for result in proposal.compiled if fails([result])]
    form.place(errors, _paths(wanted, errors))
    return proposal


def _paths(wanted: OverrideRequest, errors: list[Result]) -> dict[str, str]:
    paths: dict[str, str] = {}
    for error in errors:
        # `spec.clusters.south.overrides.open-20261123-0221.ends` is the field `until`.
        place, _, name = error.path.rpartition(".")
        if place.endswith(f"overrides.{wanted.name}") and name in _PATHS:
            paths[error.path] = _PATHS[name]
    return paths


def _effects(proposal: Proposal, cluster: str | None) -> list[Effect]:
    groups: dict[Effect, list[str]] = {}
    # Of a thousand clusters most are alike: they share an effect, and are named together.
    for turn in _turns(proposal, cluster):
        # Of the policy as it will be: the targets that open are its own.
        timetable = turn.timetable
        targets = tuple(map(str, timetable.targets))
        effect = Effect((), targets, turn.was, turn.now, timetable.zone)
        groups.setdefault(effect, []).append(timetable.cluster or "")
    found: list[Effect] = []
    for effect, names in groups.items():
        # A policy without clusters holds on whichever has it, under no name.
        clusters = tuple(filter(None, names))
        found.append(replace(effect, clusters=clusters))
    return found


def _turns(proposal: Proposal, cluster: str | None) -> Iterator[Turn]:
    for turn in proposal.turns:
        # Of one cluster alone: nothing changes on the others.
        if cluster in (None, turn.timetable.cluster):
            yield turn


def _clock(stored: Stored, cluster: str) -> str:
    """Say whose clock shows a time that is typed."""
    zone = overrides.zone_of_ends(stored.config, None).key
    if len(clocks.of_clusters(stored.config)) == 1:
        return f"All times are in {zone}."
    own = clocks.zone(stored.config, cluster or None).key
    example = f" ({cluster}: {own})" if cluster else ""
    return (
        f"A time without an offset is in the time zone of the chosen cluster{example}; "
        f"for all clusters, in {zone}."
    )


def _answer(call: Call, stored: Stored, form: Form) -> Response:
    status = HTTPStatus.OK
    if form.fails:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    values = {
        "stored": stored,
        "here": policy.here(call, stored),
        "form": form,
        "clusters": call.windows.evaluator.clusters(stored),
        "most_choices": MOST_CHOICES,
        "clock": _clock(stored, form.texts["cluster"]),
    }
    return page(call, "override.html", values, status)

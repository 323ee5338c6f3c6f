"""The form that opens or closes for a while: checked, confirmed, and ended again."""

from collections.abc import Hashable
from datetime import datetime
from functools import partial
from typing import Annotated

from fastapi import Query
from pydantic import ValidationError
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import OverrideRequest
from krm_windows.edit.proposal import Proposal, Turn
from krm_windows.plan import clocks
from krm_windows.service import models, parameters, routing
from krm_windows.service.admission import Call, Fields, OverrideCluster, OverridePolicy, ReadPolicy
from krm_windows.service.pages import forms, policy
from krm_windows.service.pages.forms import Form
from krm_windows.service.pages.rendering import page
from krm_windows.service.policies import Stored
from krm_windows.service.problems import bad_request
from krm_windows.service.writing import Change, Order, found_of

_OVERRIDE = "/ui/policies/{namespace}/{name}/override"
router = routing.pages()
FIELDS = ("state", "for", "until", "reason", "ticket", "requestedBy", "cluster")
"""The fields of the form."""
# So many fit a list to choose from; of more, the name is typed.
MOST_CHOICES = 100
# By the field of the policy that has what a field of the form says.
_PLACES = {name: name for name in FIELDS} | {"ends": "until"}
# What is wrong with a field in the words of a person who has never seen a policy.
_WRONG = {
    "state": "Choose whether to open or to close.",
    "for": "Give a duration such as 2h or 1h30m, or an end below, and leave the other empty.",
}
_NO_REASON = "Give a reason in one line; everyone who waits can read it."


@router.get(_OVERRIDE)
def show_override_form(call: OverrideCluster, state: Annotated[str, Query()] = "open") -> Response:
    """Show the form."""
    # So that a tired reader can confirm it as it is.
    first = {"state": state, "for": "2h", "cluster": call.cluster or ""}
    first["requestedBy"] = call.caller.person.name
    return _answer(call, call.stored(), Form({**dict.fromkeys(FIELDS, ""), **first}))


# Apart from making it: what is checked has not happened, so that no line of the log says it did.
@router.post(f"{_OVERRIDE}/check")
def check_override(call: ReadPolicy, fields: Fields) -> Response:
    """Show what an override would do, to be confirmed; or the form, with what is wrong."""
    stored = call.stored()
    form = _sent_form(fields)
    # From the confirmation back to the form, with all that was typed.
    if fields.get("edit"):
        return _answer(call, stored, form)
    now = call.windows.now()
    request = _request(call, stored, form, now)
    if request is None:
        return _answer(call, stored, form)
    proposal = _preview(call, stored, form, request, now)
    if proposal is None or form.fails:
        return _answer(call, stored, form)
    values = {
        "stored": stored,
        "here": policy.here(call, stored),
        "form": form,
        "wanted": request,
        "effects": _effects(proposal, request.cluster),
    }
    return page(call, "confirm.html", values)


@router.post(_OVERRIDE)
def make_override(call: OverridePolicy, fields: Fields) -> Response:
    """Make the override that was confirmed."""
    stored = call.stored()
    # Hidden fields come back as anything: they are read as if they had been typed.
    form = _sent_form(fields)
    now = call.windows.now()
    request = _request(call, stored, form, now)
    if request is None:
        return _answer(call, stored, form)
    order = Order(call.caller, request.reason, urgent=True, override=request.name)
    change = partial(overrides.made, request=request, at=now)
    outcome = forms.try_change(call, form, change, order)
    if outcome is not None:
        return forms.done(call, outcome)
    # Whatever changed since it was confirmed: the form says it, with all that was typed.
    stored = call.stored()
    _preview(call, stored, form, request, now)
    return _answer(call, stored, form)


@router.post(f"{_OVERRIDE}/end")
def end_override_on_page(call: OverrideCluster, fields: Fields) -> Response:
    """End an override, or take one away that is over."""
    # In a field and not in the path: a name may be any key of YAML.
    name = fields.get("override", "")
    if not name:
        raise bad_request("the form does not name the override to end")
    change = partial(overrides.ended, name=name, cluster=call.cluster)
    # Ended in a hurry, as it was made: the message says what and where.
    return _made(call, change, f"End override {name} of {call.place.title}", name)


@router.post(f"{_OVERRIDE}/prune")
def prune_overrides(call: OverridePolicy, _: Fields) -> Response:
    """Take all overrides away that are over."""
    change = partial(overrides.pruned, at=call.windows.now())
    return _made(call, change, f"Remove overrides of {call.place.title} that are over")


def _made(call: Call, change: Change, reason: str, name: str | None = None) -> Response:
    order = Order(call.caller, reason, urgent=True, override=name)
    outcome = call.writer.change(call.place, change, order)
    call.note(outcome)
    return forms.done(call, outcome)


def _sent_form(sent: dict[str, str]) -> Form:
    return Form({name: sent.get(name, "").strip() for name in FIELDS})


def _request(call: Call, stored: Stored, form: Form, now: datetime) -> OverrideRequest | None:
    """Return the override that the form asks for; None where the form says what is wrong."""
    cluster = form.texts["cluster"] or None
    # An unknown one is a problem, and said to be one.
    call.windows.evaluator.check(stored, cluster)
    try:
        form.texts["reason"] = parameters.line(form.texts["reason"])
    except ValueError:
        form.add("reason", _NO_REASON)
    given = {name: text for name, text in form.texts.items() if text}
    try:
        asked = models.Override.model_validate({"reason": "-", **given})
    except ValidationError as error:
        for each in error.errors():
            # What is about no field is about both that say when it ends.
            name = str((*each["loc"], "for")[0])
            form.add(name, _WRONG.get(name, each["msg"]))
        return None
    if form.fails:
        return None
    # An instant from here on: what is confirmed is what is made.
    zone = overrides.zone_of_ends(stored.config, cluster)
    ends = overrides.end(asked.until or "", overrides.minute(now), zone)
    if asked.length is not None:
        ends = overrides.until(now, asked.length).astimezone(zone).isoformat(timespec="minutes")
    # By the minute: pressed twice, the second finds the name taken, and nothing happens twice.
    name = overrides.default_name(asked.state, now)
    return asked.request(asked.requested_by, name=name, length=None, until=ends)


def _preview(
    call: Call, stored: Stored, form: Form, request: OverrideRequest, now: datetime
) -> Proposal | None:
    """Work out what would come of it, and put what is in its way beside the fields."""
    change = partial(overrides.made, request=request, at=now)
    order = Order(call.caller, urgent=True)
    proposal = forms.preview(call, form, stored, change, order)
    if proposal is not None:
        form.place(found_of(proposal, order), f"overrides.{request.name}", _PLACES)
    return proposal


def _effects(proposal: Proposal, cluster: str | None) -> list[list[Turn]]:
    """Return what changes, clusters together where the same holds before and after."""
    groups: dict[Hashable, list[Turn]] = {}
    for turn in proposal.turns:
        there = turn.timetable
        # Of one cluster alone: nothing changes on the others.
        if cluster in (None, there.cluster):
            # Of the policy as it will be: the targets that open are its own.
            key = tuple(map(str, there.targets)), there.zone.key, turn.was, turn.now
            groups.setdefault(key, []).append(turn)
    return list(groups.values())


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
    values = {
        "stored": stored,
        "here": policy.here(call, stored),
        "form": form,
        "clusters": call.windows.evaluator.clusters(stored),
        "most_choices": MOST_CHOICES,
        "clock": _clock(stored, form.texts["cluster"]),
    }
    return page(call, "override.html", values, form.status)

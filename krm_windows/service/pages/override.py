"""The form that opens or closes for a while, now or later, with a preview; and how that ends."""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import compress
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import BeginningError, ListedOverride, OverrideRequest, Phase
from krm_windows.edit.patches import rules_on
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.plurals import some
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.preview.clock import shown
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, OverrideCluster, ReadCluster
from krm_windows.service.pages import scope
from krm_windows.service.pages.forms import Form, moment
from krm_windows.service.pages.rendering import here
from krm_windows.service.pages.scope import Where
from krm_windows.service.pages.spans import Lack
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Order

_OVERRIDE = "/ui/policies/{namespace}/{name}/override"
router = routing.pages()
LENGTHS = {
    "30m": "30 minutes",
    "1h": "1 hour",
    "2h": "2 hours",
    "4h": "4 hours",
    "24:00": "Until midnight",
    "noon": "Until noon the next day",
    "at": "Another time",
}
"""What is chosen at once for how long, or until when, with its words: from when it begins."""
ENDS = {"End now": "End", "Call off": "Call off", "Remove": "Remove"}
"""The buttons that take an override out: while it holds, before that, and after; with a verb."""
FIELDS = (
    *("state", "when", "from", "from-time", "for", "until", "until-time"),
    *("reason", "ticket", "requestedBy", "override", "of", "end"),
)
"""The fields of the form.

`override` is the one whose end is changed, empty for a new one, `of` its reason; `end` is one of
ENDS where it is taken out.
"""
# By the field of the policy that has what a field of the form says.
_PLACES = {"starts": "from", "ends": "until", **{name: name for name in FIELDS}}
# What is wrong with a field in the words of a person who has never seen a policy.
_WRONG = {
    "state": "Choose whether to open or to close.",
    "from": "Choose the day on which it begins.",
    "for": "Choose for how long.",
    "until": "Choose the day or the time at which it ends.",
    "reason": "Give a reason in one line; everyone who waits can read it.",
}


@router.get(_OVERRIDE)
def show_override_form(
    call: OverrideCluster,
    state: Annotated[str, Query()] = "open",
    like: Annotated[str, Query()] = "",
    begins: Annotated[str, Query()] = "",
) -> Response:
    """Show the form, for those of a group where a cluster of it is given by `like`.

    It `begins` now, or at a moment such as `2026-11-26T17:00`.
    """
    # Where nobody has to sign in, it is not known who asks.
    is_known = call.caller != call.service.access.ways.anonymous
    by = call.caller.person.name if is_known else ""
    today = Today(call.windows.now()).on(overrides.zone_of_ends(call.stored().config, call.cluster))
    day, is_later, time = begins.partition("T")
    first = {"state": state, "when": "at" if is_later else "now", "requestedBy": by}
    first |= {"from": day or today.isoformat(), "from-time": time}
    where = scope.offered(call, like)
    return _page(call, Form({**dict.fromkeys(FIELDS, ""), **first}, where=where))


@router.post(f"{_OVERRIDE}/change")
def show_change_of_end(call: OverrideCluster, fields: Fields) -> Response:
    """Show the form for another end of an override, as an entry of the list sends it."""
    verb = ENDS.get(fields.get("end", ""))
    reason = f"{verb} {fields.get('of') or fields.get('override')}" if verb else ""
    return _answer(call, {"reason": reason, **fields}, "preview")


# Apart from making it: it changes nothing, so that no line of the log says it did.
@router.post(f"{_OVERRIDE}/preview")
def preview_override(call: ReadCluster, fields: Fields) -> Response:
    """Say what would come of an override."""
    return _answer(call, fields, "preview")


@router.post(_OVERRIDE)
def make_override(call: OverrideCluster, fields: Fields) -> Response:
    """Make an override, or say why not."""
    return _answer(call, fields, "save")


def _answer(call: Call, sent: dict[str, str], action: str) -> Response:
    texts = {name: sent.get(name, "").strip() for name in FIELDS}
    where = scope.sent(call, sent)
    if texts["override"]:
        where = _holding(call, where, texts)
    form = Form(texts, action, fields=_PLACES, where=where)
    # Of a thousand clusters it takes a moment to list them.
    held = _held(call, form) if texts["override"] else None
    page = partial(_page, call, form, held)
    if action == "save" and not texts["reason"]:
        form.add("reason", _WRONG["reason"])
    if texts["override"] and texts["end"]:
        reason, places = texts["reason"], where.places
        # In the words that the form proposes: elsewhere it goes on.
        if where.kind == scope.SOME and reason.startswith(f"{ENDS.get(texts['end'])} "):
            reason += f" on {some(where.chosen, 3)}"
        order = Order(call.caller, reason, urgent=True, override=texts["override"])
        if where.kind == scope.ALL:
            every = overrides.holders(call.stored().config, texts["override"])
            places = tuple(each for each in every if each in (None, *where.clusters))
        end = partial(overrides.ended, name=texts["override"], places=places)
        return form.answer(call, end, order) or page()
    request = _request(form, call, held)
    if request is None:
        return page()
    _check(form, call, request)
    change = partial(_changed, form=form, request=request, at=call.windows.now())
    order = Order(call.caller, request.reason, urgent=True, override=texts["override"])
    return form.answer(call, change, order) or page()


def _holding(call: Call, where: Where, texts: dict[str, str]) -> Where:
    """Return where an override can be changed: on no cluster that has none of that name."""
    config, override = call.stored().config, texts["override"]

    def meant(cluster: str | None) -> Value:
        # Of two that begin in the same minute the names are the same.
        entry = rules_on(config, "overrides", cluster).get(override)
        return entry.get("reason") if isinstance(entry, dict) else None

    # Where it was is still offered where somebody has unticked all of it.
    one = meant(next(iter(where.places), None)) or texts["of"]
    having = [each for each in where.clusters if one and meant(each) == one]
    where = replace(where, clusters=tuple(having))
    if where.kind == scope.ALL and having and override not in rules_on(config, "overrides", None):
        return replace(where, kind=scope.SOME, chosen=where.clusters)
    return where


def _request(form: Form, call: Call, held: ListedOverride | None) -> OverrideRequest | None:
    """Return the override that the form asks for; None where the form says what is wrong."""
    texts, length, until = form.texts, None, ""
    end = "until" if texts["for"] == "at" else "for"
    starts = moment(texts, "from") if texts["when"] == "at" else ""
    # One that is to come lasts so long from when it begins.
    if held and held.begins and held.phase is Phase.COMING:
        starts = held.begins.astimezone(held.zone).isoformat(timespec="minutes")
    if texts["for"] in ("", "at"):
        until = moment(texts, "until")
    elif texts["for"] == "noon":
        # No day follows the last that a date can say, and without an end it is refused.
        with suppress(OverflowError):
            day = _begins(starts, call).date() + timedelta(days=1)
            until = f"{day}T12:00" if starts else "tomorrow 12:00"
    elif ":" in texts["for"]:
        until = texts["for"]
    else:
        try:
            length = moments.duration(texts["for"])
        except RefusedError as error:
            form.add("for", str(error))
    # All that is missing at once.
    missing = {"state": texts["state"] not in overrides.STATES, end: not (length or until)}
    missing["from"] = texts["when"] == "at" and not texts["from"]
    for name in compress(missing, missing.values()):
        form.lacks(Lack(name, _WRONG[name]))
    if form.is_incomplete or form.found.keys() - {"reason"}:
        return None
    return OverrideRequest(
        texts["state"],
        # It may be still to come, and hides nothing else that is wrong.
        texts["reason"] or "this one",
        length,
        until or None,
        texts["ticket"] or None,
        texts["requestedBy"] or None,
        texts["override"] or None,
        longest=moments.LONGEST,
        starts=starts or None,
    )


def _held(call: Call, form: Form) -> ListedOverride | None:
    """Return the override whose end is changed, as it is now."""
    place = next(iter(form.where.places), None)
    # In a policy with errors it is not known.
    with suppress(InputError):
        for each in overrides.listed(call.stored().config, call.windows.now(), place):
            if each.name == form.texts["override"]:
                return each
    return None


def _begins(starts: str, call: Call) -> datetime:
    """Return when an override begins: on whose clock ever."""
    try:
        return datetime.fromisoformat(starts)
    except ValueError:
        return call.windows.now()


def _check(form: Form, call: Call, request: OverrideRequest) -> None:
    """Say what nobody can mean, in the words of the form."""
    config, now, where = call.stored().config, call.windows.now(), form.where
    wanted = replace(request, cluster=next(iter(where.places), None))
    ends = "until" if form.texts["for"] in ("", "at") else "for"
    try:
        entry = overrides.entry(config, wanted, now)
    except InputError as error:
        form.add("from" if isinstance(error, BeginningError) else ends, f"{error}.")
    else:
        if request.state == "open":
            begun, ended = (datetime.fromisoformat(str(entry[name])) for name in ("starts", "ends"))
            # The form of another end has no field of what to do.
            field = ends if form.texts["override"] else "state"
            _check_closed(form, call, field, begun, ended)


def _check_closed(form: Form, call: Call, field: str, begun: datetime, ended: datetime) -> None:
    """Say where it would stay closed all the time, as an override that closes wins."""
    # In a policy with errors they are not known; its form says so.
    with suppress(InputError):
        for each in overrides.listed(call.stored().config, call.windows.now()):
            there = {each.cluster} if each.cluster else {*form.where.places} - {*each.elsewhere}
            holds = (each.begins or begun) <= begun and ended <= each.ends and not each.differs
            if each.state == "Closed" and holds and not there.isdisjoint(form.where.places):
                until = shown(each.ends, each.zone)
                said = f"{each.reason!r} keeps it closed until {until}: end that first."
                form.add(field, said, end=f"{here(call)(cluster=call.cluster)}#overrides-title")


def _changed(config: KubeObject, form: Form, request: OverrideRequest, at: datetime) -> KubeObject:
    first = next(iter(form.where.places), None)
    entry = overrides.entry(config, replace(request, cluster=first), at)
    # Pressed twice, the second is the same, and nothing happens twice.
    there = rules_on(config, "overrides", first).items()
    same = next((name for name, each in there if each == entry), None)
    name = request.name or same or overrides.free_name(config, entry)
    form.path = f"overrides.{name}"

    def part(cluster: str | None) -> Value:
        entry = overrides.entry(config, replace(request, cluster=cluster), at)
        shown: Value = {"ends": entry["ends"]} if request.name else entry
        return {"overrides": {name: shown}}

    return form.where.applied(config, part)


def _page(call: Call, form: Form, held: ListedOverride | None = None) -> Response:
    config, evaluator = call.stored().config, call.windows.evaluator
    # Whose clock shows a time that is typed.
    zone = overrides.zone_of_ends(config, None).key
    clock = f"Times are in {zone}."
    if len(clocks.of_clusters(config)) > 1:
        chosen = form.where.chosen
        own = f" ({chosen[0]}: {clocks.zone(config, chosen[0]).key})" if len(chosen) == 1 else ""
        clock = f"For some clusters, times are on each one's own clock{own}; for all, in {zone}."
    state = "Scheduled"
    # A policy with errors may be closed by hand, and an override of it is written all the same.
    with suppress(Problem):
        state = evaluator.policy(call.stored(), call.cluster).spec.state
    return form.page(call, "override.html", clock=clock, lengths=LENGTHS, state=state, held=held)

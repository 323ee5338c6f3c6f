"""The form that adds, changes or ends a freeze, by dates; what dates cannot say stays text."""

import re
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from itertools import chain
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows import rules
from krm_windows.checks.facts import end_of
from krm_windows.edit import entries, overrides
from krm_windows.edit.patches import rules_on
from krm_windows.krm import KubeObject, Value
from krm_windows.plan import clocks
from krm_windows.results import Severity
from krm_windows.schedule import wallclock
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import forms, scope
from krm_windows.service.pages.forms import Form, Found, moment
from krm_windows.service.pages.spans import Lack
from krm_windows.service.problems import Problem, bad_request
from krm_windows.service.writing import Order, entity_tag

_FREEZE = "/ui/policies/{namespace}/{name}/freeze"
router = routing.pages()
FIELDS = ("starts", "ends", "duration", "reason")
"""The fields of a freeze."""
# What a picker of a day and one of a time can show of a moment.
_SHOWN = re.compile(r"(?:(\d{4}-\d\d-\d\d)(?:T((?!24)\d\d:\d\d))?)?", re.ASCII)
_PICKERS = ("from", "from-time", "to", "to-time")
_PLACES = {**{name: name for name in FIELDS}, "": "ends", rules.NAME_SYNTAX.id: "name"}
_MISSING = {
    "from": "Choose the first day.",
    "to": "Choose the last day; for a single day, the same one.",
    "reason": "Give a reason in one line; everyone who waits can read it.",
    "why": "Give a reason for the change in one line; it becomes the commit message.",
}
# In the query and not in the path: a name may be any key of YAML.
_Freeze = Annotated[str, Query()]


@router.get(_FREEZE)
def show_freeze_form(
    call: WriteCluster,
    freeze: _Freeze = "",
    in_words: Annotated[str, Query(alias="as")] = "",
    alike: Annotated[str, Query()] = "",
) -> Response:
    """Show the form with the freeze as it is: by dates, or as it is written.

    It is for a cluster, or also for those `alike`.
    """
    texts = _texts(call.stored().config, call.cluster, freeze)
    # Without a name it is the form of a freeze that is not there yet.
    if freeze and not any(texts.values()):
        raise _absent(call, freeze)
    texts |= {_was(name): text for name, text in texts.items()}
    picked = {} if in_words else _picked(texts)
    where = scope.offered(call)
    if alike:
        where = where.alike(call.stored().config, "freezes", freeze)
    return _page(call, Form({**texts, **picked}, where=where), freeze)


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_FREEZE}/preview")
def preview_freeze(call: ReadCluster, fields: Fields, freeze: _Freeze = "") -> Response:
    """Say what would come of the change."""
    return _answer(call, fields, freeze, "preview")


@router.post(_FREEZE)
def save_freeze(call: WriteCluster, fields: Fields, freeze: _Freeze = "") -> Response:
    """Save the change, or say why not."""
    return _answer(call, fields, freeze, "save")


@router.post(f"{_FREEZE}/end")
def end_freeze(call: WriteCluster, fields: Fields, freeze: _Freeze = "") -> Response:
    """End a freeze that holds now at this minute, and take any other away."""
    where, config = scope.sent(call, fields), call.stored().config
    if where.wrong:
        raise bad_request(where.wrong)
    # Pressed a second time, or gone meanwhile.
    if not any(freeze in rules_on(config, "freezes", each) for each in where.places):
        raise _absent(call, freeze)
    now = overrides.minute(call.windows.now())

    def part(cluster: str | None) -> Value:
        at = now.astimezone(clocks.zone(config, cluster)).isoformat(timespec="minutes")
        ends: Value = {"ends": at, "duration": None}
        return {"freezes": {freeze: ends if _is_running(call, freeze, cluster) else None}}

    order = Order(call.caller, f"End freeze {freeze} of {call.place.title}")
    outcome = call.writer.change(call.place, lambda old: where.applied(old, part), order)
    call.note(outcome)
    return forms.done(call, outcome)


def _answer(call: Call, sent: Mapping[str, str], freeze: str, action: str) -> Response:
    sent, action = forms.taken(sent, action)
    is_picked = "from" in sent
    names = (*FIELDS, *map(_was, FIELDS), "why" if freeze else "name")
    texts = {name: sent.get(name, "").strip() for name in names}
    if is_picked:
        texts |= {name: sent.get(name, "").strip() for name in _PICKERS}
        texts |= {"starts": moment(texts, "from"), "ends": moment(texts, "to"), "duration": ""}
    stored, where = call.stored(), scope.sent(call, sent)
    taken = set(
        chain.from_iterable(rules_on(stored.config, "freezes", each) for each in where.places)
    )
    year = texts["starts"][:4] if is_picked else ""
    name = freeze or texts["name"] or entries.name(texts["reason"], year, taken)
    places = _PLACES | ({"starts": "from", "ends": "to", "": "to"} if is_picked else {})
    form = Form(texts, action, f"freezes.{name}", places, where)
    _check(form)
    if not freeze and name in taken:
        form.add("name", "A freeze with this name already exists.")
    if not freeze:
        form.check_name()
    if freeze:
        _compare(form, _texts(stored.config, call.cluster, freeze))

    def part(config: KubeObject, cluster: str | None) -> Value:
        was = _texts(config, cluster, name)
        # While somebody types, the reason is still to come.
        now = {**texts, "reason": texts["reason"] or "-"}
        content: Value = {each: now[each] or None for each in FIELDS if now[each] != was[each]}
        # A map without anything in it is an error in a cluster's entry.
        return {"freezes": {name: content}} if content else {}

    def change(config: KubeObject) -> KubeObject:
        return where.applied(config, lambda cluster: part(config, cluster))

    # Whoever changes the policy within this moment is not overtaken.
    why = texts["why"] if freeze else f"Freeze: {texts['reason']}"
    order = Order(call.caller, why, if_match=entity_tag(stored))
    if action == "save" and not form.fails and not form.is_conflict:
        saved = form.save(call, change, order)
        if saved is not None:
            return saved
    if not form.is_incomplete and not form.found.keys() & {"to", "name", "scope"}:
        form.preview(call, change, order)
    return _page(call, form, freeze)


def _absent(call: Call, freeze: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, f"{call.place.title} has no freeze {freeze!r}")


def _check(form: Form) -> None:
    """Say of all that is missing that it is, and of days in the wrong order."""
    texts = form.texts
    for name, words in _MISSING.items():
        # Hours are compared without the reason.
        if not texts.get(name, "-") and (form.action == "save" or name in _PICKERS):
            form.lacks(Lack(name, words))
    if "from" in texts and _picked(texts):
        begins = f"{texts['from']}T{texts['from-time'] or '00:00'}"
        # The last day is in it.
        if texts["to"] and f"{texts['to']}T{texts['to-time'] or '24:00'}" <= begins:
            form.add("to", "The end must be later than the beginning.")


def _compare(form: Form, now: dict[str, str]) -> None:
    """Say what somebody else made of the freeze since the form began, and go on from there."""
    if all(form.texts[_was(name)] == now[name] for name in FIELDS):
        return
    form.is_conflict = True
    said = ", ".join(text for text in now.values() if text) or "gone"
    form.general.append(Found(f"The freeze is now: {said}.", Severity.INFO))
    form.texts |= {_was(name): text for name, text in now.items()}


def _was(name: str) -> str:
    """Return the hidden field with what a field was as the form began."""
    return f"was-{name}"


def _picked(texts: Mapping[str, str]) -> dict[str, str]:
    """Return what the pickers show of a freeze; nothing where they cannot show it."""
    found = [_SHOWN.fullmatch(texts[name]) for name in ("starts", "ends")]
    if texts["duration"] or None in found:
        return {}
    parts = chain.from_iterable(each.groups("") for each in found if each)
    return dict(zip(_PICKERS, parts, strict=True))


def _texts(config: KubeObject, cluster: str | None, freeze: str) -> dict[str, str]:
    found = rules_on(config, "freezes", cluster).get(freeze)
    # Numbers and dates of YAML are texts here, as the file has them.
    texts = {name: found.get(name) if isinstance(found, dict) else None for name in FIELDS}
    return {name: "" if text is None else str(text).strip() for name, text in texts.items()}


def _is_running(call: Call, freeze: str, cluster: str | None) -> bool:
    """Whether a freeze of dates holds now, so that it can be ended."""
    try:
        timetable = call.windows.evaluator.timetable(call.stored(), cluster)
    except Problem:
        return False
    now, zone = call.windows.now(), timetable.zone
    return any(
        wallclock.utc(rule.begins, zone) <= now < end_of(timetable, rule)
        for rule in timetable.freezes
        if rule.key == freeze and isinstance(rule.begins, datetime)
    )


def _page(call: Call, form: Form, freeze: str) -> Response:
    zones = clocks.of_clusters(call.stored().config)
    clock = "Days and times are on each cluster's own clock."
    if len(zones) == 1:
        clock = f"Days and times are in {zones.pop().key}."
    is_running = bool(freeze) and _is_running(call, freeze, call.cluster)
    return form.page(call, "freeze.html", freeze=freeze, clock=clock, is_running=is_running)

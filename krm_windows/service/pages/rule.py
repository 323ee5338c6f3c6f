"""The form of a rule of a policy, a window or a freeze: a preview of the hours, then one commit."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows import rules
from krm_windows.checks.facts import end_of
from krm_windows.edit import entries, overrides
from krm_windows.edit.patches import clusters_of, patched, rules_on
from krm_windows.krm import KubeObject, Value
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.plurals import some
from krm_windows.policy.fields import LABEL
from krm_windows.schedule import wallclock
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import forms, scope, spans
from krm_windows.service.pages.forms import REASON, Form, was
from krm_windows.service.pages.spans import Instead, Lack, Span
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Order, entity_tag

router = routing.pages()


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs between windows and freezes.

    In a policy a rule has fields for how it `begins` and `ends`, and one that says what it is
    `about`. The form has the reason for the change in a field `why`, and starts with `first`.
    """

    name: str
    begins: str
    ends: str
    about: str
    why: str
    first: Mapping[str, str]

    @property
    def many(self) -> str:
        """The field of a policy that has these rules."""
        return f"{self.name}s"

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a rule that the form changes: its span, and what it is about."""
        return self.begins, self.ends, "duration", self.about

    def own(self, config: KubeObject) -> dict[str, dict[str, Value]]:
        """Return the rules that clusters have of their own."""
        every = clusters_of(config).items()
        own = {each: patch.get(self.many) for each, patch in every if isinstance(patch, dict)}
        return {each: found for each, found in own.items() if isinstance(found, dict)}


WINDOW = Kind("window", "opens", "closes", "description", "reason", {})
FREEZE = Kind("freeze", "starts", "ends", "reason", "why", {"repeats": "once", "ends-on": "date"})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy, by its name; empty for one that is not there yet."""

    kind: Kind
    name: str

    def texts(self, config: KubeObject, cluster: str | None) -> dict[str, str]:
        """Return its fields as the file has them, on a cluster with what it changes."""
        found = rules_on(config, self.kind.many, cluster).get(self.name)
        content = found if isinstance(found, dict) else {}
        # Numbers and dates of YAML are texts here, as the file has them.
        texts = {name: content.get(name) for name in self.kind.fields}
        return {name: "" if text is None else str(text).strip() for name, text in texts.items()}

    def shown(self, config: KubeObject, cluster: str | None) -> dict[str, str]:
        """Return the texts with which a form begins."""
        texts = self.texts(config, cluster)
        # A cluster may have none where all the others have one.
        return texts if any(texts.values()) else self.texts(config, None)

    def without_own(self, config: KubeObject, clusters: Iterable[str]) -> dict[str, Value]:
        """Return the patch that takes from clusters what they have of it of their own."""
        own = self.kind.own(config)
        # No empty map is left behind.
        patch: dict[str, Value] = {
            each: {self.kind.many: {self.name: None} if len(own[each]) > 1 else None}
            for each in clusters
            if self.name in own.get(each, {})
        }
        return {"clusters": patch} if patch else {}


# What is wrong with a rule in the words of its form.
_WORDS = {
    rules.END_CHOICE.id: "Say in one way how it ends.",
    rules.END_ORDER.id: "The end must be later than the beginning.",
    rules.ENDS_MEET.id: "The end must not be at the same minute as the beginning.",
    rules.END_ONE_OFF.id: "What repeats cannot end on a date: choose another way.",
    rules.END_INSTANT.id: "Choose after how long it ends.",
    rules.WINDOW_SHORT.id: "It is so short that it may be over before changes come through.",
    rules.WINDOW_CLOSES_EARLY.id: "It is too short: the policy keeps so much free before each end.",
    rules.WINDOW_UNEQUAL.id: "It is open more than twice as long at some times as at others.",
    rules.WINDOW_NEVER_OPENS.id: "It is never open: look at its days, and at freezes.",
    rules.WINDOW_ALWAYS_OPEN.id: "It never closes: each time lasts until the next begins.",
    rules.OUTSIDE_WINDOWS.id: "It must have windows, or be open outside of windows, not both.",
    rules.NAME_SYNTAX.id: "Use small letters, digits and hyphens, 63 at most.",
}


def _serve(kind: Kind) -> None:
    """Serve the form of a kind of rule."""
    path = f"/ui/policies/{{namespace}}/{{name}}/{kind.name}"

    # In the query and not in the path: a name may be any key of YAML.
    @router.get(path, name=f"show_{kind.name}_form")
    def show(
        call: WriteCluster,
        named: Annotated[str, Query(alias=kind.name)] = "",
        alike: Annotated[str, Query()] = "",
    ) -> Response:
        """Show the form with the rule as it is, for a cluster or also for those `alike`."""
        return _begun(call, Rule(kind, named), is_alike=bool(alike))

    # Apart from saving: it changes nothing, so that no line of the log says it did.
    @router.post(f"{path}/preview", name=f"preview_{kind.name}")
    def preview(
        call: ReadCluster, fields: Fields, named: Annotated[str, Query(alias=kind.name)] = ""
    ) -> Response:
        """Say what would come of the change."""
        return _answer(call, Rule(kind, named), fields, "preview")

    @router.post(path, name=f"save_{kind.name}")
    def save(
        call: WriteCluster, fields: Fields, named: Annotated[str, Query(alias=kind.name)] = ""
    ) -> Response:
        """Save the change, or say why not."""
        return _answer(call, Rule(kind, named), fields, "save")


_serve(WINDOW)
_serve(FREEZE)


def _begun(call: Call, rule: Rule, *, is_alike: bool) -> Response:
    stored, where, kind = call.stored(), scope.offered(call), rule.kind
    shown = rule.shown(stored.config, call.cluster)
    if rule.name and not any(shown.values()):
        raise Problem(HTTPStatus.NOT_FOUND, f"{stored.title} has no {kind.name} {rule.name!r}")
    if is_alike:
        where = where.alike(stored.config, kind.many, rule.name)
    is_gone = rule.name and not any(rule.texts(stored.config, call.cluster).values())
    texts = {kind.why: "", "name": rule.name, "remove": "yes" if is_gone else ""}
    texts |= {**_picked(kind, shown), **({} if rule.name else kind.first)}
    texts |= {"etag": entity_tag(stored), **{was(name): text for name, text in shown.items()}}
    return _page(call, Form(texts, where=where), rule)


def _answer(call: Call, rule: Rule, fields: Mapping[str, str], action: str) -> Response:
    sent, action = forms.taken(fields, action)
    kind = rule.kind
    names = (*map(was, kind.fields), *spans.FIELDS, kind.about, kind.why, "remove", "name", "etag")
    texts = {name: sent.get(name, "").strip() for name in names}
    form = Form(texts, action, "", _places(kind, texts), scope.sent(call, sent), _WORDS)
    typed = _typed(call, form, rule)
    name = rule.name or _named(call.stored().config, form, kind, typed[kind.begins])
    # While somebody types, nothing is kept under it.
    changed = Rule(kind, name or "new")
    form.path = f"{kind.many}.{changed.name}"
    if not rule.name:
        texts[kind.why] = f"{kind.name.capitalize()}: {texts[kind.about] or name}"
        _check_over(call, form)
    elif action == "save" and not texts[kind.why]:
        form.add(kind.why, REASON)
    if kind is FREEZE and not typed[kind.about]:
        # Hours are compared before there is what everyone who waits is told.
        typed[kind.about] = "-"
        if action == "save":
            form.add(kind.about, "Give a reason in one line; everyone who waits can read it.")
    # Only the version that the form was made from is changed (RFC 9110, 13.1.1).
    order = Order(call.caller, texts[kind.why], if_match=texts["etag"])
    change = partial(_changed, call=call, form=form, rule=changed, typed=typed)
    return form.answer(call, change, order) or _page(call, form, rule)


def _typed(call: Call, form: Form, rule: Rule) -> dict[str, str]:
    """Return the fields of the rule as they were typed, and say what is missing or wrong."""
    texts, kind = form.texts, rule.kind
    before = Span(*(texts[was(name)] for name in kind.fields[:3]))
    span, lacks = spans.written(texts, before)
    typed = dict(zip(kind.fields, (*span, texts[kind.about]), strict=True))
    # Of what is removed nothing has to be said.
    lacks = [] if texts["remove"] else lacks
    for lack in lacks:
        form.lacks(lack)
    if not lacks:
        form.catch_up(call, typed, rule.shown(call.stored().config, call.cluster))
    if form.is_conflict:
        texts |= _picked(kind, typed)
    return typed


def _check_over(call: Call, form: Form) -> None:
    """Refuse dates that are over: they would change nothing."""
    texts, zone = form.texts, overrides.zone_of_ends(call.stored().config, call.cluster)
    last = {"date": "end-date", "same": "date"}.get(texts["ends-on"])
    today = Today(call.windows.now()).on(zone).isoformat()
    if texts["repeats"] == "once" and last and "" < texts[last] < today:
        form.add(last, "It is over already: choose a day that is to come.")


def _named(config: KubeObject, form: Form, kind: Kind, begins: str) -> str:
    """Return the name of a new rule, and say what is wrong with it.

    Without one it is named after what it is about, or else when it `begins`: `tue-thu-06-00`.
    """
    texts, name = form.texts, form.texts["name"]
    taken = {*rules_on(config, kind.many, None), *chain.from_iterable(kind.own(config).values())}
    if not name:
        year = texts["date"][:4] if texts["repeats"] == "once" else ""
        return entries.name(texts[kind.about] or begins, texts[kind.about] and year, taken)
    if not re.fullmatch(LABEL, name):
        spelled = entries.label(name)
        instead = Instead("name", spelled, f"Use {spelled}")
        form.lacks(Lack("name", _WORDS[rules.NAME_SYNTAX.id], instead))
    elif name in taken:
        form.add("name", f"A {kind.name} with this name already exists.")
    return name


def _places(kind: Kind, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the fields where findings are shown, by those of the policy and rules of the whole."""
    begins = {"once": "date", "other": "begins"}.get(texts["repeats"], "at")
    ends = {"after": "hours", "date": "end-date", "other": "ends"}.get(texts["ends-on"], "until")
    # What is found of the rule as a whole is most often of its end.
    places = dict(zip((*kind.fields, ""), (begins, ends, ends, kind.about, ends), strict=True))
    # The name of a rule that is there is no field, and what is wrong with it is not its end.
    return {**places, rules.NAME_SYNTAX.id: ""}


def _changed(
    config: KubeObject, call: Call, form: Form, rule: Rule, typed: Mapping[str, str]
) -> KubeObject:
    where, remove, kind = form.where, form.texts["remove"], rule.kind

    def part(cluster: str | None) -> dict[str, Value]:
        before = rule.texts(config, cluster)
        is_there = any(before.values())
        if remove:
            # On one cluster, null takes out what the policy has for all.
            ended = _ended(call, rule.name, cluster) if remove == "end" else None
            return {kind.many: {rule.name: ended}} if is_there else {}
        # What is empty is taken out (RFC 7386); of a new one, also what the policy has for all.
        names = [name for name in kind.fields if typed[name] != before[name] or not is_there]
        content: Value = {name: typed[name] or None for name in names}
        # A map without anything in it is an error in a cluster's entry.
        return {kind.many: {rule.name: content}} if content else {}

    if remove == "own":
        return patched(config, {"spec": rule.without_own(config, where.chosen)})
    if remove and where.kind == scope.ALL:
        # Also where a cluster has it in another way.
        own = rule.without_own(config, kind.own(config))
        return patched(config, {"spec": {**own, **part(None)}})
    return where.applied(config, part)


def _ended(call: Call, freeze: str, cluster: str | None) -> Value:
    """Return the patch that ends a freeze at this minute; None, which removes any other."""
    if not _is_running(call, freeze, cluster):
        return None
    zone = clocks.zone(call.stored().config, cluster)
    now = overrides.minute(call.windows.now()).astimezone(zone)
    return {"ends": now.isoformat(timespec="minutes"), "duration": None}


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


def _picked(kind: Kind, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of the form that show a rule."""
    span = Span(*(texts[name] for name in kind.fields[:3]))
    return {**spans.picked(span), kind.about: texts[kind.about]}


def _page(call: Call, form: Form, rule: Rule) -> Response:
    # Whose clock shows the times of a rule.
    config = call.stored().config
    zones = clocks.of_clusters(config)
    clock = f"Times are on each cluster's own clock, in {len(zones)} time zones."
    if call.cluster is not None:
        zones = {clocks.zone(config, call.cluster)}
    if len(zones) == 1:
        clock = f"Times are in {zones.pop().key}."
    every = rule.kind.own(config)
    own = every.get(call.cluster or "", {})
    others = [each for each, found in every.items() if rule.name in found]
    return form.page(
        call,
        "rule.html",
        kind=rule.kind,
        rule=rule.name,
        clock=clock,
        week=spans.WEEK,
        ordinals=[(name, name) for name in spans.NTH],
        month_days=list(spans.DAYS.items()),
        others=f"What is set for {some(others, 3)} stays, unless it is removed." if others else "",
        has_own=rule.name in own and any(rule.texts(config, None).values()),
        is_running=rule.kind is FREEZE and _is_running(call, rule.name, call.cluster),
    )

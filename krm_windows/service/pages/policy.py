"""The page of a policy: what holds where, its calendar, its rules, and who changed it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride
from krm_windows.krm import InputError
from krm_windows.plan import clocks
from krm_windows.plurals import on
from krm_windows.preview import explanation, stages
from krm_windows.preview.calendar import Period, calendars
from krm_windows.preview.picture import draw
from krm_windows.schedule.timetable import Timetable
from krm_windows.service import routing
from krm_windows.service.admission import Call, ReadCluster
from krm_windows.service.effects import Effect
from krm_windows.service.pages import events, groups, own, subscribe
from krm_windows.service.pages.groups import Group
from krm_windows.service.pages.history import proposed
from krm_windows.service.pages.rendering import here, page
from krm_windows.service.parameters import DrawnDays, From
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem

# A policy may name a thousand clusters that all differ: a search finds each, which has a page.
_MOST_GROUPS = 20
_POLICY = "/ui/policies/{namespace}/{name}"
router = routing.pages()


@router.get(_POLICY)
def show_policy(
    call: ReadCluster,
    start: From = None,
    days: DrawnDays = 7,
    # The commit that was made, and which rule it changed: `… windows.week`.
    saved: Annotated[str, Query()] = "",
    # `rendered`: find out whether what is rendered is current; `targets`: what the targets take;
    # `revoked`: say that a calendar address is.
    check: Annotated[str, Query()] = "",
) -> Response:
    """Show a policy: its state, calendar, rules and changes."""
    stored, cluster, windows = call.stored(), call.cluster, call.windows
    now, commit = windows.now(), windows.snapshot.commit
    made, _, changed = saved.partition(" ")
    # An unknown one is a problem, and said to be one.
    windows.evaluator.check(stored, cluster)
    # A page of one cluster says of it alone what holds, and which rules.
    alone = cluster is not None and [groups.of(call, stored, (cluster,), now)]
    every = alone or groups.every(call, stored, now)
    rows = [each for each in every if each.problem != groups.TOO_MANY][:_MOST_GROUPS]
    waits = every[0].waits if len(every) == 1 else None
    asked = waits if check == "targets" else None
    targets = asked and windows.waiting.targets(stored, cluster, asked)
    # To find it out takes as long as to render it: where it is asked for.
    renderer = windows.renderer if check == "rendered" else None
    rendered = renderer and renderer.check(commit, stored)
    history = windows.history(stored, groups.COMMITS)
    # Anybody can write an address: it is said only of a commit that did change the file. It may
    # have been some commits ago: the page was left open, and loaded again.
    done = next((each for each in history if each.name == made), None)
    values: dict[str, object] = {
        "stored": stored,
        "here": here(call),
        "cluster": cluster,
        "clusters": windows.evaluator.clusters(stored),
        "every": every,
        "rows": rows,
        "explain": partial(groups.explain, call),
        "live": events.address(commit, rows),
        "waits": waits,
        "targets": targets,
        "history": history,
        "proposed": proposed(call, stored),
        "saved": done,
        "note": _note(windows.effects.of(done, stored)) if done else "",
        "changed": changed,
        "rendered": rendered,
        "stages": stages,
        "days": days,
        "subscriptions": subscribe.listed(call),
        "check": check,
        "start": start,
        "zone": overrides.zone_of_ends(stored.config, cluster),
        "zones": len(clocks.of_clusters(stored.config)),
        **dict.fromkeys(("picture", "listed", "rules", "wrong")),
    }
    try:
        values |= _calendar(call, rows, Period(start or groups.today(rows, now), days))
        values["listed"] = _listed(call, stored)
        values["rules"] = _rules(call, stored, every)
        values["overruled_by"] = partial(_overruled_by, every)
    except Problem as problem:
        values["wrong"] = problem
    return page(call, "policy.html", values)


def _listed(call: Call, stored: Stored) -> list[list[ListedOverride]]:
    """Return the overrides of a policy, or of a cluster, each with all clusters that have it.

    Raises Problem where the policy is wrong.
    """
    # To list them, the policy is worked out for every cluster, of which there may be a thousand.
    if b"overrides" not in stored.config.span:
        return []
    try:
        found = overrides.listed(stored.config, call.windows.now(), call.cluster)
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error
    same: dict[ListedOverride, list[ListedOverride]] = {}
    for each in found:
        same.setdefault(replace(each, cluster=each.cluster and ""), []).append(each)
    # Active, coming, over: so are the words in the alphabet.
    return sorted(same.values(), key=lambda each: (each[0].phase, each[0].begins or each[0].ends))


def _overruled_by(every: Sequence[Group], alike: Sequence[ListedOverride]) -> dict[str, list[str]]:
    """Return the reasons by which it is overruled, each with where; "" is where by none."""
    one, places = alike[0], {each.cluster for each in alike}
    found: dict[str, list[str]] = {}
    for group in every:
        # None decide on clocks where it is over, or has yet to begin.
        deciding = group.overrides
        by = "" if one.name in deciding else next(iter(deciding.values()), "")
        for name in group.names or ("",):
            if name in places or (None in places and name not in one.elsewhere):
                found.setdefault(by, []).append(name)
    return found


def _note(effect: Effect) -> str:
    """Say on which clusters hours moved, or why on none."""
    names = [*chain.from_iterable(each.clusters for each in effect.hours)]
    return effect.note or (on("Hours moved", names) if any(names) else "")


def _calendar(call: Call, rows: Sequence[Group], period: Period) -> dict[str, object]:
    """Return the `picture` of the calendar, and the days beside it.

    Clusters that are alike share a row, so that a fleet of fifty is read at a glance. Tracks of SVG
    are placed by shares of the width: the Content Security Policy allows no style in an element.
    """
    timetables: list[Timetable] = []
    for each in rows:
        names = each.names or (None,)
        timetables += (call.windows.evaluator.timetable(each.stored, name) for name in names)
    picture = draw(calendars(timetables, period), call.windows.now())
    first, length = picture.rows[0].days[0], timedelta(days=period.days)
    return {"picture": picture, "before": f"{first - length}", "after": f"{first + length}"}


def _rules(call: Call, stored: Stored, every: Sequence[Group]) -> dict[str, object] | None:
    """Return the rules of a cluster, or those that the form without a cluster changes.

    None where a policy has none for all clusters.
    """
    evaluator, cluster = call.windows.evaluator, call.cluster
    try:
        timetable = evaluator.timetable(stored, cluster)
        spec = evaluator.policy(stored, cluster).spec
    except Problem:
        # What it says for all clusters need not be a policy: each may have windows of its own.
        if cluster is None and evaluator.clusters(stored):
            return None
        raise
    # As `explain` says it, and with what some clusters alone have.
    own_timetables = (each.timetable for each in every)
    order = list(explanation.order(timetable, *filter(None, own_timetables)))
    place = partial(own.place, call.windows.now(), timetable.zone)
    freezes = sorted(spec.freezes, key=lambda name: place(spec.freezes[name]))
    return {
        "spec": spec,
        "freezes": freezes,
        "place": place,
        "order": order,
        "own": own.listed(call),
    }

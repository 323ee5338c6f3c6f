"""The page of a policy: what holds where, its calendar, its rules, and who changed it."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Path, Query
from markupsafe import Markup
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride
from krm_windows.krm import InputError
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Today
from krm_windows.preview import explanation, stages
from krm_windows.preview.calendar import Period, calendars
from krm_windows.service import handlers, routing
from krm_windows.service.admission import Call, ReadCluster
from krm_windows.service.bodies import ICS, JSON
from krm_windows.service.pages import drawing, overview
from krm_windows.service.pages.rendering import address, page, policy_url
from krm_windows.service.parameters import Days, From
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem

# A policy may name a thousand clusters: more are on the first page, and one at a time here.
_MOST_CLUSTERS = 50
_COMMITS = 15
_POLICY = "/ui/policies/{namespace}/{name}"
router = routing.pages()


@router.get(_POLICY)
def show_policy(
    call: ReadCluster,
    start: From = None,
    days: Days = 7,
    # The commit that was made.
    saved: Annotated[str, Query()] = "",
    # `rendered`: find out whether what is rendered is current.
    check: Annotated[str, Query()] = "",
) -> Response:
    """Show a policy: its state, calendar, rules and changes."""
    stored = call.stored()
    period = Period(start or Today(call.windows.now()), days)
    values = _values(call, stored, period, saved, check)
    return page(call, "policy.html", values)


@router.get(f"{_POLICY}/calendar.{{ending}}")
def show_calendar(
    call: ReadCluster,
    ending: Annotated[Literal["json", "ics"], Path()],
    start: From = None,
    days: Days = 7,
) -> Response:
    """Answer with a policy's calendar in one form, whatever a browser would rather have."""
    return handlers.calendar_as(call, {"json": JSON, "ics": ICS}[ending], start, days)


def _values(
    call: Call, stored: Stored, period: Period, saved: str, check: str
) -> dict[str, object]:
    cluster = call.cluster
    now = call.windows.now()
    clusters = call.windows.evaluator.clusters(stored)
    shown: tuple[str | None, ...] = clusters[:_MOST_CLUSTERS] or (None,)
    # An unknown one is a problem, and said to be one.
    call.windows.evaluator.check(stored, cluster)
    # A page of one cluster says of it alone what holds, and which rules.
    if cluster is not None:
        shown = (cluster,)
    zone = overrides.zone_of_ends(stored.config, cluster)
    rows = [overview.row(call, stored, name, now) for name in shown]
    history = call.windows.history(stored, _COMMITS)
    renderer, commit = call.windows.renderer, call.windows.snapshot.commit
    # What can be said however wrong the policy is; the rest follows below.
    values: dict[str, object] = {
        "stored": stored,
        "here": here(call, stored),
        "cluster": cluster,
        "clusters": clusters,
        "rows": rows,
        # Where the page is of one cluster, or of a policy that names none.
        "waits": overview.waits(call, rows[0]) if cluster or len(clusters) < 2 else None,  # noqa: PLR2004
        "history": history,
        # Anybody can write an address: it is said only of a commit that did change the file. It may
        # have been some commits ago: the page was left open, and loaded again.
        "saved": next((each for each in history if each.commit == saved), None),
        # To find it out takes as long as to render it: where it is asked for.
        "rendered": renderer.check(commit, stored) if check and renderer is not None else None,
        "stages": stages,
        "wrong": None,
        "rules": None,
        "calendar": None,
        "listed": [],
        "days": period.days,
        "zone": rows[0].zone if len(rows) == 1 and rows[0].zone else zone,
        "zones": len(clocks.of_clusters(stored.config)),
        # However wrong the policy is otherwise.
        "names": stored.config.get("spec", "windows"),
        "rest": partial(address, "/policies", stored.namespace, stored.name, file=call.place.file),
    }
    try:
        values["calendar"] = _calendar(call, stored, shown, period)
        values["listed"] = _listed(call, stored, cluster)
        values["rules"] = _rules(call, stored, cluster)
    except Problem as problem:
        values["wrong"] = problem
    return values


def here(call: Call, stored: Stored) -> Callable[..., str]:
    """Return a function that makes addresses of a policy's pages, of the same file."""
    return partial(policy_url, stored.namespace, stored.name, file=call.place.file)


def _listed(call: Call, stored: Stored, cluster: str | None) -> list[ListedOverride]:
    """Return the overrides of a policy, or of a cluster; raises Problem where it is wrong."""
    # To list them, the policy is worked out for every cluster, of which there may be a thousand.
    if b"overrides" not in stored.config.span:
        return []
    try:
        return overrides.listed(stored.config, call.windows.now(), cluster)
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, str(error)) from error


def _calendar(
    call: Call, stored: Stored, shown: tuple[str | None, ...], period: Period
) -> dict[str, Markup]:
    # Clusters that are alike share a row, so that a fleet of fifty is read at a glance.
    evaluator = call.windows.evaluator
    timetables = [evaluator.timetable(stored, name) for name in shown]
    return drawing.drawn(calendars(timetables, period), call.windows.now())


def _rules(call: Call, stored: Stored, cluster: str | None) -> dict[str, object] | None:
    """Return the rules of a cluster, or those that the form without a cluster changes.

    None where a policy has none for all clusters.
    """
    evaluator = call.windows.evaluator
    try:
        timetable = evaluator.timetable(stored, cluster)
        spec = evaluator.policy(stored, cluster).spec
    except Problem:
        # What it says for all clusters need not be a policy: each may have windows of its own.
        if cluster is None and evaluator.clusters(stored):
            return None
        raise
    # As `explain` says it.
    return {"spec": spec, "order": list(explanation.order(timetable))}

"""The timetable's JSON form: what is written is read back, and nothing else is read."""

import json
import tracemalloc
from datetime import UTC, datetime, time, timedelta

import pytest
import zoned
from gated_targets import kustomization

from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import Target, load, salvage
from krm_windows.plan.timetable import dump, shipped
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule, Timetable

APPS = kustomization(applied=("lastAppliedRevision", "history"))
CLUSTER = Target(
    group="cluster.x-k8s.io",
    version="v1beta1",
    resource="clusters",
    kind="Cluster",
    namespace="capi",
    name="edge",
    field=("spec", "paused"),
)
FULL = zoned.timetable(
    policy="flux-system/no-deploy-friday",
    time_zone="Europe/Berlin",
    cluster="munich",
    outside_windows="Open",
    state="Closed",
    closes_early=timedelta(minutes=9, seconds=30),
    first_apply="Wait",
    adopt_until=datetime(2026, 12, 1, tzinfo=UTC),
    former_names=("flux-system/old",),
    windows=(
        Rule(
            Kind.WINDOW,
            "week",
            Recurrence(hours=frozenset({8}), weekdays=frozenset({1}), nth=-1, shift=2),
            time(17),
        ),
        Rule(Kind.WINDOW, "always", Recurrence(), Recurrence(days=frozenset({1}), either=True)),
        Rule(Kind.WINDOW, "once", datetime(2026, 11, 16, 8), timedelta(minutes=90)),
    ),
    freezes=(
        Rule(
            Kind.FREEZE,
            "xmas",
            datetime(2026, 12, 20),
            datetime(2027, 1, 4),
            "Year-end, Schöne Tage",
        ),
    ),
    overrides=(
        Rule(Kind.OVERRIDE, "fix", None, datetime(2026, 12, 22, 9, tzinfo=UTC), "Patch", "Open"),
    ),
    targets=(APPS, CLUSTER),
    released=(APPS,),
)


@pytest.mark.parametrize("timetable", [FULL, zoned.timetable(policy="a/b", time_zone="UTC")])
def test_round_trip(timetable: Timetable) -> None:
    assert load(json.dumps(dump(timetable))) == shipped(timetable)


def test_the_form_is_small_and_plain() -> None:
    week = Rule(
        Kind.WINDOW, "week", Recurrence(minutes=frozenset({0}), hours=frozenset({8})), time(17)
    )
    form = dump(zoned.timetable(policy="a/b", time_zone="UTC", windows=(week,), targets=(CLUSTER,)))
    days = form.pop("days")
    assert isinstance(days, dict)
    # The first days of all, up to a Sunday, and whole weeks from then on.
    assert days == {"2024-11-01": "AAA", "2024-11-04": "AAAAAAA", "2037-01-01": ""}
    assert form == {
        "formatVersion": 2,
        "policy": "a/b",
        "timeZone": "UTC",
        "clocks": ["2024-11-01T00:00Z +00:00 UTC"],
        "patterns": {".": [], "A": ["08:00-17:00 windows.week"]},
        "targets": [
            {
                "group": "cluster.x-k8s.io",
                "version": "v1beta1",
                "resource": "clusters",
                "kind": "Cluster",
                "field": ["spec", "paused"],
                "objects": [["capi", "edge"]],
            }
        ],
    }


PLAIN: dict[str, object] = {
    "formatVersion": 2,
    "policy": "a/b",
    "timeZone": "UTC",
    "patterns": {"A": ["08:00-17:00 windows.week"]},
    "days": {"2026-12-01": "A", "2027-01-01": ""},
}


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"formatVersion": 2}'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UNREADABLE):
        load(text)


@pytest.mark.parametrize(
    "changed",
    [
        {"formatVersion": 1},
        {"colour": "red"},
        {"adoptUntil": "soon"},
        {"patterns": {}},
        {"patterns": {"A": ["08:00"]}},
        {"patterns": {"A": ["08:00-07:00 windows.week"]}},
        {"patterns": {"A": ["08:00-25:00 windows.week"]}},
        {"days": {}},
        {"days": {"2026-12-01": "B", "2027-01-01": ""}},
        {"days": {"2026-12-01": "", "2027-01-01": ""}},
        {"days": {"2027-01-01": "A", "2026-12-01": ""}},
        {"days": {"2026-12-01": "A", "2027-01-01": "A", "2026-12-08": ""}},
        {"days": {"2026-12-01": "A", "2027-01-01": "", "2027-02-01": ""}},
        {"dates": {"2026-11-30": []}},
        {"dates": {"2026-12-01/2027-01-01": []}},
        {"dates": {"2026-12-02/2026-12-01": []}},
        {"dates": {"0001-01-01/9999-12-31": []}},
        {"dates": {"2026-12-32": []}},
        {"targets": "apps"},
        {"targets": ["apps"]},
        {"targets": [{"resource": "pods"}]},
        {"targets": [{"objects": [["a", "b"]]}]},
        {"targets": [{"objects": ["ab"]}]},
        {"targets": [{"objects": "ab"}]},
    ],
    ids=str,
)
def test_what_is_not_understood_is_refused(changed: dict[str, object]) -> None:
    assert load(json.dumps(PLAIN)).policy == "a/b"
    with pytest.raises(UNREADABLE):
        load(json.dumps(PLAIN | changed))


def test_targets_are_grouped() -> None:
    """By kind and namespace: a ConfigMap has an end, and thousands of names fit."""
    names = [("a", "x"), ("a", "y"), ("b", "x")]
    targets = tuple(APPS._replace(namespace=namespace, name=name) for namespace, name in names)
    timetable = Timetable(
        policy="a/b", time_zone="UTC", targets=(*targets, CLUSTER), released=targets
    )
    form = dump(timetable)
    assert load(json.dumps(form)) == shipped(timetable)
    kinds = form["targets"]
    assert isinstance(kinds, list)
    assert [kind["objects"] for kind in kinds] == [
        [["a", "x", "y"], ["b", "x"]],
        [["capi", "edge"]],
    ]


def test_what_can_be_named_is_salvaged() -> None:
    later = dump(FULL) | {"formatVersion": 2, "windows": "somewhere else"}
    targets = later["targets"]
    assert isinstance(targets, list)
    targets = [targets[0] | {"colour": "red"}, targets[1], {"selector": "all"}, "apps"]
    saved = salvage(json.dumps(later | {"targets": targets}))
    assert (saved.policy, saved.released, saved.first_apply) == (
        "flux-system/no-deploy-friday",
        (),
        "",
    )
    assert [(str(target), target.field) for target in saved.targets] == [
        ("Kustomization flux-system/apps", ("spec", "suspend")),
        ("Cluster capi/edge", ("spec", "paused")),
    ]


def test_ten_years_of_a_window_every_two_minutes_fit_into_a_job() -> None:
    """It has 128 MiB, Python in it; millions of edges are never there at once."""
    often = Recurrence(minutes=frozenset(range(0, 60, 2)))
    rule = Rule(Kind.WINDOW, "w", often, timedelta(minutes=1))
    text = json.dumps(dump(zoned.timetable(policy="a/b", time_zone="Etc/UTC", windows=(rule,))))
    at = datetime(2026, 12, 1, 12, tzinfo=UTC)
    tracemalloc.start()
    try:
        decision = load(text).decide(at)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (decision.open, decision.since, decision.until) == (True, at, at + timedelta(minutes=1))
    assert peak < 4 * 2**20

"""The timetable's JSON form: what is written is read back, and nothing else is read."""

import json
from datetime import UTC, datetime, time, timedelta

import pytest
import zoned
from gated_targets import kustomization

from krm_windows.gate.recurrence import Recurrence
from krm_windows.gate.timetable import Kind, Rule, Target, Timetable, load, salvage
from krm_windows.plan import zone_rules
from krm_windows.plan.timetable import dump

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
    """What is dumped is read back, equal."""
    assert load(json.dumps(dump(timetable))) == timetable


RULES = zone_rules.make("UTC")


def test_the_form_is_small_and_plain() -> None:
    """Defaults are left out; a reviewer can read the rest."""
    week = Rule(
        Kind.WINDOW, "week", Recurrence(minutes=frozenset({0}), hours=frozenset({8})), time(17)
    )
    assert dump(
        zoned.timetable(policy="a/b", time_zone="UTC", windows=(week,), targets=(CLUSTER,))
    ) == {
        "formatVersion": 1,
        "policy": "a/b",
        "timeZone": "UTC",
        "zoneRules": {
            "release": RULES.release,
            "before": "+00:00 UTC",
            "transitions": [],
            "rule": "UTC0",
        },
        "windows": [
            {"name": "windows.week", "begins": {"minutes": [0], "hours": [8]}, "ends": "17:00"}
        ],
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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"formatVersion": 1}',
        '{"formatVersion": 2, "policy": "a/b", "timeZone": "UTC"}',
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "colour": "red"}',
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "windows": [{"begins": {}}]}',
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "adoptUntil": "soon"}',
        (
            '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", '
            '"targets": [{"resource": "pods"}]}'
        ),
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "targets": "apps"}',
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "targets": ["apps"]}',
        (
            '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", '
            '"targets": [{"objects": [["a", "b"]]}]}'
        ),
        (
            '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", '
            '"targets": [{"objects": ["ab"]}]}'
        ),
        '{"formatVersion": 1, "policy": "a/b", "timeZone": "UTC", "targets": [{"objects": "ab"}]}',
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """A field that is unknown or missing is never passed over."""
    with pytest.raises((ValueError, TypeError, LookupError)):
        load(text)


def test_targets_are_grouped() -> None:
    """By kind and namespace: a ConfigMap has an end, and thousands of names fit."""
    names = [("a", "x"), ("a", "y"), ("b", "x")]
    targets = tuple(APPS._replace(namespace=namespace, name=name) for namespace, name in names)
    timetable = Timetable(
        policy="a/b", time_zone="UTC", targets=(*targets, CLUSTER), released=targets
    )
    form = dump(timetable)
    assert load(json.dumps(form)) == timetable
    kinds = form["targets"]
    assert isinstance(kinds, list)
    assert [kind["objects"] for kind in kinds] == [
        [["a", "x", "y"], ["b", "x"]],
        [["capi", "edge"]],
    ]


def test_what_can_be_named_is_salvaged() -> None:
    """From a later format.

    Targets with fields that are not known yet, and others that cannot be addressed.
    """
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

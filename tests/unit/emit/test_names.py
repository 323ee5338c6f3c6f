"""Names: within the limits of Kubernetes, stable, and one name for one thing."""

import re
from datetime import UTC, datetime, timedelta

import pytest
import zoned
from hypothesis import given
from hypothesis import strategies as st

from krm_windows import emit
from krm_windows.emit import names
from krm_windows.gate.timetable import Target
from krm_windows.plan.model import Plan
from krm_windows.plan.rights import rights
from krm_windows.plan.triggers import Trigger, Wording, triggers
from krm_windows.policy.model import Actuator
from krm_windows.schedule.recurrence import Recurrence
from krm_windows.schedule.timetable import Kind, Rule

DNS = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
EXTRAS = frozenset({"AlertmanagerTimeIntervals", "NetworkPolicy", "PrometheusRule", "StateMetrics"})
LIMITS = {"CronJob": 52, "ValidatingAdmissionPolicy": 253, "ValidatingAdmissionPolicyBinding": 253}
MONDAY = Recurrence(frozenset({0}), frozenset({8}), weekdays=frozenset({1}))
INSTANT = datetime(2027, 1, 1, 8, tzinfo=UTC)


def plan(
    name: str,
    namespace: str = "flux-system",
    windows: tuple[str, ...] = ("w",),
    spaces: tuple[str, ...] = (),
) -> Plan:
    thing = {"group": "g.example.org", "resource": "things", "kind": "Thing", "name": "t"}
    targets = tuple(Target(namespace=space, **thing) for space in spaces)
    timetable = zoned.timetable(
        policy=f"{namespace}/{name}",
        time_zone="Europe/Berlin",
        windows=tuple(
            Rule(Kind.WINDOW, window, MONDAY, timedelta(minutes=number))
            for number, window in enumerate(windows, 1)
        ),
        freezes=(Rule(Kind.FREEZE, "f", INSTANT, timedelta(hours=1), "r"),),
        targets=targets,
    )
    found = triggers(timetable, Wording(), timedelta(minutes=15))
    held = rights(targets, f"{namespace}/{name}")
    return Plan(name, namespace, timetable, found, held, Actuator(), extras=EXTRAS)


def all_names(one: Plan) -> list[tuple[str, str, str]]:
    return list(map(emit.identity, emit.objects(one)))


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True)
WORDS = ("a", "b", "open", "close", "edge", "resync", "apply", "gate", "0800", "0800z")
SPOKEN = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map("-".join)
DOTTED = SPOKEN.map(lambda name: name.replace("-", ".", 1))
POLICIES = st.tuples(LABELS | SPOKEN | DOTTED, LABELS | SPOKEN)
WINDOWS = st.lists(LABELS | SPOKEN, min_size=1, max_size=3, unique=True).map(tuple)


@given(POLICIES, st.from_regex(f"[0-9a-f]{{{names.DIGITS}}}", fullmatch=True))
def test_what_the_name_of_the_apply_job_begins_with(who: tuple[str, str], content: str) -> None:
    one = plan(*who)
    prefix = names.apply_job_prefix(one)
    assert re.fullmatch(f"{re.escape(prefix)}[0-9a-f]+", names.apply_job(one, content))


@given(POLICIES, WINDOWS, st.lists(LABELS | SPOKEN, max_size=3, unique=True).map(tuple))
def test_names_are_valid_and_unique(
    who: tuple[str, str], windows: tuple[str, ...], spaces: tuple[str, ...]
) -> None:
    found = all_names(plan(*who, windows, spaces))
    assert len(found) == len(set(found))
    assert len({(kind, name) for kind, _, name in found}) == len(found)
    for kind, _, name in found:
        assert DNS.fullmatch(name)
        assert len(name) <= LIMITS.get(kind, 63)


@pytest.mark.slow
@given(POLICIES, POLICIES, WINDOWS, WINDOWS)
def test_names_are_unique_across_policies(
    one: tuple[str, str], other: tuple[str, str], windows: tuple[str, ...], others: tuple[str, ...]
) -> None:
    if one[0] != other[0]:
        mine, theirs = (
            set(all_names(plan(name, "ns", w, ("ns", "x"))))
            for name, w in ((one[0], windows), (other[0], others))
        )
        assert mine.isdisjoint(theirs)


@pytest.mark.slow
@given(POLICIES, POLICIES)
def test_names_are_unique_in_the_whole_cluster(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    mine, theirs = (
        {found for found in all_names(plan(*who, spaces=("x",))) if not found[1]}
        for who in (one, other)
    )
    assert len(mine) == len(theirs) == 4
    assert mine.isdisjoint(theirs) or one == other


@given(POLICIES, POLICIES)
def test_labels_are_unique_across_policies(one: tuple[str, str], other: tuple[str, str]) -> None:
    labels = [names.policy_label(plan(*who)) for who in (one, other)]
    assert all(len(label) <= 63 for label in labels)
    assert (labels[0] == labels[1]) == (one == other)


@pytest.mark.parametrize(
    ("policy", "slug", "want"),
    [
        ("week", "open-office", "week-open-office"),
        ("reopen", "resync", "reopen-resync"),
        ("week-open", "resync", "week-open-#-resync"),
        ("a-open-b", "open-c", "a-open-b-#-open-c"),
        ("w" * 52, "resync", "w" * 35 + "-#"),
    ],
)
def test_cron_jobs(policy: str, slug: str, want: str) -> None:
    got = names.cron_job(plan(policy), Trigger(slug, "* * * * *", "Etc/UTC", ""))
    assert re.sub("[0-9a-f]{16}(?=-|$)", "#", got) == want


def test_a_cut_name_is_stable_and_differs_from_its_neighbours() -> None:
    long = "x" * 35 + "-.-" + "y" * 30
    cut = [names.fit(f"{long}{end}", 52) for end in ("a", "b")]
    assert cut[0] != cut[1]
    assert all(re.fullmatch(r"x{35}-[0-9a-f]{16}", name) for name in cut)
    assert names.fit("x" * 52, 52) == "x" * 52

"""Events on targets, against an API server.

One for each change, and one for what every run leaves alone.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
import zoned
from api_server import GROUP, Api, Fault, Handler, closed_by, dropped, kustomization, status
from hook_runs import HOUR, NOON, NOTE, Clock, file

from krm_windows.gate import events, hooks
from krm_windows.gate.annotations import HOLD, annotation
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.gate.timetable import Decision
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

APPS = kustomization("apps", "v1")
POLICY = zoned.timetable(
    policy="flux-system/p",
    time_zone="Europe/Berlin",
    targets=(APPS._replace(applied=()),),
    windows=(
        Rule(Kind.WINDOW, "morning", NOON - 4 * HOUR, NOON),
        Rule(Kind.WINDOW, "next", NOON + 20 * HOUR, NOON + 24 * HOUR),
    ),
)
FAILED = Decision(open=False, reason="a hook failed")
SHUT_BY = "closed, by flux-system/p until Sat 2026-11-21 08:00 UTC: no window is open"
RunOnce = Callable[..., bool]


@pytest.fixture
def run_once(api: Api, port: int, account: Path) -> RunOnce:
    def once(
        now: datetime | Clock,
        around: Callable[..., bool] = Gate.run,
        log: Callable[..., None] = dict,
        policy: Timetable = POLICY,
    ) -> bool:
        clock = now if isinstance(now, Clock) else Clock(now)
        gate = Gate(shipped(policy), partial(decide, policy), clock, log, files=account)
        cluster = Cluster("127.0.0.1", str(port), account, 5)
        return events.run(gate, cluster, allow_missing=False, around=around)

    api.add("apps", {}, by="kustomize-controller", apiVersion=f"{GROUP}/v1")
    return once


def recorded(api: Api) -> list[tuple[object, ...]]:
    found = [live for path, live in api.objects.items() if "/events/" in path]
    return [(event["type"], event["reason"], event["message"]) for event in found]


def test_every_change_has_an_event(api: Api, run_once: RunOnce) -> None:
    for now in (NOON, NOON, NOON - HOUR, NOON - HOUR, NOON):
        assert run_once(now)
    opened = "opened, by flux-system/p until Fri 2026-11-20 12:00 UTC: windows.morning"
    assert recorded(api) == [
        ("Normal", "WindowClosed", SHUT_BY),
        ("Normal", "WindowOpened", opened),
        ("Normal", "WindowClosed", SHUT_BY),
    ]


def test_an_event_is_one_of_the_core(api: Api, run_once: RunOnce) -> None:
    """About the object as it is, in its namespace, with the times that kubectl and flux sort by."""
    run_once(NOON)
    [event] = [
        live
        for path, live in api.objects.items()
        if path.startswith("/api/v1/namespaces/flux-system/events/")
    ]
    assert event["involvedObject"] == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Kustomization",
        "namespace": "flux-system",
        "name": "apps",
        "uid": "uid-of-apps",
        "resourceVersion": dig(api.object("apps"), "metadata", "resourceVersion"),
    }
    assert (event["firstTimestamp"], event["lastTimestamp"], event["count"]) == (
        "2026-11-20T12:00:00Z",
        "2026-11-20T12:00:00Z",
        1,
    )
    assert event["source"] == {"component": "krm-windows"}


@pytest.mark.parametrize(
    ("notes", "reason", "words"),
    [
        ({}, "WindowLeftToPerson", "left closed by a person"),
        (
            {annotation("flux-system/p"): closed_by("flux-system/p"), HOLD: "ann, looking"},
            "WindowHeld",
            "left closed, held: 'ann, looking'",
        ),
        (
            {annotation("flux-system/other"): closed_by("flux-system/other")},
            "WindowLeftToPolicy",
            "left closed by another policy",
        ),
    ],
)
def test_what_is_left_alone_has_one_event(
    api: Api, run_once: RunOnce, notes: dict[str, object], reason: str, words: str
) -> None:
    api.add("apps", {"suspend": True}, annotations=notes)
    for _ in range(3):
        assert run_once(NOON - HOUR)
    assert [(each[1], str(each[2]).partition(", by")[0]) for each in recorded(api)] == [
        (reason, words)
    ]
    assert run_once(NOON + 21 * HOUR)
    assert [each[1] for each in recorded(api)] == [reason] * 2


@pytest.mark.parametrize("fault", [status(403), status(500), dropped])
def test_one_that_cannot_be_written(api: Api, run_once: RunOnce, fault: Fault) -> None:
    log: list[dict[str, object]] = []
    api.fault("POST", "events", fault)
    assert run_once(NOON, log=lambda **line: log.append(line))
    assert (dig(api.object("apps"), "spec", "suspend"), recorded(api)) == (True, [])
    assert "error" in log[-1]


def test_a_failed_hook_has_an_event(api: Api, run_once: RunOnce, account: Path) -> None:
    run_once(NOON - 5 * HOUR)
    api.ends["p-before"] = "Failed"
    (account / "hooks.json").write_text(file("beforeOpen"))
    api.store(NOTE, {"metadata": {"name": "p-hooks"}})
    around = partial(hooks.run, pause=0.01)
    assert not run_once(NOON - HOUR, around)
    assert not run_once(NOON - HOUR, around)
    [job] = api.jobs()
    assert [each[:2] for each in recorded(api)] == [
        ("Normal", "WindowClosed"),
        ("Warning", "WindowHookFailed"),
    ]
    assert (
        f"hooks.beforeOpen failed: Job maintenance/{job}: BackoffLimitExceeded: it said no"
        in str(recorded(api)[1][2])
    )


def test_two_targets_of_one_name_have_an_event_each(api: Api, run_once: RunOnce) -> None:
    """A HelmRelease is often called as the Kustomization that delivers it."""
    group = "helm.toolkit.fluxcd.io"
    release = APPS._replace(group=group, resource="helmreleases", kind="HelmRelease")
    path = f"/apis/{group}/v1/namespaces/flux-system/helmreleases/apps"
    api.add("apps", {"suspend": True})
    named = {"name": "apps", "namespace": "flux-system", "uid": "another"}
    api.store(path, {"kind": "HelmRelease", "metadata": named, "spec": {"suspend": True}})
    assert run_once(NOON - HOUR, policy=POLICY._replace(targets=(APPS, release)))
    assert [each[1] for each in recorded(api)] == ["WindowLeftToPerson"] * 2


@pytest.mark.parametrize(
    "policy", ["flux-system/closed-on-friday", "flux-system/by a person", "opened/held:"]
)
def test_names_do_not_change_the_event(api: Api, run_once: RunOnce, policy: str) -> None:
    """What an Event is about is not read from the words of a run, so not from the names in them."""

    def around(gate: Gate, *_: object, **__: object) -> bool:
        gate.log(hook="beforeOpen", job=f"line/{policy.partition('/')[2]}", failure="it said no")
        return False

    run_once(NOON, around, policy=POLICY._replace(policy=policy))
    assert [each[1] for each in recorded(api)] == ["WindowHookFailed"]


def test_an_event_that_is_written_late(api: Api, run_once: RunOnce) -> None:
    """A hook that takes long delays the Event only: time, end and reason are those of the deed."""
    clock = Clock(NOON)

    def around(gate: Gate, cluster: Cluster, *, allow_missing: bool) -> bool:
        done = gate.run(cluster, allow_missing=allow_missing)
        clock.time = NOON + 21 * HOUR
        return done

    assert run_once(clock, around)
    assert recorded(api)[0][2] == SHUT_BY
    [event] = [live for path, live in api.objects.items() if "/events/" in path]
    assert event["firstTimestamp"] == "2026-11-20T12:00:00Z"


def failing(gate: Gate, cluster: Cluster, *, allow_missing: bool) -> bool:
    return replace(gate, decides=lambda _: FAILED).run(cluster, allow_missing=allow_missing)


def test_what_a_failed_hook_closes_has_an_event(api: Api, run_once: RunOnce) -> None:
    """With the reason of its annotation, as by the calendar it would be open."""
    assert run_once(NOON - HOUR, failing)
    words = "closed, by flux-system/p until Fri 2026-11-20 12:00 UTC: a hook failed"
    assert recorded(api) == [("Normal", "WindowClosed", words)]


def test_what_a_webhook_takes_the_annotation_from(api: Api, run_once: RunOnce) -> None:
    """It is as if a person had closed it; the reason is that of the calendar."""

    def stripped(handler: Handler) -> bool:
        path = handler.path.partition("?")[0]
        shut = {**handler.api.objects[path], "spec": {"suspend": True}}
        handler.reply(200, handler.api.store(path, shut))
        return True

    api.fault("PATCH", "apps", stripped)
    assert run_once(NOON - HOUR, failing)
    by = "by flux-system/p until Fri 2026-11-20 12:00 UTC: windows.morning"
    assert recorded(api) == [
        ("Normal", "WindowClosed", f"closed, {by}"),
        ("Warning", "WindowLeftToPerson", f"left closed by a person, {by}"),
    ]


def test_a_missing_target(api: Api, run_once: RunOnce) -> None:
    """There is no object to record it on."""
    api.objects.clear()
    assert not run_once(NOON)
    assert recorded(api) == []

"""Hooks around an occurrence, against an API server.

Every way in which a Job, a run or a person comes in between.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import pytest
from api_server import (
    Api,
    Fault,
    Handler,
    edited,
    kustomization,
    path_of,
    said,
    status,
)
from hook_runs import (
    AFTERNOON,
    ALL,
    ANNOTATION,
    APPLIED,
    BOTH,
    BY_HAND,
    HOUR,
    JOBS,
    NOON,
    NOTE,
    OURS,
    POLICY,
    SECOND,
    SHUT,
    Clock,
    Lab,
    file,
    until,
)

from krm_windows.gate.annotations import HOLD, annotation
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.schedule.timetable import Kind, Rule


@pytest.fixture
def lab(api: Api, port: int, account: Path) -> Lab:
    """A closed target, an hour before noon: the window has begun at eight."""
    lab = Lab(api, port, account)
    lab.closes()
    return lab


def test_it_runs_before_the_first_target_is_opened(lab: Lab) -> None:
    """And only then."""
    lab.closes("apps", "infra")
    assert lab.run(BOTH)
    writes = [
        line.partition("?")[0].rpartition("/")[2] for line in lab.api.asked if line.startswith("P")
    ]
    assert writes[:3] == ["p-hooks", "jobs", "p-hooks"]
    assert sorted(writes[3:]) == ["apps", "infra"]
    opens = [dig(body, "spec", "suspend") for body in lab.api.bodies[-4:]]
    assert opens == [None, None, False, False]
    [name] = lab.api.jobs()
    assert name.startswith("p-before-open-202611200800-")
    job = lab.api.objects[f"{JOBS}/{name}"]
    assert (job["kind"], job["spec"], dig(job, "metadata", "labels")) == (
        "Job",
        {"does": "this"},
        {"a": "b"},
    )
    assert (lab.open("apps"), lab.open("infra"), lab.stage()) == (True, True, "MayOpen")


def test_runs_after_it_start_nothing(lab: Lab) -> None:
    """Neither while the Job is there nor after its time to live."""
    lab.closes("apps", "infra")
    lab.api.fault("PATCH", "infra", status(500))
    assert not lab.run(BOTH)
    assert (lab.open("apps"), lab.open("infra")) == (True, False)
    lab.forget_jobs()
    assert lab.run(BOTH)
    assert lab.open("infra")
    assert (lab.posts(), lab.run(BOTH), lab.posts()) == (1, True, 1)


def test_an_occurrence_of_weeks_runs_its_hook_once(lab: Lab) -> None:
    """Its Job is gone after a day, and the note says that it has run."""
    weeks = BOTH._replace(windows=(Rule(Kind.WINDOW, "w", NOON - 4 * HOUR, NOON + 2000 * HOUR),))
    lab.closes("apps", "infra")
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION, HOLD: "ann"}, status=APPLIED)
    assert lab.run(weeks)
    lab.forget_jobs()
    lab.clock.time = NOON + 480 * HOUR
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION}, status=APPLIED)
    assert lab.run(weeks)
    assert (lab.open("infra"), lab.posts()) == (True, 1)


def test_a_failure_aborts(lab: Lab) -> None:
    """The target stays closed and says so, and the run fails."""
    lab.api.ends["before-open"] = "Failed"
    assert not lab.run()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, "Aborted", ["before-open", "rollback"])
    [name, _] = lab.api.jobs()
    said = json.loads(str(dig(lab.api.object("apps"), "metadata", "annotations", OURS)))
    assert said["reason"] == f"hooks.beforeOpen failed: Job maintenance/{name}"
    assert said["cause"] == "HookFailed"
    assert (said["since"], said["until"]) == (
        "2026-11-20T08:00:00+00:00",
        "2026-11-20T12:00:00+00:00",
    )
    assert {
        "hook": "beforeOpen",
        "job": f"maintenance/{name}",
        "failure": "BackoffLimitExceeded: it said no",
    } in lab.log
    assert not lab.run()
    lab.forget_jobs()
    assert not lab.run()
    assert (lab.posts(), lab.open()) == (2, False)


def test_an_aborted_occurrence_ends(lab: Lab) -> None:
    """Nothing runs after it; the next one begins anew."""
    lab.api.ends["before-open"] = "Failed"
    lab.run()
    lab.clock.time = NOON + HOUR / 2
    assert lab.run()
    assert lab.kinds() == ["before-open", "rollback"]
    lab.api.ends.clear()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "rollback", "before-open"])


def test_a_failure_continues(lab: Lab) -> None:
    """Where the policy says so, and there is nothing to roll back."""
    lab.api.ends["before-open"] = "Failed"
    assert lab.run(text=file("beforeOpen", aborts=False))
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


@pytest.mark.parametrize(("aborts", "opens"), [(True, False), (False, True)])
def test_a_hook_that_hangs(lab: Lab, aborts: bool, opens: bool) -> None:  # noqa: FBT001
    """It counts as failed when its time is over, whether the Job controller ends it or not."""
    lab.api.ends["before-open"] = ""
    began = monotonic()
    assert lab.run(text=file("beforeOpen", aborts=aborts, seconds=0.1)) == opens
    assert monotonic() - began < 3
    assert lab.open() == opens


def test_a_mended_hook_is_another(lab: Lab) -> None:
    """Whoever corrects it in Git need not wait for the next occurrence."""
    lab.api.ends["before-open"] = "Failed"
    lab.run()
    lab.api.ends.clear()
    assert lab.run(text=file("beforeOpen", does="that"))
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "rollback", "before-open"])


def test_a_hook_taken_out(lab: Lab) -> None:
    """Without it the occurrence is open."""
    lab.api.ends["before-open"] = "Failed"
    lab.run()
    assert lab.run(text=file("afterClose"))
    assert lab.open()


@pytest.mark.parametrize("fault", [status(403), status(404), status(422)])
@pytest.mark.parametrize(("aborts", "opens"), [(True, False), (False, True)])
def test_a_hook_that_cannot_be_started(
    lab: Lab,
    fault: Fault,
    aborts: bool,  # noqa: FBT001
    opens: bool,  # noqa: FBT001
) -> None:
    """It is a failure, but there is nothing to roll back, and the next run tries again."""
    lab.api.fault("POST", "jobs", fault)
    assert lab.run(text=file("beforeOpen", "rollback", aborts=aborts)) == opens
    assert (lab.open(), lab.kinds()) == (opens, [])
    if aborts:
        assert lab.run(text=file("beforeOpen", "rollback"))
        assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_faults_of_the_api_server(lab: Lab) -> None:
    """One that is busy is asked again."""
    lab.api.fault("POST", "jobs", status(500), status(429))
    assert lab.run()
    assert (lab.open(), lab.posts(), lab.kinds()) == (True, 3, ["before-open"])


def test_a_target_that_cannot_be_read(lab: Lab) -> None:
    """Nothing is started for what is not known, and nothing opened."""
    lab.api.fault("GET", "apps", status(500))
    assert not lab.run()
    assert (lab.open(), lab.posts()) == (False, 0)
    assert lab.run()
    assert lab.open()


@pytest.mark.parametrize("text", ["{}", ALL.replace("beforeOpen", "beforeOpens")])
def test_a_file_that_cannot_be_read(lab: Lab, text: str) -> None:
    """It closes, as whatever else cannot be decided: without a hook that has another name, too."""
    lab.api.add("apps", {}, status=APPLIED)
    assert not lab.run(text=text)
    assert (lab.open(), lab.posts()) == (False, 0)


def test_a_gate_that_died_before_opening(lab: Lab) -> None:
    """After the hook was well, and before that was noted."""
    lab.run()
    passed = lab.api.jobs()
    lab.closes()
    lab.note(stage="Opening", job=passed[0])
    assert lab.run()
    assert (lab.open(), lab.api.jobs()) == (True, passed)


def test_two_runs_at_once(lab: Lab) -> None:
    """One Job; and neither opens before it has ended."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(lab.run) for _ in range(2)]
        while not (lab.api.jobs() and lab.posts() >= 1):
            sleep(0.01)
        sleep(0.3)
        assert (lab.open(), [each.done() for each in runs]) == (False, [False, False])
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert [each.result() for each in runs] == [True, True]
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_both_start_it_at_once(lab: Lab) -> None:
    """Having read the same, they give the Job the same name, and the second finds it."""
    lab.api.fault(
        "POST", "jobs", lambda _: sleep(0.3) is not None, lambda _: sleep(0.3) is not None
    )
    lab.api.fault("PATCH", "p-hooks", lambda _: sleep(0.2) is not None)
    with ThreadPoolExecutor() as pool:
        assert all(pool.map(lambda _: lab.run(), range(2)))
    assert (lab.posts(), lab.kinds()) == (2, ["before-open"])


def test_the_window_closes_while_the_hook_runs(lab: Lab) -> None:
    """Nothing is opened; when the hook has ended, what it did is rolled back."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        while not lab.api.jobs():
            sleep(0.01)
        lab.clock.time = NOON + HOUR / 2
        sleep(0.2)
        assert not run.done()
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert run.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, "Closed", ["before-open", "rollback"])
    assert not any(dig(body, "spec", "suspend") is False for body in lab.api.bodies)


def test_the_window_closes_while_the_target_is_written(lab: Lab) -> None:
    """It is decided again immediately before writing, hook or not."""
    lab.api.fault("GET", "apps", lambda _: False, lab.clock.at(NOON))
    assert lab.run()
    assert (lab.open(), lab.clock.time, lab.kinds()[:1]) == (False, NOON, ["before-open"])
    assert not any(dig(body, "spec", "suspend") is False for body in lab.api.bodies)


def test_it_runs_after_the_close(lab: Lab) -> None:
    """The target is closed first, and nothing reconciles any more, when the hook begins; once."""
    lab.run()
    lab.clock.time = NOON
    busy = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
    calm = {
        "conditions": [{"type": "Reconciling", "status": "True", "reason": "ProgressingWithRetry"}]
    }
    lab.api.store(path_of("apps"), {**lab.api.object("apps"), "status": APPLIED | busy})
    lab.api.asked.clear()
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        while lab.open():
            sleep(0.01)
        sleep(0.3)
        assert lab.posts() == 0
        live = lab.api.object("apps")
        lab.api.store(path_of("apps"), {**live, "status": calm})
        assert run.result()
    assert (lab.kinds(), lab.stage()) == (["before-open", "after-close"], "Closed")
    lab.forget_jobs()
    assert lab.run()
    assert lab.posts() == 1


def test_after_the_close_it_does_not_wait_for_ever(lab: Lab) -> None:
    """At most its timeout for what reconciles."""
    lab.api.ends["after-close"] = "Failed"
    lab.run()
    busy = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
    lab.api.add(
        "apps",
        {},
        annotations=lab.api.object("apps")["metadata"]["annotations"],
        status=APPLIED | busy,
    )  # type: ignore[index,arg-type]
    lab.clock.time = NOON
    assert lab.run(text=file("afterClose", seconds=0.2))
    assert (lab.open(), lab.stage(), lab.kinds()) == (
        False,
        "Closed",
        ["before-open", "after-close"],
    )


def test_after_the_close_it_is_tried_again(lab: Lab) -> None:
    """As long as it could not be started; the target is closed all the same."""
    lab.run()
    lab.clock.time = NOON
    lab.api.fault("POST", "jobs", status(403))
    lab.log.clear()
    assert not lab.run()
    assert (lab.open(), lab.kinds()) == (False, ["before-open"])
    assert [line for line in lab.log if "failure" in line]
    assert lab.run()
    assert lab.kinds() == ["before-open", "after-close"]


def test_the_next_occurrence_waits_for_the_end_of_the_last(lab: Lab) -> None:
    """What ends an occurrence has run before what begins the next."""
    lab.run()
    lab.clock.time = NOON
    lab.api.fault("POST", "jobs", status(403))
    lab.run()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "after-close", "before-open"])


def test_a_close_that_no_run_saw(lab: Lab) -> None:
    """Nothing was closed, so nothing ends or begins; after the next close it does."""
    lab.run()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.run()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])
    lab.clock.time = NOON + 5 * HOUR
    assert lab.run()
    assert lab.kinds() == ["before-open", "after-close"]


def test_a_policy_that_comes_while_it_is_open(lab: Lab) -> None:
    """Nothing has to be opened, so nothing runs before; but it does after the close."""
    lab.api.add("apps", {}, status=APPLIED)
    assert lab.run()
    assert (lab.stage(), lab.kinds()) == ("MayOpen", [])
    lab.clock.time = NOON
    assert lab.run()
    assert lab.kinds() == ["after-close"]


def test_a_policy_that_comes_while_it_is_closed(lab: Lab) -> None:
    """Nothing was open by its leave, so nothing runs."""
    lab.api.add("apps", {}, status=APPLIED)
    lab.clock.time = NOON
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (False, [])


@pytest.mark.parametrize("notes", [{}, {OURS: ANNOTATION, HOLD: "ann"}])
def test_what_is_left_alone_needs_no_hook(lab: Lab, notes: dict[str, object]) -> None:
    """A target that a person suspended or holds is not opened."""
    lab.api.add("apps", SHUT, annotations=notes, status=APPLIED)
    assert lab.run()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, None, [])
    lab.closes()
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_closed_and_opened_by_hand_in_one_window(lab: Lab) -> None:
    """The hook after the close has run, so the one before the opening runs again."""
    lab.run()
    held = POLICY._replace(state="Closed")
    assert lab.run(held)
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "after-close", "before-open"])
    assert len(set(lab.api.jobs())) == 3


def test_a_freeze_makes_two_of_one_window(lab: Lab) -> None:
    """Hooks run around each part."""
    frozen = POLICY._replace(
        freezes=(Rule(Kind.FREEZE, "ten", NOON - 2 * HOUR, NOON - HOUR, "ten"),)
    )
    for hours, is_open in ((3, True), (1.5, False), (0.5, True), (0, False)):
        lab.clock.time = NOON - hours * HOUR
        assert lab.run(frozen)
        assert lab.open() == is_open
    assert lab.kinds() == ["before-open", "after-close"] * 2


def test_what_was_never_applied_starts_without(lab: Lab) -> None:
    """A new cluster can start."""
    lab.api.add("apps", {})
    created = "2026-11-20T07:30:00Z"
    lab.api.object("apps")["metadata"]["creationTimestamp"] = created  # type: ignore[index]
    lab.clock.time = NOON - 4.1 * HOUR
    assert lab.run(text=file("beforeOpen"))
    assert (lab.open(), lab.kinds()) == (True, [])


def test_a_run_by_a_slow_clock_takes_nothing_back(lab: Lab) -> None:
    """What is not to open yet by its clock is being opened by that of another node."""
    lab.api.ends["before-open"] = ""
    opens = NOON - 4 * HOUR
    with ThreadPoolExecutor() as pool:
        opening = pool.submit(lab.run, clock=Clock(opens + 2 * SECOND))
        until(lab.api.jobs)
        assert lab.run(clock=Clock(opens - 3 * SECOND))
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert opening.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


def test_a_run_across_the_edge_takes_nothing_back(lab: Lab) -> None:
    """It began while closed; when it is done with the targets, another run is opening them."""
    lab.api.ends["before-open"] = ""
    opens = NOON - 4 * HOUR
    lab.clock.time = opens - SECOND
    with ThreadPoolExecutor() as pool:
        runs = []

        def opening(_: Handler) -> bool:
            lab.clock.time = opens + SECOND
            runs.append(pool.submit(lab.run))
            until(lab.api.jobs)
            return False

        lab.api.fault("GET", "apps", opening)
        runs.append(pool.submit(lab.run))
        until(lab.api.jobs)
        sleep(0.3)
        lab.api.end(lab.api.jobs()[0], "Complete")
        until(lambda: len(runs) > 1)
        assert all(run.result() for run in runs)
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


@pytest.mark.parametrize(
    ("text", "opens"),
    [
        (file("beforeOpen", "afterClose", seconds=0.2), False),
        (file("afterClose", seconds=0.2), True),
    ],
)
def test_one_that_cannot_be_read_closes_no_other(lab: Lab, text: str, opens: bool) -> None:  # noqa: FBT001
    """What is open stays open, nothing is started, and nothing opened that a hook is due for."""
    lab.api.add("apps", {}, status=APPLIED)
    lab.api.add("infra", {}, status=APPLIED)
    assert lab.run(BOTH, text)
    lab.api.add("more", SHUT, annotations={OURS: ANNOTATION}, status=APPLIED)
    three = BOTH._replace(targets=(*BOTH.targets, kustomization("more", "v1")))
    lab.api.fault("GET", "infra", *[status(500)] * 2)
    assert not lab.run(three, text)
    assert [lab.open(name) for name in ("apps", "infra", "more")] == [True, True, opens]
    assert lab.kinds() == []
    lab.clock.time = NOON
    lab.api.faults.clear()
    lab.api.fault("GET", "infra", *[status(500)] * 100)
    assert not lab.run(BOTH, text)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (False, True, [])


def test_opened_again_while_the_hook_after_it_runs(lab: Lab) -> None:
    """That one ends first, then the one before runs again; both runs agree."""
    lab.run()
    lab.api.ends["after-close"] = ""
    with ThreadPoolExecutor() as pool:
        closing = pool.submit(lab.run, BY_HAND)
        until(lambda: "after-close" in lab.kinds())
        opening = pool.submit(lab.run)
        sleep(0.3)
        assert (lab.open(), lab.stage()) == (False, "Closing")
        lab.api.end(lab.api.jobs()[-1], "Complete")
        assert closing.result()
        assert opening.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (
        True,
        "MayOpen",
        ["before-open", "after-close", "before-open"],
    )


def test_opened_again_before_the_hook_after_it_runs(lab: Lab) -> None:
    """While it waits for what reconciles, it is due already."""
    lab.run()
    busy = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
    lab.api.store(path_of("apps"), {**lab.api.object("apps"), "status": APPLIED | busy})
    with ThreadPoolExecutor() as pool:
        closing = pool.submit(lab.run, BY_HAND)
        until(lambda: lab.stage() == "Closing")
        opening = pool.submit(lab.run)
        sleep(0.2)
        assert not lab.open()
        with lab.api.lock:
            lab.api.store(path_of("apps"), {**lab.api.object("apps"), "status": APPLIED})
        assert closing.result()
        assert opening.result()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "after-close", "before-open"])


def test_an_old_timetable_opens_nothing_that_an_edit_closed(lab: Lab) -> None:
    """A run that began before the edit finds that this is being taken back."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        old = pool.submit(lab.run)
        until(lab.api.jobs)
        new = pool.submit(lab.run, BY_HAND)
        until(lambda: lab.stage() == "RollingBack")
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert (old.result(), new.result()) == (False, True)
    assert (lab.open(), lab.writes_open(), lab.kinds()) == (
        False,
        False,
        ["before-open", "rollback"],
    )


def test_an_aborted_occurrence_that_was_closed_and_opens_again(lab: Lab) -> None:
    """It is tried again, as all times that are always open are one occurrence."""
    always = POLICY._replace(state="Open")
    lab.api.ends["before-open"] = "Failed"
    assert not lab.run(always)
    lab.api.ends.clear()
    assert not lab.run(always)
    assert lab.run(BY_HAND)
    assert (lab.stage(), lab.kinds()) == ("Closed", ["before-open", "rollback"])
    assert lab.run(always)
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "rollback", "before-open"])


def test_passing_over_failures_opens_what_was_aborted(lab: Lab) -> None:
    """Whoever then says `Continue` need not wait for the next occurrence."""
    lab.api.ends["before-open"] = "Failed"
    lab.run()
    assert lab.run(text=file("beforeOpen", "afterClose", aborts=False))
    assert lab.open()


def test_a_hook_that_could_not_be_started_for_days(lab: Lab) -> None:
    """As soon as it can be, it is."""
    forever = POLICY._replace(
        windows=(Rule(Kind.WINDOW, "w", NOON - 4 * HOUR, NOON + 2000 * HOUR),)
    )
    for hours in range(0, 60, 12):
        lab.clock.time = NOON + hours * HOUR
        lab.api.fault("POST", "jobs", status(404))
        assert not lab.run(forever, file("beforeOpen"))
    assert lab.run(forever, file("beforeOpen"))
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_nothing_runs_after_while_a_target_may_be_open(lab: Lab, method: str) -> None:
    """One that cannot be closed, or read, is waited for by run after run; then the hook starts."""
    text = file("beforeOpen", "afterClose", seconds=0.2)
    lab.closes("apps", "infra")
    assert lab.run(BOTH, text)
    lab.clock.time = NOON
    lab.api.fault(method, "infra", *[status(500)] * 200)
    assert not lab.run(BOTH, text)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (False, True, ["before-open"])
    lab.api.faults.clear()
    assert lab.run(BOTH, text)
    assert (lab.open("infra"), lab.kinds()) == (False, ["before-open", "after-close"])


def test_what_is_open_to_be_applied_first_is_not_waited_for(lab: Lab) -> None:
    """A target that came an hour ago at most, and was never applied, stays open after the close."""
    lab.run()
    lab.api.add("infra", {})
    created = "2026-11-20T11:30:00Z"
    lab.api.object("infra")["metadata"]["creationTimestamp"] = created  # type: ignore[index]
    lab.clock.time = NOON
    lab.api.asked.clear()
    assert lab.run(BOTH)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (
        False,
        True,
        ["before-open", "after-close"],
    )
    # What is waited for is asked for again and again, for seconds.
    assert 0 < lab.api.asked.count(f"GET {path_of('infra')}") < 10


def test_nothing_is_taken_back_while_a_target_is_open(lab: Lab) -> None:
    """One was open before the hook was due."""
    lab.api.add("infra", {}, status=APPLIED)
    lab.api.ends["before-open"] = "Failed"
    lab.api.fault("PATCH", "infra", status(500))
    assert not lab.run(BOTH)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (False, True, ["before-open"])
    assert not lab.run(BOTH)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (
        False,
        False,
        ["before-open", "rollback"],
    )


def test_what_cannot_be_noted_is_not_opened(lab: Lab) -> None:
    """Else the next run would not know that it was, and would take back what was done before."""
    lab.api.fault("PATCH", "p-hooks", lambda _: False, status(500))
    assert not lab.run()
    assert (lab.open(), lab.stage()) == (False, "Opening")
    assert lab.run()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


def test_a_run_that_is_cut_off_takes_nothing_back(lab: Lab) -> None:
    """It never hears how the hook ended; another run has opened since."""

    class Cut(Cluster):
        def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> object:
            if method == "GET" and "/jobs/" in path:
                raise ApiError(0, "no answer")
            return super().ask(method, path, body)

    # As long as the other run may take on a busy machine.
    text = file("beforeOpen", "rollback", seconds=8)
    cut = Cut(*lab.cluster.args, **lab.cluster.keywords)
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run, text=text, cluster=cut)
        until(lab.api.jobs)
        assert lab.run(text=text)
        run.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


@pytest.mark.parametrize("code", [401, 403])
def test_a_job_that_may_not_be_read_for_a_moment(lab: Lab, code: int) -> None:
    """It has been created, so only that it is gone would be an end."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        until(lab.api.jobs)
        [job] = lab.api.jobs()
        lab.api.fault("GET", job, status(code))
        until(lambda: not lab.api.faults["GET", job])
        lab.api.end(job, "Complete")
        assert run.result()
    assert lab.open()


def test_an_edited_window_that_is_open(lab: Lab) -> None:
    """While a target stays open nothing runs in the middle."""
    lab.closes("apps", "infra")
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION, HOLD: "ann"}, status=APPLIED)
    assert lab.run(BOTH)
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION}, status=APPLIED)
    moved = BOTH._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - 3 * HOUR, NOON), AFTERNOON))
    assert lab.run(moved)
    assert (lab.open("apps"), lab.open("infra"), lab.kinds()) == (True, True, ["before-open"])
    lab.clock.time = NOON
    assert lab.run(moved)
    assert lab.kinds() == ["before-open", "after-close"]


def test_a_renamed_policy(lab: Lab) -> None:
    """It has another note: what is open was found open, and the hook after the close runs."""
    lab.run()
    lab.api.store(NOTE.replace("p-hooks", "q-hooks"), {"metadata": {"name": "q-hooks"}})
    renamed = POLICY._replace(policy="flux-system/q", former_names=("flux-system/p",))
    text = ALL.replace("p-hooks", "q-hooks")
    assert lab.run(renamed, text)
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])
    lab.clock.time = NOON
    assert lab.run(renamed, text)
    assert lab.kinds() == ["before-open", "after-close"]
    assert lab.notes().keys() == {annotation("flux-system/q")}


@pytest.mark.parametrize("opens_later", [False, True])
def test_a_hold_that_ends_in_the_middle_of_a_run(
    lab: Lab,
    opens_later: bool,  # noqa: FBT001
) -> None:
    """Nothing was to be opened when it began, so no hook has run, and nothing is."""
    lab.api.add("apps", SHUT, annotations={OURS: ANNOTATION, HOLD: "ann"}, status=APPLIED)
    lifted = edited("apps", {"metadata": {"annotations": {HOLD: None}}})
    lab.api.fault("GET", "apps", lambda _: False, lifted)
    assert not lab.run()
    assert (lab.open(), lab.kinds()) == (False, [])
    if opens_later:
        assert lab.run()
        assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_notes_that_were_removed(lab: Lab) -> None:
    """The hook runs again, in a Job of its own."""
    lab.run()
    lab.run(BY_HAND)
    lab.clock.time += SECOND
    lab.api.ends["before-open"] = "Failed"
    assert not lab.run()
    lab.forget_note()
    lab.clock.time += SECOND
    assert not lab.run()
    lab.forget_note()
    lab.api.ends.clear()
    lab.clock.time += SECOND
    assert lab.run()
    assert lab.kinds() == [
        "before-open",
        "after-close",
        *["before-open", "rollback"] * 2,
        "before-open",
    ]


@pytest.mark.parametrize(
    ("stage", "ends"), [("RollingBack", "rollback"), ("Closing", "after-close")]
)
def test_a_gate_that_died_at_the_end(lab: Lab, stage: str, ends: str) -> None:
    """What was due then is made good, before anything is opened."""
    lab.note(stage=stage, job="another")
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, [ends, "before-open"])


@pytest.mark.parametrize("stage", ["Opening", "RollingBack", "MayOpen", "Closing"])
def test_a_gate_that_died_in_the_last_occurrence(lab: Lab, stage: str) -> None:
    """What belongs to that one is ended first; then this one begins, all in one run."""
    lab.note(occurrence="2026-11-19T08:00:00+00:00", stage=stage, job="gone")
    assert lab.run()
    ends = "rollback" if stage in ("Opening", "RollingBack") else "after-close"
    assert (lab.open(), lab.kinds()) == (True, [ends, "before-open"])


def test_others_are_always_faster(lab: Lab) -> None:
    """After some rounds it leaves that to the next run, and opens nothing."""

    def write(_: Handler) -> bool:
        lab.note(occurrence="2026-11-19T08:00:00+00:00", stage="Closed")
        return False

    lab.api.fault("PATCH", "p-hooks", *[write] * 10)
    assert not lab.run()
    assert (lab.open(), lab.posts()) == (False, 0)
    assert lab.run()
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_a_note_that_is_refused(lab: Lab) -> None:
    """No hook is begun of which the next run would not know."""
    lab.api.fault("PATCH", "p-hooks", status(500))
    assert not lab.run()
    [message] = [str(line["message"]) for line in lab.log if line.get("action") == "NotOpened"]
    assert message.startswith("hooks: 500 to PATCH")
    assert (lab.open(), lab.posts()) == (False, 0)


def test_a_target_that_does_not_exist(lab: Lab) -> None:
    """The hooks are about the others."""
    del lab.api.objects[path_of("infra")]
    assert not lab.run(BOTH)  # as it fails for what is missing
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", ["before-open"])


def test_an_answer_about_another_job(lab: Lab) -> None:
    """That one has ended well; what counts is the end of our own."""
    complete = {"type": "Complete", "status": "True"}
    other = said({"metadata": {"name": "another"}, "status": {"conditions": [complete]}})
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        until(lab.api.jobs)
        [job] = lab.api.jobs()
        lab.api.fault("GET", job, other, other)
        until(lambda: not lab.api.faults["GET", job])
        lab.api.end(job, "Failed")
        assert not run.result()
    assert not lab.open()

"""Hooks around an occurrence, against an API server.

Every way in which a Job, a run or a person comes in between.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

import pytest
from api_server import Api, Handler, edited, kustomization, path_of, said, status
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

OPENS = NOON - 4 * HOUR
BEFORE, AROUND = "before-open", "before-open after-close"
ABORTED = "before-open rollback"
BUSY = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
CALM = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "ProgressingWithRetry"}]}


@pytest.fixture
def lab(api: Api, port: int, account: Path) -> Lab:
    lab = Lab(api, port, account)
    lab.closes()
    return lab


def let(lab: Lab, name: str, **status: object) -> None:
    lab.api.store(path_of(name), {**lab.api.object(name), "status": status})


def created(lab: Lab, name: str, at: str) -> None:
    lab.api.add(name, {})
    lab.api.object(name)["metadata"]["creationTimestamp"] = at  # type: ignore[index]


def test_it_runs_before_the_first_target_is_opened(lab: Lab) -> None:
    lab.closes("apps", "infra")
    lab.runs(BEFORE, opened=True, stage="MayOpen", timetable=BOTH)
    paths = [line.partition("?")[0] for line in lab.api.asked if line.startswith("P")]
    writes = [path.rpartition("/")[2] for path in paths]
    assert writes[:3] == ["p-hooks", "jobs", "p-hooks"]
    assert sorted(writes[3:]) == ["apps", "infra"]
    opens = [dig(body, "spec", "suspend") for body in lab.api.bodies[-4:]]
    assert opens == [None, None, False, False]
    [name] = lab.api.jobs()
    assert name.startswith("p-before-open-202611200800-")
    job = lab.api.objects[f"{JOBS}/{name}"]
    assert (job["kind"], job["spec"]) == ("Job", {"does": "this"})
    assert dig(job, "metadata", "labels") == {"a": "b"}
    assert lab.open("infra")


def test_runs_after_it_start_nothing(lab: Lab) -> None:
    lab.closes("apps", "infra")
    lab.api.fault("PATCH", "infra", status(403))
    lab.runs(BEFORE, opened=True, well=False, timetable=BOTH)
    assert not lab.open("infra")
    lab.forget_jobs()
    for _ in range(2):
        lab.runs("", opened=True, timetable=BOTH)
        assert (lab.open("infra"), lab.posts()) == (True, 1)


def test_a_failure_aborts(lab: Lab) -> None:
    lab.api.ends["before-open"] = "Failed"
    lab.runs(ABORTED, opened=False, well=False, stage="Aborted")
    [name, _] = lab.api.jobs()
    said = json.loads(str(lab.notes()[OURS]))
    assert said == {
        "policy": "flux-system/p",
        "reason": f"hooks.beforeOpen failed: Job maintenance/{name}",
        "since": "2026-11-20T08:00:00+00:00",
        "until": "2026-11-20T12:00:00+00:00",
        "cause": "HookFailed",
    }
    failure = "BackoffLimitExceeded: it said no"
    assert {"hook": "beforeOpen", "job": f"maintenance/{name}", "failure": failure} in lab.log
    lab.runs(ABORTED, opened=False, well=False)
    lab.forget_jobs()
    lab.runs("", opened=False, well=False)
    lab.runs("", opened=False, at=NOON + HOUR / 2)
    assert lab.posts() == 2
    lab.api.ends.clear()
    lab.runs(BEFORE, opened=True, at=NOON + 2 * HOUR)


@pytest.mark.parametrize(("aborts", "opens"), [(True, False), (False, True)])
@pytest.mark.parametrize("end", ["", "Failed"], ids=["hangs", "fails"])
def test_where_the_policy_goes_on(lab: Lab, end: str, *, aborts: bool, opens: bool) -> None:
    """What hangs has failed when its time is over, whether the Job controller ends it or not."""
    lab.api.ends["before-open"] = end
    began = monotonic()
    assert lab.run(text=file("beforeOpen", aborts=aborts, seconds=0.1)) == opens
    assert monotonic() - began < 3
    assert lab.open() == opens


@pytest.mark.parametrize(
    ("text", "ends", "kinds"),
    [
        (file("beforeOpen", does="that"), {}, f"{ABORTED} {BEFORE}"),
        (file("afterClose"), {}, ABORTED),
        (file("beforeOpen", aborts=False), {"before-open": "Failed"}, f"{ABORTED} {BEFORE}"),
    ],
    ids=["mended", "taken out", "passed over"],
)
def test_what_opens_after_a_failure(lab: Lab, text: str, ends: dict[str, str], kinds: str) -> None:
    """Whoever corrects it in Git need not wait for the next occurrence."""
    lab.api.ends["before-open"] = "Failed"
    lab.run()
    lab.api.ends = ends
    lab.runs(kinds, opened=True, text=text)


@pytest.mark.parametrize(("code", "aborts"), [(403, True), (404, True), (422, True), (403, False)])
def test_a_hook_that_cannot_be_started(lab: Lab, code: int, *, aborts: bool) -> None:
    """It is a failure, but there is nothing to roll back, and the next run tries again."""
    lab.api.fault("POST", "jobs", status(code))
    text = file("beforeOpen", "rollback", aborts=aborts)
    lab.runs("", opened=not aborts, well=not aborts, text=text)
    if aborts:
        lab.runs(BEFORE, opened=True, text=text)


def test_faults_of_the_api_server(lab: Lab) -> None:
    lab.api.fault("GET", "apps", status(500))
    lab.runs("", opened=False, well=False)
    lab.api.fault("POST", "jobs", status(500), status(429))
    lab.runs(BEFORE, opened=True)
    assert lab.posts() == 3


@pytest.mark.parametrize("text", ["{}", ALL.replace("beforeOpen", "beforeOpens")])
def test_a_file_that_cannot_be_read(lab: Lab, text: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        lab.run(text=text)
    assert not lab.api.asked


def test_a_gate_that_died_before_opening(lab: Lab) -> None:
    lab.run()
    passed = lab.api.jobs()
    lab.closes()
    lab.note(stage="Opening", job=passed[0])
    lab.runs(BEFORE, opened=True)
    assert lab.api.jobs() == passed


def test_two_runs_at_once(lab: Lab) -> None:
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(lab.run) for _ in range(2)]
        until(lab.api.jobs)
        sleep(0.3)
        assert (lab.open(), [each.done() for each in runs]) == (False, [False, False])
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert [each.result() for each in runs] == [True, True]
    assert (lab.open(), lab.kinds()) == (True, [BEFORE])


def test_both_start_it_at_once(lab: Lab) -> None:
    """Having read the same, they give the Job the same name, and the second finds it."""
    lab.api.fault("POST", "jobs", *[lambda _: sleep(0.3) is not None] * 2)
    lab.api.fault("PATCH", "p-hooks", lambda _: sleep(0.2) is not None)
    with ThreadPoolExecutor() as pool:
        assert all(pool.map(lambda _: lab.run(), range(2)))
    assert (lab.posts(), lab.kinds()) == (2, [BEFORE])


def test_the_window_closes_while_the_hook_runs(lab: Lab) -> None:
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        until(lab.api.jobs)
        lab.clock.time = NOON + HOUR / 2
        sleep(0.2)
        assert not run.done()
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert run.result()
    assert (lab.writes_open(), lab.stage(), lab.kinds()) == (False, "Closed", ABORTED.split())


def test_the_window_closes_while_the_target_is_written(lab: Lab) -> None:
    """It is decided again immediately before writing, hook or not."""
    lab.api.fault("GET", "apps", lambda _: False, lab.clock.at(NOON))
    assert lab.run()
    assert (lab.writes_open(), lab.clock.time, lab.kinds()[:1]) == (False, NOON, [BEFORE])


def test_it_runs_after_the_close(lab: Lab) -> None:
    lab.run()
    lab.clock.time = NOON
    let(lab, "apps", **APPLIED, **BUSY)
    lab.api.asked.clear()
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        until(lambda: not lab.open())
        sleep(0.3)
        assert lab.posts() == 0
        let(lab, "apps", **CALM)
        assert run.result()
    assert (lab.kinds(), lab.stage()) == (AROUND.split(), "Closed")
    lab.forget_jobs()
    lab.runs("", opened=False)
    assert lab.posts() == 1


def test_after_the_close_it_does_not_wait_for_ever(lab: Lab) -> None:
    lab.api.ends["after-close"] = "Failed"
    lab.run()
    let(lab, "apps", **APPLIED, **BUSY)
    text = file("afterClose", seconds=0.2)
    lab.runs(AROUND, opened=False, stage="Closed", at=NOON, text=text)


@pytest.mark.parametrize(
    ("at", "kinds", "opened"),
    [(NOON, AROUND, False), (NOON + 2 * HOUR, f"{AROUND} {BEFORE}", True)],
)
def test_after_the_close_it_is_tried_again(
    lab: Lab, at: object, kinds: str, *, opened: bool
) -> None:
    lab.run()
    lab.api.fault("POST", "jobs", status(403))
    lab.log.clear()
    lab.runs(BEFORE, opened=False, well=False, at=NOON)
    assert [line for line in lab.log if "failure" in line]
    lab.runs(kinds, opened=opened, at=at)


def test_a_close_that_no_run_saw(lab: Lab) -> None:
    """Nothing was closed, so nothing ends or begins; after the next close it does."""
    lab.run()
    lab.runs(BEFORE, opened=True, stage="MayOpen", at=NOON + 2 * HOUR)
    lab.runs(AROUND, opened=False, at=NOON + 5 * HOUR)


def test_a_policy_that_comes_while_it_is_open(lab: Lab) -> None:
    """Nothing has to be opened, so nothing runs before; but it does after the close."""
    lab.api.add("apps", {}, status=APPLIED)
    lab.runs("", opened=True, stage="MayOpen")
    lab.runs("after-close", opened=False, at=NOON)


def test_a_policy_that_comes_while_it_is_closed(lab: Lab) -> None:
    """Nothing was open by its leave, so nothing runs."""
    lab.api.add("apps", {}, status=APPLIED)
    lab.runs("", opened=False, at=NOON)


@pytest.mark.parametrize("notes", [{}, {OURS: ANNOTATION, HOLD: "ann"}])
def test_what_is_left_alone_needs_no_hook(lab: Lab, notes: dict[str, object]) -> None:
    """A target that a person suspended or holds is not opened."""
    lab.api.add("apps", SHUT, annotations=notes, status=APPLIED)
    lab.runs("", opened=False)
    assert lab.stage() is None


def test_closed_and_opened_by_hand_in_one_window(lab: Lab) -> None:
    """The hook after the close has run, so the one before the opening runs again."""
    lab.run()
    lab.runs(AROUND, opened=False, timetable=BY_HAND)
    lab.runs(f"{AROUND} {BEFORE}", opened=True)
    assert len(set(lab.api.jobs())) == 3


def test_a_freeze_makes_two_of_one_window(lab: Lab) -> None:
    freeze = Rule(Kind.FREEZE, "ten", NOON - 2 * HOUR, NOON - HOUR, "ten")
    frozen = POLICY._replace(freezes=(freeze,))
    kinds: list[str] = []
    for hours, opened in ((3, True), (1.5, False), (0.5, True), (0, False)):
        kinds.append("before-open" if opened else "after-close")
        lab.runs(" ".join(kinds), opened=opened, at=NOON - hours * HOUR, timetable=frozen)


def test_what_was_never_applied_starts_without(lab: Lab) -> None:
    created(lab, "apps", "2026-11-20T07:30:00Z")
    lab.runs("", opened=True, at=NOON - 4.1 * HOUR, text=file("beforeOpen"))


def test_a_run_by_a_slow_clock_takes_nothing_back(lab: Lab) -> None:
    """What is not to open yet by its clock is being opened by that of another node."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        opening = pool.submit(lab.run, clock=Clock(OPENS + 2 * SECOND))
        until(lab.api.jobs)
        assert lab.run(clock=Clock(OPENS - 3 * SECOND))
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert opening.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", [BEFORE])


def test_a_run_across_the_edge_takes_nothing_back(lab: Lab) -> None:
    """It began while closed; when it is done with the targets, another run is opening them."""
    lab.api.ends["before-open"] = ""
    lab.clock.time = OPENS - SECOND
    with ThreadPoolExecutor() as pool:
        runs = []

        def opening(_: Handler) -> bool:
            lab.clock.time = OPENS + SECOND
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
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", [BEFORE])


@pytest.mark.parametrize(
    ("hooks", "opens"), [(("beforeOpen", "afterClose"), False), (("afterClose",), True)]
)
def test_one_that_cannot_be_read_closes_no_other(
    lab: Lab, hooks: tuple[str, ...], *, opens: bool
) -> None:
    text = file(*hooks, seconds=0.2)
    for name in ("apps", "infra"):
        lab.api.add(name, {}, status=APPLIED)
    assert lab.run(BOTH, text)
    lab.api.add("more", SHUT, annotations={OURS: ANNOTATION}, status=APPLIED)
    three = BOTH._replace(targets=(*BOTH.targets, kustomization("more", "v1")))
    lab.api.fault("GET", "infra", *[status(403)] * 2)
    lab.runs("", opened=True, well=False, timetable=three, text=text)
    assert (lab.open("infra"), lab.open("more")) == (True, opens)
    lab.api.faults.clear()
    lab.api.fault("GET", "infra", *[status(500)] * 100)
    lab.runs("", opened=False, well=False, at=NOON, timetable=BOTH, text=text)
    assert lab.open("infra")


def test_opened_again_while_the_hook_after_it_runs(lab: Lab) -> None:
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
    assert (lab.open(), lab.stage()) == (True, "MayOpen")
    assert lab.kinds() == [*AROUND.split(), BEFORE]


def test_opened_again_before_the_hook_after_it_runs(lab: Lab) -> None:
    """While it waits for what reconciles, it is due already."""
    lab.run()
    let(lab, "apps", **APPLIED, **BUSY)
    with ThreadPoolExecutor() as pool:
        closing = pool.submit(lab.run, BY_HAND)
        until(lambda: lab.stage() == "Closing")
        opening = pool.submit(lab.run)
        sleep(0.2)
        assert not lab.open()
        with lab.api.lock:
            let(lab, "apps", **APPLIED)
        assert closing.result()
        assert opening.result()
    assert (lab.open(), lab.kinds()) == (True, [*AROUND.split(), BEFORE])


def test_closing_is_overtaken_by_what_opens_again(lab: Lab) -> None:
    """Another run ends the cycle and opens: that is no failure of the one that was slower."""
    lab.run()

    def opens(_: Handler) -> bool:
        assert lab.run()
        return False

    # It has closed, noted that, and found twice that nothing reconciles.
    lab.api.fault("GET", "apps", *[lambda _: False] * 4, opens)
    assert lab.run(BY_HAND)
    assert (lab.open(), lab.kinds()) == (True, [*AROUND.split(), BEFORE])


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
    assert (lab.writes_open(), lab.kinds()) == (False, ABORTED.split())


def test_an_aborted_occurrence_that_was_closed_and_opens_again(lab: Lab) -> None:
    """It is tried again, as all times that are always open are one occurrence."""
    always = POLICY._replace(state="Open")
    lab.api.ends["before-open"] = "Failed"
    assert not lab.run(always)
    lab.api.ends.clear()
    lab.runs(ABORTED, opened=False, well=False, timetable=always)
    lab.runs(ABORTED, opened=False, stage="Closed", timetable=BY_HAND)
    lab.runs(f"{ABORTED} {BEFORE}", opened=True, timetable=always)


@pytest.mark.parametrize("method", ["GET", "PATCH"])
def test_nothing_runs_after_while_a_target_may_be_open(lab: Lab, method: str) -> None:
    text = file("beforeOpen", "afterClose", seconds=0.2)
    lab.closes("apps", "infra")
    assert lab.run(BOTH, text)
    lab.api.fault(method, "infra", *[status(500)] * 200)
    lab.runs(BEFORE, opened=False, well=False, at=NOON, timetable=BOTH, text=text)
    assert lab.open("infra")
    lab.api.faults.clear()
    lab.runs(AROUND, opened=False, timetable=BOTH, text=text)
    assert not lab.open("infra")


def test_what_is_open_to_be_applied_first_is_not_waited_for(lab: Lab) -> None:
    """A target that came an hour ago at most, and was never applied, stays open after the close."""
    lab.run()
    created(lab, "infra", "2026-11-20T11:30:00Z")
    lab.api.asked.clear()
    lab.runs(AROUND, opened=False, at=NOON, timetable=BOTH)
    assert lab.open("infra")
    # What is waited for is asked for again and again, for seconds.
    assert 0 < lab.api.asked.count(f"GET {path_of('infra')}") < 10


def test_nothing_is_taken_back_while_a_target_is_open(lab: Lab) -> None:
    """One was open before the hook was due."""
    lab.api.add("infra", {}, status=APPLIED)
    lab.api.ends["before-open"] = "Failed"
    lab.api.fault("PATCH", "infra", status(403))
    lab.runs(BEFORE, opened=False, well=False, timetable=BOTH)
    assert lab.open("infra")
    lab.runs(ABORTED, opened=False, well=False, timetable=BOTH)
    assert not lab.open("infra")


@pytest.mark.parametrize(("written", "posts"), [(0, 0), (1, 1)])
def test_what_cannot_be_noted(lab: Lab, written: int, posts: int) -> None:
    """Nothing is begun, or opened, of which the next run would not know."""
    lab.api.fault("PATCH", "p-hooks", *[lambda _: False] * written, status(500))
    assert not lab.run()
    [message] = [str(line["message"]) for line in lab.log if line.get("action") == "NotOpened"]
    assert message.startswith("hooks: 500 to PATCH")
    assert (lab.open(), lab.posts()) == (False, posts)
    lab.runs(BEFORE, opened=True, stage="MayOpen")


def test_a_run_that_is_cut_off_takes_nothing_back(lab: Lab) -> None:
    """It never hears how the hook ended; another run has opened since."""

    class Cut(Cluster):
        def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> object:
            if method == "GET" and "/jobs/" in path:
                raise ApiError("no answer")
            return super().ask(method, path, body)

    # As long as the other run may take on a busy machine.
    text = file("beforeOpen", "rollback", seconds=8)
    cut = Cut(*lab.cluster.args, **lab.cluster.keywords)
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run, text=text, cluster=cut)
        until(lab.api.jobs)
        assert lab.run(text=text)
        run.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "MayOpen", [BEFORE])


OTHER_JOB = {"conditions": [{"type": "Complete", "status": "True"}]}


@pytest.mark.parametrize(
    ("fault", "end"),
    [
        (status(401), "Complete"),
        (status(403), "Complete"),
        (said({"metadata": {"name": "another"}, "status": OTHER_JOB}), "Failed"),
    ],
)
def test_a_job_that_cannot_be_read_for_a_moment(lab: Lab, fault: object, end: str) -> None:
    """It has been created: only that it is gone would be an end, and no end of another counts."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        run = pool.submit(lab.run)
        until(lab.api.jobs)
        [job] = lab.api.jobs()
        lab.api.fault("GET", job, *[fault] * 2)  # type: ignore[list-item]
        until(lambda: not lab.api.faults["GET", job])
        lab.api.end(job, end)
        assert run.result() == (end == "Complete")
    assert lab.open() == (end == "Complete")


def test_an_edited_window_that_is_open(lab: Lab) -> None:
    lab.closes("apps", "infra")
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION, HOLD: "ann"}, status=APPLIED)
    assert lab.run(BOTH)
    lab.api.add("infra", SHUT, annotations={OURS: ANNOTATION}, status=APPLIED)
    moved = BOTH._replace(windows=(Rule(Kind.WINDOW, "morning", NOON - 3 * HOUR, NOON), AFTERNOON))
    lab.runs(BEFORE, opened=True, timetable=moved)
    assert lab.open("infra")
    lab.runs(AROUND, opened=False, at=NOON, timetable=moved)


def test_a_renamed_policy(lab: Lab) -> None:
    """It has another note: what is open was found open, and the hook after the close runs."""
    lab.run()
    lab.api.store(NOTE.replace("p-hooks", "q-hooks"), {"metadata": {"name": "q-hooks"}})
    renamed = POLICY._replace(policy="flux-system/q", former_names=("flux-system/p",))
    text = ALL.replace("p-hooks", "q-hooks")
    lab.runs(BEFORE, opened=True, timetable=renamed, text=text)
    lab.runs(AROUND, opened=False, at=NOON, timetable=renamed, text=text)
    assert lab.notes().keys() == {annotation("flux-system/q")}


def test_a_hold_that_ends_in_the_middle_of_a_run(lab: Lab) -> None:
    """Nothing was to be opened when it began, so no hook has run, and nothing is."""
    lab.api.add("apps", SHUT, annotations={OURS: ANNOTATION, HOLD: "ann"}, status=APPLIED)
    lifted = edited("apps", {"metadata": {"annotations": {HOLD: None}}})
    lab.api.fault("GET", "apps", lambda _: False, lifted)
    lab.runs("", opened=False, well=False)
    lab.runs(BEFORE, opened=True)


def test_notes_that_were_removed(lab: Lab) -> None:
    lab.run()
    lab.run(BY_HAND)
    for end in ("Failed", "Failed", "Complete"):
        lab.clock.time += SECOND
        lab.api.ends["before-open"] = end
        assert lab.run() == (end == "Complete")
        lab.forget_note()
    assert lab.kinds() == f"{AROUND} {ABORTED} {ABORTED} {BEFORE}".split()


@pytest.mark.parametrize(
    ("stage", "occurrence", "ends"),
    [
        ("RollingBack", "20", "rollback"),
        ("Closing", "20", "after-close"),
        ("Opening", "19", "rollback"),
        ("RollingBack", "19", "rollback"),
        ("MayOpen", "19", "after-close"),
        ("Closing", "19", "after-close"),
    ],
)
def test_a_gate_that_died(lab: Lab, stage: str, occurrence: str, ends: str) -> None:
    lab.note(occurrence=f"2026-11-{occurrence}T08:00:00+00:00", stage=stage, job="another")
    lab.runs(f"{ends} {BEFORE}", opened=True)


def test_others_are_always_faster(lab: Lab) -> None:
    def write(_: Handler) -> bool:
        lab.note(occurrence="2026-11-19T08:00:00+00:00", stage="Closed")
        return False

    lab.api.fault("PATCH", "p-hooks", *[write] * 10)
    lab.runs("", opened=False, well=False)
    lab.runs(BEFORE, opened=True)


def test_a_target_that_does_not_exist(lab: Lab) -> None:
    del lab.api.objects[path_of("infra")]
    lab.runs(BEFORE, opened=True, well=False, stage="MayOpen", timetable=BOTH)

"""Hooks around an occurrence, against an API server: every way in which a Job, a look or a person comes in between."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import pytest
from api_server import GROUP, Api, Fault, Handler, path_of, status

from krm_windows.gate import hooks
from krm_windows.gate.__main__ import Gate
from krm_windows.gate.decide import decide
from krm_windows.gate.kubernetes import Cluster, dig
from krm_windows.gate.target import HOLD, HOOKS, mark
from krm_windows.gate.timetable import Rule, Target, Timetable

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OURS, NOTE = mark("flux-system/p"), mark("flux-system/p", HOOKS)
JOBS = "/apis/batch/v1/namespaces/maintenance/jobs"
SHUT = {"suspend": True}
APPLIED = {"lastAppliedRevision": "main@sha1:1"}
PACE = hooks.Pace(pause=0.01, grace=0)


def target(name: str) -> Target:
    """A Kustomization as the compiler names it."""
    return Target(
        group=GROUP,
        version="v1",
        resource="kustomizations",
        kind="Kustomization",
        namespace="flux-system",
        name=name,
        applied=("lastAppliedRevision",),
    )


MORNING = Rule("windows.morning", NOON - 4 * HOUR, NOON)
AFTERNOON = Rule("windows.afternoon", NOON + HOUR, NOON + 4 * HOUR)
POLICY = Timetable(policy="flux-system/p", time_zone="UTC", targets=(target("apps"),), windows=(MORNING, AFTERNOON))
BOTH = replace(POLICY, targets=(target("apps"), target("infra")))


def file(*kinds: str, aborts: bool = True, seconds: float = 5, does: str = "this") -> str:
    """The hooks' file, with hooks of these kinds."""
    slugs = {"beforeOpen": "p-before-open", "rollback": "p-rollback", "afterClose": "p-after-close"}
    found = {
        kind: {
            "name": slugs[kind],
            "seconds": seconds,
            "aborts": aborts and kind == "beforeOpen",
            "metadata": {"labels": {"a": "b"}},
            "spec": {"does": does},
        }
        for kind in kinds
    }
    return json.dumps({"namespace": "maintenance", "hooks": found})


ALL = file("beforeOpen", "rollback", "afterClose")


class Clock:
    """A clock that stands still until a test or something at the server moves it."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def __call__(self) -> datetime:
        """Tell the time."""
        return self.time

    def at(self, time: datetime) -> Fault:
        """Let it be so late, just before a request is answered."""

        def strike(_: Handler) -> bool:
            self.time = time
            return False

        return strike


class Lab:
    """The program's looks at an API server, one after the other, by a clock."""

    def __init__(self, api: Api, port: int, account: Path) -> None:
        self.api, self.clock = api, Clock(NOON - HOUR)
        self.cluster = partial(Cluster, "127.0.0.1", str(port), account, 5)
        self.log: list[dict[str, object]] = []

    def look(self, timetable: Timetable = POLICY, text: str = ALL) -> bool:
        """Look once."""
        gate = Gate(timetable, partial(decide, timetable), self.clock, lambda **line: self.log.append(line))
        return hooks.look(gate, self.cluster(), allow_missing=False, text=text, pace=PACE)

    def closes(self, *names: str, at: datetime = NOON - 5 * HOUR) -> None:
        """Let a look close the targets, some time before."""
        now, self.clock.time = self.clock.time, at
        for name in names or ("apps",):
            self.api.add(name, {}, status=APPLIED)
        self.look(BOTH if names else POLICY)
        self.clock.time = now
        self.api.asked.clear()

    def open(self, name: str = "apps") -> bool:
        """Whether a target is not suspended."""
        return dig(self.api.object(name), "spec", "suspend") is not True

    def stage(self, name: str = "apps") -> object:
        """Where the hooks are, by the note on a target."""
        text = dig(self.api.object(name), "metadata", "annotations", NOTE)
        return json.loads(text)["stage"] if isinstance(text, str) else None

    def kinds(self) -> list[str]:
        """Which hooks were started, in order."""
        return ["-".join(name.split("-")[1:-2]) for name in self.api.jobs()]

    def posts(self) -> int:
        """How many Jobs the program asked for."""
        return self.api.asked.count(f"POST {JOBS}")

    def forget_jobs(self) -> None:
        """Remove all Jobs, as their time to live does after a day."""
        self.api.objects = {path: thing for path, thing in self.api.objects.items() if "/jobs/" not in path}


@pytest.fixture
def lab(api: Api, port: int, account: Path) -> Lab:
    """A closed target, an hour before noon: the window has begun at eight."""
    lab = Lab(api, port, account)
    lab.closes()
    return lab


def test_it_runs_before_the_first_target_is_opened(lab: Lab) -> None:
    """And only then; the Job is the one of the file, under a name that says policy, hook and occurrence."""
    lab.closes("apps", "infra")
    assert lab.look(BOTH)
    writes = [line.partition("?")[0].rpartition("/")[2] for line in lab.api.asked if line.startswith("P")]
    assert writes == ["apps", "infra", "jobs", "apps", "infra", "apps", "infra"]
    assert [dig(body, "spec", "suspend") for body in lab.api.bodies[-6:]] == [None, None, None, None, False, False]
    [name] = lab.api.jobs()
    assert name.startswith("p-before-open-202611200800-")
    job = lab.api.objects[f"{JOBS}/{name}"]
    assert (job["kind"], job["spec"], dig(job, "metadata", "labels")) == ("Job", {"does": "this"}, {"a": "b"})
    assert (lab.open("apps"), lab.open("infra"), lab.stage("infra")) == (True, True, "Passed")


def test_looks_after_it_start_nothing(lab: Lab) -> None:
    """Neither while the Job is there nor after its time to live; not even for a target that is opened only now."""
    lab.closes("apps", "infra")
    lab.api.fault("PATCH", "infra", lambda _: False, lambda _: False, status(500))
    assert not lab.look(BOTH)
    assert (lab.open("apps"), lab.open("infra")) == (True, False)
    lab.forget_jobs()
    assert lab.look(BOTH)
    assert lab.open("infra")
    assert (lab.posts(), lab.look(BOTH), lab.posts()) == (1, True, 1)


def test_a_failure_aborts(lab: Lab) -> None:
    """The target stays closed and says so, the look fails; the next ones start nothing; the rollback runs once."""
    lab.api.ends["before-open"] = "Failed"
    assert not lab.look()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, "Aborted", ["before-open", "rollback"])
    [name, _] = lab.api.jobs()
    said = json.loads(str(dig(lab.api.object("apps"), "metadata", "annotations", OURS)))
    assert said["reason"] == f"hooks.beforeOpen failed: Job maintenance/{name}"
    assert (said["since"], said["until"]) == ("2026-11-20T08:00:00+00:00", "2026-11-20T12:00:00+00:00")
    assert {
        "hook": "beforeOpen",
        "job": f"maintenance/{name}",
        "trouble": "BackoffLimitExceeded: it said no",
    } in lab.log
    assert not lab.look()
    lab.forget_jobs()
    assert not lab.look()
    assert (lab.posts(), lab.open()) == (2, False)


def test_an_aborted_occurrence_ends(lab: Lab) -> None:
    """Nothing runs after it; the next one begins anew."""
    lab.api.ends["before-open"] = "Failed"
    lab.look()
    lab.clock.time = NOON + HOUR / 2
    assert lab.look()
    assert lab.kinds() == ["before-open", "rollback"]
    lab.api.ends.clear()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.look()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "rollback", "before-open"])


def test_a_failure_continues(lab: Lab) -> None:
    """Where the policy says so, and there is nothing to roll back."""
    lab.api.ends["before-open"] = "Failed"
    assert lab.look(text=file("beforeOpen", aborts=False))
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "Passed", ["before-open"])


@pytest.mark.parametrize(("aborts", "opens"), [(True, False), (False, True)])
def test_a_hook_that_hangs(lab: Lab, aborts: bool, opens: bool) -> None:  # noqa: FBT001
    """It counts as failed when its time is over, whether the Job controller ends it or not."""
    lab.api.ends["before-open"] = ""
    began = monotonic()
    assert lab.look(text=file("beforeOpen", aborts=aborts, seconds=0.1)) == opens
    assert monotonic() - began < 3
    assert lab.open() == opens


def test_a_mended_hook_is_another(lab: Lab) -> None:
    """Whoever corrects it in Git need not wait for the next occurrence."""
    lab.api.ends["before-open"] = "Failed"
    lab.look()
    lab.api.ends.clear()
    assert lab.look(text=file("beforeOpen", does="that"))
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "rollback", "before-open"])


def test_a_hook_taken_out(lab: Lab) -> None:
    """Without it the occurrence is open."""
    lab.api.ends["before-open"] = "Failed"
    lab.look()
    assert lab.look(text=file("afterClose"))
    assert lab.open()


@pytest.mark.parametrize("fault", [status(403), status(404), status(422)])
@pytest.mark.parametrize(("aborts", "opens"), [(True, False), (False, True)])
def test_a_hook_that_cannot_be_started(lab: Lab, fault: Fault, aborts: bool, opens: bool) -> None:  # noqa: FBT001
    """It is a failure, but there is nothing to roll back, and the next look tries again."""
    lab.api.fault("POST", "jobs", fault)
    assert lab.look(text=file("beforeOpen", "rollback", aborts=aborts)) == opens
    assert (lab.open(), lab.kinds()) == (opens, [])
    if aborts:
        assert lab.look(text=file("beforeOpen", "rollback"))
        assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_faults_of_the_api_server(lab: Lab) -> None:
    """One that is busy is asked again."""
    lab.api.fault("POST", "jobs", status(500), status(429))
    assert lab.look()
    assert (lab.open(), lab.posts(), lab.kinds()) == (True, 3, ["before-open"])


def test_a_target_that_cannot_be_read(lab: Lab) -> None:
    """Nothing is started for what is not known, and nothing opened."""
    lab.api.fault("GET", "apps", status(500))
    assert not lab.look()
    assert (lab.open(), lab.posts()) == (False, 0)
    assert lab.look()
    assert lab.open()


def test_no_target_takes_a_note(lab: Lab) -> None:
    """What cannot be noted could be started twice, so it is not."""
    lab.api.fault("PATCH", "apps", status(403), lambda _: False)
    assert not lab.look()
    assert (lab.open(), lab.posts()) == (False, 0)


def test_a_file_that_cannot_be_read(lab: Lab) -> None:
    """It closes, as whatever else cannot be decided."""
    lab.api.add("apps", {}, status=APPLIED)
    assert not lab.look(text="{}")
    assert (lab.open(), lab.posts()) == (False, 0)


def test_a_gate_that_died_before_opening(lab: Lab) -> None:
    """After the hook was well, and before that was noted: its Job is found, and the targets opened."""
    lab.look()
    passed = lab.api.jobs()
    lab.closes()
    note = {"occurrence": "2026-11-20T08:00:00+00:00", "run": 1, "stage": "Opening", "job": passed[0]}
    lab.api.add("apps", SHUT, annotations={OURS: "{}", NOTE: json.dumps(note)}, status=APPLIED)
    assert lab.look()
    assert (lab.open(), lab.api.jobs()) == (True, passed)


def test_a_gate_that_died_a_day_ago(lab: Lab) -> None:
    """Its Job may have run and be gone: it is not started again, and counts as failed."""
    note = {
        "occurrence": None,
        "run": 1,
        "stage": "Opening",
        "job": "p-before-open-always-1",
        "at": "2026-11-18T00:00:00Z",
    }
    lab.api.add("apps", SHUT, annotations={OURS: "{}", NOTE: json.dumps(note)}, status=APPLIED)
    assert not lab.look(replace(POLICY, state="Open"))
    assert (lab.open(), lab.kinds()) == (False, ["rollback"])


def test_two_looks_at_once(lab: Lab) -> None:
    """One Job; and neither opens before it has ended."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        looks = [pool.submit(lab.look) for _ in range(2)]
        while not (lab.api.jobs() and lab.posts() >= 1):
            sleep(0.01)
        sleep(0.3)
        assert (lab.open(), [each.done() for each in looks]) == (False, [False, False])
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert [each.result() for each in looks] == [True, True]
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_both_start_it_at_once(lab: Lab) -> None:
    """Having read the same, they give the Job the same name, and the second finds it."""
    lab.api.fault("POST", "jobs", lambda _: sleep(0.3) is not None, lambda _: sleep(0.3) is not None)
    lab.api.fault("PATCH", "apps", lambda _: sleep(0.2) is not None)
    with ThreadPoolExecutor() as pool:
        assert all(pool.map(lambda _: lab.look(), range(2)))
    assert (lab.posts(), lab.kinds()) == (2, ["before-open"])


def test_the_window_closes_while_the_hook_runs(lab: Lab) -> None:
    """Nothing is opened; when the hook has ended, what it did is rolled back; nothing runs after what was not open."""
    lab.api.ends["before-open"] = ""
    with ThreadPoolExecutor() as pool:
        look = pool.submit(lab.look)
        while not lab.api.jobs():
            sleep(0.01)
        lab.clock.time = NOON + HOUR / 2
        sleep(0.2)
        assert not look.done()
        lab.api.end(lab.api.jobs()[0], "Complete")
        assert look.result()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, "Aborted", ["before-open", "rollback"])
    assert not any(dig(body, "spec", "suspend") is False for body in lab.api.bodies)


def test_the_window_closes_while_the_target_is_written(lab: Lab) -> None:
    """It is decided again immediately before writing, hook or not."""
    lab.api.fault("PATCH", "apps", lambda _: False, lambda _: False, lab.clock.at(NOON))
    assert lab.look()
    assert not lab.open()


def test_it_runs_after_the_close(lab: Lab) -> None:
    """The target is closed first, and nothing reconciles any more, when the hook begins; once."""
    lab.look()
    lab.clock.time = NOON
    busy = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
    calm = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "ProgressingWithRetry"}]}
    lab.api.store(path_of("apps"), {**lab.api.object("apps"), "status": APPLIED | busy})
    lab.api.asked.clear()
    with ThreadPoolExecutor() as pool:
        look = pool.submit(lab.look)
        while lab.open():
            sleep(0.01)
        sleep(0.3)
        assert lab.posts() == 0
        thing = lab.api.object("apps")
        lab.api.store(path_of("apps"), {**thing, "status": calm})
        assert look.result()
    assert (lab.kinds(), lab.stage()) == (["before-open", "after-close"], "Closed")
    lab.forget_jobs()
    assert lab.look()
    assert lab.posts() == 1


def test_after_the_close_it_does_not_wait_for_ever(lab: Lab) -> None:
    """At most its timeout for what reconciles; and its failure changes nothing, nor is it repeated."""
    lab.api.ends["after-close"] = "Failed"
    lab.look()
    busy = {"conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"}]}
    lab.api.add("apps", {}, annotations=lab.api.object("apps")["metadata"]["annotations"], status=APPLIED | busy)  # type: ignore[index,arg-type]
    lab.clock.time = NOON
    assert lab.look(text=file("afterClose", seconds=0.2))
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, "Closed", ["before-open", "after-close"])


def test_after_the_close_it_is_tried_again(lab: Lab) -> None:
    """As long as it could not be started; the target is closed all the same."""
    lab.look()
    lab.clock.time = NOON
    lab.api.fault("POST", "jobs", status(403))
    assert not lab.look()
    assert (lab.open(), lab.kinds()) == (False, ["before-open"])
    assert lab.look()
    assert lab.kinds() == ["before-open", "after-close"]


def test_the_next_occurrence_waits_for_the_end_of_the_last(lab: Lab) -> None:
    """What ends an occurrence has run before what begins the next."""
    lab.look()
    lab.clock.time = NOON
    lab.api.fault("POST", "jobs", status(403))
    lab.look()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.look()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "after-close", "before-open"])


def test_a_close_that_no_look_saw(lab: Lab) -> None:
    """Nothing was closed, so nothing ends or begins; after the next close it does."""
    lab.look()
    lab.clock.time = NOON + 2 * HOUR
    assert lab.look()
    assert (lab.open(), lab.stage(), lab.kinds()) == (True, "Passed", ["before-open"])
    lab.clock.time = NOON + 5 * HOUR
    assert lab.look()
    assert lab.kinds() == ["before-open", "after-close"]


def test_a_policy_that_comes_while_it_is_open(lab: Lab) -> None:
    """Nothing has to be opened, so nothing runs before; but it does after the close."""
    lab.api.add("apps", {}, status=APPLIED)
    assert lab.look()
    assert (lab.stage(), lab.kinds()) == ("Open", [])
    lab.clock.time = NOON
    assert lab.look()
    assert lab.kinds() == ["after-close"]


def test_a_policy_that_comes_while_it_is_closed(lab: Lab) -> None:
    """Nothing was open by its leave, so nothing runs."""
    lab.api.add("apps", {}, status=APPLIED)
    lab.clock.time = NOON
    assert lab.look()
    assert (lab.open(), lab.kinds()) == (False, [])


@pytest.mark.parametrize("notes", [{}, {OURS: "{}", HOLD: "ann"}])
def test_what_is_left_alone_needs_no_hook(lab: Lab, notes: dict[str, object]) -> None:
    """A target that a person suspended or holds is not opened; once it may be, the hook runs first."""
    lab.api.add("apps", SHUT, annotations=notes, status=APPLIED)
    assert lab.look()
    assert (lab.open(), lab.stage(), lab.kinds()) == (False, None, [])
    lab.closes()
    assert lab.look()
    assert (lab.open(), lab.kinds()) == (True, ["before-open"])


def test_what_is_let_go_later_is_opened_without_another(lab: Lab) -> None:
    """The hook has run in this occurrence; its Job is gone since."""
    lab.closes("apps", "infra")
    lab.api.add("infra", SHUT, annotations={OURS: "{}", HOLD: "ann"}, status=APPLIED)
    assert lab.look(BOTH)
    lab.forget_jobs()
    notes = dict(lab.api.object("infra")["metadata"]["annotations"])  # type: ignore[index]
    lab.api.add("infra", SHUT, annotations={OURS: notes[OURS], NOTE: notes[NOTE]}, status=APPLIED)
    assert lab.look(BOTH)
    assert (lab.open("infra"), lab.posts()) == (True, 1)


def test_closed_and_opened_by_hand_in_one_window(lab: Lab) -> None:
    """The hook after the close has run, so the one before the opening runs again, in another Job."""
    lab.look()
    held = replace(POLICY, state="Closed")
    assert lab.look(held)
    assert lab.look()
    assert (lab.open(), lab.kinds()) == (True, ["before-open", "after-close", "before-open"])
    assert len(set(lab.api.jobs())) == 3


def test_a_freeze_makes_two_of_one_window(lab: Lab) -> None:
    """Hooks run around each part."""
    frozen = replace(POLICY, freezes=(Rule("freezes.ten", NOON - 2 * HOUR, NOON - HOUR, "ten"),))
    for hours, is_open in ((3, True), (1.5, False), (0.5, True), (0, False)):
        lab.clock.time = NOON - hours * HOUR
        assert lab.look(frozen)
        assert lab.open() == is_open
    assert lab.kinds() == ["before-open", "after-close"] * 2


def test_what_was_never_applied_starts_without(lab: Lab) -> None:
    """A new cluster can start."""
    lab.api.add("apps", {})
    lab.api.object("apps")["metadata"]["creationTimestamp"] = "2026-11-20T07:30:00Z"  # type: ignore[index]
    lab.clock.time = NOON - 4.1 * HOUR
    assert lab.look(text=file("beforeOpen"))
    assert (lab.open(), lab.kinds()) == (True, [])


def test_a_released_target_loses_its_note(lab: Lab) -> None:
    """Nothing of ours stays on it."""
    lab.look()
    lab.look(replace(POLICY, targets=(), released=(target("apps"),)))
    assert dig(lab.api.object("apps"), "metadata", "annotations") == {}

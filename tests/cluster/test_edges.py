"""Lost, late and doubled edges heal, and no stale decision opens what has been closed since."""

import os
import signal
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from environment import APPS, CLOSED, Environment, eventually, note, throughout
from lab.settings import LOGS
from when import Window, open_window, since, sleep_until, window

DECIDED = '"open": true'


def test_an_open_job_that_starts_late_does_not_open(env: Environment) -> None:
    """A Job of the opening CronJob that runs while it is closed leaves it closed."""
    env.begin_closed()
    env.job("late", "windows-open-later", wait=True)
    assert env.closed()


@pytest.mark.long
def test_both_edges_in_one_minute(env: Environment) -> None:
    """One window closes in the minute in which the next opens."""
    env.begin()
    first = window()
    second = Window(first.closes, first.closes + (first.closes - first.opens))
    env.closes({"windows": {"first": first.spec, "second": second.spec}})
    env.opens_with(first)
    sleep_until(first.closes - timedelta(seconds=3))
    throughout(-since(second.closes) - 5, "apps stays open", env.open)
    env.closes_with(second)


def test_a_job_that_is_killed_is_made_good(env: Environment) -> None:
    """Nothing else runs; the Pod that takes the place of the deleted one closes."""
    env.begin()
    closing = open_window(after=90)
    env.policy({"windows": {"next": closing.spec}})
    eventually("the edit was applied", lambda: len(env.log("windows-apply-*")) > 0)
    sleep_until(closing.closes - timedelta(seconds=50))
    leave_one_job(env, "early", "windows-close-next")
    eventually(
        "its Pod runs",
        lambda: any(pod["status"]["phase"] == "Running" for pod in pods_of(env, "early")),
    )
    for pod in pods_of(env, "early"):
        env.api.delete("pods", env.name, pod["metadata"]["name"])
    env.closes_with(closing)
    killed = "the Pod of the only Job killed before the close"
    note(f"open where closed was wanted: {killed}", since(closing.closes))


def leave_one_job(env: Environment, name: str, cron_job: str) -> None:
    env.suspend_delivery()
    for found in env.api.items("cronjobs", env.name):
        env.api.patch("cronjobs", env.name, found["metadata"]["name"], {"spec": {"suspend": True}})
    for found in env.api.items("jobs", env.name):
        env.api.delete("jobs", env.name, found["metadata"]["name"])
    env.kubectl("create", "job", name, f"--from=cronjob/{cron_job}")


@pytest.mark.long
def test_a_slow_run_does_not_open_after_the_close(env: Environment) -> None:
    """It decided while it was open, is stopped before it writes, and goes on after the close."""
    env.begin()
    windows = [window(after=75 + 180 * turn) for turn in range(3)]
    env.closes({"windows": {f"w{turn}": each.spec for turn, each in enumerate(windows)}})
    for opening in windows:
        if caught := catch_runs(env, opening):
            break
    assert caught, "three times a run could not be stopped in time"
    sleep_until(opening.closes + timedelta(seconds=3))
    for pid in caught:
        os.kill(pid, signal.SIGCONT)
    eventually("they all end", lambda: not any(Path(f"/proc/{pid}").exists() for pid in caught))
    assert env.closed()
    assert not logged(env, opening, '"action": "Opened"')


def catch_runs(env: Environment, opening: Window) -> list[int]:
    """Return the ids of runs, none where one got through and opened: then try the next window."""
    caught, done = list[int](), Event()
    hunter = Thread(target=stop_runs, args=(env, opening, caught, done), daemon=True)
    # The apply Job is done: it would have waited for an edge less than a minute ahead.
    sleep_until(opening.opens - timedelta(seconds=1))
    hunter.start()
    sleep_until(opening.closes - timedelta(seconds=5))
    done.set()
    hunter.join()
    if logged(env, opening, DECIDED) and env.closed():
        return caught
    for pid in caught:
        os.kill(pid, signal.SIGCONT)
    env.eventually_closed()
    return []


def stop_runs(env: Environment, opening: Window, caught: list[int], done: Event) -> None:
    """Stop every run of the test when it has said that it is open, before it can make it so."""
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    while not done.wait(0.002):
        for folder in Path("/proc").glob("[0-9]*"):
            pid = int(folder.name)
            if pid not in caught and is_run(folder, env.name):
                os.kill(pid, signal.SIGSTOP)
                caught.append(pid)
                step(env, opening, pid, done)


def step(env: Environment, opening: Window, pid: int, done: Event) -> None:
    """Let a run go on, a millisecond at a time, until it has said what it decided."""
    while not logged(env, opening, DECIDED) and not done.wait(0.05):
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.001)
        os.kill(pid, signal.SIGSTOP)


def logged(env: Environment, opening: Window, words: str) -> bool:
    since = f"{opening.opens:%Y-%m-%dT%H:%M:%S}"
    for log in (*LOGS.glob(f"pods/{env.name}_*/gate/*.log"), *LOGS.glob(f"jobs/{env.name}_*")):
        with suppress(FileNotFoundError):
            if any(words in line and line >= since for line in log.read_text().splitlines()):
                return True
    return False


def is_run(process: Path, namespace: str) -> bool:
    """Say whether a process is the gate, in a Pod of the namespace."""
    try:
        # Behind it, `--backwards` at every other edge.
        if not process.joinpath("cmdline").read_bytes().startswith(b"python3\0-I\0/gate\0"):
            return False
        account = "root/run/secrets/kubernetes.io/serviceaccount/namespace"
        return process.joinpath(account).read_text() == namespace
    except OSError:
        return False


def pods_of(env: Environment, job: str) -> list[dict[str, dict[str, str]]]:
    return env.api.items("pods", env.name, labelSelector=f"batch.kubernetes.io/job-name={job}")


def test_a_target_that_is_missing_is_named(env: Environment) -> None:
    """A run fails and names a target that does not exist."""
    env.begin()
    targets = [{"kind": "Kustomization", "names": [APPS, "absent"], "mustExist": False}]
    env.closes({**CLOSED, "targets": targets})
    env.job("resync")
    eventually(
        "the log names it",
        lambda: any("absent" in str(line.get("failed")) for line in env.log("resync-*")),
    )

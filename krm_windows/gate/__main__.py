"""Finds out what should be true now, and makes it so: what every Job of a policy runs."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from os import environ, execv
from pathlib import Path
from sys import executable, orig_argv
from time import monotonic, sleep

from krm_windows.gate import clocks
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.run import FILES, Gate, closed_by_fault, log, words_of
from krm_windows.gate.timetable import Decision, load, salvage

_AWAITED = timedelta(seconds=60)  # before a change: a run that begins so late waits for it
_SLEW = 0.1  # seconds more than it takes: while it sleeps, the clock may be slewed
_PAUSES = (10.0, 20.0)  # in seconds, before a run that leaves the rest to the next one tries again
_PATIENCE = 150.0  # seconds: kubelet syncs a volume every 60 to 90
_POLL = 0.5  # seconds between two readings of what kubelet changes
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def main(
    run: Callable[..., bool] = Gate.run,
    pauses: Sequence[float] = _PAUSES,
    clock: Callable[[], datetime] = clocks.now,
    patience: float = _PATIENCE,
) -> int:
    """Run the gate and give its exit code: 0 if every target is as it should be, else 1.

    `run` is what updates the targets, `clock` gives the time. With `--leave-to-next` it tries again
    after each of the `pauses`, in seconds; what cannot be done then is logged, and no failure: the
    next run does it, or fails (docs/decisions/0028-the-apply-job-does-not-fail.md). With `--digest`
    it first waits until its files are those of that digest, for at most `patience` seconds.
    """
    options = _options()
    if options.at:
        return _show(options.at)
    if options.digest:
        _await_files(options.digest, patience)
    gate, is_sound = _load(clock)
    decision = gate.announce()
    gate = replace(gate, backwards=options.backwards)
    # Kubernetes gives every container the address of its API server in these.
    host = environ["KUBERNETES_SERVICE_HOST"]
    port = environ["KUBERNETES_SERVICE_PORT"]
    cluster = Cluster(host, port, options.account, now=clock)
    if not is_sound:
        run = Gate.run  # no hooks around what cannot be decided
    once = partial(_safely, run, gate, cluster, allow_missing=options.allow_missing)
    done = once()
    if options.leave_to_next and not done:
        done = _retried(once, pauses)
    if _slept_until_change(decision, gate):
        gate.announce()
        done = once()
    if options.leave_to_next and not done:
        gate.log(action="LeftToNextRun", message="retrying in the next run")
        done = True
    return _exit_code(well=done and is_sound)


def _exit_code(*, well: bool) -> int:
    if well:
        return 0
    return 1


def _await_files(digest: str, patience: float) -> None:
    """Wait until the volume holds the ConfigMap that this Job was made with, then begin anew.

    kubelet fills a volume from what it or the API server remembers, which may be a ConfigMap as it
    was before (docs/decisions/0034-an-apply-job-waits-for-its-config-map.md). It puts the new one
    there when it syncs, once a minute. One that never comes was overtaken by another: the run goes
    on with that.
    """
    if _digest() == digest:
        return
    log(action="Waiting", message="waiting for the ConfigMap that this Job was created with")
    end = monotonic() + patience
    while _digest() != digest:
        if monotonic() >= end:
            message = "continuing with another ConfigMap than the one this Job was created with"
            log(action="Continuing", message=message)
            return
        sleep(_POLL)
    # The program may be another one, too: nothing of the old one stays in memory.
    execv(executable, orig_argv)  # noqa: S606 - this very program, with its own arguments


def _digest() -> str:
    """Return which ConfigMap the volume holds; empty while kubelet changes it."""
    try:
        return (FILES / "digest").read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def _options() -> Namespace:
    parser = ArgumentParser(prog="gate", description=__doc__)
    parser.add_argument(
        "--at", type=_instant, metavar="INSTANT", help="decide for this instant, change nothing"
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="a missing target is not a failure"
    )
    parser.add_argument(
        "--leave-to-next", action="store_true", help="what failed is left to the next run"
    )
    parser.add_argument("--digest", help="wait for the files of this digest")
    parser.add_argument("--backwards", action="store_true", help="start with the last target")
    parser.add_argument(
        "--account", type=Path, default=_ACCOUNT, help="the directory with token and ca.crt"
    )
    return parser.parse_args()


def _instant(text: str) -> datetime:
    """Read what `--at` says: an instant, in UTC.

    Raises `ArgumentTypeError` for a time of no time zone, or no time.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text!r} is not an instant such as 2026-11-20T09:00:00+01:00"
        raise ArgumentTypeError(message) from error
    if found.tzinfo is None:
        message = "has no UTC offset, such as in 2026-11-20T09:00:00+01:00 or 2026-11-20T08:00:00Z"
        raise ArgumentTypeError(f"{text!r} {message}")
    try:
        return found.astimezone(UTC)
    except OverflowError as error:
        raise ArgumentTypeError(f"{text!r} has no date in UTC") from error


def _show(at: datetime) -> int:
    """Log what should be at an instant, and give the exit code."""
    gate, is_sound = _load(lambda: at)
    gate.announce()
    return _exit_code(well=is_sound)


def _load(clock: Callable[[], datetime]) -> tuple[Gate, bool]:
    """Load the timetable beside the package, and say whether it can be decided.

    Where it cannot, for any reason, the gate closes what the timetable names.
    """
    text = (FILES / "timetable.json").read_text(encoding="utf-8")
    try:
        timetable = load(text)
        timetable.decide(clock())  # what cannot be decided is found here, before anything is opened
        return Gate(timetable, timetable.decide, clock), True
    except Exception as error:  # noqa: BLE001 - a fault of this program must close, too
        decision = closed_by_fault(f"cannot be decided: {error!r}")
        return Gate(salvage(text), lambda _: decision, clock), False


def _safely(
    run: Callable[..., bool],
    gate: Gate,
    cluster: Cluster,
    *,
    allow_missing: bool,
) -> bool:
    """Run, with whatever is around it.

    Where that breaks, close all the same what should be closed.
    """
    try:
        return run(gate, cluster, allow_missing=allow_missing)
    except Exception as error:  # noqa: BLE001 - nothing around a run may keep it from closing
        gate.log(error=words_of(error))
    # To open, hooks have to run; to close, nothing has to.
    if not gate.decides(gate.now()).open:
        gate.run(cluster, allow_missing=allow_missing)
    return False


def _retried(run: Callable[[], bool], pauses: Sequence[float]) -> bool:
    """Run again after each of the pauses, until all is well; say whether it is."""
    for seconds in pauses:
        sleep(seconds)
        if run():
            return True
    return False


def _slept_until_change(decision: Decision, gate: Gate) -> bool:
    """Sleep until the next change if that is at most a minute away; say whether it was.

    A node whose clock is slow would otherwise miss its edge.
    """
    if decision.until is None:
        return False
    left = decision.until - gate.now()
    if left > _AWAITED:
        return False
    seconds = max(left.total_seconds(), 0)
    sleep(seconds + _SLEW)
    return True

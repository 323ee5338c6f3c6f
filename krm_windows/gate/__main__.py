"""Finds out what should be true now, and makes it so: what every Job of a policy runs."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from os import environ, execv
from pathlib import Path
from sys import executable, orig_argv
from time import monotonic, sleep

from krm_windows.gate import clocks
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.run import FILES, Gate, closed_by_fault, log, words_of
from krm_windows.gate.timetable import load, salvage

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

    `run` is what updates the targets: hooks and Events may be around it. With `--leave-to-next` it
    tries again after each of the `pauses`, in seconds; what cannot be done then is no failure
    (docs/decisions/0028-the-apply-job-does-not-fail.md).
    """
    options = _options()
    if options.digest:
        _await_files(options.files, options.digest, patience)
    gate, is_sound = _load(options.files, (lambda: options.at) if options.at else clock)
    decision = gate.announce()
    if options.at:
        return int(not is_sound)
    gate = replace(gate, backwards=options.backwards)
    # Kubernetes gives every container the address of its API server in these.
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    cluster = Cluster(host, port, options.account, now=clock)

    def once() -> bool:
        # No hooks are run around what cannot be decided.
        around = run if is_sound else Gate.run
        return _safely(around, gate, cluster, allow_missing=options.allow_missing)

    done = once()
    for seconds in pauses if options.leave_to_next else ():
        if not done:
            sleep(seconds)
            done = once()
    # A node whose clock is slow would otherwise miss its edge.
    if decision.until and decision.until - gate.now() <= _AWAITED:
        sleep(max((decision.until - gate.now()).total_seconds(), 0) + _SLEW)
        gate.announce()
        done = once()
    if options.leave_to_next and not done:
        gate.log(action="LeftToNextRun", message="retrying in the next run")
        done = True
    return int(not (done and is_sound))


def _options() -> Namespace:
    parser = ArgumentParser(prog="gate", description=__doc__)
    parser.add_argument(
        "--at", type=_instant, metavar="INSTANT", help="decide for this instant, change nothing"
    )
    flags = {
        "--allow-missing": "a missing target is not a failure",
        "--leave-to-next": "what failed is left to the next run",
        "--backwards": "start with the last target",
    }
    for flag, words in flags.items():
        parser.add_argument(flag, action="store_true", help=words)
    parser.add_argument("--digest", help="wait for the files of this digest")
    parser.add_argument(
        "--account", type=Path, default=_ACCOUNT, help="the directory with token and ca.crt"
    )
    parser.add_argument(
        "--files", type=Path, default=FILES, help="the directory of what the ConfigMap holds"
    )
    return parser.parse_args()


def _instant(text: str) -> datetime:
    """Read what `--at` says: an instant, in UTC; raise `ArgumentTypeError` for anything else."""
    try:
        found = datetime.fromisoformat(text)
        utc = found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ArgumentTypeError(f"{text!r} is not an instant: {error}") from error
    if found.tzinfo is None:
        raise ArgumentTypeError(f"{text!r} has no UTC offset, as in 2026-11-20T09:00:00+01:00")
    return utc


def _await_files(files: Path, digest: str, patience: float) -> None:
    """Wait until the volume holds the ConfigMap that this Job was made with, then begin anew.

    kubelet may fill it with that of before, until it syncs a minute later
    (docs/decisions/0034-an-apply-job-waits-for-its-config-map.md). One that does not come for
    `patience` seconds was overtaken by another: the run goes on with that.
    """
    if _digest(files) == digest:
        return
    log(action="Waiting", message="waiting for the ConfigMap that this Job was created with")
    end = monotonic() + patience
    while _digest(files) != digest:
        if monotonic() >= end:
            message = "continuing with another ConfigMap than the one this Job was created with"
            log(action="Continuing", message=message)
            return
        sleep(_POLL)
    # The program may be another one, too: nothing of the old one stays in memory.
    execv(executable, orig_argv)  # noqa: S606 - this very program, with its own arguments


def _digest(files: Path) -> str:
    """Return which ConfigMap the volume holds; empty while kubelet changes it."""
    with suppress(FileNotFoundError):
        return (files / "digest").read_text(encoding="utf-8")
    return ""


def _load(files: Path, clock: Callable[[], datetime]) -> tuple[Gate, bool]:
    """Load the timetable, and say whether it can be decided.

    Where it cannot, for any reason, the gate closes what the timetable names.
    """
    text = (files / "timetable.json").read_text(encoding="utf-8")
    try:
        timetable = load(text)
        timetable.decide(clock())  # what cannot be decided is found here, before anything is opened
        return Gate(timetable, timetable.decide, clock, files=files), True
    except Exception as error:  # noqa: BLE001 - a fault of this program must close, too
        decision = closed_by_fault(f"cannot be decided: {error!r}")
        return Gate(salvage(text), lambda _: decision, clock), False


def _safely(run: Callable[..., bool], gate: Gate, cluster: Cluster, *, allow_missing: bool) -> bool:
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

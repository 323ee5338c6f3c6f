"""What every Job of a policy runs: it finds out what should be now, and makes it so."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from os import environ, execv
from pathlib import Path
from sys import executable, orig_argv
from time import monotonic, sleep
from typing import Any

from krm_windows.gate import clocks
from krm_windows.gate.annotations import read_instant
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.run import FILES, Gate, log, words_of
from krm_windows.gate.target import Action, Change, due_change
from krm_windows.gate.timetable import Decision, load, salvage

_AWAITED = timedelta(seconds=60)  # before a change: a run that begins so late waits for it
_SLEW = 0.1  # seconds more: while it sleeps, the clock may be slewed
_PAUSES = (10.0, 20.0)  # in seconds, before it tries again
_PATIENCE = 150.0  # seconds: kubelet syncs a volume every 60 to 90
_POLL = 0.5  # in seconds
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def main(
    pauses: Sequence[float] = _PAUSES,
    clock: Callable[[], datetime] = clocks.now,
    patience: float = _PATIENCE,
) -> int:
    """Run the gate and give its exit code: 0 if every target is as it should be, else 1."""
    options = _options()
    if options.digest:
        _await_files(options.files, options.digest, patience)
    at = options.at and options.at.astimezone(UTC)
    gate, is_sound = _load(options.files, (lambda: at) if at else clock)
    decision = gate.announce()
    if at:
        return int(not is_sound)
    gate = replace(gate, backwards=options.backwards)
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    cluster = Cluster(host, port, options.account, now=clock)

    def once() -> bool:
        try:
            run = _with_parts(gate.timetable.parts)
            return run(gate, cluster, allow_missing=options.allow_missing)
        except Exception as error:  # noqa: BLE001 - nothing around a run keeps it from closing
            gate.log(error=words_of(error))
        if not gate.decides(gate.now()).open:
            closing = replace(gate, due_change=_only_closing)
            closing.run(cluster, allow_missing=options.allow_missing)
        return False

    done = once()
    for seconds in pauses if options.leave_to_next else ():
        if not done:
            sleep(seconds)
            done = once()
    if decision.until and decision.until - gate.now() <= _AWAITED:
        sleep(max((decision.until - gate.now()).total_seconds(), 0) + _SLEW)
        gate.announce()
        done = once()
    if options.leave_to_next and not done:
        gate.log(action="LeftToNextRun", message="retrying in the next run")
        done = True
    return int(not (done and is_sound))


def _with_parts(names: Sequence[str]) -> Callable[..., bool]:
    """Give a run with the parts around it that the timetable asks for; nothing opens without."""
    parts = {name: import_module(f"krm_windows.gate.{name}") for name in names}
    hooks, events = parts.pop("hooks", None), parts.pop("events", None)
    run = partial(hooks.run, **parts) if hooks else Gate.run
    return partial(events.run, around=run) if events else run


def _only_closing(*given: Any) -> Change:  # noqa: ANN401 - as `due_change` has them
    """Say what is due but for opening, as a window may begin meanwhile."""
    change = due_change(*given)
    return Change({}) if change.action is Action.OPENED else change


def _options() -> Namespace:
    parser = ArgumentParser(prog="gate")
    parser.add_argument("--at", type=read_instant)  # decides for it, and changes nothing
    for flag in ("--allow-missing", "--leave-to-next", "--backwards"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--digest")  # of the ConfigMap to wait for
    parser.add_argument("--account", type=Path, default=_ACCOUNT)
    parser.add_argument("--files", type=Path, default=FILES)  # what is in the ConfigMap
    return parser.parse_args()


def _await_files(files: Path, digest: str, patience: float) -> None:
    """Wait until the volume holds the ConfigMap that this Job was made with, then begin anew.

    kubelet may fill it with that of before. One that does not come was overtaken by another.
    """
    here = files / "digest"
    if here.read_text() == digest:
        return
    log(action="Waiting", message="waiting for the ConfigMap that this Job was created with")
    end = monotonic() + patience
    while monotonic() < end:
        if here.read_text() == digest:
            # The program may be another one, too: nothing of the old one stays in memory.
            execv(executable, orig_argv)  # noqa: S606 - this very program
        sleep(_POLL)
    message = "continuing with another ConfigMap than this Job was created with"
    log(action="Continuing", message=message)


def _load(files: Path, clock: Callable[[], datetime]) -> tuple[Gate, bool]:
    """Load the timetable, and say if it can be decided; if not, all that it names is closed."""
    text = (files / "timetable.json").read_text(encoding="utf-8")
    try:
        timetable = load(text)
        timetable.decide(clock())
        return Gate(timetable, timetable.decide, clock, files=files), True
    except Exception as error:  # noqa: BLE001 - a fault of this program must close, too
        decision = Decision(open=False, reason=f"cannot be decided: {error!r}")
        return Gate(salvage(text), lambda _: decision, clock), False


if __name__ == "__main__":
    raise SystemExit(main())

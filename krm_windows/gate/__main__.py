"""Looks, and makes it so: what every Job of a policy runs, as `python3 -I DIR`."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from os import environ
from pathlib import Path
from time import sleep

from krm_windows.gate.decide import Decision, decide
from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.target import Change, settle
from krm_windows.gate.timetable import Target, Timetable, load, salvage

_TRIES = 5
_AWAITED = timedelta(seconds=60)
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _log(**fields: object) -> None:
    print(json.dumps(fields, default=datetime.isoformat), flush=True)  # noqa: T201 - this is the log of the Pod


@dataclass(frozen=True)
class Gate:
    """A timetable at work: `decides` and `settles` say what should be, `now` tells the time, `log` takes records."""

    timetable: Timetable
    decides: Callable[[datetime], Decision]
    now: Callable[[], datetime]
    log: Callable[..., None] = _log
    settles: Callable[..., Change] = settle

    def announce(self) -> Decision:
        """Log what should be now."""
        decision = self.decides(now := self.now())
        self.log(time=now, policy=self.timetable.policy, cluster=self.timetable.cluster, **asdict(decision))
        return decision

    def look(self, cluster: Cluster, *, allow_missing: bool) -> bool:
        """Make every target what it should be; say whether all are, but for those left to a person."""
        failed = []
        for target in (*self.timetable.targets, *self.timetable.released):
            try:
                self._settle(cluster, target)
            except ApiError as error:
                self.log(target=str(target), error=str(error))
                if error.status != HTTPStatus.NOT_FOUND or not (allow_missing or target in self.timetable.released):
                    failed.append(str(target))
        self.log(failed=failed, skewSeconds=cluster.skew)
        return not failed

    def _settle(self, cluster: Cluster, target: Target) -> None:
        """Change the target and judge the answer, at the time it is then, until nothing is left to change."""
        thing = cluster.get(target)
        for tries_left in reversed(range(_TRIES + 1)):
            patch, words = self.settles(self.timetable, target, thing, self.decides(now := self.now()), now)
            if not (patch and tries_left):
                break
            try:
                thing = cluster.patch(target, patch)
                self.log(target=str(target), done=words)
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                thing = cluster.get(target)
        if patch:
            raise ApiError(0, f"not as it should be after {_TRIES} tries")
        if words:
            self.log(target=str(target), left=words)


def main(look: Callable[..., bool] = Gate.look) -> int:
    """Run the gate and give its exit code: 0 if every target is as it should be, else 1. `look` is what looks."""
    parser = ArgumentParser(prog="gate", description=__doc__)
    parser.add_argument("--at", type=datetime.fromisoformat, metavar="INSTANT", help="decide for it, change nothing")
    parser.add_argument("--allow-missing", action="store_true", help="a target that does not exist is no failure")
    parser.add_argument("--account", type=Path, default=_ACCOUNT, help="the folder with token and ca.crt")
    options = parser.parse_args()
    gate, sound = _load(partial(datetime.now, UTC) if options.at is None else lambda: options.at)
    decision = gate.announce()
    if options.at:
        return 0 if sound else 1
    look = partial(look if sound else Gate.look, gate, allow_missing=options.allow_missing)
    cluster = Cluster(environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"], options.account)
    done = look(cluster)
    if decision.until and (left := decision.until - gate.now()) <= _AWAITED:
        sleep(max(left.total_seconds(), 0) + 0.1)  # while it sleeps, the clock may be slewed
        gate.announce()
        cluster.renew()
        done = look(cluster)
    return 0 if done and sound else 1


def _load(now: Callable[[], datetime]) -> tuple[Gate, bool]:
    """Load the timetable beside the package; where that leads to no decision, for any reason, close what it names."""
    text = (Path(__file__).parents[2] / "timetable.json").read_text(encoding="utf-8")
    try:
        timetable = load(text)
        decide(timetable, now())
        return Gate(timetable, partial(decide, timetable), now), True
    except Exception as error:  # noqa: BLE001 - a fault of this program must close, too
        shut = Decision(open=False, rules=(), reason=f"cannot be decided: {error!r}", since=None, until=None)
        return Gate(salvage(text), lambda _: shut, now), False

"""Looks, and makes it so: what every Job of a policy runs, as `python3 -I DIR`."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from os import environ
from pathlib import Path
from time import sleep

from krm_windows.gate.clocks import APART, seconds_of
from krm_windows.gate.decide import Decider, Decision
from krm_windows.gate.image import difference
from krm_windows.gate.kubernetes import REFUSED, UNANSWERED, ApiError, Cluster
from krm_windows.gate.target import Change, Deed, Seen, observe, settle
from krm_windows.gate.timetable import Target, Timetable, load, salvage

_TRIES = 5
_AWAITED = timedelta(seconds=60)
_PAUSES = (10.0, 20.0)  # in seconds, before a look that leaves the rest to the next one tries again
_YEARS = range(1970, 9000)  # for which `--at` decides: a timetable is read 400 days back and ahead
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def _log(**fields: object) -> None:
    print(json.dumps(fields, default=datetime.isoformat), flush=True)  # noqa: T201 - this is the log of the Pod


@dataclass(frozen=True)
class Told:
    """What is done to a target at an instant, or why nothing is; `seen` is what the target is then."""

    target: Target
    seen: Seen
    change: Change
    at: datetime


def _clock() -> datetime:
    return datetime.now(UTC)


def _untold(told: Told) -> None:
    """Tell nobody."""


@dataclass
class Outcome:
    """What came of one target: what is to be told; and what failed with which status, None for nothing."""

    told: list[Told] = field(default_factory=list)
    status: int | None = None
    error: str = ""


@dataclass(frozen=True)
class Gate:
    """A timetable at work: `decides` and `settles` say what should be, `now` tells the time, `log` takes records.

    `tells` is called with what was done to a target, or why it was left to somebody else.
    """

    timetable: Timetable
    decides: Callable[[datetime], Decision]
    now: Callable[[], datetime]
    log: Callable[..., None] = _log
    settles: Callable[[Timetable, Target, Seen, Decision, datetime], Change] = settle
    tells: Callable[[Told], None] = _untold

    @property
    def all_targets(self) -> tuple[Target, ...]:
        """Every target, those that may have to be closed first."""
        return (*self.timetable.targets, *self.timetable.released)

    def announce(self) -> Decision:
        """Log what should be now."""
        now = self.now()
        decision = self.decides(now)
        self.log(
            time=now,
            policy=self.timetable.policy,
            cluster=self.timetable.cluster,
            **asdict(decision),
        )
        return decision

    def compared(self) -> "Gate":
        """Log where the image has zone data of its own that says other things about the coming year; give who knows."""
        rules = self.timetable.zone_rules
        found = difference(self.timetable.zone, self.now()) if rules else None
        if found is None:
            return self
        self.log(zoneData=str(found), timetable=found.timetable, image=found.image, at=found.at)
        return replace(self, timetable=replace(self.timetable, image_zones=str(found)))

    def look(self, cluster: Cluster, *, allow_missing: bool) -> bool:
        """Make every target what it should be; say whether all are, but for those left to a person.

        Those that got no answer in their time are tried again when all had their turn. Where the clocks of this node
        and of the API server are apart, the look has failed whatever it did: one of the two is wrong.
        """
        cluster.renew(len(self.all_targets))
        statuses = self._settle_all(cluster, self.all_targets)
        unanswered = [target for target, status in statuses.items() if status == UNANSWERED]
        statuses |= self._settle_all(cluster, unanswered)
        failed = [
            str(target)
            for target, status in statuses.items()
            if self._fails(target, status, allow_missing)
        ]
        if cluster.clocks.are_apart:
            self.log(error=cluster.clocks.words())
        self.log(failed=failed, skewSeconds=seconds_of(cluster.clocks.skew))
        return not failed and not cluster.clocks.are_apart

    def _fails(self, target: Target, status: int | None, allow_missing: bool) -> bool:  # noqa: FBT001
        """Say whether what came of a target is a failure; that it does not exist may be none."""
        if status == HTTPStatus.NOT_FOUND:
            return not (allow_missing or target in self.timetable.released)
        return status is not None

    def _settle_all(self, cluster: Cluster, targets: Sequence[Target]) -> dict[Target, int | None]:
        """Settle targets, several at once, and tell of them in their order; give the status of each failure."""
        statuses: dict[Target, int | None] = {}
        for target, outcome in cluster.each(targets, self._settle):
            for told in outcome.told:
                self.log(target=str(target), **{told.change.deed.verb: told.change.words})
                self.tells(told)
            if outcome.error:
                self.log(target=str(target), error=outcome.error)
            statuses[target] = outcome.status
        return statuses

    def _settle(self, cluster: Cluster, target: Target) -> Outcome:
        """Settle one target; any fault is its own, and of no other."""
        outcome = Outcome()
        try:
            self._settle_telling(cluster, target, outcome.told)
        except Exception as error:  # noqa: BLE001 - whatever it is
            outcome.error = words_of(error)
            outcome.status = error.status if isinstance(error, ApiError) else REFUSED
        return outcome

    def _settle_telling(self, cluster: Cluster, target: Target, told: list[Told]) -> None:
        """Change the target and judge the answer, at the time it is then, until nothing is left to change."""
        due = self._due(cluster, target, cluster.get(target, observe))
        for _ in range(_TRIES):
            if not due.change.patch:
                break
            try:
                seen = cluster.patch(target, due.change.patch, observe)
            except ApiError as error:
                if error.status != HTTPStatus.CONFLICT:
                    raise
                seen = cluster.get(target, observe)
            else:
                if due.change.deed is not Deed.NOT_OPENED:  # of which the next round tells
                    told.append(replace(due, seen=seen))
            due = self._due(cluster, target, seen)
        if due.change.patch:
            raise ApiError(REFUSED, f"not as it should be after {_TRIES} tries")
        if due.change.words:
            told.append(due)
        if due.change.deed is Deed.NOT_OPENED:
            raise ApiError(REFUSED, due.change.words)

    def _due(self, cluster: Cluster, target: Target, seen: Seen) -> Told:
        """Say what is due by this node's clock; where it and the API server's are apart, by both."""
        mine = self._due_at(self.now(), target, seen)
        if not cluster.clocks.are_apart or cluster.clocks.skew is None:
            return mine
        theirs = self._due_at(mine.at - cluster.clocks.skew, target, seen)
        for each in (mine, theirs):
            if each.change.turns(target) is True:
                return each
        if False not in (mine.change.turns(target), theirs.change.turns(target)):
            return mine
        return replace(mine, change=self._kept_closed(target, seen, mine.at))

    def _due_at(self, now: datetime, target: Target, seen: Seen) -> Told:
        return Told(
            target, seen, self.settles(self.timetable, target, seen, self.decides(now), now), now
        )

    def _kept_closed(self, target: Target, seen: Seen, now: datetime) -> Change:
        """Leave closed what would be opened, and write why into its mark, which `status` and the alerts read."""
        shut = Decision(open=False, rules=(), reason=APART, since=None, until=None)
        change = settle(self.timetable, target, seen, shut, now)
        patch = (
            {} if change.turns(target) is False else change.patch
        )  # what is released is opened whatever holds
        return Change(patch, Deed.NOT_OPENED, f"not opened: {APART}")


def words_of(error: Exception) -> str:
    """Say what went wrong; what is no answer of the API server, by its type, too."""
    return str(error) if isinstance(error, ApiError) else f"{type(error).__name__}: {error}"[:1024]


def main(
    look: Callable[..., bool] = Gate.look,
    pauses: Sequence[float] = _PAUSES,
    clock: Callable[[], datetime] = _clock,
) -> int:
    """Run the gate and give its exit code: 0 if every target is as it should be, else 1.

    `look` is what looks, `clock` tells the time. With `--leave-to-next` it tries again after each of the `pauses`, in
    seconds; what cannot be done then is logged, and no failure: the next look does it, or fails
    (docs/decisions/0028-the-job-that-looks-at-once-does-not-fail.md).
    """
    parser = ArgumentParser(prog="gate", description=__doc__)
    parser.add_argument(
        "--at", type=_instant, metavar="INSTANT", help="decide for it, change nothing"
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="a target that does not exist is no failure"
    )
    parser.add_argument(
        "--leave-to-next", action="store_true", help="what could not be done is no failure either"
    )
    parser.add_argument(
        "--account", type=Path, default=_ACCOUNT, help="the folder with token and ca.crt"
    )
    options = parser.parse_args()
    gate, sound = _load(clock if options.at is None else lambda: options.at)
    decision = gate.announce()
    if options.at:
        return 0 if sound else 1
    gate = gate.compared()
    address = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    cluster = Cluster(*address, options.account, now=clock)
    looks = partial(
        _safely, look if sound else Gate.look, gate, cluster, allow_missing=options.allow_missing
    )
    done = looks()
    for seconds in pauses if options.leave_to_next else ():
        if not done:
            sleep(seconds)
            done = looks()
    left = decision.until - gate.now() if decision.until else None
    if left is not None and left <= _AWAITED:
        sleep(max(left.total_seconds(), 0) + 0.1)  # while it sleeps, the clock may be slewed
        gate.announce()
        done = looks()
    if options.leave_to_next and not done:
        gate.log(left="to the next look")
        done = True
    return 0 if done and sound else 1


def _instant(text: str) -> datetime:
    """Read what `--at` says: an instant, in UTC; raise `ArgumentTypeError` for a time of no time zone, or no time."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(
            f"{text!r} is no instant, such as 2026-11-20T09:00:00+01:00"
        ) from error
    if found.tzinfo is None:
        raise ArgumentTypeError(
            f"{text!r} has no offset from UTC, as 2026-11-20T09:00:00+01:00 and …T08:00:00Z have"
        )
    if found.year not in _YEARS:
        raise ArgumentTypeError(f"{text!r} is not of the years {_YEARS[0]} to {_YEARS[-1]}")
    return found.astimezone(UTC)


def _safely(
    look: Callable[..., bool], gate: Gate, cluster: Cluster, *, allow_missing: bool
) -> bool:
    """Look, with whatever is around it; where that breaks, close all the same what should be closed."""
    try:
        return look(gate, cluster, allow_missing=allow_missing)
    except Exception as error:  # noqa: BLE001 - nothing around a look may keep it from closing
        gate.log(error=words_of(error))
    if not gate.decides(gate.now()).open:
        gate.look(cluster, allow_missing=allow_missing)
    return False


def _load(now: Callable[[], datetime]) -> tuple[Gate, bool]:
    """Load the timetable beside the package; where that leads to no decision, for any reason, close what it names."""
    text = (Path(__file__).parents[2] / "timetable.json").read_text(encoding="utf-8")
    try:
        timetable = load(text)
        decider = Decider(timetable)
        decider.decide(now())
        return Gate(timetable, decider.decide, now), True
    except Exception as error:  # noqa: BLE001 - a fault of this program must close, too
        shut = Decision(
            open=False, rules=(), reason=f"cannot be decided: {error!r}", since=None, until=None
        )
        return Gate(salvage(text), lambda _: shut, now), False

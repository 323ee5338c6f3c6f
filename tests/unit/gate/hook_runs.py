"""What tests of hooks share: a policy, the hooks' file, and runs by a clock at an API server."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import zoned
from api_server import Api, Fault, Handler, closed_by, kustomization

from krm_windows.gate import hooks
from krm_windows.gate.annotations import HOOKS, annotation
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

SECOND = timedelta(seconds=1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OURS, NOTE = annotation("flux-system/p"), annotation("flux-system/p", HOOKS)
ANNOTATION = closed_by("flux-system/p")
JOBS = "/apis/batch/v1/namespaces/maintenance/jobs"
SHUT = {"suspend": True}
APPLIED = {"lastAppliedRevision": "main@sha1:1"}
PACE = {"pause": 0.01, "grace": 0.0}


MORNING = Rule(Kind.WINDOW, "morning", NOON - 4 * HOUR, NOON)
AFTERNOON = Rule(Kind.WINDOW, "afternoon", NOON + HOUR, NOON + 4 * HOUR)
APPS, INFRA = kustomization("apps", "v1"), kustomization("infra", "v1")
POLICY = zoned.timetable(
    policy="flux-system/p", time_zone="UTC", targets=(APPS,), windows=(MORNING, AFTERNOON)
)
BOTH = POLICY._replace(targets=(APPS, INFRA))


def file(*kinds: str, aborts: bool = True, seconds: float = 5, does: str = "this") -> str:
    """The hooks' file, with hooks of these kinds."""
    slugs = {
        "beforeOpen": "p-before-open",
        "rollback": "p-rollback",
        "afterApply": "p-after-apply",
        "afterApply.rollback": "p-undo",
        "afterClose": "p-after-close",
    }
    found = {
        kind: {
            "name": slugs[kind],
            "seconds": seconds,
            "aborts": aborts and kind in ("beforeOpen", "afterApply"),
            "metadata": {"labels": {"a": "b"}},
            "spec": {"does": does},
        }
        for kind in kinds
    }
    return json.dumps({"namespace": "maintenance", "hooks": found})


ALL = file("beforeOpen", "rollback", "afterClose")
BY_HAND = POLICY._replace(state="Closed")


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, while runs go on in other threads."""
    end = monotonic() + 10
    while not holds():
        assert monotonic() < end
        sleep(0.01)


class Clock:
    """A clock that stands still until a test or something at the server moves it."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def __call__(self) -> datetime:
        """Return the time."""
        return self.time

    def at(self, time: datetime) -> Fault:
        """Let it be so late, just before a request is answered."""

        def strike(_: Handler) -> bool:
            self.time = time
            return False

        return strike


class Lab:
    """The program's runs at an API server, one after the other, by a clock."""

    kind: Callable[..., hooks.Hooks] = hooks.Hooks
    text = ALL

    def __init__(self, api: Api, port: int, account: Path) -> None:
        self.api, self.clock = api, Clock(NOON - HOUR)
        api.writer = "krm-windows"
        self.cluster = partial(Cluster, "127.0.0.1", str(port), account, 5)
        self.log: list[dict[str, object]] = []

    def run(
        self,
        timetable: Timetable = POLICY,
        text: str | None = None,
        clock: Clock | None = None,
        kind: Callable[..., hooks.Hooks] | None = None,
    ) -> bool:
        """Run once: by the clock of all, with the hooks of the class, unless told otherwise."""
        gate = Gate(
            shipped(timetable),
            partial(decide, timetable),
            clock or self.clock,
            lambda **line: self.log.append(line),
        )
        return hooks.run(
            gate,
            self.cluster(),
            allow_missing=False,
            text=self.text if text is None else text,
            kind=kind or self.kind,
            **PACE,
        )

    def closes(self, *names: str, at: datetime = NOON - 5 * HOUR) -> None:
        """Let a run close the targets, some time before."""
        now, self.clock.time = self.clock.time, at
        for name in names or ("apps",):
            self.api.add(name, {}, status=APPLIED)
        self.run(BOTH if names else POLICY)
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

    def notes(self, name: str = "apps") -> dict[str, object]:
        """The annotations of a target."""
        notes = dig(self.api.object(name), "metadata", "annotations")
        assert isinstance(notes, dict)
        return notes

    def writes_open(self) -> bool:
        """Whether any target was ever asked to be opened."""
        return any(dig(body, "spec", "suspend") is False for body in self.api.bodies)

    def forget_jobs(self) -> None:
        """Remove all Jobs, as their time to live does after a day."""
        self.api.objects = {
            path: live for path, live in self.api.objects.items() if "/jobs/" not in path
        }

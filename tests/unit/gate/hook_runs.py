"""What tests of hooks share: a policy, the hooks' file, and runs by a clock at an API server."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from types import ModuleType

import zoned
from api_server import Api, Fault, Handler, closed_by, kustomization

from krm_windows.gate import hooks
from krm_windows.gate.annotations import annotation, digest
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.run import Gate
from krm_windows.plan.timetable import shipped
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Kind, Rule, Timetable

SECOND = timedelta(seconds=1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
OURS = annotation("flux-system/p")
NOTE = "/api/v1/namespaces/flux-system/configmaps/p-hooks"
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
    return json.dumps({"namespace": "maintenance", "note": "p-hooks", "hooks": found})


ALL = file("beforeOpen", "rollback", "afterClose")
BY_HAND = POLICY._replace(state="Closed")


def until(holds: Callable[[], object]) -> None:
    end = monotonic() + 10
    while not holds():
        assert monotonic() < end
        sleep(0.01)


class Clock:
    def __init__(self, time: datetime) -> None:
        self.time = time

    def __call__(self) -> datetime:
        return self.time

    def at(self, time: datetime) -> Fault:
        def strike(_: Handler) -> bool:
            self.time = time
            return False

        return strike


class Lab:
    text = ALL
    parts: dict[str, ModuleType] = {}  # noqa: RUF012

    def __init__(self, api: Api, port: int, account: Path) -> None:
        self.api, self.clock = api, Clock(NOON - HOUR)
        api.writer = "krm-windows"
        self.cluster = partial(Cluster, "127.0.0.1", str(port), account, 5)
        self.files = account
        self.log: list[dict[str, object]] = []
        api.store(NOTE, {"kind": "ConfigMap", "metadata": {"name": "p-hooks"}})

    def run(
        self,
        timetable: Timetable = POLICY,
        text: str | None = None,
        clock: Clock | None = None,
        cluster: Cluster | None = None,
        parts: dict[str, ModuleType] | None = None,
    ) -> bool:
        """Run once: by the clock of all, with the hooks of the class, unless told otherwise."""
        text = self.text if text is None else text
        files = self.files / digest(text)  # of its own: others may be reading theirs
        with self.api.lock:
            if not files.exists():
                files.mkdir()
                (files / "hooks.json").write_text(text)
        gate = Gate(
            shipped(timetable),
            partial(decide, timetable),
            clock or self.clock,
            lambda **line: self.log.append(line),
            files=files,
        )
        parts = self.parts if parts is None else parts
        cluster = cluster or self.cluster()
        return hooks.run(gate, cluster, allow_missing=False, **parts, **PACE)  # type: ignore[arg-type]

    def runs(  # noqa: PLR0913 - what may be asked after a run
        self,
        kinds: str,
        *,
        opened: bool,
        well: bool = True,
        stage: str | None = None,
        at: datetime | None = None,
        timetable: Timetable = POLICY,
        text: str | None = None,
        parts: dict[str, ModuleType] | None = None,
    ) -> None:
        """Run `at` a time, and compare which hooks were started until then, and what is open."""
        self.clock.time = at or self.clock.time
        assert self.run(timetable, text, parts=parts) == well
        assert (self.open(), self.kinds()) == (opened, kinds.split())
        assert stage in (None, self.stage())

    def closes(self, *names: str, at: datetime = NOON - 5 * HOUR) -> None:
        now, self.clock.time = self.clock.time, at
        self.forget_note()
        for name in names or ("apps",):
            self.api.add(name, {}, status=APPLIED)
        self.run(BOTH if names else POLICY)
        self.clock.time = now
        self.api.asked.clear()

    def open(self, name: str = "apps") -> bool:
        return dig(self.api.object(name), "spec", "suspend") is not True

    def stage(self) -> object:
        return self.note().get("stage")

    def note(self, **said: object) -> dict[str, object]:
        if said:
            note = {"occurrence": "2026-11-20T08:00:00+00:00", "cycle": 1} | said
            data: dict[str, object] = {"note": json.dumps(note)}
            self.api.store(NOTE, {**self.api.objects[NOTE], "data": data})
        found: dict[str, object] = json.loads(dig(self.api.objects[NOTE], "data", "note") or "{}")
        return found

    def forget_note(self) -> None:
        """Have none, as after `kubectl delete configmap`."""
        self.api.store(NOTE, {**self.api.objects[NOTE], "data": {}})

    def kinds(self) -> list[str]:
        return ["-".join(name.split("-")[1:-2]) for name in self.api.jobs()]

    def posts(self) -> int:
        return self.api.asked.count(f"POST {JOBS}")

    def notes(self, name: str = "apps") -> dict[str, object]:
        notes = dig(self.api.object(name), "metadata", "annotations")
        assert isinstance(notes, dict)
        return notes

    def writes_open(self) -> bool:
        return any(dig(body, "spec", "suspend") is False for body in self.api.bodies)

    def forget_jobs(self) -> None:
        """Remove all Jobs, as their time to live does after a day."""
        self.api.objects = {
            path: live for path, live in self.api.objects.items() if "/jobs/" not in path
        }

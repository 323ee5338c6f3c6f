"""What would be refused for its size is computed by the build, with the limit and the bytes."""

import json
import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from calls import Answer, call, spec, wire
from gated_targets import kustomization

from krm_windows.checks import capacity
from krm_windows.emit import Manifest, configmap, objects
from krm_windows.inventory import Inventory
from krm_windows.krm import KubeObject
from krm_windows.plan import compile_policy
from krm_windows.plan.model import Plan
from krm_windows.policy.load import load
from krm_windows.policy.model import Actuator
from krm_windows.schedule.timetable import Timetable

ROOT = Path(__file__).resolve().parents[3]
APPS = kustomization()
WEEK = timedelta(weeks=1)
PLAN = Plan(
    "week",
    "flux-system",
    Timetable(policy="flux-system/week", time_zone="Etc/UTC"),
    (),
    (),
    Actuator(),
)


def config_map(value: str) -> Manifest:
    metadata = {
        "name": "gate",
        "namespace": "flux-system",
        "labels": {},
        "annotations": {"a": "bc"},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"key": value}}


def annotated(manifest: Manifest) -> int:
    return capacity.annotated(manifest, capacity.size(manifest))


def of_bytes(wanted: int, measure: Callable[[Manifest], int]) -> Manifest:
    return config_map("x" * (wanted - measure(config_map(""))))


def said(*manifests: Manifest, plan: Plan = PLAN) -> list[str]:
    return [result.message for result in capacity.too_large(plan, manifests)]


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", 0),
        ("abc", 3),
        ("ä", 2),
        ('"\\\n', 6),
        ("\x01", 6),
        ("<>&", 18),
        ("\u2028\u2029", 12),
        ("\N{GRINNING FACE}", 4),
    ],
)
def test_bytes_are_those_of_kubernetes(value: str, size: int) -> None:
    """Go writes JSON so that it could be in HTML."""
    assert capacity.size(config_map(value)) - capacity.size(config_map("")) == size
    empty = config_map("")
    assert annotated(empty) == len("a" + "bc") + 48 + capacity.size(empty) + 1


def test_what_kubectl_keeps_in_an_annotation() -> None:
    assert said(of_bytes(262_144, annotated)) == []
    [message] = said(of_bytes(262_145, annotated))
    assert message.startswith(
        "cannot be applied: the ConfigMap flux-system/gate would be 262,145 bytes, more than "
        "the 262,144 that annotations may hold: `kubectl apply` keeps the whole object in "
        "kubectl.kubernetes.io/last-applied-configuration; "
    )


@pytest.mark.parametrize(("number", "fits"), [(250, True), (500, False)])
def test_freezes_that_fit(number: int, *, fits: bool) -> None:
    first = date(2027, 1, 1)
    freezes = {
        f"f{n}": {"starts": f"{first + n * WEEK}T18:00", "duration": "3d", "reason": f"Audit {n}"}
        for n in range(number)
    }
    answer = built(freezes=json.dumps(freezes))
    assert answer.code == (0 if fits else 1)
    assert fits or "more than 64,000 characters of the table of days, the most that" in answer.err
    assert fits or "too-large" in answer.rules


@pytest.mark.slow
def test_days_that_differ_too_much() -> None:
    """What would never fit is not worked out to its end: that would take gigabytes."""
    windows = {
        f"w{n}": {"opens": f"*/2 * {1 + n % 28} * {n % 7}", "duration": f"{1 + n}m"}
        for n in range(300)
    }
    answer = built(windows=json.dumps(windows))
    assert "spec: days differ so much" in answer.err
    assert "too-large" in answer.rules


HOOK = "{image: 'docker.io/library/busybox:1.37', timeout: 10m}"
HOOKS = f"namespace: maintenance, beforeOpen: {HOOK}, afterClose: {HOOK}"
POLICIES: list[dict[str, str]] = [
    {},
    {"hooks": f"{{{HOOKS}}}", "events": "true"},
    {"hooks": f"{{{HOOKS}, onlyIf: Pending, afterApply: {HOOK}}}", "events": "true"},
]


def test_the_page_says_what_fits() -> None:
    page = (ROOT / "docs/reference/limits.md").read_text()
    sizes = re.findall(r"(\d+) KiB\b", page.partition("The gate program takes")[2])
    rows = re.findall(r"(?m)^\| (?:plain|with `).* \| ([\d,]+) \| ([\d,]+) \|$", page)
    assert len(rows) == len(POLICIES)
    for fields, size, row in zip(POLICIES, sizes, rows, strict=False):
        policy = load(KubeObject.parse(spec(**fields).encode()).node).policy
        assert policy
        plan, _ = compile_policy(policy, None, Inventory((), visible=False))
        program = configmap.program(configmap.parts(plan)).values()
        assert sum(len(text.encode()) for text in program) / 1024 == pytest.approx(int(size), abs=4)
        for length, most in zip((9, 29), row, strict=True):
            named = int(most.replace(",", ""))
            assert fits(plan, named, length)
            assert not fits(plan, named * 4 // 3 + 100, length)


def fits(plan: Plan, targets: int, length: int) -> bool:
    found = (APPS._replace(name=f"{number:0{length}}") for number in range(targets))
    plan = plan._replace(timetable=plan.timetable._replace(targets=tuple(found)))
    return not said(*objects(plan), plan=plan)


def built(**fields: str) -> Answer:
    return call(wire(config=spec(**fields)), LOG_TO_STDERR="true")


def test_it_is_an_error_of_the_build() -> None:
    names = ", ".join(f"a{number:0252}" for number in range(1000))
    answer = built(targets=f"[{{kind: Kustomization, names: [{names}]}}]")
    assert answer.code == 1
    assert "spec: cannot be applied: the ConfigMap flux-system/week-gate" in answer.err
    assert "(too-large)" in answer.err
    assert b"CronJob" not in answer.out

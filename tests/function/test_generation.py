"""What a policy yields, on its own and where it was before."""

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import APPS, POLICY, Answer, as_item, call, lines_apart, program, spec, wire

PATH, INDEX = "internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index"
GOVERNED_BY = "krm-windows.dev/governed-by"
FREEZE = "{christmas: {starts: '2026-12-20', ends: '2027-01-03', reason: quiet}}"
INFRA = APPS.replace("name: apps", "name: infra")
STRANGER = "apiVersion: v1\nkind: {}\nmetadata: {{name: {}, namespace: {}}}\n"
MANY = spec(
    targets=(
        "[{kind: Kustomization, names: [apps]}, {kind: HelmRelease, names: [web], namespace: shop}]"
    ),
    crossNamespaceTargets="Allow",
    freezes=FREEZE,
    overrides="{cve: {state: Open, starts: '2026-12-22T09:00', ends: '12:00', reason: patch}}",
    closesEarly="10m",
    windows=(
        "{tuesdays: {opens: 2nd Tue 22:00, duration: 4h}, "
        "nights: {opens: daily 01:00, closes: '04:00'}}"
    ),
)
INPUTS = {
    "a target": (APPS, POLICY),
    "suspend: false": (f"{APPS}  suspend: false # never\n", POLICY),
    "everything a policy has": (APPS, MANY),
    "no resources": ("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", POLICY),
}


def again(answer: Answer, config: str = POLICY) -> Answer:
    """Call the function on what it wrote; orchestrators keep no results."""
    return call(listed(answer, config))


def listed(answer: Answer, config: str) -> str:
    return wire(config=config).replace("items: []\n", f"items:\n{items_of(answer)}")


def items_of(answer: Answer) -> str:
    return answer.out.decode().partition("items:\n")[2].partition("functionConfig:\n")[0]


def identity(item: dict[str, Any]) -> tuple[str, str, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]


def cron_jobs(answer: Answer) -> set[str]:
    return {item["metadata"]["name"] for item in answer.objects if item["kind"] == "CronJob"}


@pytest.mark.parametrize("case", INPUTS)
def test_G02_twice_is_once(case: str) -> None:
    item, config = INPUTS[case]
    once = call(wire(item, config=config))
    assert once.code == 0, once.err
    assert items_of(again(once, config)) == items_of(once)


def test_G03_an_object_of_ours_is_updated_in_place() -> None:
    kept = call(wire(APPS)).out.decode()
    for before, after in (
        (
            "- apiVersion: batch/v1\n  kind: CronJob\n",
            "- # ours, but look\n  apiVersion: batch/v1\n  kind: CronJob\n",
        ),
        ('schedule: "0 8 * * 1"\n', 'schedule: "0 8 * * 1" # Monday\n'),
        ("flux-system.week/cronjob_week-open-office.yaml", "windows/all.yaml"),
        ("name: week-open-office\n", "name: week-open-office\n    finalizers: [example.org/x]\n"),
    ):
        assert before in kept
        kept = kept.replace(before, after)
    given = kept.replace("opens: Mon 08:00", "opens: Mon 08:30")
    later = call(given)
    assert later.code == 0
    changed = lines_apart(given.encode(), later.out)
    known = ("0 8 * * 1", "30 8 * * 1", "Mon 08:00", "Mon 08:30", ' windows.office"')
    known += ("0 6,7 * * 1", "30 6,7 * * 1", "week-apply-", "sha256-")
    assert all(any(text in line for text in known) for line in changed), changed
    assert '+    schedule: "30 8 * * 1" # Monday' in changed
    places = [identity(item)[:2] for item in yaml.load(kept, yaml.CSafeLoader)["items"]]
    assert [identity(item)[:2] for item in later.objects] == places


def test_G04_what_the_policy_no_longer_yields() -> None:
    stranger = STRANGER.format("ConfigMap", "week-notes", "flux-system")
    # From a Wednesday on, within the window: what closes it needs a trigger of its own.
    both = "[{kind: Kustomization, names: [apps, infra]}]"
    config = spec(freezes=FREEZE.replace("-20", "-23"), targets=both)
    large = call(wire(APPS, INFRA, stranger, config=config))
    small = again(large)
    assert small.code == 0
    assert cron_jobs(large) - cron_jobs(small) == {"week-edge-utc-23"}
    fresh = call(wire(APPS, INFRA, stranger))
    assert sorted(map(identity, small.objects)) == sorted(map(identity, fresh.objects))
    assert as_item(INFRA) in items_of(small)
    assert as_item(stranger) in items_of(small)


def test_G04_what_stood_under_a_former_name() -> None:
    both = "[{kind: Kustomization, names: [apps, infra]}]"
    old = spec(targets=both).replace("name: week\n", "name: day\n")
    new = spec(formerNames="[edge/night, flux-system/day]")
    later = again(call(wire(APPS, INFRA, config=old)), new)
    assert (later.code, later.err) == (0, "")
    assert items_of(later) == items_of(call(wire(APPS, INFRA, config=new)))


def test_G05_places() -> None:
    place = f"{{{PATH}: flux-system.week/role_week-gate.yaml, {INDEX}: '0'}}"
    taken = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n  annotations: {place}\n"
    answer = call(wire(APPS, taken, config=MANY))
    assert answer.code == 0
    annotations = [found["metadata"]["annotations"] for found in answer.objects[1:]]
    places = [(found[PATH], found[INDEX]) for found in annotations]
    assert len(places) == len(set(places))
    assert all(re.fullmatch(r"flux-system\.week/[a-z]+_[a-z0-9.-]+\.yaml", at) for at, _ in places)


SECOND = POLICY.replace("name: week", "name: week-end").replace("[apps]", "[infra]")


@pytest.mark.parametrize(
    "second",
    [
        SECOND,
        SECOND.replace("week-end", "week").replace("namespace: flux-system", "namespace: edge"),
    ],
    ids=["names that begin alike", "one name in two namespaces"],
)
def test_G06_two_policies(second: str) -> None:
    found = []
    for order in permutations((POLICY, second)):
        first = call(wire(APPS, INFRA, config=order[0]))
        both = again(first, order[1])
        assert both.code == 0, both.err
        kept = {identity(item): item for item in both.objects}
        for item in first.objects:
            if item["metadata"]["name"] not in ("infra", "apps"):
                assert kept[identity(item)] == item
        assert items_of(again(again(both, order[0]), order[1])) == items_of(both)
        found.append(sorted(kept))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8"},
        {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati", "PYTHONTZPATH": ""},
    ],
    ids=["seed and locale", "seed and zones"],
)
def test_G07_same_bytes_everywhere(environ: dict[str, str]) -> None:
    assert program(wire(APPS, config=MANY), **environ).out == call(wire(APPS, config=MANY)).out


def test_G07_same_bytes_at_any_time(tool: Callable[[str], Path]) -> None:
    """What was built today is what is built in three years."""
    later = [tool("faketime"), "-f", "+1100d", sys.executable, "-m", "krm_windows"]
    data = wire(APPS, config=MANY)
    built = subprocess.run(later, input=data.encode(), capture_output=True, check=True)
    assert built.stdout == call(data).out


def test_G07_zones_come_from_the_package(tmp_path: Path) -> None:
    """A host whose Berlin lies elsewhere changes nothing; the order of these dates hangs on it."""
    host = tmp_path / "Europe"
    host.mkdir()
    (host / "Berlin").write_bytes(b"TZif2 but not really")
    freeze = "{f: {starts: '2026-07-01T00:30', ends: '2026-06-30T23:00Z', reason: r}}"
    data = wire(APPS, config=spec(freezes=freeze))
    assert call(data).code == 0
    assert program(data, PYTHONTZPATH=str(tmp_path)) == call(data)


def test_G10_a_target_that_is_governed_already() -> None:
    governed = APPS.replace(
        "metadata:\n",
        f"metadata:\n  annotations:\n    {GOVERNED_BY}: flux-system/week # so be it\n",
    )
    assert wire(governed).partition("functionConfig")[0].encode() in call(wire(governed)).out


@pytest.mark.parametrize("kind", ["ServiceAccount", "Role", "RoleBinding", "ConfigMap"])
def test_G11_a_foreign_object(kind: str) -> None:
    given = wire(APPS, STRANGER.format(kind, "week-gate", "flux-system"))
    answer = call(given)
    assert (answer.code, answer.rules) == (1, ["name-taken"])
    assert answer.out.startswith(given.encode())
    assert f"/{kind}/flux-system/week-gate" in answer.err


def test_G11_an_object_of_another_policy() -> None:
    other = call(wire(APPS, config=POLICY.replace("name: week", "name: month")))
    renamed = listed(other, POLICY).replace("name: month-gate", "name: week-gate")
    assert "name-taken" in call(renamed).rules


def test_G11_a_foreign_object_under_a_cut_name() -> None:
    """A long name of ours is known where it is cut, even in the middle of dashes."""
    config = POLICY.replace("name: week\n", f"name: {'x' * 32}------{'y' * 40}\n")
    ours = call(wire(APPS, config=config)).of("CronJob")
    [name] = [item["metadata"]["name"] for item in ours if "opens" in str(item)]
    foreign = f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: {name}}}\n"
    assert call(wire(APPS, foreign, config=config)).rules == ["name-taken"]


def test_G11_elsewhere_it_is_nobodys_business() -> None:
    elsewhere = STRANGER.format("ConfigMap", "week-gate", "shop")
    another = STRANGER.format("Secret", "week-gate", "flux-system")
    assert call(wire(APPS, elsewhere, another)).code == 0


def test_G12_adopted_and_then_dropped() -> None:
    base = "apiVersion: batch/v1\nkind: CronJob\n"
    base += "metadata: {name: open-window, namespace: flux-system}\nspec: {suspend: true}\n"
    names = "{open: open-window, close: close-window}"
    window = f"{{w: {{opens: Mon 08:00, closes: Thu 17:00, cronJobs: {names}}}}}"
    adopted = call(wire(APPS, base, config=spec(windows=window)))
    assert {"open-window", "close-window"} < cron_jobs(adopted)
    later = again(adopted)
    assert later.code == 0
    assert cron_jobs(later) == cron_jobs(call(wire(APPS)))

"""What a policy yields, on its own and where it was before."""

import re
from itertools import permutations
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, Answer, as_item, call, lines_apart, program, spec, wire

PATH, INDEX = "internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index"
POLICY_LABEL = "krm-windows.dev/policy"
GOVERNED_BY = "krm-windows.dev/governed-by"
FREEZE = "{christmas: {starts: '2026-12-20', ends: '2027-01-03', reason: quiet}}"
COMMENTED = """\
# who owns it
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}  # as bootstrapped
spec:
  # how often
  interval: 10m   # ten
  suspend: false  # never

  # where
  path: "./apps"
  sourceRef: {kind: GitRepository, name: fleet}
  # the end
"""
BASE = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
  namespace: flux-system
  labels: {{team: edge}}
  annotations:
    example.org/owner: them # not us
spec:
  schedule: "* * * * *"
  suspend: true
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {{name: kubectl, image: kubectl:1}}
"""
TWO_NAMESPACES = (
    "[{kind: Kustomization, names: [apps]}, {kind: HelmRelease, names: [web], namespace: shop}]"
)
MANY = spec(
    targets=TWO_NAMESPACES,
    crossNamespaceTargets="Allow",
    freezes=FREEZE,
    overrides="{cve: {state: Open, starts: '2026-12-22T09:00', ends: '12:00', reason: patch}}",
    closesEarly="10m",
    windows=(
        "{tuesdays: {opens: 2nd Tue 22:00, duration: 4h}, "
        "nights: {opens: daily 01:00, closes: '04:00'}}"
    ),
)


def again(answer: Answer, config: str = POLICY) -> Answer:
    """Call the function on what it wrote; orchestrators keep no results."""
    return call(listed(answer, config))


def listed(answer: Answer, config: str) -> str:
    """Return the items of an answer in a list with a configuration."""
    items = answer.out.decode().partition("items:\n")[2].partition("functionConfig:\n")[0]
    return wire(config=config).replace("items: []\n", f"items:\n{items}")


def items_of(answer: Answer) -> str:
    """Return the text of the items."""
    return answer.out.decode().partition("items:\n")[2].partition("functionConfig:\n")[0]


def identity(item: dict[str, object]) -> tuple[str, str, str]:
    """Return kind, namespace and name."""
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]


def ours(answer: Answer, label: str = "flux-system.week") -> list[tuple[str, str, str]]:
    """Return what belongs to a policy."""
    found = [
        item
        for item in answer.items
        if item["metadata"].get("labels", {}).get(POLICY_LABEL) == label
    ]
    return [identity(item) for item in found]


INPUTS = {
    "a target": (APPS, POLICY),
    "suspend: false and comments": (COMMENTED, POLICY),
    "everything a policy has": (APPS, MANY),
    "no resources": ("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", POLICY),
}


@pytest.mark.parametrize("case", INPUTS)
def test_G02_twice_is_once(case: str) -> None:
    """On its own output it changes no byte."""
    item, config = INPUTS[case]
    once = call(wire(item, config=config))
    assert once.code == 0, once.err
    assert items_of(again(once, config)) == items_of(once)


def test_G03_an_object_of_ours_is_updated_in_place() -> None:
    """Where it is, with its path, its index, its comments and what others added.

    Only what changed is changed.
    """
    first = call(wire(APPS)).out.decode()
    kept = first.replace(
        "- apiVersion: batch/v1\n  kind: CronJob\n",
        "- # ours, but look\n  apiVersion: batch/v1\n  kind: CronJob\n",
    )
    kept = kept.replace('    schedule: "0 8 * * 1"\n', '    schedule: "0 8 * * 1" # Monday\n')
    kept = re.sub(r"(path: )\S+week-open-office.yaml\n", r"\1windows/all.yaml\n", kept)
    kept = kept.replace(
        "    name: week-open-office\n",
        "    name: week-open-office\n    finalizers: [example.org/x]\n",
    )
    later = call(kept.replace("opens: Mon 08:00", "opens: Mon 08:30"))
    assert later.code == 0
    changed = lines_apart(kept.replace("opens: Mon 08:00", "opens: Mon 08:30").encode(), later.out)
    known = {
        "0 8 * * 1",
        "30 8 * * 1",
        "Mon 08:00",
        "Mon 08:30",
        ' windows.office"',
        "week-apply-",
        "sha256-",
    }
    known |= {"0 6,7 * * 1", "30 6,7 * * 1"}
    assert all(any(text in line for text in known) for line in changed), changed
    assert '+    schedule: "30 8 * * 1" # Monday' in changed
    assert [identity(item)[:2] for item in later.items] == [
        identity(item)[:2] for item in yaml.load(kept, yaml.CSafeLoader)["items"]
    ]


def test_G04_what_the_policy_no_longer_yields() -> None:
    """It is removed, with the note on a target that is gated no more.

    Everything else stays where it is.
    """
    infra = APPS.replace("name: apps", "name: infra")
    stranger = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: week-notes, namespace: flux-system}\n"
    )
    large = call(
        wire(
            APPS,
            infra,
            stranger,
            # From a Wednesday on, within the window: what closes it needs a trigger of its own.
            config=spec(
                freezes=FREEZE.replace("-20", "-23"),
                targets="[{kind: Kustomization, names: [apps, infra]}]",
            ),
        )
    )
    small = again(large)
    assert small.code == 0
    fresh = call(wire(APPS, infra, stranger))
    gone = set(ours(large)) - set(ours(small))
    assert {name for kind, _, name in gone if kind == "CronJob"} == {"week-edge-utc-23"}
    assert sorted(map(identity, small.items)) == sorted(map(identity, fresh.items))
    assert as_item(infra) in items_of(small)
    assert as_item(stranger) in items_of(small)


def test_G04_what_stood_under_a_former_name() -> None:
    """A policy that was renamed takes over its targets and removes what it emitted before."""
    infra = APPS.replace("name: apps", "name: infra")
    both = spec(targets="[{kind: Kustomization, names: [apps, infra]}]", formerNames="[edge/night]")
    old = (
        both.replace("name: week\n", "name: day\n")
        .replace("formerNames", "x-")
        .partition("  x-")[0]
    )
    new = spec(formerNames="[edge/night, flux-system/day]")
    later = again(call(wire(APPS, infra, config=old)), new)
    assert (later.code, later.err) == (0, "")
    assert items_of(later) == items_of(call(wire(APPS, infra, config=new)))


def test_G05_places() -> None:
    """Each new object has a path in the policy's directory.

    No two items have one path and index.
    """
    taken = (
        f"metadata:\n  annotations: {{{PATH}: flux-system.week/role_week-gate.yaml, "
        f"{INDEX}: '0'}}\n"
    )
    item = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\n".replace(
        "metadata:\n", taken
    )
    answer = call(wire(APPS, item, config=MANY))
    assert answer.code == 0
    annotations = [found["metadata"]["annotations"] for found in answer.items[1:]]
    places = [(found[PATH], found[INDEX]) for found in annotations]
    assert len(places) == len(set(places))
    assert {path.rpartition("/")[0] for path, _ in places} == {"flux-system.week"}
    assert all(re.fullmatch(r"[a-z0-9.-]+/[a-z]+_[a-z0-9.-]+\.yaml", path) for path, _ in places)


TWO = (POLICY, POLICY.replace("name: week", "name: week-end").replace("[apps]", "[infra]"))


@pytest.mark.parametrize(
    "second",
    [
        TWO[1],
        TWO[1].replace("week-end", "week").replace("namespace: flux-system", "namespace: edge"),
    ],
    ids=["names that begin alike", "one name in two namespaces"],
)
def test_G06_two_policies(second: str) -> None:
    """One stream or one after the other, twice or in another order.

    Neither touches what is the other's.
    """
    infra = APPS.replace("name: apps", "name: infra")
    found = []
    for order in permutations((POLICY, second)):
        answer = call(wire(APPS, infra, config=order[0]))
        alone = {identity(i): i for i in answer.items}
        both = again(answer, order[1])
        assert both.code == 0, both.err
        kept = {identity(i): i for i in both.items}
        assert {key: kept[key] for key in alone if key[2] not in ("infra", "apps")} == {
            key: item for key, item in alone.items() if key[2] not in ("infra", "apps")
        }
        assert items_of(again(again(both, order[0]), order[1])) == items_of(both)
        found.append(sorted(kept))
    assert found[0] == found[1]
    assert len(found[0]) == len(set(found[0]))


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONHASHSEED": "1"},
        {"PYTHONHASHSEED": "2", "TZ": "Pacific/Kiritimati"},
        {"TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
        {"PYTHONTZPATH": ""},
    ],
    ids=lambda environ: " ".join(f"{name}={value}" for name, value in environ.items()),
)
def test_G07_same_bytes_everywhere(environ: dict[str, str]) -> None:
    """Neither hash seed nor time zone nor locale nor the time zones of the host have a say."""
    assert program(wire(APPS, config=MANY), **environ).out == call(wire(APPS, config=MANY)).out


def test_G07_zones_come_from_the_package(tmp_path: Path) -> None:
    """A host whose Berlin lies elsewhere changes nothing.

    Not even with dates whose order hangs on the offset.
    """
    host = tmp_path / "Europe"
    host.mkdir()
    (host / "Berlin").write_bytes(b"TZif2 but not really")
    config = spec(freezes="{f: {starts: '2026-07-01T00:30', ends: '2026-06-30T23:00Z', reason: r}}")
    here, there = (
        call(wire(APPS, config=config)),
        program(wire(APPS, config=config), PYTHONTZPATH=str(tmp_path)),
    )
    assert here.code == 0, here.err
    assert there == here


def test_G10_an_edited_target() -> None:
    """The suspension goes, the note comes, and every other character of the target stays."""
    answer = call(wire(COMMENTED))
    changed = [
        line
        for line in lines_apart(wire(COMMENTED).encode(), answer.out)
        if "suspend" in line or "meta" in line
    ]
    assert [line for line in changed if line.startswith("-")] == [
        "-  metadata: {name: apps, namespace: flux-system}  # as bootstrapped",
        "-    suspend: false  # never",
    ]
    [added] = [
        line for line in changed if line.startswith("+  metadata") and "as bootstrapped" in line
    ]
    assert added.startswith("+  metadata: {name: apps, namespace: flux-system, ")
    assert added.endswith("}  # as bootstrapped")
    kept = COMMENTED.partition("spec:\n")[2].replace("  suspend: false  # never\n", "")
    assert (
        "".join(f"  {line}\n" if line else "\n" for line in kept.splitlines())
        in answer.out.decode()
    )


def test_G10_a_target_that_is_governed_already() -> None:
    """Nothing is left to do, so nothing is done."""
    governed = APPS.replace(
        "metadata:\n",
        f"metadata:\n  annotations:\n    {GOVERNED_BY}: flux-system/week # so be it\n",
    )
    assert wire(governed).partition("functionConfig")[0].encode() in call(wire(governed)).out


@pytest.mark.parametrize("kind", ["ServiceAccount", "Role", "RoleBinding", "ConfigMap"])
def test_G11_a_foreign_object(kind: str) -> None:
    """What has a name of ours but is not ours is an error, and stays as it is."""
    foreign = (
        f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: week-gate\n  namespace: flux-system\n"
    )
    answer = call(wire(APPS, foreign))
    assert (answer.code, answer.rules) == (1, ["name-taken"])
    assert answer.out.startswith(wire(APPS, foreign).encode())
    assert f"/{kind}/flux-system/week-gate" in answer.err


def test_G11_an_object_of_another_policy() -> None:
    """The label of another policy makes it foreign, too."""
    other = call(wire(APPS, config=POLICY.replace("name: week", "name: month")))
    assert other.code == 0
    renamed = listed(other, POLICY).replace("name: month-gate", "name: week-gate")
    assert "name-taken" in call(renamed).rules


def test_G11_a_foreign_object_under_a_cut_name() -> None:
    """A long name of ours is known where it is cut, even in the middle of dashes."""
    config = POLICY.replace("name: week\n", f"name: {'x' * 32}------{'y' * 40}\n")
    [cron_job] = [
        item for item in call(wire(APPS, config=config)).of("CronJob") if "opens" in str(item)
    ]
    foreign = (
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: {cron_job['metadata']['name']}\n"
    )
    assert call(wire(APPS, foreign, config=config)).rules == ["name-taken"]


def test_G11_elsewhere_it_is_nobodys_business() -> None:
    """The same name in another namespace, or of another kind, is free."""
    elsewhere = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: week-gate\n  namespace: shop\n"
    another = (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: week-gate\n  namespace: flux-system\n"
    )
    assert call(wire(APPS, elsewhere, another)).code == 0


ADOPT = spec(
    windows=(
        "{w: {opens: Mon 08:00, closes: Thu 17:00, cronJobs: {open: open-window, "
        "close: close-window}}}"
    )
)


def test_G12_adoption() -> None:
    """A base that stands by its name becomes ours where it is.

    It keeps its labels and annotations.
    """
    answer = call(
        wire(BASE.format(name="close-window"), APPS, BASE.format(name="open-window"), config=ADOPT)
    )
    assert (answer.code, answer.err) == (0, "")
    names = [identity(item)[2] for item in answer.items[:3]]
    assert names == ["close-window", "apps", "open-window"]
    for name, schedule in (("open-window", "0 8 * * 1"), ("close-window", "0 17 * * 4")):
        adopted = answer.named("CronJob", name)
        assert adopted["spec"]["schedule"] == schedule
        assert (adopted["spec"]["suspend"], adopted["spec"]["timeZone"]) == (
            "false",
            "Europe/Berlin",
        )
        [container] = adopted["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["python3", "-I", "/gate"]
        assert adopted["metadata"]["labels"]["team"] == "edge"
        assert adopted["metadata"]["labels"][POLICY_LABEL] == "flux-system.week"
        assert adopted["metadata"]["annotations"]["example.org/owner"] == "them"
    assert b"example.org/owner: them # not us\n" in answer.out
    assert items_of(again(answer, ADOPT)) == items_of(answer)


def test_G12_without_the_name() -> None:
    """A CronJob under a name of ours that the policy does not claim is an error.

    The error says how to claim it.
    """
    answer = call(wire(BASE.format(name="week-open-office")))
    assert "name-taken" in answer.rules
    assert "cronJobs" in answer.err


def test_G12_adopted_and_then_dropped() -> None:
    """Once it is ours it is removed when the policy names it no more."""
    adopted = call(wire(APPS, BASE.format(name="open-window"), config=ADOPT))
    later = again(adopted)
    assert later.code == 0
    assert sorted(name for kind, _, name in ours(later) if kind == "CronJob") == [
        "week-close-office",
        "week-edge-utc-06",
        "week-edge-utc-15",
        "week-open-office",
        "week-resync",
    ]

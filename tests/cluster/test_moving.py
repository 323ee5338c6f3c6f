"""A target moves from one policy to another in one commit.

Whichever of the two Jobs runs first, nothing opens what a policy holds closed; and then the new
policy decides alone.
"""

from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree, rmtree

import pytest
import yaml
from environment import APPS, CLOSED, OPEN, Environment, eventually, throughout
from lab.processes import LabError
from test_policies import force
from test_program import PROGRAMS, actuator
from when import sleep_until, window

from krm_windows.gate.annotations import annotation

INFRA = "infra"
EARLIER = Path(__file__).parents[1] / "fixtures/rendered-7a38b35a/rendered"
TURNS = 10


def test_a_move_between_closed_policies(env: Environment) -> None:
    """To and fro, ten times, both applied at once: the commit that waits is never applied."""
    begin(env)
    env.release("2")
    for turn in range(TURNS):
        old, new = ("one", "two") if turn % 2 == 0 else ("two", "one")
        move(env, old, new, CLOSED)
        eventually("the new policy took over", lambda new=new: env.closed(new))  # type: ignore[misc]
        eventually("the old one's annotation went", lambda old=old: not env.annotated(old))  # type: ignore[misc]
        assert env.version() == "1"
    env.waits("1")
    assert not [line for line in env.log() if line.get("action") == "Opened"]
    move(env, new, old, OPEN)
    env.eventually_applied("2")
    eventually("open", lambda: env.open("one") and env.open("two"))


@pytest.mark.parametrize("first", ["old", "new"])
def test_either_is_applied_first(env: Environment, first: str) -> None:
    """The other commit comes only later: until both are applied, the target stays closed."""
    begin(env)
    env.release("2")
    if first == "new":
        force(env, {**OPEN, "targets": kustomizations(APPS, INFRA)}, "two")
        eventually("it was asked", lambda: says(env, "left closed by another policy"))
        throughout(20, "the old policy holds it", lambda: env.closed("one"))
        force(env, {**CLOSED, "targets": kustomizations("third")}, "one")
        env.eventually_delivered()
        # The run of the next edge, or of the resync, would do it as well.
        env.kubectl("create", "job", "--from=cronjob/two-resync", "again")
    else:
        force(env, {**CLOSED, "targets": kustomizations("third")}, "one")
        env.eventually_delivered()
        throughout(20, "nobody opens it", lambda: env.closed("one"))
        force(env, {**OPEN, "targets": kustomizations(APPS, INFRA)}, "two")
    env.eventually_applied("2")
    eventually("open", lambda: env.open("one") and env.open("two"))


def test_what_the_old_policy_releases_stays_closed(env: Environment) -> None:
    """The new one has closed it. A build that sees both refuses; here one is rendered too early."""
    begin(env)
    env.release("2")
    move(env, "one", "two", CLOSED)
    eventually("the new policy took over", lambda: env.closed("two"))
    env.write("two.yaml", env.policy_text({**CLOSED, "targets": kustomizations("third")}, "two"))
    released = [{"kind": "Kustomization", "names": [APPS]}]
    spec = {**CLOSED, "targets": kustomizations(INFRA), "released": released}
    env.policy(spec, name="one", commit=False)
    env.write("two.yaml", env.policy_text({**CLOSED, "targets": kustomizations(APPS)}, "two"))
    env.commit("Release in one policy what the other gates")
    env.eventually_delivered()
    eventually("it was asked", lambda: says(env, "left closed by another policy"))
    throughout(20, "the new policy holds it", lambda: env.closed("two"))
    env.waits("1")
    with pytest.raises(LabError, match="two-policies"):
        env.policy({**OPEN, "targets": kustomizations(APPS)}, name="two")
    env.policy({**CLOSED, "targets": kustomizations(INFRA)}, name="one", commit=False)
    env.policy({**OPEN, "targets": kustomizations(APPS)}, name="two")
    env.eventually_applied("2")


def test_two_targets_change_places(env: Environment) -> None:
    """Both stay closed, and each is the other policy's then."""
    begin(env)
    env.write_version("2")
    move(env, "one", "two", CLOSED)
    eventually("apps is the other's", lambda: env.closed("two") and not env.annotated("one"))
    eventually("infra is the other's", lambda: env.annotated("one", INFRA))
    eventually("and it alone", lambda: not env.annotated("two", INFRA))
    assert env.suspended(INFRA)
    env.waits("1")


def test_all_that_a_policy_gates_moves_and_it_goes(env: Environment) -> None:
    """It is pruned, with all its rights; the other opens what it has closed."""
    begin(env)
    env.release("2")
    env.leave_out("one")
    rmtree(env.tree / "cluster/one")
    (env.tree / "one.yaml").unlink()
    env.policy({**OPEN, "targets": kustomizations(APPS, INFRA)}, name="two")
    env.eventually_applied("2")
    eventually("open", lambda: env.open("one") and env.open("two"))


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_an_earlier_version_closed_is_opened(env: Environment, program: str) -> None:
    """By windows as 7a38b35a rendered them; nothing opens before the window."""
    env.begin()
    write_earlier(env)
    env.include("earlier")
    env.commit("Deliver the windows of an earlier version")
    eventually("closed by the earlier version", lambda: env.closed("earlier"))
    env.release("2")
    env.waits("1")
    opening = window(after=90, length=2)
    upgrade(env, program, windows={"next": opening.spec})
    env.eventually_delivered()
    left = (opening.opens - datetime.now(UTC)).total_seconds()
    throughout(left - 2, "closed until the window", lambda: env.closed("earlier"))
    env.eventually_applied("2")
    eventually("open", lambda: env.open("earlier"))
    sleep_until(opening.closes)
    eventually("closed again", lambda: env.closed("earlier"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_person_suspended_stays_so_after_an_upgrade(env: Environment, program: str) -> None:
    """The version of 7a38b35a left it alone, and so does this one, even where it is open."""
    env.begin()
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"suspend": True}})
    write_earlier(env)
    env.include("earlier")
    env.commit("Deliver the windows of an earlier version")
    env.eventually_says("left closed by a person")
    env.release("2")
    upgrade(env, program, state="Open")
    env.eventually_delivered()
    throughout(20, "it stays suspended", env.suspended)
    assert not env.annotated("earlier")
    env.waits("1", intervals=1)


def upgrade(env: Environment, program: str, **changed: object) -> None:
    """Render the policy of the earlier version with this one, its freeze left out."""
    spec = yaml.safe_load((EARLIER.parent / "policy.yaml").read_text())["spec"]
    spec.pop("freezes")
    spec |= {"actuator": actuator(program), "clusters": {"east": {}}, **changed}
    env.policy(spec, "--cluster", "east", name="earlier")


def test_an_earlier_version_opens_what_this_one_closed(env: Environment) -> None:
    """As after a commit that rendered with this version is reverted."""
    env.begin()
    env.policy({**CLOSED, "clusters": {"east": {}}}, "--cluster", "east", name="earlier")
    eventually("closed by this version", lambda: env.closed("earlier"))
    env.release("2")
    env.waits("1")
    rmtree(env.tree / "cluster/earlier")
    write_earlier(env, state="Open")
    env.commit("Deliver the windows of an earlier version")
    env.eventually_applied("2")
    eventually("open", lambda: env.open("earlier"))


def write_earlier(env: Environment, state: str = "Scheduled") -> None:
    """Write the windows as commit 7a38b35a rendered them, for the namespace of a test."""
    files = env.tree / "cluster/earlier"
    copytree(EARLIER, files, dirs_exist_ok=True)
    for path in sorted(files.iterdir()):
        text = path.read_text().replace("flux-system.", f"{env.name}.")
        text = text.replace("flux-system", env.name)
        text = text.replace('"formatVersion": 1,', f'"formatVersion": 1, "state": "{state}",')
        # What is in the names of annotations is a digest of the policy's name.
        text = text.replace(annotation("flux-system/earlier"), annotation(f"{env.name}/earlier"))
        path.unlink()
        (files / path.name.replace("flux-system.", f"{env.name}.")).write_text(text)


def begin(env: Environment) -> None:
    """Set up two closed policies: `one` gates `apps`, and `two` gates `infra`."""
    infra = env.kustomization(INFRA, "./apps", prune=False, targetNamespace=env.name)
    env.add(f"{INFRA}.yaml", infra)
    env.begin()
    env.policy({**CLOSED, "targets": kustomizations(APPS)}, name="one")
    env.policy({**CLOSED, "targets": kustomizations(INFRA)}, name="two")
    eventually("both are closed", lambda: env.closed("one") and env.annotated("two", INFRA))


def move(env: Environment, old: str, new: str, spec: dict[str, object]) -> None:
    """Let the targets of two policies change places in one commit, without a word about it."""
    env.write(f"{new}.yaml", env.policy_text({**spec, "targets": kustomizations(APPS)}, new))
    env.policy({**CLOSED, "targets": kustomizations(INFRA)}, name=old, commit=False)
    env.render(f"{new}.yaml", f"cluster/{new}")
    env.commit(f"Move apps from {old} to {new}")


def kustomizations(*names: str) -> list[dict[str, object]]:
    return [{"kind": "Kustomization", "names": list(names), "mustExist": False}]


def says(env: Environment, words: str) -> bool:
    return any(words in str(line.get("message", "")) for line in env.log())

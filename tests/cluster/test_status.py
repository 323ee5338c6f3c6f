"""`krm-windows status` on the real cluster."""

import json
from pathlib import Path

import proposed
from environment import APPS, Environment, eventually
from lab.api import Object
from lab.settings import ADMIN


def status(env: Environment, *options: str | Path, config: Path = ADMIN) -> tuple[int, Object, str]:
    return env.ask("status", *options, config=config)


def row(found: Object) -> tuple[str, str, object]:
    [target] = found["targets"]
    return target["state"], target["desired"], target["suspendedBy"]


def by_windows(env: Environment) -> Object:
    return {"kind": "Policy", "policy": f"{env.name}/windows"}


def test_it_says_whose_suspension_it_is(env: Environment) -> None:
    """Closed by the policy, resumed by a person, held by one."""
    env.begin_closed()
    code, found, said = status(env)
    assert (code, row(found), said) == (0, ("closed", "closed", by_windows(env)), "")
    assert found["targets"][0]["until"] == found["desired"]["until"]
    [hold] = proposed.commands("docs/how-to/when-something-is-wrong.md", "kubectl patch")
    env.shell(hold)
    assert row(status(env)[1])[2] == {"kind": "Hold", "reason": env.hold()}
    assert str(env.hold()).endswith(": the press is being repaired")
    env.shell(f"flux resume kustomization {APPS} -n flux-system")
    code, found, _ = status(env)
    assert (code, row(found)) == (1, ("open", "closed", {"kind": "Hold", "reason": env.hold()}))


def test_a_first_apply_is_as_desired(env: Environment) -> None:
    """A target that was never applied is open, and should be."""
    env.begin(apply=False, dependsOn=[{"name": "never"}])
    env.delivers()
    code, found, _ = status(env)
    assert (code, row(found)) == (0, ("open", "open", None))


def test_a_patch_that_is_denied_is_the_reason(env: Environment) -> None:
    """The apply Job ends well whatever it could not do, and there was no other run yet."""
    env.begin()
    env.delivers({"outsideWindows": "Open", "windows": {}})
    env.suspend_delivery()
    env.policy(commit=False)
    narrow = env.tree / "cluster/windows/role_windows-gate.yaml"
    narrow.write_text(narrow.read_text().replace("  - patch\n", ""))
    env.shell("kubectl apply --server-side --force-conflicts -k cluster/windows")
    env.eventually_says("cannot patch resource")
    eventually("its reason is shown", lambda: cause(env) == "rights")
    assert "cannot patch resource" in status(env)[1]["failure"]["message"]


def cause(env: Environment) -> str | None:
    failure = status(env)[1].get("failure")
    return failure["cause"] if failure else None


def test_a_lack_of_rights_is_reported(env: Environment) -> None:
    """The API server's own words, and what is needed."""
    env.begin()
    env.policy()
    account = f"system:serviceaccount:{env.name}:default"
    config = json.loads(ADMIN.read_text())
    config["users"][0]["user"]["as"] = account
    (env.tree / "nobody.kubeconfig").write_text(json.dumps(config))
    code, _, said = status(env, config=env.tree / "nobody.kubeconfig")
    assert code == 1
    assert f'User "{account}" cannot get resource "kustomizations"' in said

"""Events on a target: who closed it and until when, who opened it, whom it was left to."""

import time

from environment import APPS, CLOSED, OPEN, Environment, eventually
from lab.api import Object
from test_rights import KUSTOMIZE, granted

SAID = {**CLOSED, "events": True}


def events(env: Environment) -> list[Object]:
    found = env.api.items("events", env.name, fieldSelector=f"involvedObject.name={APPS}")
    return [event for event in found if event["source"].get("component") == "krm-windows"]


def reasons(env: Environment) -> list[str]:
    return sorted(event["reason"] for event in events(env))


def test_they_say_what_was_done(env: Environment) -> None:
    """One for each change, none for a run that finds nothing to do."""
    env.begin()
    env.policy(SAID)
    eventually("it is reported", lambda: reasons(env) == ["WindowClosed"])
    env.job("again", wait=True)
    assert reasons(env) == ["WindowClosed"]
    env.policy({**OPEN, "events": True})
    eventually("that is reported too", lambda: reasons(env) == ["WindowClosed", "WindowOpened"])
    shown = env.kubectl("describe", "kustomizations", APPS)
    assert f"closed, by {env.name}/windows until " in shown
    assert "WindowOpened" in shown
    assert "krm-windows" in shown


def test_they_say_what_was_left_alone(env: Environment) -> None:
    """To a person, or held: once, however many runs find it so."""
    env.begin()
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"suspend": True}})
    env.policy(SAID)
    eventually("it is reported", lambda: reasons(env) == ["WindowLeftToPerson"])
    env.job("again", wait=True)
    env.job("and-again", wait=True)
    assert reasons(env) == ["WindowLeftToPerson"]


def test_one_more_right(env: Environment) -> None:
    """To create Events. Where that is taken away, a run goes well all the same."""
    env.begin_closed(SAID)
    expected = [
        ([""], ["events"], [], ["create"]),
        ([KUSTOMIZE], ["kustomizations"], [APPS], ["get", "patch"]),
    ]
    account = env.account()
    assert sorted(granted(account, env.name)) == expected
    account.close()
    role = env.api.get("roles", env.name, "windows-gate")
    env.api.patch("kustomizations", env.name, "fleet", {"spec": {"suspend": True}})
    env.api.patch("roles", env.name, "windows-gate", {"rules": role["rules"][1:]})
    time.sleep(1)
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"suspend": False}})
    env.job("without", wait=True)
    assert env.closed()
    assert reasons(env) == ["WindowClosed"]

"""Events on a target: who closed it and until when, who opened it, whom it was left to."""

import time

from lab.api import Object
from telling import APPS, Story, eventually, far_window
from test_hooks import token
from test_rights import KUSTOMIZE, granted

CLOSED = {"windows": {"later": far_window().spec}, "events": True}
OPEN = {**CLOSED, "state": "Open"}


def events(story: Story) -> list[Object]:
    """Return the Events of ours on the target."""
    found = story.api.items("events", story.name, fieldSelector=f"involvedObject.name={APPS}")
    return [event for event in found if event["source"].get("component") == "krm-windows"]


def reasons(story: Story) -> list[str]:
    """Return their reasons, sorted."""
    return sorted(event["reason"] for event in events(story))


def look(story: Story, name: str) -> None:
    """Look once more, as the CronJob does."""
    story.kubectl("create", "job", name, "--from=cronjob/windows-resync")
    story.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=15m")


def test_they_say_what_was_done(story: Story) -> None:
    """One for each change, none for a look that finds nothing to do; `kubectl describe` shows them."""
    story.begin()
    story.policy(CLOSED)
    eventually("it is told", lambda: reasons(story) == ["WindowClosed"])
    look(story, "again")
    assert reasons(story) == ["WindowClosed"]
    story.policy(OPEN)
    eventually("that is told too", lambda: reasons(story) == ["WindowClosed", "WindowOpened"])
    shown = story.kubectl("describe", "kustomizations", APPS)
    assert f"closed, by {story.name}/windows until " in shown
    assert "WindowOpened" in shown
    assert "krm-windows" in shown


def test_they_say_what_was_left_alone(story: Story) -> None:
    """To a person, or held: once, however many looks find it so."""
    story.begin()
    story.api.patch("kustomizations", story.name, APPS, {"spec": {"suspend": True}})
    story.policy(CLOSED)
    eventually("it is told", lambda: reasons(story) == ["WindowLeftToPerson"])
    look(story, "again")
    look(story, "and-again")
    assert reasons(story) == ["WindowLeftToPerson"]


def test_one_more_right(story: Story) -> None:
    """To create Events where the target is; and where that is taken away, a look goes well all the same."""
    story.begin()
    story.policy(CLOSED)
    story.eventually_closed()
    expected = [
        ([""], ["events"], [], ["create"]),
        ([KUSTOMIZE], ["kustomizations"], [APPS], ["get", "patch"]),
    ]
    account = token(story)
    assert sorted(granted(account, story.name)) == expected
    account.close()
    role = story.api.get("roles", story.name, "windows-gate")
    story.api.patch("kustomizations", story.name, "fleet", {"spec": {"suspend": True}})
    story.api.patch("roles", story.name, "windows-gate", {"rules": role["rules"][1:]})
    time.sleep(1)
    story.api.patch("kustomizations", story.name, APPS, {"spec": {"suspend": False}})
    look(story, "without")
    assert story.closed()
    assert reasons(story) == ["WindowClosed"]

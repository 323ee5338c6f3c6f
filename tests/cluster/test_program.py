"""The gate's program, in the ConfigMap of the policy and in the image of krm-windows."""

from collections.abc import Iterable

import pytest
from environment import CLOSED, OPEN, Environment, eventually, throughout
from lab import images
from test_events import reasons
from test_hooks import Plant, plant
from when import Spec, sleep_until, window

__all__ = ["plant"]

PROGRAMS = ["ConfigMap", "Image"]


def actuator(program: str) -> Spec:
    if program == "ConfigMap":
        return {"program": program}
    digest = images.pinned()[images.FUNCTION].partition("@")[2]
    return {"program": program, "image": f"{images.FUNCTION}@{digest}"}


def config_maps(env: Environment) -> Iterable[str]:
    names = [found["metadata"]["name"] for found in env.api.items("configmaps", env.name)]
    return sorted(name for name in names if name.startswith("windows-gate"))


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_window_with_the_program_in(plant: Plant, program: str) -> None:
    """A commit waits for the window, a hook and Events are around it; the next one waits again."""
    env, system = plant.env, plant.system
    with_program: Spec = {"actuator": actuator(program), "events": True}
    env.begin()
    plant.policy({**CLOSED, **with_program}, beforeOpen=system.hook("on"))
    env.eventually_closed()
    env.release("2")
    opening = window(after=90, length=2)
    plant.policy({**with_program, "windows": {"next": opening.spec}}, beforeOpen=system.hook("on"))
    env.eventually_delivered()
    assert env.closed()
    env.waits("1", intervals=1)
    assert not system.calls
    sleep_until(opening.opens)
    env.eventually_applied("2")
    assert plant.calls == ["on"]
    eventually("it is reported", lambda: "WindowOpened" in reasons(env))
    env.closes_with(opening)
    env.release("3")
    env.waits("2")
    [name] = config_maps(env)
    data = env.api.get("configmaps", env.name, name)["data"]
    assert ("__main__.py" in data) == (program == "ConfigMap")


@pytest.mark.parametrize("after", PROGRAMS)
def test_the_program_moves_while_closed(env: Environment, after: str) -> None:
    """Nothing opens meanwhile; then the one opens what the other has closed."""
    [before] = {*PROGRAMS} - {after}
    env.begin_closed({**CLOSED, "actuator": actuator(before)})
    env.release("2")
    env.delivers({**CLOSED, "actuator": actuator(after)})
    throughout(20, "it stays closed", env.closed)
    eventually("the ConfigMap of the other is gone", lambda: len(list(config_maps(env))) == 1)
    env.waits("1", intervals=1)
    assert not [line for line in env.log() if line.get("action") == "Opened"]
    env.opens({**OPEN, "actuator": actuator(after)}, "2")
    env.eventually_open()

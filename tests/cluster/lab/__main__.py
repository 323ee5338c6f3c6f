"""`python -m lab COMMAND`, on the cluster of the end-to-end tests.

The commands are `build`, `up`, `down`, `run PROGRAM…` inside, `test [OPTION]…`, `all` of it, and
`measure`.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from lab import build, control_plane, flux, images, jobs, machine, node, origins, pki
from lab.processes import LabError, pace, private, start
from lab.settings import ADMIN, BIN, LOGS, ROOT

_TESTS = ROOT / "tests/cluster"
_NOTHING_COLLECTED = 5
_AT_ONCE = 24  # tests, on a machine of their own


def up() -> None:
    machine.create(tied=False)
    fill()


def fill() -> None:
    """Bring up every component inside the machine."""
    began = time.monotonic()
    environment = {**os.environ, **private()}
    command = machine.inside(sys.executable, "-m", "lab", "inside")
    subprocess.run(command, env=environment, check=True)
    took = time.monotonic() - began
    print(f"lab: the cluster is up after {took:.0f} s; logs are in {LOGS}", flush=True)


def inside() -> None:
    machine.furnish()
    pki.make()
    for part in (control_plane, node, origins, flux):
        began = time.monotonic()
        part.up()
        name, took = part.__name__.rpartition(".")[2], time.monotonic() - began
        print(f"lab: {name} up after {took:.0f} s", flush=True)
    start("job-logs", [sys.executable, "-m", "lab", "keep-logs"])


def run(*command: str) -> int:
    paths = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **private(), "KUBECONFIG": str(ADMIN), "PATH": paths}
    return subprocess.run(machine.inside(*command), env=environment, check=False).returncode


def test(*options: str) -> int:
    """First those that may run side by side, then those that break what the others need."""
    os.environ["KRM_WINDOWS_REQUIRE_TOOLS"] = "1"  # no test is skipped
    several = os.environ.get("E2E_AT_ONCE", str(_AT_ONCE // pace()))
    at_once = ["--numprocesses", several, "--dist", "load", "--maxschedchunk", "1"]
    # Each of so many processes would take a second to load the plugin of hypothesis.
    pytest = [sys.executable, "-m", "pytest", str(_TESTS), "-p", "no:hypothesispytest"]
    pytest += ["--override-ini=addopts=-ra --import-mode=importlib"]
    codes = [
        run(*pytest, "-m", "not disruptive", *at_once, *options),
        run(*pytest, "-m", "disruptive", *options),
    ]
    return max((code for code in codes if code != _NOTHING_COLLECTED), default=_NOTHING_COLLECTED)


def measure(*_: str) -> int:
    return run(sys.executable, str(ROOT / "bench/cluster.py"))


def all_of_it(task: Callable[..., int], *options: str) -> int:
    build.build()
    images.build()
    machine.create(tied=True)
    try:
        fill()
        code = task(*options)
    finally:
        machine.destroy()
        figures = LOGS / "figures.txt"
        print(figures.read_text() if figures.exists() else "", end="")
        print(f"lab: the logs of components and Jobs are in {LOGS}", flush=True)
    return code


def main(command: str, *arguments: str) -> int:
    # So that what is up is taken down.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    os.environ["TZ"] = "UTC"  # in which logs are written
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_TESTS), str(ROOT)])
    commands = {
        "build": lambda: (build.build(), images.build()),
        "up": up,
        "inside": inside,
        "hold": lambda: machine.hold(tied=arguments == ("tied",)),
        "janitor": lambda: machine.clean_up_after(int(arguments[0])),
        "keep-logs": jobs.keep,
        "down": machine.destroy,
        "run": lambda: run(*arguments),
        "test": lambda: test(*arguments),
        "all": lambda: all_of_it(test, *arguments),
        "measure": lambda: all_of_it(measure),
    }
    try:
        answer = commands[command]()
    except (LabError, subprocess.CalledProcessError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    return answer if isinstance(answer, int) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

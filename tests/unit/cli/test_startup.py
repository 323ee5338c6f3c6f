"""What a call does not use it does not load."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
POLICY = ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml"
OBJECTS = ROOT / "examples/no-deploy-friday/cluster.json"
# Prints on standard error what was loaded once the call has ended.
LOADED = """\
import sys
from krm_windows.cli import main
code = main()
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""
RESOURCES = f"""\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
functionConfig:
{"".join(f"  {line}" for line in POLICY.read_text().splitlines(keepends=True))}"""
# None of these is for a call that reads one policy.
HEAVY = frozenset(
    {
        "asyncio",
        "difflib",
        "http",
        "importlib.metadata",
        "krm_windows.flux",
        "krm_windows.init",
        "krm_windows.migrate",
        "multiprocessing",
        "rich",
        "starlette",
        "urllib3",
    }
)
YEAR = ["--from", "2026-01-01", "--days", "365"]


@dataclass(frozen=True)
class Call:
    """What a call must not load, and how many of our own modules it does at most.

    Where it loads fewer, the number is to be lowered.
    """

    arguments: Sequence[str]
    own: int
    without: frozenset[str] = field(default=frozenset())


CALLS: Mapping[str, Call] = {
    "the function": Call(
        [],
        own=120,
        without=frozenset(
            {
                # OpenSSL, and what `dataclasses` reads sources with: much memory for little.
                "_hashlib",
                "argparse",
                "dataclasses",
                "inspect",
                "krm_windows.checks.overlap",
                "krm_windows.checks.stream",
                "krm_windows.classes",
                "krm_windows.edit",
                "krm_windows.fleet",
                "krm_windows.schedule.decide",
                "krm_windows.gate.revisions",
                "krm_windows.gate.target",
                "krm_windows.preview",
                "krm_windows.render",
                "krm_windows.status",
                "pathlib",
                "pkgutil",
                "shutil",
                "subprocess",
            }
        ),
    ),
    "calendar": Call(
        ["calendar", str(POLICY), *YEAR, "-o", "json"],
        own=108,
        without=frozenset(
            {
                "krm_windows.apply",
                "krm_windows.checks.overlap",
                "krm_windows.checks.stream",
                "krm_windows.classes",
                "krm_windows.edit",
                "krm_windows.emit",
                "krm_windows.fleet",
                "krm_windows.status",
            }
        ),
    ),
    # It is open, so nothing is waited for. A warning is given its line in the file, by two modules.
    "wait": Call(
        ["wait", str(ROOT / "tests/fixtures/held-open/config.yaml"), "--until", "open"],
        own=109,
        without=frozenset({"krm_windows.apply", "krm_windows.emit", "krm_windows.fleet"}),
    ),
    # All but the page is loaded to say what there is to ask for, and the examples.
    "simulate": Call(
        ["simulate", "--help"],
        own=136,
        without=frozenset(
            {
                "krm_windows.apply",
                "krm_windows.emit",
                "krm_windows.fleet",
                "krm_windows.history.page",
            }
        ),
    ),
    "history": Call(
        ["history", "--help"],
        own=121,
        without=frozenset(
            {"krm_windows.apply", "krm_windows.classes", "krm_windows.emit", "krm_windows.fleet"}
        ),
    ),
    # From a file, and not from a repository, which would be followed.
    "pending": Call(
        ["pending", str(POLICY), "-f", str(OBJECTS), "--at", "2026-12-22T10:00Z"],
        own=175,
        without=frozenset({"krm_windows.apply", "krm_windows.fleet", "krm_windows.flux"}),
    ),
    "version": Call(["version"], own=15, without=frozenset({"yaml", "krm_windows.krm"})),
    "--help": Call(["--help"], own=10, without=frozenset({"yaml", "krm_windows.krm"})),
}


def loaded(arguments: Sequence[str]) -> set[str]:
    """Return the modules that a call has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        input=RESOURCES,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("name", CALLS)
def test_a_call_loads_what_it_uses(name: str) -> None:
    """No library and no room that is for other calls."""
    call = CALLS[name]
    modules = loaded(call.arguments)
    assert modules & (HEAVY | call.without) == set()
    own = {each for each in modules if each.partition(".")[0] == "krm_windows"}
    assert len(own) <= call.own


def test_what_is_loaded_is_seen() -> None:
    """The test above would see what a call loads: the function reads its policy."""
    assert {"yaml", "krm_windows.policy.load"} <= loaded([])

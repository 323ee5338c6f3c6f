"""The parts of the end-to-end tests' machine that need none.

What is covered, what is compared, what is waited for.
"""

import re
from pathlib import Path

import pytest
from lab.machine import covered
from lab.traces import differences, take

TESTS = Path(__file__).resolve().parents[1] / "cluster"
# A limit that a test sets itself, and that is not the one of `lab.processes.HANG`.
LIMIT = re.compile(r"within=|--timeout=(?!15m)")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder with what a machine's root has."""
    for name in ("etc/cni", "var/lib/kubelet", "var/lib/ci/clone", "var/log"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "var/run").symlink_to("../run")
    return tmp_path


def test_all_is_covered_where_the_clone_lies_elsewhere(machine: Path) -> None:
    """Whole folders, each by one layer; what is not there needs none."""
    folders = [machine / name for name in ("etc", "run", "var")]
    assert covered(machine / "home/clone", folders) == [machine / "etc", machine / "var"]


def test_the_clone_itself_is_not_covered(machine: Path) -> None:
    """Its neighbours are, at every level above it, so that its logs and images are on the disk."""
    folders = [machine / name for name in ("etc", "var")]
    found = covered(machine / "var/lib/ci/clone", folders)
    assert found == [machine / "etc", machine / "var/log", machine / "var/lib/kubelet"]


def test_what_differs_is_named() -> None:
    """What appeared, what is gone, and what has another value."""
    before = {"parameter kernel.panic": "0", "mount /a tmpfs": "", "cgroup /c": ""}
    after = {"parameter kernel.panic": "10", "folder /var/lib/cni": "", "cgroup /c": ""}
    assert differences(before, after) == [
        "folder /var/lib/cni appeared",
        "mount /a tmpfs is gone",
        "parameter kernel.panic was 0, is 10",
    ]


def test_a_parameter_of_a_module_that_was_loaded_is_no_difference() -> None:
    """It was set by nobody."""
    assert differences({}, {"parameter net.bridge.bridge-nf-call-iptables": "1"}) == []


def test_a_machine_is_seen() -> None:
    """This one has parameters, among them those that a kubelet sets, and folders."""
    facts = take()
    assert facts["parameter kernel.panic"]
    assert "folder /var/lib" in facts


def test_no_end_to_end_test_has_a_limit_of_its_own() -> None:
    """A busy machine changes no result.

    Every wait is for a condition, and has the one limit of what hangs.
    """
    found = {path.name for path in TESTS.glob("*.py") if LIMIT.search(path.read_text())}
    assert found == set()

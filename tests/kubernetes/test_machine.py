"""The parts of the end-to-end tests' machine that need none.

What is covered, what is compared, what is waited for.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import lacking
from lab.machine import covered
from lab.settings import CGROUP, RUN
from lab.traces import differences, is_of_others, take

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


@pytest.mark.parametrize(
    "name",
    [
        "mount /var/lib/containers/storage/overlay ext4",
        f"mount /var/lib/containers/storage/overlay/{'d9' * 32}/merged overlay",
        f"mount /var/lib/containers/storage/overlay-containers/{'d9' * 32}/userdata/shm tmpfs",
        f"mount /run/containers/storage/overlay-containers/{'d9' * 32}/userdata/shm tmpfs",
        "mount /tmp/pytest-of-root/pytest-198/popen-gw2/test_a_full_disk_1_0/disk tmpfs",
        "cgroup /sys/fs/cgroup/libpod_parent",
        f"cgroup /sys/fs/cgroup/libpod_parent/libpod-{'d9' * 32}",
        "cgroup /sys/fs/cgroup/cpu,cpuacct/libpod_parent",
        "cgroup /sys/fs/cgroup/blkio/buildah-buildah220984545",
        "folder /run/runc",
        "folder /var/cache/containers",
    ],
)
def test_what_other_tests_use_meanwhile_is_theirs(name: str) -> None:
    """Containers come and go, and what podman keeps for the next one stays."""
    assert is_of_others(name)


@pytest.mark.parametrize(
    "name",
    [
        f"mount {RUN}/layers tmpfs",
        f"mount {RUN}/node/containerd-state/io.containerd.runtime.v2.task/k8s.io/a/rootfs overlay",
        f"mount {RUN}/node/kubelet/pods/a/volumes/kubernetes.io~projected/token tmpfs",
        "mount /run/containerd/io.containerd.grpc.v1.cri/sandboxes/a/shm tmpfs",
        "mount /var/lib/containers tmpfs",
        "mount /var/lib/containerd/storage/a overlay",
        "mount /var tmpfs",
        "mount /tmp/tmpa1/tree tmpfs",
        "mount /run/netns ext4",
        "mount /run/netns/cni-96138c97-62d8-db6d-9541-9076db29d78b nsfs",
        "network namespace cni-96138c97-62d8-db6d-9541-9076db29d78b",
        "interface cni0",
        "interface lab0",
        "interface vethe60d1ba6",
        "parameter net.ipv4.ip_forward",
        "packet filter -A PREROUTING -d 10.96.0.1/32 -j DNAT --to-destination 10.99.0.1:6443",
        f"cgroup /sys/fs/cgroup/{CGROUP}",
        f"cgroup /sys/fs/cgroup/cpu/{CGROUP}",
        f"cgroup /sys/fs/cgroup/{CGROUP}/libpod_parent",
        "cgroup /sys/fs/cgroup/cpu/kubepods",
        "cgroup /sys/fs/cgroup/k8s.io",
        "folder /run/containerd",
        "folder /var/lib/cni",
        "folder /var/lib/containerd",
        "folder /var/lib/kubelet",
        "folder /var/log/containers",
    ],
)
def test_what_the_lab_could_leave_is_the_labs(name: str) -> None:
    """Nothing of it is overlooked, though it resembles what containers of others have."""
    assert not is_of_others(name)
    assert differences({}, {name: ""}) == ([] if "parameter" in name else [f"{name} appeared"])
    assert differences({name: "0"}, {name: "1"}) == [f"{name} was 0, is 1"]


# In namespaces of its own, with /run and /sys of its own; the argument is the folder of a test.
LEAVES = """
import pathlib, subprocess, sys
from lab.traces import differences, take
def run(*command): subprocess.run(command, check=True)
forwarding = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
forwarding.write_text("0")
run("mount", "-t", "sysfs", "sysfs", "/sys")
run("mount", "-t", "tmpfs", "tmpfs", "/run")
before = take()
run("mount", "-t", "tmpfs", "tmpfs", sys.argv[1])
run("mkdir", "/run/containerd", "/run/runc")
run("mount", "-t", "tmpfs", "tmpfs", "/run/containerd")
run("ip", "netns", "add", "left")
run("ip", "link", "add", "cni0", "type", "bridge")
run("iptables", "-A", "INPUT", "-i", "cni0", "-j", "DROP")
forwarding.write_text("1")
print("\\n".join(differences(before, take())))
"""


def test_what_is_left_is_found(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Something of each kind is made, beside what podman and other tests make meanwhile."""
    for name in ("ip", "iptables", "unshare"):
        assert tool(name)
    if os.geteuid() != 0:
        lacking("a network namespace takes root")
    done = subprocess.run(
        ["unshare", "--mount", "--net", sys.executable, "-c", LEAVES, tmp_path],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {line for line in done.stdout.splitlines() if ".forwarding was " not in line}
    assert found >= {
        "folder /run/containerd appeared",
        "folder /run/netns appeared",
        "interface cni0 appeared",
        "mount /run/containerd tmpfs appeared",
        "mount /run/netns tmpfs appeared",
        "mount /run/netns/left nsfs appeared",
        "network namespace left appeared",
        "packet filter -A INPUT -i cni0 -j DROP appeared",
        "parameter net.ipv4.ip_forward was 0, is 1",
    }
    assert not [line for line in found if str(tmp_path) in line or "/run/runc" in line]


def test_the_lab_uses_podman_only_before_its_cluster_is_up() -> None:
    """What podman has does not tell it from the other tests."""
    calls = {path.name for path in TESTS.rglob("*.py") if '"podman"' in path.read_text()}
    assert calls == {"images.py"}
    steps = (TESTS / "lab/__main__.py").read_text().partition("def all_of_it(")[2]
    assert steps.index("images.build()") < steps.index("machine.create(")


def test_no_end_to_end_test_has_a_limit_of_its_own() -> None:
    """A busy machine changes no result.

    Every wait is for a condition, and has the one limit of what hangs.
    """
    found = {path.name for path in TESTS.glob("*.py") if LIMIT.search(path.read_text())}
    assert found == set()

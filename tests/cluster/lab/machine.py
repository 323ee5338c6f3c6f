"""A machine within the machine, of which nothing can remain.

It has process ids, mounts and a network of its own. One process holds them; when it ends, the
kernel ends every other process of the lab and forgets its mounts and network. Over the machine's
own folders lies a layer in memory, and over the kernel's parameters lie files of the lab: whatever
a component writes there goes with the mounts. Only cgroups are the machine's; `destroy` removes
them.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from lab.processes import LabError, alive, run, start, until
from lab.settings import (
    API_PORT,
    API_SERVICE,
    CGROUP,
    LOGS,
    NEIGHBOUR,
    NODE,
    PIDS,
    POD_BRIDGE,
    POD_GATEWAY,
    ROOT,
    RUN,
    TEMPORARY,
)

_HOLDER = PIDS / "holder"
_UNSHARE = ["unshare", "--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc"]
_HOLD = [*_UNSHARE, sys.executable, "-m", "lab", "hold"]
_ELSEWHERE = "elsewhere"
_STRAYS = Path("/proc/net/xt_recent/strays")  # kept by the kernel, per network namespace
_HIERARCHY = Path("/sys/fs/cgroup")
_FRESH = ("/var/lib/cni", "/var/lib/kubelet", "/run/containerd", "/var/log/containers")
_COVERED = tuple(Path(name) for name in ("/etc", "/opt", "/run", "/var"))
# What the kubelet sets where the kernel has other values (kubernetes,
# pkg/kubelet/cm/container_manager_linux.go).
_PARAMETERS = (
    "kernel/keys/root_maxbytes", "kernel/keys/root_maxkeys", "kernel/panic", "kernel/panic_on_oops",
    "vm/overcommit_memory", "vm/panic_on_oom",
)  # fmt: skip
_ADDED_CONTROLLERS = RUN / "added-controllers"
_BEFORE_OTHERS = -10


def create(*, tied: bool) -> None:
    """Start the holder.

    `tied`, all of it ends with this process, however that ends, else when `destroy` is called. This
    process and those that it starts come before others where processors are scarce, if the machine
    allows that.
    """
    if os.geteuid() != 0:
        raise LabError("the cluster needs root: it makes namespaces and runs containers")
    if running():
        raise LabError(
            f"a cluster is up already (`make cluster-down` ends it); its holder is {holder()}"
        )
    for folder in (RUN, LOGS):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (TEMPORARY, LOGS / "pods"):
        folder.mkdir(parents=True)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _BEFORE_OTHERS)
    _make_cgroups()
    stdin = subprocess.PIPE if tied else subprocess.DEVNULL
    start(_HOLDER.name, [*_HOLD, "tied"] if tied else _HOLD, stdin=stdin)
    until("the lab's namespaces", lambda: _inner() is not None)
    if tied:
        # The holder cannot remove cgroups when it is killed with its parent; the janitor can.
        janitor = [sys.executable, "-m", "lab", "janitor", str(holder())]
        start("janitor", janitor, stdin=subprocess.PIPE)


def furnish() -> None:
    _cover()
    _keep_parameters()
    for folder in _FRESH:
        Path(folder).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", folder)
    Path("/var/log/pods").mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", LOGS / "pods", "/var/log/pods")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "lab0", "type", "bridge")
    for address in (NODE, NEIGHBOUR):
        run("ip", "address", "add", f"{address}/24", "dev", "lab0")
    run("ip", "link", "set", "lab0", "up")
    # The kubelet and the address translation want a default route; this one leads nowhere.
    nowhere = NODE.rpartition(".")[0] + ".254"
    run("ip", "route", "add", "default", "via", nowhere, "dev", "lab0", "onlink")
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    goal = ["-j", "DNAT", "--to-destination", f"{NODE}:{API_PORT}"]
    for chain in ("PREROUTING", "OUTPUT"):
        service = ["-d", f"{API_SERVICE}/32", "-p", "tcp", "--dport", "443"]
        run("iptables", "-t", "nat", "-A", chain, *service, *goal)
    _watch()


def covered(root: Path, folders: Sequence[Path] = _COVERED) -> list[Path]:
    """Return which folders get a layer.

    These are the given ones, but for those above `root`, whose other children get one each. The
    lab's own folder lies on the disk, wherever the clone is: logs are to stay, and images do not
    fit into memory.
    """
    found = list[Path]()
    waiting = [folder for folder in folders if folder.is_dir()]
    while waiting:
        folder = waiting.pop(0)
        if not root.is_relative_to(folder):
            found.append(folder)
        elif folder != root:
            waiting += sorted(
                each for each in folder.iterdir() if each.is_dir() and not each.is_symlink()
            )
    return found


def _cover() -> None:
    layers = RUN / "layers"
    layers.mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", layers)
    for number, folder in enumerate(covered(ROOT)):
        upper, work = layers / f"{number}/upper", layers / f"{number}/work"
        for each in (upper, work):
            each.mkdir(parents=True)
        options = f"lowerdir={folder},upperdir={upper},workdir={work}"
        run("mount", "-t", "overlay", "overlay", "-o", options, folder)


def _keep_parameters() -> None:
    """Of the real parameters only those of the network can be set: files replace the others."""
    copies = RUN / "parameters"
    copies.mkdir()
    for folder in ("/proc/sys", "/proc/sys/net"):
        run("mount", "--bind", folder, folder)
    for name in _PARAMETERS:
        parameter, copy = Path("/proc/sys", name), copies / name.replace("/", ".")
        if parameter.exists():
            copy.write_text(parameter.read_text())
            run("mount", "--bind", copy, parameter)
    run("mount", "-o", "remount,bind,ro", "/proc/sys")


def strays() -> list[str]:
    """Return where Pods have sent packets to, other than the API server and the neighbour."""
    return re.findall(r"^src=(\S+)", _STRAYS.read_text(), re.MULTILINE)


def forget_strays() -> None:
    _STRAYS.write_text("/")


def _watch() -> None:
    """Remember, and drop, what comes from the Pods' bridge and goes elsewhere.

    Packets to the API server and to the neighbour pass. A packet that comes after the end of its
    connection is not translated any more: it still has the Service's address. What begins no
    connection with the node is an answer to it: the kubelet asks a Pod whether it is ready.
    """
    run("iptables", "--new-chain", _ELSEWHERE)
    for chain in ("INPUT", "FORWARD"):
        run("iptables", "--append", chain, "--in-interface", POD_BRIDGE, "--jump", _ELSEWHERE)
    api_server = ["--destination", NODE, "--protocol", "tcp", "--dport", str(API_PORT)]
    service = ["--destination", API_SERVICE, "--protocol", "tcp", "--dport", "443"]
    answer = ["--destination", POD_GATEWAY, "--protocol", "tcp", "!", "--syn"]
    for known in (api_server, service, answer, ["--destination", NEIGHBOUR]):
        run("iptables", "--append", _ELSEWHERE, *known, "--jump", "RETURN")
    destination = ["--match", "recent", "--name", _STRAYS.name, "--set", "--rdest"]
    run("iptables", "--append", _ELSEWHERE, *destination, "--jump", "DROP")


def hold(*, tied: bool) -> None:
    """Be the first process of the namespaces; where it is `tied`, until standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    if tied:
        sys.stdin.read()
    while not tied:
        signal.pause()


def inside(*command: str | Path) -> Sequence[str | Path]:
    if (pid := _inner()) is None:
        raise LabError("no cluster is up")
    spaces = [f"--target={pid}", "--pid", "--net", "--mount"]
    return ["nsenter", *spaces, f"--wdns={Path.cwd()}", *command]


def destroy() -> None:
    """End the holder, and with it everything inside. Logs and what was built stay."""
    if (inner := _inner()) is not None:
        os.kill(holder(), signal.SIGKILL)
        until("every process of the lab ended", lambda: not alive(inner))
    for tree in _cgroups():
        for folder in sorted(tree.glob("**/"), reverse=True):
            until(f"{folder} is empty", partial(_removed, folder))
    _return_controllers()
    shutil.rmtree(RUN, ignore_errors=True)


def clean_up_after(pid: int) -> None:
    """Wait until the process that started this one has ended, however it did."""
    sys.stdin.read()
    if _HOLDER.exists() and holder() == pid:
        destroy()


def running() -> bool:
    """Say whether the holder runs: its id may have been given to another process since."""
    command = Path(f"/proc/{holder()}/cmdline") if _HOLDER.exists() else None
    expected = [os.fsencode(word) for word in _HOLD]
    return (
        command is not None
        and command.exists()
        and command.read_bytes().split(b"\0")[: len(expected)] == expected
    )


def holder() -> int:
    """Return the process id of the holder's parent, which takes the holder with it."""
    return int(_HOLDER.read_text())


def _inner() -> int | None:
    """Return the holder's id, seen from outside."""
    children = Path(f"/proc/{holder()}/task/{holder()}/children") if running() else None
    pids = children.read_text().split() if children and children.exists() else []
    return int(pids[0]) if pids else None


def _cgroups() -> list[Path]:
    """Return the lab's part of the cgroup tree: of the one hierarchy, or of each controller's."""
    unified = Path(_HIERARCHY, "cgroup.controllers").exists()
    several = [path for path in _HIERARCHY.iterdir() if not path.is_symlink()]
    hierarchies = [_HIERARCHY] if unified else several
    return [hierarchy / CGROUP for hierarchy in hierarchies if hierarchy.is_dir()]


def _make_cgroups() -> None:
    for tree in _cgroups():
        controllers = tree.with_name("cgroup.controllers")
        if controllers.exists():
            delegated = tree.with_name("cgroup.subtree_control")
            there, given = (set(path.read_text().split()) for path in (controllers, delegated))
            added = sorted(there - given)
            _ADDED_CONTROLLERS.write_text(" ".join(added))
            delegated.write_text(" ".join(f"+{name}" for name in added))
        tree.mkdir(exist_ok=True)


def _return_controllers() -> None:
    """Only those that the lab had the root give to cgroups below it are taken back."""
    names = _ADDED_CONTROLLERS.read_text().split() if _ADDED_CONTROLLERS.exists() else []
    for tree in _cgroups():
        delegated = tree.with_name("cgroup.subtree_control")
        if names and delegated.exists():
            delegated.write_text(" ".join(f"-{name}" for name in names))


def _removed(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()

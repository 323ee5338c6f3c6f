"""A machine within the machine: process ids, mounts and network of their own, so that nothing of it can remain.

One process holds them; when it ends, the kernel ends every other process of the lab and forgets its mounts and network.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.places import API_PORT, API_SERVICE, CACHE, LOGS, NODE, RUN
from lab.processes import LabError, alive, run, until

_HOLDER = CACHE / "holder.pid"
_FRESH = ("/var/lib/cni", "/var/lib/kubelet", "/run/containerd", "/var/log/containers")


def create() -> None:
    """Start the holder, and give it a network with no way out and fresh folders of its own."""
    if os.geteuid() != 0:
        raise LabError("the cluster needs root: it makes namespaces and runs containers")
    if running():
        raise LabError(f"a cluster is up already (`make cluster-down` ends it); its holder is {holder()}")
    shutil.rmtree(RUN, ignore_errors=True)
    shutil.rmtree(LOGS, ignore_errors=True)
    for folder in (RUN, LOGS / "pods"):
        folder.mkdir(parents=True)
    unshare = ["unshare", "--pid", "--net", "--mount", "--fork", "--kill-child", "--mount-proc"]
    process = subprocess.Popen([*unshare, sys.executable, "-m", "lab", "hold"], start_new_session=True)
    _HOLDER.write_text(str(process.pid))
    until("the lab's namespaces", lambda: _inner() is not None, 10)


def furnish() -> None:
    """Lay network and folders; to be called inside."""
    for folder in _FRESH:
        Path(folder).mkdir(parents=True, exist_ok=True)
        run("mount", "-t", "tmpfs", "tmpfs", folder)
    Path("/var/log/pods").mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", LOGS / "pods", "/var/log/pods")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "lab0", "type", "bridge")
    run("ip", "address", "add", f"{NODE}/24", "dev", "lab0")
    run("ip", "link", "set", "lab0", "up")
    # The kubelet and the address translation want a default route; this one leads nowhere.
    run("ip", "route", "add", "default", "via", NODE.rpartition(".")[0] + ".254", "dev", "lab0", "onlink")
    run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    goal = ["-j", "DNAT", "--to-destination", f"{NODE}:{API_PORT}"]
    for chain in ("PREROUTING", "OUTPUT"):
        service = ["-d", f"{API_SERVICE}/32", "-p", "tcp", "--dport", "443"]
        run("iptables", "-t", "nat", "-A", chain, *service, *goal)


def hold() -> None:
    """Be the first process of the namespaces: reap, and wait for the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while True:
        signal.pause()


def inside(*command: str | Path) -> Sequence[str | Path]:
    """Return the command that runs `command` inside."""
    if (pid := _inner()) is None:
        raise LabError("no cluster is up")
    return ["nsenter", f"--target={pid}", "--pid", "--net", "--mount", f"--wdns={Path.cwd()}", *command]


def destroy() -> None:
    """End the holder, and with it everything inside; remove what it left in the cgroup tree."""
    if not running():
        return
    pid = holder()
    os.kill(pid, signal.SIGKILL)
    until("the lab ended", lambda: not alive(pid), 30)
    _HOLDER.unlink()
    for tree in sorted(Path("/sys/fs/cgroup").glob("**/kubepods*/**"), reverse=True):
        if tree.is_dir():
            _remove(tree)


def running() -> bool:
    """Say whether the holder runs."""
    return _HOLDER.exists() and alive(holder())


def holder() -> int:
    """Return the process id of the holder's parent, which takes the holder with it."""
    return int(_HOLDER.read_text())


def _inner() -> int | None:
    """Return the holder's id, seen from outside."""
    children = Path(f"/proc/{holder()}/task/{holder()}/children") if running() else None
    pids = children.read_text().split() if children and children.exists() else []
    return int(pids[0]) if pids else None


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        print(f"lab: {folder} stays: {error}")

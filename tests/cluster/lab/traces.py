"""What a run could change of the machine: taken before it and after it, and compared.

Compared are the kernel's parameters, mounts, network interfaces and namespaces, packet filter,
cgroups, and folders: those two levels deep where system programs keep their own, and those that the
lab's programs would make in a person's home. Not compared is what other programs change all the
time: contents of files, /tmp, the rest of the home, cgroups within other programs' own, and
parameters that count.

Other tests may run meanwhile. What has a name that only podman gives, or lies in a folder that
pytest made for one of them, is theirs: the lab uses podman to make images before the cluster is up,
and its own pytest keeps to a folder of its own. Networks have no such names: a container with one
changes the kernel's parameters and the packet filter for all, so no test starts such a container.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from lab.settings import CGROUP

# Parameters that are counters, or that the kernel itself adjusts.
_COUNTERS = re.compile(
    r"fs\.(dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota\..*)"
    r"|kernel\.(ns_last_pid|pty\.nr|random\..*|tainted)|kernel\.perf_event_max_sample_rate"
    r"|net\..*conntrack_count|net\.ipv4\.route\.flush|vm\.stat_refresh"
)
_SYSTEM = (
    "/etc",
    "/opt",
    "/run",
    "/srv",
    "/usr/local",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
)
_PERSONAL = (
    ".cache/go-build",
    ".cache/helm",
    ".config/go",
    ".config/helm",
    ".kube",
    ".local/share/helm",
    "go",
)
# Below `/tmp/pytest-of-PERSON` lie the folders of tests; /sys/fs/cgroup has a folder for each
# controller first, or is one tree.
_OTHERS = re.compile(
    r"mount (/var/lib/containers/storage|/run/containers/storage|/tmp/pytest-of-[\w.-]+)/.*"
    r"|cgroup /sys/fs/cgroup/([a-z_,]+/)?(libpod_parent(/.*)?|buildah-buildah[0-9]+)"
    r"|folder /run/(containers|crun|libpod|runc)|folder /var/(cache|lib)/containers"
)
Facts = Mapping[str, str]


def take() -> Facts:
    """Return what there is: names of things, with their values where they have one."""
    return {name: value for name, value in _all().items() if not is_of_others(name)}


def is_of_others(name: str) -> bool:
    """Say whether a thing is podman's, or of a test that runs beside the lab."""
    return _OTHERS.fullmatch(name) is not None


def _all() -> Facts:
    facts = dict(_parameters())
    facts |= dict.fromkeys(
        _lines("mount", ["findmnt", "--raw", "--noheadings", "--output", "TARGET,FSTYPE"]), ""
    )
    facts |= dict.fromkeys(_lines("network namespace", ["ip", "netns", "list"]), "")
    facts |= dict.fromkeys(_lines("packet filter", ["iptables-save"]), "")
    facts |= dict.fromkeys(
        (f"interface {path.name}" for path in Path("/sys/class/net").iterdir()), ""
    )
    facts |= dict.fromkeys((f"cgroup {path}" for path in _cgroups()), "")
    facts |= dict.fromkeys((f"folder {path}" for path in _folders()), "")
    return facts


def differences(before: Facts, after: Facts) -> list[str]:
    """Say what appeared, what is gone, and what has another value."""
    appeared = [
        f"{name} appeared"
        for name in sorted(after.keys() - before.keys())
        if not _is_parameter(name)
    ]
    gone = [f"{name} is gone" for name in sorted(before.keys() - after.keys())]
    both = sorted(before.keys() & after.keys())
    changed = [
        f"{name} was {before[name]}, is {after[name]}"
        for name in both
        if before[name] != after[name]
    ]
    return [*appeared, *gone, *changed]


def _is_parameter(name: str) -> bool:
    # A kernel module that is loaded on demand brings parameters of its own, which change nothing.
    return name.startswith("parameter ")


def _parameters() -> Iterator[tuple[str, str]]:
    root = Path("/proc/sys")
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            dotted = str(path.relative_to(root)).replace("/", ".")
            if _COUNTERS.fullmatch(dotted):
                continue
            with suppress(OSError, UnicodeDecodeError):  # some can only be written
                yield f"parameter {dotted}", path.read_text().strip()


def _lines(what: str, command: list[str]) -> Iterator[str]:
    with suppress(FileNotFoundError):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if not line.startswith(
                ("#", ":")
            ):  # iptables-save: comments, and chains with their counters
                yield f"{what} {line}"


def _cgroups() -> Iterator[Path]:
    """Yield the cgroups of the first two levels, but for those of the labs of other clones."""
    root = Path("/sys/fs/cgroup")
    for pattern in ("*/", "*/*/"):
        for folder in root.glob(pattern):
            if not folder.name.startswith("lab-") or folder.name == CGROUP:
                yield folder


def _folders() -> Iterator[Path]:
    home = Path.home()
    yield from (home / name for name in _PERSONAL if (home / name).is_dir())
    for parent in map(Path, _SYSTEM):
        with suppress(OSError):
            yield from (
                path for path in parent.iterdir() if path.is_dir() and not path.is_symlink()
            )

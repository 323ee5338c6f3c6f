"""Landlock: a thread gives up every file but those that it names, for good.

So does all that it starts. The network and signals are for `seccomp` to refuse. The numbers are
those of include/uapi/linux/landlock.h; what an older kernel does not know is left out
(docs.kernel.org/userspace-api/landlock.html, "Compatibility").
"""

import ctypes
import os
from collections.abc import Iterable

from krm_windows.system.sandbox.kernel import syscall

# The same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
# LANDLOCK_CREATE_RULESET_VERSION: asks for the version and makes nothing.
_QUERY_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_TRUNCATE = 1 << 14
# How many rights to files there are, by the version of the interface: 2 brought REFER, 3 TRUNCATE,
# 5 IOCTL_DEV.
_RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}

RUN = _EXECUTE | _READ_FILE
"""To a file: start it."""
READ = _READ_FILE
"""To a file: read it."""
WRITE = _WRITE_FILE
"""To a file: write into it."""
READ_BELOW = _READ_FILE | _READ_DIR
"""To a directory: read and list all that is in it."""
CHANGE_BELOW = (
    READ_BELOW | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _TRUNCATE
)
"""To a directory: also make, write and remove plain files and directories in it."""


class _PathBeneath(ctypes.Structure):
    # `__attribute__((packed))` in the header: 12 bytes, and not 16.
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Return the version of the kernel's interface.

    Raises OSError where there is none, or it is turned off.
    """
    return syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION))


def restrict(allowed: Iterable[tuple[str, int]], known: int) -> None:
    """Leave this thread the rights to those paths, and no other.

    The version of the interface is `known`. Whoever calls it has set PR_SET_NO_NEW_PRIVS. Raises
    OSError where the kernel refuses, and where a path is gone.
    """
    # A newer kernel may know more rights than are known here; those are left as they are.
    rights = (1 << _RIGHTS_BY_VERSION.get(known, _RIGHTS_BY_VERSION[5])) - 1
    # The structure of newer kernels is longer; this is its beginning, as all of them know it.
    wanted = ctypes.c_uint64(rights)
    ruleset = syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(8), ctypes.c_uint32(0))
    for path, access in allowed:
        # O_PATH names a file without opening it, so no right to read is needed (open(2)).
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        # A right that this kernel does not know would make the whole rule fail (EINVAL).
        rule = ctypes.byref(_PathBeneath(access & rights, parent))
        kind, flags = ctypes.c_int(_RULE_PATH_BENEATH), ctypes.c_uint32(0)
        syscall(_ADD_RULE, ctypes.c_int(ruleset), kind, rule, flags)
        os.close(parent)
    syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)

"""seccomp: a filter in the kernel that lets a process make some system calls only.

The filter is a program of the classic BPF (linux/filter.h) over the number and the arguments of a
call (docs.kernel.org/userspace-api/seccomp_filter.html). It is inherited, and nothing takes it
back.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from krm_windows.system.sandbox.kernel import syscall

_SET_MODE_FILTER = 1
_TABLE = Path(__file__).with_name("calls.txt")

# Instructions: load a word of the call, and the accumulator with a constant, compare it, end.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
# Offsets in struct seccomp_data: the number of the call, and AUDIT_ARCH of the machine.
_NUMBER, _ARCHITECTURE = 0, 4
# SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO (linux/seccomp.h).
_ALLOW, _KILL_PROCESS, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000

# A thread; or a process that shares the memory of its parent, which stands still until it is
# another program (vfork): what there is to be started is for Landlock to say.
_THREAD, _VM, _VM_AND_VFORK = 0x00010000, 0x00000100, 0x00004100
_EVERY_BIT = 0xFFFFFFFF
# Of calls that are allowed with some arguments: which one, its values, and the bits that count.
_ARGUMENTS: dict[str, tuple[int, Sequence[int], int]] = {
    "clone": (
        0,
        (_THREAD, _VM_AND_VFORK, _THREAD | _VM_AND_VFORK, _THREAD | _VM),
        _THREAD | _VM_AND_VFORK,
    ),
    # SIGURG, with which Go's scheduler interrupts a thread; whoever does not expect it ignores it.
    "tgkill": (2, (23,), _EVERY_BIT),
    # Duplicate, flags, locks: not F_SETOWN and what follows it, which have signals sent to others.
    "fcntl": (1, (0, 1, 2, 3, 4, 5, 6, 7, 1030), _EVERY_BIT),
}
# The C library and Go fall back on an older call where the kernel does not know a newer one.
_NEWER_SINCE = 424


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Architecture(NamedTuple):
    """What the kernel calls an architecture (linux/audit.h), and its numbers of system calls.

    `seccomp` is that of the call which sets a filter; `column` where `calls.txt` has the others.
    """

    audit: int
    seccomp: int
    column: int

    def calls(self) -> dict[str, int]:
        """Return the numbers of what a confined program may call, by name."""
        rows = [line.split() for line in _TABLE.read_text().splitlines() if line]
        return {
            row[0]: int(row[self.column])
            for row in rows
            if row[0] != "#" and row[self.column] != "-"
        }


# AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64: a call of another ABI has other numbers.
ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 317, 1),
    "aarch64": Architecture(0xC00000B7, 277, 2),
}
"""By the name of the machine that uname(2) gives."""


def architecture() -> Architecture:
    """Return what is known of this machine; raises OSError where that is nothing."""
    system = os.uname()
    if system.sysname != "Linux" or system.machine not in ARCHITECTURES:
        # It would have other numbers, and a filter of wrong ones allows anything.
        known = f"the system calls of {system.sysname} on {system.machine} are unknown"
        raise OSError(errno.ENOSYS, known)
    return ARCHITECTURES[system.machine]


# Made anew for each build it takes 2% of one.
@cache
def program(known: Architecture) -> bytes:
    """Return the instructions of the filter."""
    return b"".join(_filter(known.audit, known.calls()))


def restrict(known: Architecture, code: bytes) -> None:
    """Refuse this thread, and all that it starts, every other system call.

    Whoever calls it has set PR_SET_NO_NEW_PRIVS.
    """
    held = ctypes.create_string_buffer(code, len(code))
    # An instruction has eight bytes (struct sock_filter).
    found = _Program(len(code) // 8, ctypes.addressof(held))
    syscall(known.seccomp, ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(found))


def _filter(audit: int, calls: dict[str, int]) -> Iterator[bytes]:
    # First the architecture: a 32-bit call on x86_64 means other things by the same numbers.
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, audit, if_true=1)
    yield _instruction(_RETURN, _KILL_PROCESS)
    yield _instruction(_LOAD, _NUMBER)
    for name, number in sorted(calls.items()):
        if name not in _ARGUMENTS:
            yield _instruction(_EQUAL, number, if_false=1)
            yield _instruction(_RETURN, _ALLOW)
    for name, (argument, values, mask) in _ARGUMENTS.items():
        yield from _only_with(calls[name], argument, values, mask)
    # `clone3` is 435: the C library then falls back on `clone`, whose flags a filter can see.
    yield _instruction(_AT_LEAST, _NEWER_SINCE, if_false=1)
    yield _refuse(errno.ENOSYS)
    yield _refuse(errno.EPERM)


def _only_with(number: int, argument: int, values: Sequence[int], mask: int) -> Iterator[bytes]:
    """Allow a call where the lower half of an argument is one of some values under a mask."""
    # How far a call that is not meant jumps: over all of the instructions below.
    length = 3 + 2 * len(values)
    yield _instruction(_EQUAL, number, if_false=length)
    # Where an argument begins in struct seccomp_data, on a little-endian machine.
    yield _instruction(_LOAD, 16 + 8 * argument)
    yield _instruction(_AND, mask)
    for value in values:
        yield _instruction(_EQUAL, value, if_false=1)
        yield _instruction(_RETURN, _ALLOW)
    yield _refuse(errno.EPERM)


def _refuse(error: int) -> bytes:
    return _instruction(_RETURN, _REFUSE | error)


def _instruction(
    code: int,
    operand: int,
    *,
    if_true: int = 0,
    if_false: int = 0,
) -> bytes:
    """Return an instruction; the jumps say how many are left out then."""
    # struct sock_filter: a code, two jumps of a byte each, and an operand.
    return struct.pack("=HBBI", code, if_true, if_false, operand)

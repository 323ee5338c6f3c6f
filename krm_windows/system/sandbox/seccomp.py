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

from krm_windows.system.sandbox.calls import ARCHITECTURES, Architecture
from krm_windows.system.sandbox.kernel import syscall

# seccomp(2) has a number of its own on each architecture.
_SYSCALL = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER = 1

# Instructions: load a word of the call, and the accumulator with a constant, compare it, end.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
# Offsets in struct seccomp_data: the number of the call, and AUDIT_ARCH of the machine.
_NUMBER, _ARCHITECTURE = 0, 4
# SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO (linux/seccomp.h).
_ALLOW, _KILL_PROCESS, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000

# A thread; or a process that shares the memory of its parent, which stands still until it is
# another program (vfork): what there is to be started is for Landlock to say.
_CLONE_THREAD, _CLONE_VM, _CLONE_VFORK = 0x00010000, 0x00000100, 0x00004000
_CLONE_VM_AND_VFORK = _CLONE_VM | _CLONE_VFORK
_SIGURG = 23
# Duplicate, flags, locks: not F_SETOWN and what follows it, which have signals sent to others.
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 1030)
# The C library and Go fall back on an older call where the kernel does not know a newer one.
_NEWER_SINCE = 424


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def architecture() -> Architecture:
    """Return what is known of this machine; raises OSError where that is nothing."""
    system = os.uname()
    if system.sysname != "Linux" or system.machine not in ARCHITECTURES:
        # It would have other numbers, and a filter of wrong ones allows anything.
        known = f"the system calls of {system.sysname} on {system.machine} are unknown"
        raise OSError(errno.ENOSYS, known)
    return ARCHITECTURES[system.machine]


def restrict(known: Architecture) -> None:
    """Refuse this process, and all that it starts, every other system call.

    Whoever calls it has set PR_SET_NO_NEW_PRIVS.
    """
    code = b"".join(_filter(known))
    held = ctypes.create_string_buffer(code, len(code))
    # An instruction has eight bytes (struct sock_filter).
    program = _Program(len(code) // 8, ctypes.addressof(held))
    number = _SYSCALL[os.uname().machine]
    syscall(number, ctypes.c_uint(_SET_MODE_FILTER), ctypes.c_uint(0), ctypes.byref(program))


def _filter(known: Architecture) -> Iterator[bytes]:
    # First the architecture: a 32-bit call on x86_64 means other things by the same numbers.
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield _instruction(_EQUAL, known.audit, if_true=1)
    yield _instruction(_RETURN, _KILL_PROCESS)
    yield _instruction(_LOAD, _NUMBER)
    for number in sorted(known.plain):
        yield _instruction(_EQUAL, number, if_false=1)
        yield _instruction(_RETURN, _ALLOW)
    flags = _CLONE_THREAD | _CLONE_VM_AND_VFORK
    starts = (_CLONE_THREAD, _CLONE_VM_AND_VFORK, flags, _CLONE_THREAD | _CLONE_VM)
    yield from _only_with(known.clone, argument=0, values=starts, mask=flags)
    # The signal with which Go's scheduler interrupts a thread; whoever does not expect it ignores
    # it.
    yield from _only_with(known.tgkill, argument=2, values=(_SIGURG,))
    yield from _only_with(known.fcntl, argument=1, values=_FCNTL)
    # `clone3` is 435: the C library then falls back on `clone`, whose flags a filter can see.
    yield _instruction(_AT_LEAST, _NEWER_SINCE, if_false=1)
    yield _refuse(errno.ENOSYS)
    yield _refuse(errno.EPERM)


def _only_with(
    number: int,
    argument: int,
    values: Sequence[int],
    mask: int = 0xFFFFFFFF,
) -> Iterator[bytes]:
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

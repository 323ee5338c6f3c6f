"""System calls that Python has no function for, by ctypes."""

import ctypes
import os

# None is this process itself, in which the C library is loaded already.
_LIBC = ctypes.CDLL(None, use_errno=True)

PR_SET_NO_NEW_PRIVS = 38


def syscall(number: int, *arguments: object) -> int:
    """Call the kernel; raises OSError where it refuses."""
    # As long as a register, or 64 bits would be cut to C's `int`.
    _LIBC.syscall.restype = ctypes.c_long
    return _checked(_LIBC.syscall(ctypes.c_long(number), *arguments))


def prctl(option: int, value: int) -> None:
    """Change a property of this thread; raises OSError where the kernel refuses."""
    # prctl(2) wants the arguments that an option does not use to be zero.
    zero = ctypes.c_ulong(0)
    _checked(_LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result

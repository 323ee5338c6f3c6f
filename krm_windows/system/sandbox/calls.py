"""The system calls that a confined program may make, by number and architecture.

What a Go program, or one on the C library, needs to read files, to compute and to write: no
sockets, no mounts, no rights, no keys, nothing that looks into another process or loads code into
the kernel. Numbers are those of asm/unistd_64.h and asm-generic/unistd.h.
"""

from typing import NamedTuple


class Architecture(NamedTuple):
    """What the kernel calls an architecture (linux/audit.h), and its numbers of what is allowed.

    Those after `plain` are allowed with some arguments only.
    """

    audit: int
    plain: frozenset[int]
    clone: int
    tgkill: int
    fcntl: int


# fmt: off
_CALLS = {  # name: (x86_64, aarch64)
    # files
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "lseek": (8, 62),
    "openat": (257, 56),
    "newfstatat": (262, 79),
    "fstat": (5, 80),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "readlinkat": (267, 78),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "mkdirat": (258, 34),
    "unlinkat": (263, 35),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "flock": (73, 32),
    "dup": (32, 23),
    "dup3": (292, 24),
    "close_range": (436, 436),
    "pipe2": (293, 59),
    # waiting
    "eventfd2": (290, 19),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_pwait": (281, 22),
    "ppoll": (271, 73),
    "pselect6": (270, 72),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "timer_create": (222, 107),
    "timer_settime": (223, 110),
    "timer_gettime": (224, 108),
    "timer_delete": (226, 111),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    "restart_syscall": (219, 128),
    # memory
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "mincore": (27, 232),
    "membarrier": (324, 283),
    # threads and signals
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "gettid": (186, 178),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "execve": (59, 221),
    "wait4": (61, 260),
    # what a program may know of itself
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getpgid": (121, 155),
    "getsid": (124, 156),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getgroups": (115, 158),
    "getrlimit": (97, 163),
    "getrandom": (318, 278),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
}
_OLD_CALLS = {  # those that newer architectures have no more
    "open": 2,
    "stat": 4,
    "lstat": 6,
    "access": 21,
    "readlink": 89,
    "getdents": 78,
    "mkdir": 83,
    "rmdir": 84,
    "unlink": 87,
    "rename": 82,
    "dup2": 33,
    "pipe": 22,
    "vfork": 58,
    "poll": 7,
    "select": 23,
    "epoll_create": 213,
    "epoll_wait": 232,
    "time": 201,
    "getpgrp": 111,
    "arch_prctl": 158,
}
# fmt: on

ARCHITECTURES = {
    "x86_64": Architecture(
        # AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64: a call of another ABI has other numbers.
        audit=0xC000003E,
        plain=frozenset({x86 for x86, _ in _CALLS.values()} | set(_OLD_CALLS.values())),
        clone=56,
        tgkill=234,
        fcntl=72,
    ),
    "aarch64": Architecture(
        audit=0xC00000B7,
        plain=frozenset(arm for _, arm in _CALLS.values()),
        clone=220,
        tgkill=131,
        fcntl=25,
    ),
}
"""By the name of the machine that uname(2) gives."""


def names(machine: str) -> set[str]:
    """Return the names of what is allowed there with any arguments."""
    return set(_CALLS) | (set(_OLD_CALLS) if machine == "x86_64" else set())

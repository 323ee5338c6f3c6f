"""The program that starts others confined: `python -I -S` runs it once for each sandbox.

It holds nothing of its parent: neither environment nor memory. Of its two processes one does
nothing but end all of them when the parent ends, however that ends. The other gives up, once and
for good, every file but those it was named, every system call but those of `calls`, and the
network; then it starts programs, which inherit all of that. If any of it fails it says so and
starts nothing.

To start a program costs no more than anywhere else, as nothing has to be done between `fork` and
`exec`.
"""

import _thread
import os
import resource

from krm_windows.system.sandbox import landlock, seccomp
from krm_windows.system.sandbox.kernel import PR_SET_NO_NEW_PRIVS, prctl, unshare
from krm_windows.system.sandbox.wire import Groups, read_frame, write_frame

CONFINED, LIMITED = "confined", "limited"
"""What is wanted: everything, or nothing is started; or the limits alone."""
READY = "ready"
OUTPUT, COMPLAINTS = "output", "complaints"
"""The endings of the files to which a program prints, by the number of its request."""

# As in linux/sched.h; `os` has these names only from Python 3.12 on.
_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000
_SIGKILL = 9  # the module `signal` costs an import
# The usual soft limit (getrlimit(2), RLIMIT_NOFILE); a build has far fewer files open.
_DESCRIPTORS = 1024
_REQUESTS, _OUTCOMES = 0, 1
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_PRIVATE = 0o600


def main(life: int) -> None:
    """Serve requests until there are no more.

    `life` is a pipe that the parent holds open while it lives.
    """
    starter = os.fork()
    if starter != 0:
        _end_with_the_parent(life, starter)
    os.close(life)
    setup = read_frame(_REQUESTS)
    if setup is None:
        return
    (mode, prints), variables, limits, *paths = setup
    try:
        _limit(*map(int, limits))
        if mode == CONFINED:
            _leave_the_network()
            _confine(prints, paths)
    except OSError as error:
        write_frame(_OUTCOMES, [[f"{error.strerror}"]])
        return
    write_frame(_OUTCOMES, [[READY]])
    environment = dict(zip(variables[::2], variables[1::2], strict=True))
    while request := read_frame(_REQUESTS):
        # A thread waits for each program, as `waitpid` blocks.
        _thread.start_new_thread(_run, (request, prints, environment))


def _end_with_the_parent(life: int, starter: int) -> None:
    """Wait for the end of a pipe.

    Then kill the process that starts programs, and those that still run.
    """
    os.close(_REQUESTS)
    os.close(_OUTCOMES)
    # Nothing is ever written: this returns at the end of the pipe.
    os.read(life, 1)
    os.kill(starter, _SIGKILL)
    os.waitpid(starter, 0)  # so that what it took is counted
    # The whole group of this session, this process among it.
    os.killpg(0, _SIGKILL)


def _leave_the_network() -> None:
    """Take a network namespace without any interface, where the kernel permits it.

    The filter of system calls refuses sockets anyway, so this is a second wall and no condition.
    """
    # A network namespace takes a right that root has, and others in a user namespace of their own.
    flags = _CLONE_NEWNET | _CLONE_NEWIPC
    if os.geteuid() != 0:
        flags |= _CLONE_NEWUSER
    try:
        unshare(flags)
    except OSError:
        return


def _limit(seconds: int, memory: int, size: int) -> None:
    """Bound what each program may use; none can raise that again, as the filter refuses it."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        # What it allocates, and not what it only reserves, of which Go takes much.
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: size,
        resource.RLIMIT_NOFILE: _DESCRIPTORS,
    }
    for which, value in limits.items():
        _, most = resource.getrlimit(which)
        # No limit may be raised above that of whoever started us (getrlimit(2)).
        bounded = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(which, (bounded, bounded))


def _confine(prints: str, paths: Groups) -> None:
    """Give up all but some paths; raises OSError where the kernel cannot do that."""
    # Both are asked first: where one is missing, nothing is given up by halves.
    known = landlock.version()
    architecture = seccomp.architecture()
    runs, reads, reads_below, changes_below = paths
    allowed = [(prints, landlock.CREATE_BELOW), (os.devnull, landlock.READ)]
    allowed += [(path, landlock.RUN) for path in runs]
    allowed += [(path, landlock.READ) for path in reads]
    allowed += [(path, landlock.READ_BELOW) for path in reads_below]
    allowed += [(path, landlock.CHANGE_BELOW) for path in changes_below]
    # Without it the kernel takes no filter from an ordinary user, as set-user-ID programs would run
    # under it (seccomp(2)).
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict(allowed, known)
    # Last, as the filter allows no call of Landlock.
    seccomp.restrict(architecture)


def _run(
    request: Groups,
    prints: str,
    environment: dict[str, str],
) -> None:
    """Start the program of a request, and say how it ended.

    Its exit code, or the negative number of a signal.
    """
    (number,), command = request
    place = f"{prints}/{number}"
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, f"{place}.{OUTPUT}", _NEW_FILE, _PRIVATE),
        (os.POSIX_SPAWN_OPEN, 2, f"{place}.{COMPLAINTS}", _NEW_FILE, _PRIVATE),
    ]
    try:
        # posix_spawn and not fork: there are threads, and no Python runs in the child.
        process = os.posix_spawn(command[0], command, environment, file_actions=files)
    except OSError as error:
        write_frame(_OUTCOMES, [[number, "", f"{error.strerror}"]])
        return
    _, status = os.waitpid(process, 0)
    write_frame(_OUTCOMES, [[number, str(os.waitstatus_to_exitcode(status)), ""]])

"""Programs that are started: on absolute paths, with a given environment, and bounded.

No program inherits standard input, a terminal or a descriptor. One that takes too long, or prints
more than it may, is killed with all that it has started.
"""

import os
import resource
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from krm_windows.system.errors import WorkspaceError

# 64 KiB, as much as a pipe of Linux holds (pipe(7)).
_CHUNK = 65536
# Of what a program complains only the end is kept: there it says why it failed.
_COMPLAINT = 65536


class LimitError(WorkspaceError):
    """A program took too long, or printed too much."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may take: seconds, bytes of output, of memory, and of each file it writes.

    None is no limit.
    """

    seconds: float
    output: int
    memory: int | None = None
    file: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that has ended: exit code, output, and its last complaints.

    An exit code below zero is the signal.
    """

    code: int
    output: bytes
    complaint: str

    @property
    def last_line(self) -> str:
        """The last line on standard error, empty where there is none."""
        return self.complaint.strip().rpartition("\n")[2]


def find(name: str) -> str | None:
    """Return the absolute path of a program on PATH, None where there is none.

    A relative or empty entry of PATH means the directory one happens to be in, which may be a
    repository that is checked: such an entry is passed over.
    """
    # Not `shutil.which`, which takes relative entries of PATH.
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        place = Path(folder, name)
        # Not `Path.is_file`, which raises where a folder may not be searched, as one of
        # root's after `su`.
        is_file = os.path.isfile(place)  # noqa: PTH113
        if place.is_absolute() and is_file and os.access(place, os.X_OK):
            return str(place)
    return None


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    limits: Limits,
    stdin: bytes = b"",
    directory: str | None = None,
) -> Ended:
    """Run a program to its end; raises LimitError where it goes beyond a limit."""
    process = subprocess.Popen(  # noqa: S603 - an argument vector, no shell
        command,
        env=dict(environment),
        cwd=directory,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A group of its own, which is killed as a whole, and no terminal to ask at.
        start_new_session=True,
    )
    try:
        _confine(process.pid, limits)
        return _Talk(Path(command[0]).name, process, limits, stdin).ended()
    except BaseException:
        # The group has the number of its first process, which is not given to another before
        # `wait`.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        process.wait()


def _confine(process: int, limits: Limits) -> None:
    """Limit what a process that was just started may take, on systems that can (prlimit(2))."""
    if not hasattr(resource, "prlimit"):
        return
    with suppress(ProcessLookupError):  # it may have ended already
        # A core file would hold whatever was in memory.
        resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))
        if limits.memory is not None:
            # Address space, as data alone would leave out what is mapped.
            resource.prlimit(process, resource.RLIMIT_AS, (limits.memory, limits.memory))
        if limits.file is not None:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (limits.file, limits.file))


def _await_end(process: int, seconds: float) -> None:
    """Wait until a process has ended, or for so long, where the system can tell (pidfd_open(2)).

    `Popen.wait` with a limit sleeps between two looks, which costs a quick program most of its
    time.
    """
    if not hasattr(os, "pidfd_open"):
        return
    with suppress(OSError):
        descriptor = os.pidfd_open(process)
        try:
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            waiting.poll(seconds * 1000)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Pipe:
    """A pipe to or from a program.

    `move` takes its descriptor, and says whether there may be more to move.
    """

    stream: IO[bytes]
    events: int
    move: Callable[[int], bool]


class _Talk:
    """What goes to a program and comes from it, on three pipes at a time."""

    def __init__(
        self,
        name: str,
        process: subprocess.Popen[bytes],
        limits: Limits,
        stdin: bytes,
    ) -> None:
        self._process = process
        self._name = name
        self._limits = limits
        # Monotonic: setting the wall clock must neither lengthen nor shorten it.
        self._ends = time.monotonic() + limits.seconds
        self._rest = memoryview(stdin)
        self._output = bytearray()
        self._complaint = bytearray()

    def ended(self) -> Ended:
        """Talk until the program has closed its pipes and ended."""
        with selectors.DefaultSelector() as selector:
            for pipe in self._pipes():
                # Never blocked on one pipe while the program waits for another one to be emptied.
                os.set_blocking(pipe.stream.fileno(), False)
                selector.register(pipe.stream, pipe.events, pipe)
            # Without any pipe left, `select` would only wait for the limit to pass.
            while selector.get_map():
                for key, _ in selector.select(self._left()):
                    pipe = key.data
                    if not pipe.move(pipe.stream.fileno()):
                        selector.unregister(pipe.stream)
                        pipe.stream.close()
        try:
            # It may have closed its pipes and go on.
            _await_end(self._process.pid, self._left())
            code = self._process.wait(self._left())
        except subprocess.TimeoutExpired:
            raise self._late() from None
        return Ended(code, bytes(self._output), self._complaint.decode(errors="replace"))

    def _pipes(self) -> Iterator[_Pipe]:
        if self._process.stdin:
            yield _Pipe(self._process.stdin, selectors.EVENT_WRITE, self._write)
        if self._process.stdout:
            yield _Pipe(self._process.stdout, selectors.EVENT_READ, self._read)
        if self._process.stderr:
            yield _Pipe(self._process.stderr, selectors.EVENT_READ, self._listen)

    def _left(self) -> float:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> LimitError:
        return LimitError(f"{self._name} did not end within {self._limits.seconds:g} s")

    def _write(self, descriptor: int) -> bool:
        """Hand over more input; say whether there is more."""
        try:
            written = os.write(descriptor, self._rest[:_CHUNK])
        except BrokenPipeError:
            # It does not read any more; its exit code and its complaint will say why.
            return False
        self._rest = self._rest[written:]
        return bool(self._rest)

    def _read(self, descriptor: int) -> bool:
        """Take more output; say whether there may be more."""
        found = os.read(descriptor, _CHUNK)
        self._output += found
        if len(self._output) > self._limits.output:
            raise LimitError(f"{self._name} prints more than {self._limits.output} bytes")
        return bool(found)

    def _listen(self, descriptor: int) -> bool:
        """Take more complaints; say whether there may be more."""
        found = os.read(descriptor, _CHUNK)
        self._complaint += found
        # From the beginning of the buffer, so that the end stays.
        del self._complaint[:-_COMPLAINT]
        return bool(found)

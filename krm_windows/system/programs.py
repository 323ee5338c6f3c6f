"""Programs that are started: on absolute paths, with a given environment, and bounded.

No program inherits standard input, a terminal or a descriptor. One that takes too long, or prints
more than it may, is killed with all that it has started.
"""

import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """What a program may take, before it is killed; None is no limit.

    Seconds on the clock, bytes that it prints, bytes that it allocates, bytes of each file that it
    writes, and seconds of a processor.
    """

    seconds: float
    output: int
    memory: int | None = None
    file: int | None = None
    processor: int | None = None


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
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    limits: Limits,
    stdin: bytes = b"",
    confine: Callable[[], None] | None = None,
) -> Ended:
    """Run a program to its end; raises LimitError where it goes beyond a limit.

    `confine` gives up rights of the thread that starts it, and so those of the program.
    """

    def start(given: IO[bytes]) -> subprocess.Popen[bytes]:
        if confine is not None:
            confine()
        return subprocess.Popen(  # noqa: S603 - an argument vector, no shell
            command,
            env=dict(environment),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A group of its own, which is killed as a whole, and no terminal to ask at. What is
            # confined starts nothing, and may make no group.
            start_new_session=confine is None,
        )

    # In a thread of its own, which ends then: rights that it gives up are its own, and those of
    # what it starts.
    source = tempfile.TemporaryFile() if stdin else Path(os.devnull).open("rb")  # noqa: SIM115
    with ThreadPoolExecutor(1) as thread, source as given:
        if stdin:
            given.write(stdin)
            given.seek(0)
        process = thread.submit(start, given).result()
    with process:
        try:
            _limit(process.pid, limits)
            return _ended(Path(command[0]).name, process, limits)
        except BaseException:
            # Once it was waited for, its number may be that of another.
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    (os.killpg if confine is None else os.kill)(process.pid, signal.SIGKILL)
            raise


def _limit(process: int, limits: Limits) -> None:
    """Limit what a process that was just started may take, on systems that can (prlimit(2))."""
    if not hasattr(resource, "prlimit"):
        return
    wanted = {
        # A core file would hold whatever was in memory.
        resource.RLIMIT_CORE: 0,
        # What it allocates, and not what it only reserves, of which Go takes much.
        resource.RLIMIT_DATA: limits.memory,
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_CPU: limits.processor,
    }
    for which, value in wanted.items():
        # It may have ended already, or be limited further by whoever started us.
        if value is not None:
            with suppress(ProcessLookupError, PermissionError, ValueError):
                resource.prlimit(process, which, (value, value))


def _ended(name: str, process: subprocess.Popen[bytes], limits: Limits) -> Ended:
    """Take what a program prints, until it has ended."""
    # Monotonic: setting the wall clock must neither lengthen nor shorten it.
    ends = time.monotonic() + limits.seconds
    late = LimitError(f"{name} did not end within {limits.seconds:g} s")
    output, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        for stream, taken in ((process.stdout, output), (process.stderr, complaint)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, taken)
        # Without any pipe left, `select` would only wait for the limit to pass.
        while selector.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise late
            for key, _ in selector.select(left):
                found = os.read(key.fd, _CHUNK)
                key.data.extend(found)
                if not found:
                    selector.unregister(key.fileobj)
            if len(output) > limits.output:
                raise LimitError(f"{name} prints more than {limits.output} bytes")
            # The end stays, where it says why it failed.
            del complaint[:-_COMPLAINT]
    try:
        # It may have closed its pipes and go on.
        code = process.wait(max(ends - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        raise late from None
    # SIGXCPU comes at the soft limit, SIGKILL at the hard one (getrlimit(2)).
    if limits.processor is not None and -code in (signal.SIGXCPU, signal.SIGKILL):
        raise LimitError(f"{name} was killed: it used more than {limits.processor} s of CPU time")
    return Ended(code, bytes(output), complaint.decode(errors="replace"))

"""A sandbox: a few directories and programs, which run with nothing else in reach."""

import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Overdue
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path

import krm_windows
from krm_windows.system import temporary
from krm_windows.system.closeable import Closing
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.sandbox.launcher import COMPLAINTS, CONFINED, LIMITED, OUTPUT, READY
from krm_windows.system.sandbox.wire import Groups, read_frame, write_frame

_MIB = 1024 * 1024
# Far more than any reason for a failure has.
_MOST_COMPLAINTS = 64 * 1024
# As subprocess has it: a negative number is the signal that ended a process.
_SIGXCPU, _SIGXFSZ, _SIGKILL = -24, -25, -9
# What Go says when the kernel gives it no more.
_OUT_OF_MEMORY = (b"fatal error: runtime: out of memory", b"fatal error: runtime: cannot allocate")
# The standard library is there with -S; our own modules are found by this path alone.
_PROGRAM = (
    "import sys; sys.path.append({root!r}); from krm_windows.system.sandbox.launcher import main; "
    "main({life})"
)


class NotConfinedError(WorkspaceError):
    """The kernel does not confine a program here, so it was not started.

    The message says what is lacking.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may take before it is ended.

    Seconds of a processor and seconds on the clock, bytes that it allocates, bytes that it prints
    or writes to a file.
    """

    processor: int = 120
    clock: int = 300
    memory: int = 2048 * _MIB
    output: int = 256 * _MIB


@dataclass(frozen=True, slots=True)
class Access:
    """What programs may start and read, beside the sandbox's own folder.

    `reads_below` are whole directories.
    """

    runs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    reads_below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The exit code, what was printed, and the beginning of the complaints.

    A negative exit code is the signal that ended it.
    """

    code: int
    output: bytes
    complaints: bytes


@dataclass(eq=False)
class Sandbox(Closing):
    """Starts programs confined; any thread may ask it. Leave it as a context, or by `close`.

    They read what is below `copies`, and change what is below `scratch`, which are made here;
    and have `access` to little else. `environment` is all that they are given, with HOME and
    TMPDIR. Raises NotConfinedError where that cannot be had. Where it is not to be `confined`, only
    the limits hold.
    """

    access: Access
    environment: dict[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    confined: bool = True

    def __post_init__(self) -> None:
        """Make the directories, start the launcher, and wait until it is confined."""
        # Landlock wants it without links.
        self._folder = temporary.make("krm-windows-")
        self.copies, self.scratch, self._prints = (
            self._folder / name for name in ("copies", "scratch", "prints")
        )
        for folder in (self.copies, self.scratch, self._prints):
            folder.mkdir(mode=0o700)
        self._numbers = count()
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[list[str]]] = {}
        self._launcher: Launcher | None = None
        self._ended = False
        # Also where nobody closes it: at the end of Python (weakref.finalize).
        self._removal = weakref.finalize(self, temporary.remove, self._folder)
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def run(self, *command: str) -> Finished:
        """Run a program.

        Raises WorkspaceError where it went beyond a limit, or could not be started.
        """
        number = str(next(self._numbers))
        try:
            return self._finished(number, self._outcome(number, command))
        finally:
            # Output may be 256 MiB, and many builds run in one sandbox.
            for ending in (OUTPUT, COMPLAINTS):
                self._printed(number, ending).unlink(missing_ok=True)

    def close(self) -> None:
        """End all that runs in it, and remove its folder."""
        with self._lock:
            launcher, self._launcher = self._launcher, None
        if launcher is not None:
            launcher.close()
            # The reader ends when the launcher has; only then its pipe may be closed.
            if self._reader.is_alive():
                self._reader.join()
            launcher.release()
        self._removal()

    def _start(self) -> None:
        """Start the launcher, and wait until it has given up all that it will not need."""
        launcher = Launcher(self._folder)
        # One reader for all threads that wait, as answers come in any order.
        self._reader = threading.Thread(target=self._read, args=(launcher,), daemon=True)
        self._launcher = launcher
        with suppress(BrokenPipeError):  # it has ended: there will be no answer
            launcher.send(self._setup())
        answer = launcher.receive()
        self._reader.start()
        if answer != [[READY]]:
            raise NotConfinedError(_lacking(answer))

    def _setup(self) -> Groups:
        """Return what the launcher is sent first."""
        # HOME and TMPDIR first, so that a caller may choose others.
        environment = {"HOME": str(self.scratch), "TMPDIR": str(self.scratch), **self.environment}
        variables = list(chain.from_iterable(environment.items()))
        limits = [str(self.limits.processor), str(self.limits.memory), str(self.limits.output)]
        paths = [
            list(self.access.runs),
            list(self.access.reads),
            [str(self.copies), *self.access.reads_below],
            [str(self.scratch)],
        ]
        mode = CONFINED if self.confined else LIMITED
        return [[mode, str(self._prints)], variables, limits, *paths]

    def _outcome(
        self,
        number: str,
        command: tuple[str, ...],
    ) -> list[str]:
        """Have the launcher start a program, and wait for it."""
        future: Future[list[str]] = Future()
        with self._lock:
            launcher = self._launcher
            if launcher is None or self._ended:
                raise WorkspaceError("was not started: the process that starts it has ended")
            # Registered before it is asked: the answer may come at once.
            self._waiting[number] = future
            with suppress(BrokenPipeError):  # the reader answers whoever waits
                launcher.send([[number], list(command)])
        try:
            return future.result(timeout=self.limits.clock)
        except Overdue:
            # To wait takes no processor's time, of which alone the kernel keeps count: end all of
            # them.
            launcher.end()
            raise WorkspaceError(f"did not end within {self.limits.clock} s") from None

    def _finished(self, number: str, outcome: list[str]) -> Finished:
        _, code, refused = outcome
        if refused:
            raise WorkspaceError(f"could not be started: {refused}")
        output = self._printed(number, OUTPUT)
        # A program that ignores SIGXFSZ is known by the size of what it printed (getrlimit(2)).
        if int(code) == _SIGXFSZ or output.stat().st_size >= self.limits.output:
            raise WorkspaceError(f"printed more than {self.limits.output // _MIB} MiB")
        # SIGXCPU comes at the soft limit, SIGKILL at the hard one (getrlimit(2)).
        if int(code) in (_SIGXCPU, _SIGKILL):
            raise WorkspaceError(
                f"was killed: it used more than {self.limits.processor} s of CPU time"
            )
        with self._printed(number, COMPLAINTS).open("rb") as file:
            complaints = file.read(_MOST_COMPLAINTS)
        if any(said in complaints for said in _OUT_OF_MEMORY):
            raise WorkspaceError(f"needs more than {self.limits.memory // _MIB} MiB of memory")
        return Finished(int(code), output.read_bytes(), complaints)

    def _printed(self, number: str, ending: str) -> Path:
        return self._prints / f"{number}.{ending}"

    def _read(self, launcher: "Launcher") -> None:
        """Hand each outcome to whoever waits for it, until the launcher ends."""
        while frame := launcher.receive():
            outcome = frame[0]
            future = self._taken(outcome[0])
            if future is not None:
                future.set_result(outcome)
        with self._lock:
            self._ended = True
            left = list(self._waiting)
        lost = WorkspaceError("was ended together with everything that ran next to it")
        for number in left:
            future = self._taken(number)
            if future is not None:
                future.set_exception(lost)

    def _taken(self, number: str) -> "Future[list[str]] | None":
        with self._lock:
            return self._waiting.pop(number, None)


class Launcher:
    """The process that starts programs.

    A new interpreter, which has neither our memory nor our environment.
    """

    def __init__(self, folder: Path) -> None:
        """Start it in a directory."""
        with ExitStack() as theirs, ExitStack() as ours:
            # Three pipes: requests, outcomes, and one that says by its end that we are gone.
            requests, self._requests = _pipe(theirs, ours)
            self._outcomes, outcomes = _pipe(ours, theirs)
            living, self._life = _pipe(theirs, ours)
            self._process = subprocess.Popen(  # noqa: S603 - no shell
                [sys.executable, *_options(), "-c", _program(living)],
                # What the interpreter may need to start; a program that it starts is given none of
                # that.
                env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
                stdin=requests,
                stdout=outcomes,
                cwd=folder,
                # A session of its own, so that the whole group can be killed, and no terminal
                # reaches it.
                start_new_session=True,
                pass_fds=(living,),
            )
            # It has started, so our ends stay open. Our copies of its ends do not: a pipe ends only
            # when the last copy is closed.
            ours.pop_all()

    def send(self, groups: Groups) -> None:
        """Write a frame to it."""
        write_frame(self._requests, groups)

    def receive(self) -> Groups | None:
        """Return its next frame, None when it has ended."""
        return read_frame(self._outcomes)

    def end(self) -> None:
        """Kill it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, -_SIGKILL)

    def close(self) -> None:
        """Have it end, with all that it started, and wait for that."""
        # The launcher reads the end of this pipe, and ends all that it started.
        os.close(self._life)
        self._process.wait()

    def release(self) -> None:
        """Close the pipes to it, when nobody reads them any more."""
        os.close(self._requests)
        os.close(self._outcomes)


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """Return the ends of a pipe, each of which one of the stacks closes."""
    ends = os.pipe()
    for stack, descriptor in zip((reading, writing), ends, strict=True):
        stack.callback(os.close, descriptor)
    return ends


def _options() -> list[str]:
    """Return options of an interpreter that ignores its environment and starts at once."""
    # -I ignores PYTHON* variables and the working directory, -S loads no site-packages.
    if sys.pycache_prefix is None:
        return ["-I", "-S"]
    return ["-I", "-S", "-X", f"pycache_prefix={sys.pycache_prefix}"]


def _program(life: int) -> str:
    root = str(Path(krm_windows.__file__).resolve().parent.parent)
    return _PROGRAM.format(root=root, life=life)


def _lacking(answer: Groups | None) -> str:
    if answer is None:
        return "the process that confines programs did not start"
    return (
        "this system cannot confine a program (needs Landlock and seccomp, Linux 5.13 or "
        f"later): {answer[0][0]}"
    )

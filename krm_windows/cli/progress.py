"""How far a long command has come.

A bar on a terminal, or a line where nobody knows how much is left, after a second, and nothing
anywhere else.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TextIO, TypeAlias, TypeVar

from rich import progress as bars
from rich.console import Console

from krm_windows.cli import output, streams

Step = TypeVar("Step")
Progress: TypeAlias = Callable[[int, int], None]
"""Takes how many steps are done, and of how many."""

PATIENCE = 1.0
"""Seconds before there is a bar."""
# Ten times a second is smooth for the eye, and costs next to nothing.
_EVERY = 0.1


@contextmanager
def meter(what: str) -> Iterator[Progress]:
    """Give what shows how far it is; `what` is counted."""
    stream = output.progress_stream()
    if stream is None:
        # In CI a bar would be thousands of lines in a log.
        yield lambda _done, _total: None
        return
    # Monotonic: the wall clock may be set while builds run.
    began = shown = time.monotonic()
    with ExitStack() as stack:
        show: Progress | None = None

        def report(done: int, total: int) -> None:
            nonlocal show, shown
            now = time.monotonic()
            # A command that is done within a second needs no bar that flickers.
            if now - began > PATIENCE and now - shown > _EVERY:
                show, shown = show or _begin(stack, what, stream), now
                show(done, total)

        yield report


def bar(
    steps: Iterable[Step],
    total: int,
) -> Iterator[Step]:
    """Yield steps as they come, one for each cluster, and show how many of them have."""
    with meter("clusters") as report:
        for done, step in enumerate(steps, 1):
            yield step
            report(done, total)


class _Line:
    """A line that says what is being done, and for how many seconds.

    It is drawn by a timer of the kernel and not by a thread, as processes may be forked: they have
    no timer of their parent (setitimer(2)).
    """

    def __init__(self, what: str, stream: TextIO) -> None:
        self._what = what
        self._stream = stream
        self._began = time.monotonic()
        self._is_shown = False
        self._is_over = False
        self.start()

    def start(self) -> None:
        """Draw it every second, unless it is over."""
        if self._is_over:
            return
        self._before = signal.signal(signal.SIGALRM, self._draw)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)

    def stop(self) -> None:
        """Take it away, while a bar is in its place."""
        if self._is_over:
            return
        self.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)

    @contextmanager
    def saying(self, what: str) -> Iterator[None]:
        """Say something else meanwhile."""
        before, self._what = self._what, what
        try:
            yield
        finally:
            self._what = before

    def _draw(self, _number: int, _frame: FrameType | None) -> None:
        seconds = round(time.monotonic() - self._began)
        self._is_shown = True
        output.draw(self._stream, f"\r{self._what}: {seconds} s\x1b[K")

    def clear(self) -> None:
        """Take it away for a second, so that it is not drawn before what is printed now."""
        if self._is_shown:
            signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
            self._is_shown = False
            output.draw(self._stream, "\r\x1b[K")

    def end(self) -> None:
        """Take it away for good; a second time does nothing."""
        global _line  # noqa: PLW0603 - a process has one such timer
        if _line is not self:
            return
        self.stop()
        self._is_over = True
        _line = None


_line: _Line | None = None


@contextmanager
def waiting(what: str, *, until_said: bool = False) -> Iterator[None]:
    """Say what is being done while it takes longer than a second: `reading policies: 3 s`.

    A bar takes its place, and anything that is printed meanwhile, `until_said` for good.
    """
    global _line  # noqa: PLW0603 - a process has one such timer
    stream = output.progress_stream()
    # The service and tests call commands in threads, which get no signals.
    is_main = threading.current_thread() is threading.main_thread()
    if stream is None or not is_main:
        yield
        return
    if _line is not None:
        with _line.saying(what):
            yield
        return
    line = _line = _Line(what, stream)
    try:
        act = line.clear
        if until_said:
            act = line.end
        with streams.before_each(act):
            yield
    finally:
        line.end()


def _begin(stack: ExitStack, what: str, stream: TextIO) -> Progress:
    """Put a bar on standard error; it goes when the stack is left.

    Without a thread, as processes may be forked.
    """
    if _line is not None:
        # The first that was put on a stack is the last to be done: behind the bar.
        _line.stop()
        stack.callback(_line.start)

    columns = (*bars.Progress.get_default_columns(), bars.MofNCompleteColumn())
    progress = stack.enter_context(
        bars.Progress(*columns, console=Console(file=stream), transient=True, auto_refresh=False)
    )
    # How many steps there are is known with the first report only.
    task = progress.add_task(what, total=None)

    def show(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total, refresh=True)

    return show

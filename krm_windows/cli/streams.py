"""The streams of the process, and what is printed on them made harmless.

Apart from `output`, which draws with rich: an orchestrator calls the function for each build.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO, cast

from krm_windows import escape

# What ends a line that is drawn, before anything else is printed, by whichever thread.
_before: list[Callable[[], None]] = []


@contextmanager
def before_each(act: Callable[[], None]) -> Iterator[None]:
    """Do something before each time that anything is printed."""
    _before.append(act)
    try:
        yield
    finally:
        _before.remove(act)


def make_room() -> None:
    """Do what is to be done before anything is printed."""
    for act in _before:
        act()


@contextmanager
def guarded() -> Iterator[None]:
    """Guard the streams of the process.

    What a library or Python itself prints is made harmless too. A stream that the caller has
    closed, which is None in Python, is one that nobody reads.
    """
    # `krm-windows check policy.yaml <&- >&-` in a shell; then Python sets the stream to None.
    for name, mode in {"stdin": "r", "stdout": "w", "stderr": "w"}.items():
        if getattr(sys, name) is None:
            # Open until the end of the process.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    guarded = (cast("TextIO", Guarded(stream)) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(next(guarded)), redirect_stderr(next(guarded)):
        yield


class Guarded:
    """A stream whose text is made harmless; in all else it is the stream behind it."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind

    def write(self, text: str) -> int:
        """Write a text, and return how much of it was taken: all."""
        make_room()
        self.behind.write(escape.page(text))
        # Callers compare with the text that they gave, not with what was made of it.
        return len(text)

    def writelines(self, texts: Sequence[str]) -> None:
        """Write texts."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> object:
        """Give what the stream behind has: its buffer, its descriptor, whether it is a terminal."""
        return getattr(self.behind, name)


def behind(stream: TextIO) -> TextIO:
    """Return what a guarded stream writes to."""
    return stream.behind if isinstance(stream, Guarded) else stream


def flush() -> None:
    """Write what has been printed; raises OSError where it cannot be written."""
    sys.stdout.flush()


def cannot_be_written(error: OSError) -> None:
    """Say that the output could not be written, unless whoever read it has stopped.

    Then nobody wants to know.
    """
    # `krm-windows calendar … | head -1`: head has read enough and closed the pipe (EPIPE).
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"krm-windows: cannot write the output: {error.strerror}\n")
    # What is left would be written again when Python ends, and fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

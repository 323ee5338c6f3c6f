"""What commands say: the one module that they write to standard output and standard error by.

Nothing leaves it that steers a terminal or is obeyed by a CI system. A command hands over text as
it has it; what the writer of another medium has escaped is known by its type. The function's own
output, a ResourceList, does not pass here.
"""

import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from contextvars import ContextVar
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from krm_windows import escape
from krm_windows.cli import streams
from krm_windows.preview.wrapping import wrapped
from krm_windows.rules import INPUT_UNREADABLE as RULE

with suppress(ImportError):
    # Answers can be edited where Python was built with it.
    import readline  # noqa: F401

# For one call of `main`, as the streams are: tests make many in one process.
_quiet = ContextVar("quiet", default=False)
# What is drawn on the terminal while a command is at work.
_drawn: list[Live] = []


def keep_quiet(*, quiet: bool) -> None:
    """Leave out, from now on, what only says how a command goes: `--quiet`."""
    _quiet.set(quiet)


def is_quiet() -> bool:
    """Whether only what is wrong is said, beside what a command is asked for."""
    return _quiet.get()


def show(text: str) -> None:
    """Print a page in UTF-8, with its line ends as they are, whatever the locale."""
    shown = text if isinstance(text, escape.Escaped) else escape.page(text)
    # What Python still holds goes first, as the two streams share one descriptor.
    sys.stdout.flush()
    streams.make_room()
    # The buffer translates no line ends, which an ICS file (RFC 5545) has as CRLF.
    sys.stdout.buffer.write(shown.encode())
    sys.stdout.buffer.flush()


def show_words(text: str) -> None:
    """Print a page of words; on a terminal, its lines are broken between them."""
    if is_terminal():
        text = _for_terminal(text)
    show(text)


def show_lines(lines: Iterable[object]) -> None:
    """Print words, a line for each."""
    show_words(escape.lines(lines))


def _for_terminal(text: str) -> str:
    """Return a page whose lines are broken between words where a terminal is narrower."""
    # What is escaped takes more columns than what it stands for.
    return wrapped(escape.page(text), width())


def show_json(value: object) -> None:
    """Print a value as JSON."""
    show(escape.json_page(value))


def show_painted(text: str, paint: Callable[[str], Text]) -> None:
    """Print a page in colour on a terminal.

    `paint` gets what is harmless, and its codes are the only ones.
    """
    _painted(sys.stdout, paint(escape.page(text)))


def is_terminal() -> bool:
    """Whether somebody reads what is printed."""
    return sys.stdout.isatty()


def logs_to_terminal() -> bool:
    """Whether somebody reads what is logged."""
    return sys.stderr.isatty()


def width() -> int:
    """Return how many columns a page may have, 0 where nothing says so.

    That is what COLUMNS says, else the width of the terminal, where a pipe such as `| less` leads
    to it, too.
    """
    found = shutil.get_terminal_size((0, 0)).columns
    with suppress(OSError):
        found = found or os.get_terminal_size(sys.stderr.fileno()).columns
    return found


def log(message: str) -> None:
    """Say on standard error, in one line, why something was not done."""
    log_list([f"krm-windows: {message}"])


def can_ask() -> bool:
    """Whether somebody reads what is logged, and can answer."""
    return sys.stdin.isatty() and logs_to_terminal()


def ask(question: str) -> str:
    """Return the line that somebody answers; raises EOFError at the end of the input."""
    streams.make_room()
    # What is printed may go to a file; a question never does.
    with nullcontext() if is_terminal() else redirect_stdout(sys.stderr):
        return input(escape.line(question) + " ").strip()


def log_record(record: Mapping[str, object]) -> None:
    """Say on standard error, as JSON in one line, what was done and by whom."""
    sys.stderr.write(f"{escape.json_line(dict(record))}\n")
    sys.stderr.flush()


def log_unreadable(location: str, message: str) -> None:
    """Say on standard error why a file cannot be read, in one line, as findings do."""
    log_list([f"{location}: [error] {message} ({RULE.id})"])


def log_traceback(error: BaseException) -> None:
    """Say on standard error where an exception comes from, behind a rim.

    Its words may be anybody's.
    """
    # Each line apart: an exception's text with a line end in it stays behind the rim, too.
    for line in "".join(traceback.format_exception(error)).rstrip("\n").split("\n"):
        sys.stderr.write(f"| {escape.page(line)}\n")


def log_wrong_call(usage: str, message: str) -> None:
    """Say on standard error, in one line below the usage, what was wrong with a call."""
    sys.stderr.write(usage)
    log_list([message])


def log_list(lines: Iterable[object]) -> None:
    """Say on standard error what was found, or what there is to choose from, a line for each."""
    page = escape.lines(lines)
    sys.stderr.write(_for_terminal(page) if logs_to_terminal() else page)


@contextmanager
def status(command: str) -> Iterator[None]:
    """Say on a terminal that a command is at work, until it says something itself."""
    if is_quiet() or not logs_to_terminal():
        yield
        return
    # Past the guard, as rich steers the terminal with codes that the guard would take out.
    drawn = Live(
        Spinner("dots", command),
        console=Console(file=streams.behind(sys.stderr)),
        transient=True,
        # rich would print what is for standard output where it draws.
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with drawn, streams.before_each(drawn.stop):
        _drawn.append(drawn)
        try:
            yield
        finally:
            _drawn.remove(drawn)


def working(words: str) -> None:
    """Say on a terminal what takes a while, in place of the command's name."""
    for drawn in _drawn:
        if drawn.is_started:
            drawn.update(Spinner("dots", escape.line(words)), refresh=True)


def _painted(stream: TextIO, text: Text) -> None:
    """Write a text with its colours to a terminal; NO_COLOR leaves them out (no-color.org)."""
    stream.flush()
    streams.make_room()
    # `soft_wrap` leaves lines as long as they are, so a terminal shows what a file would hold.
    Console(file=streams.behind(stream)).print(text, soft_wrap=True, end="")

"""The entry point: which command was asked for, and what its exceptions mean."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

from krm_windows.cli import function, streams
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode
from krm_windows.system import temporary

_ENDING = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.HANGUP,
}
_OF_THE_FUNCTION = frozenset({"--debug", "--strict"})


def process() -> NoReturn:
    """Run one command, and end its process at once.

    All is written by then. Python would first take some hundred modules apart, which is a tenth of
    a call of the function, and an orchestrator calls it for each policy of each cluster.
    """
    code = main()
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with streams.guarded():
        before = temporary.made()
        try:
            with _ended_by_signals():
                code = (function.run if _is_function(arguments) else _command)(arguments)
            # Here and not at the end of Python, where an OSError could no longer become an exit
            # code.
            streams.flush()
        except _Ended as ended:
            temporary.remove_since(before)
            return ended.exit_code
        # A shell reports SIGINT as 128 + 2 = 130, and so do we.
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        except OSError as error:
            streams.cannot_be_written(error)
            return ExitCode.ERROR
        return code


class _Ended(KeyboardInterrupt):
    """A signal came that ends the process; no command handles it."""

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End by an exception, so that temporary directories are removed.

    In a container, too, whose first process ignores what it does not handle.
    """
    # The service and tests call commands in threads, which get no signals.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for number in _ENDING:
        # One that is ignored stays so: nohup(1) has a command go on without its terminal.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            before[number] = signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    # A closed terminal is followed by more of them, which must not end the clearing up.
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise _Ended(_ENDING[signal.Signals(number)])


def _is_function(arguments: Sequence[str]) -> bool:
    """Whether this is a call by an orchestrator: no command, and something on standard input."""
    # Options such as `--strict` may be before anything else, so they do not count as a word.
    words = [argument for argument in arguments if not argument.startswith("-")]
    # An orchestrator gives no others; `--help`, or one that is mistyped, is a person's.
    if not _OF_THE_FUNCTION.issuperset({*arguments}.difference(words)):
        return False
    # `krm-windows` typed at a terminal has no ResourceList to read: argparse prints the help then.
    if not words:
        return not sys.stdin.isatty()
    # kustomize starts an exec plugin with the path of a temporary file that holds its
    # configuration: `/tmp/kust-plugin-config-1234`.
    return words[0] not in COMMANDS and len(words) == 1 and Path(words[0]).is_file()


def _command(arguments: Sequence[str]) -> int:
    # Only now: what commands print with takes a quarter of a call of the function.
    command_line = import_module("krm_windows.cli.command_line")
    return int(command_line.run(arguments))

"""The entry point: which command was asked for, and what its exceptions mean."""

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from krm_windows.cli import function, output, progress
from krm_windows.cli.arguments import parse, parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import EditError, InputError
from krm_windows.system import temporary
from krm_windows.system.errors import WorkspaceError

# The extra of this package that brings a module (pyproject.toml, `optional-dependencies`).
_FORGE = "`forge`, as in `pip install '.[forge]'` from a clone"
_MIGRATE = "`migrate`, as in `pip install '.[migrate]'` from a clone"
_SERVER = "`server`, as in `pip install '.[server]'` from a clone"
_EXTRAS = {
    "re2": _MIGRATE,
    "urllib3": _FORGE,
    "starlette": _SERVER,
    "uvicorn": _SERVER,
    "jwt": _SERVER,
    "jinja2": _SERVER,
}
_ENDING = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.HANGUP,
}
_OF_THE_FUNCTION = frozenset({"--debug", "--strict"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with output.streams():
        before = temporary.made()
        try:
            with _ended_by_signals():
                called = function.run if _is_function(arguments) else _command
                code = called(arguments)
            # Here and not at the end of Python, where an OSError could no longer become an exit
            # code.
            output.flush()
        except _Ended as ended:
            temporary.remove_since(before)
            return ended.exit_code
        # A shell reports SIGINT as 128 + 2 = 130, and so do we.
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        except OSError as error:
            output.cannot_be_written(error)
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
    options = [argument for argument in arguments if argument.startswith("-")]
    # An orchestrator gives no others; `--help`, or one that is mistyped, is a person's.
    if not _OF_THE_FUNCTION.issuperset(options):
        return False
    # `krm-windows` typed at a terminal has no ResourceList to read: argparse prints the help then.
    if not words:
        return not sys.stdin.isatty()
    # kustomize starts an exec plugin with the path of a temporary file that holds its
    # configuration: `/tmp/kust-plugin-config-1234`.
    return words[0] not in COMMANDS and len(words) == 1 and Path(words[0]).is_file()


def _command(arguments: Sequence[str]) -> int:
    made = parser(COMMANDS, arguments)
    try:
        parsed = parse(made, arguments)
    except SystemExit as end:
        # argparse, too, has 2 for a wrong call.
        return int(end.code or 0)
    # `krm-windows` alone, or with options only: no subparser has set `run`.
    if "run" not in parsed:
        output.log_help(made.format_help())
        return ExitCode.USAGE
    output.keep_quiet(quiet=getattr(parsed, "quiet", False))
    try:
        with _in_progress(next(each for each in arguments if each in COMMANDS)):
            return int(parsed.run(parsed))
    except Exception as error:
        # Without a file name it is the output that failed, which the caller reports.
        if isinstance(error, OSError) and not error.filename:
            raise
        return _failed(error, debug=parsed.debug)


@contextmanager
def _in_progress(command: str) -> Iterator[None]:
    """Say on a terminal that a command is at work, until it says something itself."""
    if not output.logs_to_terminal():
        yield
        return
    with progress.waiting(command, until_said=True):
        yield


def _failed(error: Exception, *, debug: bool) -> ExitCode:
    """Say in one line why a command failed: the user's input, or our own fault."""
    if debug:
        output.log_traceback(error)
    # Example: `policy.yaml: Permission denied`.
    if isinstance(error, OSError):
        output.log(f"{error.filename}: {error.strerror}")
        return ExitCode.ERROR
    if isinstance(error, UsageError):
        output.log(str(error))
        return ExitCode.USAGE
    # As findings begin: `policy.yaml:12:3: [error] …`.
    if isinstance(error, InputError) and error.location:
        output.log_unreadable(error.location, error.message)
        return ExitCode.ERROR
    if isinstance(error, InputError | EditError | WorkspaceError):
        output.log(str(error))
        return ExitCode.ERROR
    missing = ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing, _, _ = error.name.partition(".")
    if missing in _EXTRAS:
        extra = _EXTRAS[missing]
        output.log(f"{missing} is not installed: install krm-windows with the extra {extra}")
        return ExitCode.ERROR
    output.log(f"internal error: {type(error).__name__}: {error} (--debug shows where)")
    return ExitCode.FAILURE

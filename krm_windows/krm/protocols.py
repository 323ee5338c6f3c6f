"""The protocols: a ResourceList on standard input, or kustomize's exec plugin with a file.

`run` is the one place where the exit code is computed, and the order in which things are said:
first the output, then what is wrong. stdout is parsed before the exit code is read, so
nothing else is ever written there; and whatever fails, it holds every item of the input.
"""

import shutil
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import BinaryIO, NamedTuple, TextIO, TypeAlias

from krm_windows import escape, rules
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import layout, limits, stream
from krm_windows.krm.errors import ConfigurationError, EditError, ExcessError, InputError
from krm_windows.krm.frames import Chunk
from krm_windows.krm.resource_list import ResourceList
from krm_windows.results import Result, Severity, fails, sort

Process: TypeAlias = Callable[[ResourceList], None]

_FAILURES = (
    (InputError, ExitCode.ERROR, rules.INPUT_UNREADABLE),
    (EditError, ExitCode.ERROR, rules.EDIT_REFUSED),
    (ConfigurationError, ExitCode.CONFIGURATION, rules.CONFIGURATION),
)


class Call(NamedTuple):
    """What one call was given.

    The bytes of standard input, those of a configuration file, and its switches.
    """

    data: bytes
    config: bytes | None
    strict: bool
    debug: bool

    def resources(self) -> ResourceList:
        """Read the input afresh; raises InputError."""
        if self.config is None:
            return ResourceList.read(self.data)
        return stream.read(self.config, self.data)


class Outcome(NamedTuple):
    """What there is to write and to say."""

    code: ExitCode
    output: list[Chunk]
    results: list[Result]


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


# The six things that a process is given, and two limits.
def run(  # noqa: PLR0913
    process: Process,
    *,
    argv: Sequence[str],
    stdin: BinaryIO,
    stdout: BinaryIO,
    stderr: TextIO,
    environ: Mapping[str, str],
    read_file: Callable[[str], bytes] = _content,
    most: int = limits.INPUT,
) -> int:
    """Run a function once and return its exit code; `argv` is without the name of the program.

    `read_file` reads the configuration file, with its own limits; it raises OSError or InputError.
    `most` is how many bytes of standard input are held; a longer one is passed on piece by piece.

    0: fine. 1: a result of severity error (with `--strict`: a warning too), or input that cannot be
    read or edited; the items are written as they came. 2: our own failure. 3: the configuration is
    not for this function.
    """
    strict, debug = "--strict" in argv, "--debug" in argv
    paths = [argument for argument in argv if not argument.startswith("-")]
    # One byte more, to see that there is more.
    data = stdin.read(most + 1)
    # It would not fit into memory many times, so nothing is read.
    if len(data) > most:
        return _pass_on(data, stdin, stdout, stderr, most)
    # What some library prints would be taken for a part of the output.
    with redirect_stdout(stderr), redirect_stderr(stderr):
        try:
            # kustomize gives an exec plugin the file; it is read once, as it may be a pipe.
            config = read_file(paths[0]) if paths else None
            outcome = _outcome(process, Call(data, config, strict, debug))
        except (OSError, InputError) as error:
            # `strerror` alone, as the path is said already.
            what = f"{paths[0]}: {error.strerror}" if isinstance(error, OSError) else str(error)
            found = rules.INPUT_UNREADABLE.result(what)
            outcome = Outcome(ExitCode.ERROR, _as_it_came(data), [found])
    # Orchestrators read the output whatever the exit code is.
    stdout.writelines(outcome.output)
    stdout.flush()
    # kustomize sets LOG_TO_STDERR, and kpt prints the results itself.
    # Anything but these switches it on.
    is_wanted = environ.get("LOG_TO_STDERR", "false") not in {"", "0", "false"}
    is_strict_failure = strict and outcome.code != ExitCode.FINE
    _say(outcome.results, stderr, loud=is_wanted or is_strict_failure)
    return int(outcome.code)


def _pass_on(data: bytes, stdin: BinaryIO, stdout: BinaryIO, stderr: TextIO, most: int) -> int:
    """Give back an input that is too long to be read, piece by piece."""
    message = f"the input has more than {most} bytes"
    _say([rules.INPUT_UNREADABLE.result(message)], stderr, loud=True)
    stdout.write(data)
    shutil.copyfileobj(stdin, stdout)
    stdout.flush()
    return int(ExitCode.ERROR)


def _outcome(process: Process, call: Call) -> Outcome:
    """Process the input; on any failure give the items as they came."""
    try:
        resources = call.resources()
        process(resources)
        # A build that fails must not change anything on the way.
        if not fails(resources.results, strict=call.strict):
            return Outcome(ExitCode.FINE, resources.chunks(), sort(resources.results))
        return _echo(call, ExitCode.ERROR, resources.results, silent=resources.silent)
    # The one place where an exception becomes an exit code.
    except Exception as error:  # noqa: BLE001
        # Only on request: the traceback is of no use to who wrote the policy.
        if call.debug:
            traceback.print_exc()
        code, result = _failure(error)
        return _echo(call, code, [result])


def _failure(error: Exception) -> tuple[ExitCode, Result]:
    """Say whose fault an exception is, and in one line what happened."""
    for kind, code, rule in _FAILURES:
        if isinstance(error, kind):
            return code, rule.result(str(error))
    # Whatever the text of an exception is, it is one line.
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return ExitCode.FAILURE, rules.INTERNAL.result(f"internal error: {what} (--debug shows where)")


def _echo(
    call: Call,
    code: ExitCode,
    results: list[Result],
    *,
    silent: bool = False,
) -> Outcome:
    """Give the input as it came, with results where it has a place for them.

    Nothing if it is no YAML at all.
    """
    try:
        resources = call.resources()
    except InputError:
        return Outcome(code, _as_it_came(call.data), sort(results))
    if call.config is not None and not silent:
        # In a stream results have no place, and what is no document is kept too.
        return Outcome(code, [call.data], sort(results))
    resources.results = results
    resources.silent = silent
    return Outcome(code, resources.chunks(), sort(results))


def _as_it_came(data: bytes) -> list[Chunk]:
    """Give an input that is YAML: what is none would hide the error behind the reader's own.

    One that goes on beyond a limit was right up to there. Whether its rest is, nobody knows; to
    lose items would be worse than to give back what was no YAML.
    """
    try:
        # The events are read only to see that there is no error.
        deque(layout.events(data.decode()), maxlen=0)
    except ExcessError:
        return [data]
    except (InputError, UnicodeDecodeError):
        return []
    return [data]


def _say(
    results: Iterable[Result],
    stderr: TextIO,
    *,
    loud: bool,
) -> None:
    """Print errors, and if `loud` everything else too, one line each."""
    for result in results:
        if loud or result.severity is Severity.ERROR:
            stderr.write(f"{escape.line(str(result))}\n")
    stderr.flush()

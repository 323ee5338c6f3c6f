"""One command of a person: its arguments, and what its exceptions mean."""

from collections.abc import Sequence
from importlib import import_module

from krm_windows.cli import output
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import EditError, InputError
from krm_windows.system.errors import WorkspaceError

# The extra of this package that brings a module (pyproject.toml, `optional-dependencies`).
_INSTALL = "pip install '.[extra]'"
_EXTRAS = {
    "holidays": "holidays",
    "icalendar": "ics",
    "recurring_ical_events": "ics",
    "pygit2": "git",
    "shtab": "completion",
    "urllib3": "forge",
    "fastapi": "server",
    "prometheus_client": "server",
    "pydantic_settings": "server",
    "starlette": "server",
    "uvicorn": "server",
    "jwt": "server",
}


def run(arguments: Sequence[str]) -> int:
    """Run one command, and return its exit code."""
    made = parser(COMMANDS, arguments)
    try:
        parsed = made.parse_args(arguments)
    except SystemExit as end:
        # argparse, too, has 2 for a wrong call.
        return int(end.code or 0)
    output.keep_quiet(quiet=getattr(parsed, "quiet", False))
    try:
        with output.status(next((each for each in arguments if each in COMMANDS), "")):
            # `krm-windows` alone, or with options only: no subparser has set `run`.
            if "run" not in parsed:
                parsed.run = import_module("krm_windows.cli.overview").run
            code = parsed.run(parsed)
    except Exception as error:
        # Without a file name it is the output that failed, which the caller reports.
        if isinstance(error, OSError) and not error.filename:
            raise
        return _failed(error, debug=parsed.debug)
    if code is None:
        none = "no repository around this directory has a policy: krm-windows init writes one"
        output.log_wrong_call(made.format_help(), f"krm-windows: {none}")
        return ExitCode.USAGE
    return int(code)


def _failed(error: Exception, *, debug: bool) -> ExitCode:
    """Say in one line why a command failed: the user's input, or our own fault."""
    if debug:
        output.log_traceback(error)
    # As findings begin: `policy.yaml:12:3: [error] …`.
    if isinstance(error, InputError) and error.location:
        output.log_unreadable(error.location, error.message)
        return ExitCode.ERROR
    code, message, missing = ExitCode.ERROR, str(error), ""
    if isinstance(error, ModuleNotFoundError) and error.name:
        missing, _, _ = error.name.partition(".")
    if isinstance(error, OSError):
        # Example: `policy.yaml: Permission denied`.
        message = f"{error.filename}: {error.strerror}"
    elif isinstance(error, UsageError):
        code = ExitCode.USAGE
    elif missing in _EXTRAS:
        command = _INSTALL.replace("extra", _EXTRAS[missing])
        message = f"{missing} is not installed: run `{command}` in a clone of krm-windows"
    elif not isinstance(error, InputError | EditError | WorkspaceError):
        code = ExitCode.FAILURE
        message = f"internal error: {type(error).__name__}: {error} (--debug shows where)"
    output.log(message)
    return code

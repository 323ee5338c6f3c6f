"""What cannot be read, as a finding: a CI that shows annotations sees nothing else."""

from datetime import UTC
from pathlib import Path

from krm_windows import rules
from krm_windows.checks.audit import Scope
from krm_windows.checks.report import Report, on_unreadable
from krm_windows.cli import inputs
from krm_windows.krm import InputError
from krm_windows.results import File, Place
from krm_windows.system.errors import WorkspaceError

ERRORS = (InputError, WorkspaceError, OSError)
"""What reading a file may raise."""


def report(error: Exception, path: str, scope: Scope) -> Report:
    """Return why a file was not audited; `path` is what was read. Raises what is a wrong call."""
    if isinstance(error, inputs.UsageError):
        raise error
    message, name, place = str(error), path, Place(1, 1)
    if isinstance(error, InputError):
        message = error.message
        name = error.file or path
        place = Place(error.line or 1, error.column or 1)
    elif isinstance(error, OSError):
        message = error.strerror or message
        name = str(error.filename or path)
    # The file is named beside it.
    message = message.removeprefix(f"{name}: ")
    result = rules.INPUT_UNREADABLE.result(message)
    if name != inputs.STDIN:
        file = Path(name).as_posix()
        result = rules.INPUT_UNREADABLE.result(message, file=File(path=file)).at(place)
    return on_unreadable(name, scope.days(UTC), result)

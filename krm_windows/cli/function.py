"""The function itself: what an orchestrator calls without a command."""

import os
import sys
from collections.abc import Sequence
from io import BytesIO

from krm_windows import function, krm
from krm_windows.cli import output
from krm_windows.exit_codes import ExitCode
from krm_windows.workspace.bounded import read_stream
from krm_windows.workspace.errors import WorkspaceError


def run(arguments: Sequence[str]) -> int:
    """Run the function on standard input and output, and return its exit code."""
    try:
        stdin = BytesIO(read_stream(sys.stdin.buffer, "standard input"))
    except WorkspaceError as error:
        # What has no end cannot be echoed either.
        output.tell(str(error))
        return ExitCode.ERROR
    return krm.run(
        function.process,
        argv=arguments,
        stdin=stdin,
        stdout=sys.stdout.buffer,
        stderr=sys.stderr,
        environ=os.environ,
    )

"""The function itself: what an orchestrator calls without a command."""

import os
import sys
from collections.abc import Sequence

from krm_windows import function, krm
from krm_windows.system.bounded import read_file
from krm_windows.system.errors import WorkspaceError


def run(arguments: Sequence[str]) -> int:
    """Run the function on standard input and output, and return its exit code."""
    # The raw bytes: kustomize and kpt write YAML in UTF-8, whatever the locale of this process.
    return krm.run(
        function.process,
        argv=arguments,
        stdin=sys.stdin.buffer,
        stdout=sys.stdout.buffer,
        stderr=sys.stderr,
        environ=os.environ,
        read_file=_configuration,
    )


def _configuration(path: str) -> bytes:
    """Read the configuration that kustomize names.

    No device, and neither more nor longer than any other input.
    """
    try:
        return read_file(path)
    except WorkspaceError as error:
        raise krm.InputError(str(error)) from error

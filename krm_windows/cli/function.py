"""The function itself: what an orchestrator calls without a command."""

import os
import sys
from collections.abc import Sequence

from krm_windows import function, krm


def run(arguments: Sequence[str]) -> int:
    """Run the function on standard input and output, and return its exit code."""
    return krm.run(
        function.process,
        argv=arguments,
        stdin=sys.stdin.buffer,
        stdout=sys.stdout.buffer,
        stderr=sys.stderr,
        environ=os.environ,
    )

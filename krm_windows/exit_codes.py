"""The exit codes of the function and of every command, in one table."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What is said to whoever called: an orchestrator, a pipeline, a shell."""

    FINE = 0
    """Done, and nothing is wrong."""
    ERROR = 1
    """A result of severity error (or warning with `--strict`), unreadable input, stale files.

    `status`: a target that is not as it should be."""
    USAGE = 2
    """The call is wrong: an option, its value, or options that exclude each other."""
    CONFIGURATION = 3
    """The functionConfig is absent or of another kind."""
    CLOSED = 10
    """`state --exit-code`: changes are held back."""
    FAILURE = 70
    """Our own failure: a defect of krm-windows (EX_SOFTWARE of sysexits.h)."""
    TIMED_OUT = 124
    """`wait --timeout`: the policy did not become what was waited for, as timeout(1) says it."""
    INTERRUPTED = 130
    """SIGINT, as a shell says it: 128 + 2."""
    TERMINATED = 143
    """SIGTERM, of a command that waits: 128 + 15."""

    @classmethod
    def of(cls, *, failed: bool) -> "ExitCode":
        """Return what a command says that either failed or did not."""
        return cls.ERROR if failed else cls.FINE

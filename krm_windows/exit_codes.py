"""The exit codes of the function and of every command, in one table."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What is said to whoever called: an orchestrator, a pipeline, a shell."""

    FINE = 0
    """Success, and nothing is wrong."""
    ERROR = 1
    """A result of severity error (or warning with `--strict`), unreadable input, stale files.

    `status`: a target is not in its desired state."""
    USAGE = 2
    """Usage error: an unknown option, a wrong value, or options that exclude each other."""
    CONFIGURATION = 3
    """The functionConfig is missing or of another kind."""
    CLOSED = 10
    """`state --exit-code`: the policy is closed."""
    FAILURE = 70
    """Internal error: a bug in krm-windows (EX_SOFTWARE of sysexits.h)."""
    TIMED_OUT = 124
    """`state --wait` and `status --wait` with `--timeout`: timed out, like timeout(1)."""
    HANGUP = 129
    """Ended by SIGHUP, as when its terminal is closed: 128 + 1."""
    INTERRUPTED = 130
    """Ended by SIGINT: 128 + 2."""
    TERMINATED = 143
    """Ended by SIGTERM: 128 + 15."""

    @classmethod
    def of(cls, *, failed: bool) -> "ExitCode":
        """Return what a command says that either failed or did not."""
        return cls.ERROR if failed else cls.FINE

"""The exit codes of every command, in one table."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command says to the shell that called it."""

    FINE = 0
    ERROR = 1
    FAILURE = 2
    CONFIGURATION = 3
    INTERRUPTED = 130

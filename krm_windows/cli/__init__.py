"""The command line: a module for each command.

Only here the clock is read, something printed, the process ended.
"""

from krm_windows.cli.main import main, process

__all__ = ["main", "process"]

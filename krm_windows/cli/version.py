"""Which program this is, to be said in a report of a defect."""

import platform

from krm_windows import COMMIT, __version__
from krm_windows.schedule import zones

# As `git archive` finds it, and every file that came another way still has it (gitattributes(5)).
_NOT_ARCHIVED = "$Format:"


def text() -> str:
    """Return what `--version` says: release, commit, and those of the zone data and of Python."""
    built_from = f" (commit {known})" if (known := commit()) else ""
    return (
        f"krm-windows {__version__}{built_from}, zone data {zones.release()}, "
        f"Python {platform.python_version()}"
    )


def commit() -> str | None:
    """Return the hash of the commit that this was built from; None where it is not known.

    `pip install .` copies a source tree, of which nobody says how it differs from its commit.
    """
    return None if COMMIT.startswith(_NOT_ARCHIVED) else COMMIT

"""Which program this is, to be said in a report of a defect."""

import json
import platform
from contextlib import suppress
from pathlib import Path

from krm_windows import COMMIT, __version__
from krm_windows.schedule import zones

# As `git archive` finds it, and every file that came another way still has it (gitattributes(5)).
_NOT_ARCHIVED = "$Format:"
# Where this package is installed.
_SITE = Path(__file__).resolve().parents[2]


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
    if not COMMIT.startswith(_NOT_ARCHIVED):
        return COMMIT
    return _installed()


def _installed() -> str | None:
    """Return the commit that pip has checked out itself, of a requirement with a Git address."""
    # PEP 610. Of a package there is one such directory, beside its modules.
    for about in _SITE.iterdir():
        if about.name.startswith("krm_windows-") and about.suffix == ".dist-info":
            origin = about / "direct_url.json"
            with suppress(OSError, ValueError, KeyError, TypeError):
                return str(json.loads(origin.read_bytes())["vcs_info"]["commit_id"])
    return None

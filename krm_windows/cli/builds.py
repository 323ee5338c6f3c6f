"""Where the builds of a command lie.

The repository around a directory, and the cache of what was built.
"""

import argparse
import os
from contextlib import suppress
from pathlib import Path

from krm_windows.krm import InputError
from krm_windows.system.cache import Cache

_GIT = ".git"
_NAME = "krm-windows"


def repository(directory: Path) -> Path:
    """Return the top of the repository that a directory lies in, itself where it lies in none.

    It is known by what lies in the directories above; git is not asked, as a repository may tell
    that to run commands.
    """
    directory = directory.resolve()
    for above in (directory, *directory.parents):
        if os.path.lexists(above / _GIT):
            return above
    return directory


def cache(checked: Path, given: Path | None) -> Cache | None:
    """Return the cache that was asked for, or the user's own.

    None where that cannot be written. Raises InputError where it lies in what is checked, whose
    authors could fill it.
    """
    places = {"XDG_CACHE_HOME": "~/.cache", "XDG_STATE_HOME": "~/.local/state"}
    own, state = (
        Path(os.environ.get(name) or default).expanduser() for name, default in places.items()
    )
    place = (given or own / _NAME).absolute()
    key = state.absolute() / _NAME / "cache-key"
    top = repository(checked)
    for path, what in ((place, "--cache"), (key, "the key of the cache (XDG_STATE_HOME)")):
        if path.resolve().is_relative_to(top):
            raise InputError(
                f"{path}: {what} must not lie in {top}, whose authors could fill it; or use "
                "--no-cache"
            )
    if given is not None:
        return Cache(place, key)
    with suppress(OSError):
        return Cache(place, key)
    return None


def chosen(checked: Path, arguments: argparse.Namespace) -> Cache | None:
    """Return the cache that `--cache` and `--no-cache` say."""
    if arguments.no_cache:
        return None
    return cache(checked, arguments.cache)

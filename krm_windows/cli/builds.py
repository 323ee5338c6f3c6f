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

    It is known by what lies in the directories above; git is not asked, as a repository may
    configure it to run commands.
    """
    directory = directory.resolve()
    # From the inside out, as git looks for it: a repository inside another one is its own.
    for above in (directory, *directory.parents):
        # Also a file (of a worktree or submodule), and a link that leads nowhere.
        if os.path.lexists(above / _GIT):
            return above
    return directory


def cache(checked: Path, given: Path | None) -> Cache | None:
    """Return the cache that was asked for, or the user's own.

    None where that cannot be written. Raises InputError where it lies in what is checked, whose
    authors could fill it.
    """
    # The XDG Base Directory Specification has these defaults.
    places = {"XDG_CACHE_HOME": "~/.cache", "XDG_STATE_HOME": "~/.local/state"}
    # An empty variable counts as one that is not set, as that specification says.
    own, state = (
        Path(os.environ.get(name) or default).expanduser() for name, default in places.items()
    )
    place = (given or own / _NAME).absolute()
    # Apart from the cache: whoever may fill that must not have the key with it.
    key = state.absolute() / _NAME / "cache-key"
    top = repository(checked)
    for path, what in ((place, "--cache"), (key, "the key of the cache (XDG_STATE_HOME)")):
        # A pull request could bring a cache of its own with it, and with that any output of a
        # build.
        if path.resolve().is_relative_to(top):
            raise InputError(
                f"{path}: {what} must not lie in {top}, whose authors could fill it; or use "
                "--no-cache"
            )
    # A cache that was asked for must work; that of the user is a help only (HOME may be read-only).
    if given is not None:
        return Cache(place, key)
    with suppress(OSError):
        return Cache(place, key)
    return None


def requested_cache(checked: Path, arguments: argparse.Namespace) -> Cache | None:
    """Return the cache that `--cache` and `--no-cache` say."""
    if arguments.no_cache:
        return None
    return cache(checked, arguments.cache)

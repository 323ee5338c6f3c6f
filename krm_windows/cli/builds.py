"""How a command finds the clusters of a repository, and where it keeps what it has built."""

import argparse
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from krm_windows.cli import times
from krm_windows.cli.inputs import UsageError
from krm_windows.flux import Given, Hints, cluster_directories
from krm_windows.flux.builds import LeftOutError, whole
from krm_windows.krm import InputError
from krm_windows.system import remotes, tops
from krm_windows.system.cache import Cache
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder

# As Flux's own example repository has it (fluxcd/flux2-kustomize-helm-example).
CLUSTERS = "clusters/*"
CLUSTERS_HELP = (
    f"the directories of the clusters in it (default: {CLUSTERS}, or else what Flux syncs)"
)

_NAME = "krm-windows"
# More than any machine has cores for; nobody starts a million of them.
_MOST_BUILDS = 256
_builds = partial(times.count, what="builds", most=_MOST_BUILDS)


def add_options(group: argparse._ArgumentGroup) -> None:
    """Declare how the clusters of a repository are found and built."""
    group.add_argument(
        "--clusters",
        metavar="GLOB",
        help=CLUSTERS_HELP,
    )
    add_source_option(group)
    add_build_options(group)


def add_build_options(group: argparse._ActionsContainer) -> None:
    """Declare how many builds there are at a time, and where they are kept."""
    group.add_argument(
        "-j",
        "--jobs",
        type=_builds,
        default=os.cpu_count() or 1,
        metavar="N",
        help="builds at a time (default: all cores)",
    )
    group.add_argument(
        "--no-cache",
        action="store_true",
        help="keep no builds in $XDG_CACHE_HOME, nor use those",
    )
    add_trust_option(group)


def add_trust_option(parser: argparse._ActionsContainer) -> None:
    """Declare what has builds run where the system cannot confine them."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build even where this system has no sandbox (macOS, Linux before 5.13): only if you "
            "trust everyone who can change what is built"
        ),
    )


def add_source_option(parser: argparse._ActionsContainer) -> None:
    """Declare what says that a source is the repository that is read."""
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        type=source,
        metavar="NAME=DIR",
        help=(
            "map a Flux source, NAME or NAMESPACE/NAME, to a directory of the repository; `.` "
            "is the whole repository (repeatable)"
        ),
    )


def source(text: str) -> Given:
    """Read what `--source` says; raises ArgumentTypeError."""
    try:
        return Given.parse(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def directories(tree: Checkout, pattern: str | None) -> Sequence[str]:
    """Return the directories that clusters start from: by a pattern, or by what is usual.

    Without a pattern, `clusters/*`, or what is synced below that; where it matches none, what an
    object of Flux says is synced to a cluster, or a directory of a usual name that has a policy.
    """
    if pattern is not None:
        return tree.directories(pattern)
    usual = tree.directories(CLUSTERS)
    clusters = cluster_directories.within(tree, usual)
    if clusters:
        return clusters
    # A name alone is a guess, and a check of the wrong directory would find no fault.
    entered = [
        each.directory
        for each in cluster_directories.find(tree)
        if each.file or cluster_directories.has_policy(tree, each.directory)
    ]
    # None of `clusters/*` leads to a Kustomization: a hub keeps there what its spokes get.
    return entered or usual


def unmatched(place: str, pattern: str | None) -> InputError:
    """Return the error that no directory of a cluster was found."""
    return InputError(
        f"{place}: no directory matches {pattern or CLUSTERS}: use --clusters GLOB to say where "
        "the clusters are"
    )


def hints(tree: Checkout, given: Sequence[Given], directory: Path) -> Hints:
    """Return which sources are the repository of a directory, by `--source` and its remotes.

    Raises InputError where `--source` cannot mean what it says.
    """
    check_sources(tree, given)
    # By its address a GitRepository is known to be the repository at hand.
    return Hints.of(given, remotes.addresses(directory))


def check_sources(tree: Checkout, given: Iterable[Given]) -> None:
    """Refuse what `--source` cannot mean; raises InputError.

    A directory that is not there, or a second one of the same source.
    """
    known: dict[tuple[str, str], str] = {}
    for each in given:
        if not tree.is_directory(each.directory):
            raise UsageError(
                f"--source {each.name}={each.directory}: directory not found in {tree.root}"
            )
        directory = known.setdefault((each.namespace, each.name), each.directory)
        if directory != each.directory:
            raise UsageError(
                f"--source {each.name}: is given twice, as {directory} and {each.directory}"
            )


def repository(directory: Path) -> Path:
    """Return the top of the repository that a directory is in, itself where it is in none."""
    directory = directory.resolve()
    return tops.top(directory) or directory


def built(path: str, arguments: argparse.Namespace) -> bytes | None:
    """Build a kustomization from files of its Git repository, else its own directory.

    None where nothing is there to do so. Raises InputError where a part of it cannot be built.
    """
    place = Path(path).resolve()
    tree = Checkout.at(repository(place))
    builder = Builder.find(trust=arguments.trust)
    if builder is None:
        return None
    # As kustomize wants paths: with slashes, below the root of the copy.
    directory = place.relative_to(tree.root).as_posix()
    try:
        return whole(tree, directory, builder)
    except LeftOutError as error:
        # A part that is left out, a remote base, say, could hold the very object in question.
        raise InputError(
            f"{path}: cannot be built as a whole: {error}; if you trust all of it, pipe the output "
            f"of `kustomize build {path}` into this command, with `-` for the path"
        ) from error


def cache(checked: Path) -> Cache | None:
    """Return the user's cache; None where that cannot be written, or is in what is checked."""
    # The XDG Base Directory Specification has this default, also for an empty variable.
    place = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / _NAME
    # A pull request could bring a cache of its own with it, and with that any output of a build.
    if place.resolve().is_relative_to(repository(checked)):
        return None
    # It is a help only (HOME may be read-only).
    with suppress(OSError):
        return Cache(place.absolute())
    return None


def builder(checked: Path, arguments: argparse.Namespace) -> Builder | None:
    """Return what builds, as the options say; raises WorkspaceError where nothing confines it."""
    kept = None if arguments.no_cache else cache(checked)
    return Builder.find(kept, trust=arguments.trust)

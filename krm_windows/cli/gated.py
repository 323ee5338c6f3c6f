"""What the merge gate goes by: policies and what they gate, in a checkout or at a commit of it."""

import argparse
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from itertools import product
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from krm_windows import rules
from krm_windows.cli import builds, forges, gate_configuration, inputs, output
from krm_windows.flux import Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.krm import InputError
from krm_windows.pending.effect import compare, gating
from krm_windows.preview.versions import Version
from krm_windows.schedule.timetable import Timetable
from krm_windows.system import git, git_program
from krm_windows.system.checkout import Checkout
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kustomize import Builder

if TYPE_CHECKING:
    from krm_windows.forge.connect import Connected
    from krm_windows.forge.policies import Policy
    from krm_windows.forge.reach import Changes

# Where a checkout came from, as Git calls it.
_REMOTE = "origin"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say by what the gate goes."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a YAML file with what is gated, and how it is merged: see "
        "docs/how-to/gate-the-merge.md",
    )
    parser.add_argument(
        "--base",
        metavar="REF",
        help="read the policies, the tree and a relative --config at this commit, the base of a "
        "change, so that a change cannot alter the rules that apply to it",
    )
    builds.add_source_option(parser)


@contextmanager
def based(arguments: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """Give the arguments with what the file says, and the paths of what is at `--base`.

    Without `--base`, trees are compared at commits anyway, as what Flux applies is committed.
    Raises InputError for a path outside of the checkout.
    """
    found = argparse.Namespace(**vars(arguments), tree=".")
    with ExitStack() as stack:
        if found.base is not None:
            found.tree = str(stack.enter_context(git.snapshot(Path(), found.base)))
        place = None
        # An absolute path is the caller's own, and no part of a change.
        if found.config is not None and not Path(found.config).is_absolute():
            place = _at(found.tree, found.config)
        vars(found).update(gate_configuration.read(found.config, place))
        if not (found.base or found.paths or found.print_schedule) and forges.is_named(found):
            found.base = "HEAD"
            found.tree = str(stack.enter_context(git.snapshot(Path(), found.base)))
        if found.base is not None:
            found.policies = [_at(found.tree, path) for path in found.policies]
            if found.resources is not None:
                found.resources = _at(found.tree, found.resources)
        yield found


def _at(tree: str, path: str) -> str:
    """Return where a path of the checkout is in a tree.

    Links are followed there and not here, where the change itself may have put them.
    """
    place = Path(os.path.relpath(path))
    if tree != "." and (place.is_absolute() or ".." in place.parts):
        raise InputError(f"{path}: is outside the checkout, so --base cannot read it as it was")
    return str(Path(tree) / place)


def read(
    versions: list[Version],
    arguments: argparse.Namespace,
    now: Callable[[], datetime],
    forge: "Connected | None" = None,
) -> tuple[list["Policy"], "Changes"]:
    """Return the policies with what they gate, and what looks at the change of a commit.

    Raises InputError where a policy gates nothing. What cannot be known of a commit is said.
    """
    from krm_windows.forge.policies import Policy  # noqa: PLC0415 - the extra `forge`
    from krm_windows.forge.reach import Change, Reach, Targets  # noqa: PLC0415 - likewise

    if arguments.paths:
        reach = Reach(tuple(arguments.paths))
        policies = [Policy(version.timetable, reach) for version in versions]

        def touched(branch: str, sha: str) -> Change:
            base = arguments.base
            # An open change is compared with the branch that it is to be merged into.
            if arguments.head is None and forge is not None:
                base = _fetch_branch(branch, forge)
            return Change(git.changed(Path(), base, sha))

        return policies, _look(arguments, forge, touched)
    before = _survey(arguments.tree, arguments)
    _log_unknown(before)
    keys = gating(before)
    names = {version.timetable.policy for version in versions}
    _refuse_ungated(
        names.difference(policy for (policy, _), is_there in keys.items() if is_there), arguments
    )
    policies = [
        Policy(version.timetable, Targets((name, cluster)))
        for (name, cluster), version in product(keys, versions)
        if version.timetable.policy == name and _is_for(version.timetable, cluster, arguments)
    ]

    def changed(_branch: str, sha: str) -> Change:
        with git.merged(Path(), arguments.base, sha) as (tree, files):
            return Change(files, compare(before, _survey(str(tree), arguments), now()))

    return policies, _look(arguments, forge, changed)


def _look(
    arguments: argparse.Namespace, forge: "Connected | None", changed: "Changes"
) -> "Changes":
    """Return what fetches a commit and looks at its change, and says why that cannot be known."""
    from krm_windows.forge.reach import Change  # noqa: PLC0415 - the extra `forge`

    # One at a time: each is as many builds as there are cores.
    lock = Lock()

    def look(branch: str, sha: str) -> Change:
        try:
            with lock:
                _fetch(sha, arguments, forge)
                return changed(branch, sha)
        except (WorkspaceError, InputError) as error:
            output.log(f"{sha[:12]}: {error}")
            return Change(None, unknown=f"cannot read it: {error}")

    return look


def _fetch_branch(name: str, forge: "Connected") -> str:
    return git_program.fetch_branch(Path(), _REMOTE, name, forges.git_access(forge))


def _fetch(sha: str, arguments: argparse.Namespace, forge: "Connected | None") -> None:
    """Have the commit of an open change here, which a checkout of the branch has not."""
    if arguments.head is None and forge is not None:
        access = forges.git_access(forge)
        git_program.fetch_commit(Path(), _REMOTE, sha, access)


def _refuse_ungated(names: Collection[str], arguments: argparse.Namespace) -> None:
    """Refuse policies that gate nothing: they would let every change land."""
    for name in sorted(names):
        raise InputError(
            f"{name} gates nothing in the checkout (clusters: "
            f"{arguments.clusters or builds.CLUSTERS}): set clusters in the file of --config, or "
            "paths to say what it gates"
        )


def _is_for(timetable: Timetable, cluster: str, arguments: argparse.Namespace) -> bool:
    """Whether a version is that of a cluster; a policy without clusters is that of each."""
    asked: str | None = arguments.cluster
    if asked is not None:
        return cluster == asked
    return timetable.cluster in (None, cluster)


def _survey(place: str, arguments: argparse.Namespace) -> Survey:
    """Follow what Flux applies from a tree."""
    root = Path(place)
    inputs.check_directory(root)
    tree = Checkout.at(root)
    hints = builds.hints(tree, arguments.source, Path())
    # No cache: a runner has none, and what is built is little.
    builder = Builder.find(trust=arguments.trust)
    made = Builds(tree, builder, os.cpu_count() or 1)
    return survey(tree, builds.directories(tree, arguments.clusters), made, hints)


def _log_unknown(found: Survey) -> None:
    for notice in found.notices:
        # What it applies may be gated in the cluster, and is not here; or it may be any file.
        if notice.rule in (rules.NOT_FOLLOWED, rules.BUILD_FAILED):
            output.log(f"{notice.about or notice.file}: {notice.message}")

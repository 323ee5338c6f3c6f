"""A fleet, as the arguments of `render` for many clusters give it."""

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from krm_windows import render
from krm_windows.cli import cluster_resources
from krm_windows.fleet import applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.fleet.output import ClusterOutcome, FleetOutput
from krm_windows.fleet.rendering import Fleet, FleetPolicy
from krm_windows.inventory import Resources, no_resources
from krm_windows.krm import InputError, KubeObject
from krm_windows.render import apart, command, layout
from krm_windows.render.command import CLUSTER
from krm_windows.results import Result, fails
from krm_windows.system import tops
from krm_windows.system.files import first_line

# What a fleet is rendered to, below its directory: files of ours that are about to be written
# again.
_OWN = re.compile(f"{layout.WINDOW}/.*|{layout.CLUSTERS}/[^/]+/{layout.WINDOW}/.*")


def outcomes(
    arguments: argparse.Namespace, policies: Mapping[str, KubeObject], *, strict: bool
) -> Iterator[ClusterOutcome]:
    """Yield what becomes of the base of a fleet and of its clusters; `policies` are by file."""
    named = {(each.namespace, each.name): FleetPolicy.of(each) for each in policies.values()}
    if len(named) < len(arguments.policies):
        raise InputError("a policy is given twice")
    # Sorted: the output must not depend on the order of the arguments.
    every = tuple(named[address] for address in sorted(named))
    clusters = tuple(sorted(frozenset().union(*(policy.source.patches for policy in every))))
    said: list[Result] = []
    if not clusters:
        # A policy that names its clusters wrongly has none: then say what is wrong with it.
        for policy in every:
            said += policy.source.version(None)[1]
        if not fails(said):
            raise InputError("no cluster found: the policies name none")
        yield ClusterOutcome("", said)
        return
    for path, config in policies.items():
        said += applied.check(config, path)
    tree = FleetOutput(_fleet(arguments, every, clusters), arguments.output_dir, strict)
    yield from tree.outcomes(said)


def _fleet(
    arguments: argparse.Namespace, policies: tuple[FleetPolicy, ...], clusters: tuple[str, ...]
) -> Fleet:
    # How it is delivered is looked for among resources.
    sees = arguments.resources is not None
    resources = _resources(arguments.resources)
    return Fleet(
        policies=policies,
        clusters=clusters,
        resources=resources,
        sees=sees,
        # Only with `{cluster}` in the path does each cluster have resources of its own.
        apart=CLUSTER in (arguments.resources or ""),
        uninstalls=arguments.uninstall,
        place=apart.place(arguments.output_dir) if sees else None,
        existing=_existing(arguments.output_dir, resources),
        command=command.called(arguments, tops.top),
    )


def _existing(output: Path, resources: Resources) -> ExistingOutput:
    """Return what was rendered around the tree, not into it."""
    root = f"{os.path.realpath(output)}/"

    def is_own(file: str) -> bool:
        return file.startswith(root) and _OWN.fullmatch(file, len(root)) is not None

    return ExistingOutput(output, is_own, resources)


def _resources(path: str | None) -> Resources:
    """Return what reads the resources of a cluster, without what was rendered before."""
    if path is None:
        return no_resources
    if CLUSTER not in path:
        # Without `{cluster}` all clusters see the same, which is read once.
        items = cluster_resources.read(path, _is_rendered)
        return lambda _: items

    @lru_cache(maxsize=1)
    def read(cluster: str | None) -> list[KubeObject]:
        # The base is for no cluster in particular, and sees none.
        if not cluster:
            return []
        return cluster_resources.read(path.replace(CLUSTER, cluster), _is_rendered)

    return read


def _is_rendered(file: Path) -> bool:
    # Our own output among the resources would be taken for objects that were there before.
    return render.is_header(first_line(file))

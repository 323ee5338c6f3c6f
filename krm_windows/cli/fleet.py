"""`krm-windows render` for many clusters at once."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from krm_windows import render
from krm_windows.checks.overlap import Claim
from krm_windows.cli import inputs, output, places, progress, report, seen, shards, times
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.fleet.output import ClusterOutcome, FleetOutput
from krm_windows.fleet.policies import FleetPolicy
from krm_windows.fleet.rendering import Files, Fleet
from krm_windows.inventory import file_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.policy import fields, load
from krm_windows.policy.model import KIND
from krm_windows.render import layout
from krm_windows.render.delivery import Template
from krm_windows.results import Result, fails
from krm_windows.system import locks, walk
from krm_windows.system.files import first_line
from krm_windows.system.processes import MOST, spread
from krm_windows.system.reading import SUFFIXES

# What a fleet is rendered to, below its directory: files of ours that are about to be written again.
_OWN = re.compile(
    f"{layout.WINDOW}/.*|{layout.CLUSTERS}/[^/]+/(?:{layout.WINDOW}|{layout.DELIVERY})/.*"
)
CLUSTER = "{cluster}"
CLUSTERS = "spec.clusters"
_LISTED = 3


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the options that are about many clusters."""
    group = parser.add_argument_group("many clusters at once")
    group.add_argument(
        "--all-clusters",
        action="store_true",
        help="render for every cluster that the policies name",
    )
    group.add_argument(
        "--clusters",
        type=Path,
        metavar="DIR",
        help="render for each file or directory in DIR, of policies or patches",
    )
    group.add_argument(
        "--layout",
        choices=("overlays", "flat"),
        default="overlays",
        help="a base and patches, or complete objects",
    )
    group.add_argument(
        "--flux-kustomizations",
        metavar="FILE",
        help="write the Kustomization that delivers each too, made of this one",
    )
    group.add_argument(
        "-j", "--jobs", type=_count, default=1, metavar="N", help="share the work among N processes"
    )
    group.add_argument(
        "--shard", type=shards.parse, metavar="I/N", help="render the I-th of N parts"
    )


def _count(text: str) -> int:
    return times.count(text, "processes", MOST)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Render what is not fresh, or compare all of it with what was rendered before."""
    shard = arguments.shard or shards.of(os.environ)
    policies = {path: inputs.policy(path) for path in arguments.policies}
    try:
        wanted = _fleet(arguments, [policies[path] for path in arguments.policies])
    except NoClusterError:
        wrong = _found(policies.values())
        if not any(map(_is_about_clusters, wrong)):
            raise
        return report.show(places.placed(wrong, policies), strict=arguments.strict)
    tree = FleetOutput(wanted, arguments.output, arguments.check, arguments.strict)
    base = tree.fleet.base()
    said = list(base.results)
    for path, config in policies.items():
        said += applied.check(config, path)
    if base.files is None or fails(said, strict=arguments.strict):
        return report.show(places.placed(said, policies), strict=arguments.strict)
    stale, found = False, Findings(base.results)
    with ExitStack() as stack:
        if not arguments.check:
            stack.enter_context(locks.part(arguments.output, shard.index, shard.count))
        names = list(filter(shard.has, tree.clusters()))
        for outcome in _outcomes(
            tree, base.files if shard.has_base else None, names, arguments.jobs
        ):
            output.show(outcome.diff)
            stale |= arguments.check and outcome.changed
            found.add(outcome)
    code = report.show(places.placed(found.results(), policies), strict=arguments.strict)
    if code is ExitCode.FINE:
        report.tell_zone_rules()
    return ExitCode.ERROR if stale else code


class NoClusterError(InputError):
    """There is no cluster to render for."""


def _found(policies: Iterable[KubeObject]) -> list[Result]:
    """Return what is to be said of policies that name no clusters, or none that can be read."""
    read = [load.read(policy.node, file=file_of(policy)) for policy in policies]
    return [result for source in read for result in source.version(None)[1]]


def _is_about_clusters(result: Result) -> bool:
    """Whether clusters were named, and wrongly: in a list, or with nothing behind their names."""
    path = f"{result.field.path}." if result.field else ""
    return fails([result]) and path.startswith(f"{CLUSTERS}.")


def _outcomes(
    tree: FleetOutput, base: Files | None, names: Sequence[str], jobs: int
) -> Iterator[ClusterOutcome]:
    if base is not None:
        yield tree.base(base)
    yield from progress.bar(spread(tree.cluster, names, jobs), len(names))


class Findings:
    """What was found in the base and in clusters: each once, and what is not true of all with the names of some."""

    def __init__(self, base: Iterable[Result]) -> None:
        self._base = {str(result): result for result in base}
        self._clusters: dict[str, tuple[Result, list[str]]] = {}

    def add(self, outcome: ClusterOutcome) -> None:
        """Take what was found in a cluster."""
        for result in outcome.results:
            if str(result) not in self._base:
                self._clusters.setdefault(str(result), (result, []))[1].append(outcome.cluster)

    def results(self) -> list[Result]:
        """Return all of it."""
        some = self._clusters.values()
        named = (replace(result, message=result.message + _in(names)) for result, names in some)
        return [*self._base.values(), *named]


def _in(clusters: Sequence[str]) -> str:
    rest = len(clusters) - _LISTED
    return f" [{', '.join(clusters[:_LISTED])}{f' and {rest} more' if rest > 0 else ''}]"


def _fleet(arguments: argparse.Namespace, shared: Sequence[KubeObject]) -> Fleet:
    own = _clusters(arguments.clusters) if arguments.clusters else {}
    policies = _policies(shared, own)
    named = (
        {name for policy in policies for name in policy.named} if arguments.all_clusters else set()
    )
    clusters = sorted(
        cluster for cluster in {*own, *named} if any(policy.reaches(cluster) for policy in policies)
    )
    if not clusters:
        raise NoClusterError(
            "there is no cluster: the policies name none, and there is none in --clusters"
        )
    return Fleet(
        policies=policies,
        clusters=tuple(clusters),
        layout=arguments.layout,
        resources=_resources(arguments.resources),
        sees=arguments.resources is not None,
        apart=CLUSTER in (arguments.resources or ""),
        uninstalls=arguments.uninstall,
        delivery=_template(arguments.flux_kustomizations)
        if arguments.flux_kustomizations
        else None,
        existing=_existing(arguments.output),
    )


def _existing(output: Path) -> Callable[[str], tuple[Claim, ...]]:
    """Return what gives the policies that were rendered for a cluster around the tree, and not into it."""
    root = f"{os.path.realpath(output)}/"

    def is_own(file: str) -> bool:
        return file.startswith(root) and _OWN.fullmatch(file, len(root)) is not None

    # Here and not in the processes that share the work, of which each would look anew.
    found: dict[str, tuple[Claim, ...]] = {}
    for claim in ExistingOutput(output, is_own).claims:
        if claim.cluster is not None:
            found[claim.cluster] = (*found.get(claim.cluster, ()), claim)
    return lambda cluster: found.get(cluster, ())


def _clusters(folder: Path) -> dict[str, list[KubeObject]]:
    """Return the WindowPolicies of each cluster in a directory: a file of its name, or all below a directory of it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such directory")
    found: dict[str, list[KubeObject]] = {}
    for path in sorted(walk.entries(folder)):
        name = path.name if path.is_dir() else path.stem
        if path.name.startswith(".") or not (path.is_dir() or path.suffix in SUFFIXES):
            continue
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{path}: leads out of {folder}, whose files alone are read")
        if not re.fullmatch(fields.LABEL, name):
            raise InputError(
                f"{path}: {name!r} is no name of a cluster, which is a-z, 0-9 and, between them, -"
            )
        policies = (
            item for item in inputs.resources(str(path), without=_is_rendered) if item.kind == KIND
        )
        found.setdefault(name, []).extend(policies)
    return found


def _policies(
    shared: Sequence[KubeObject], own: Mapping[str, Sequence[KubeObject]]
) -> tuple[FleetPolicy, ...]:
    """Return the policies, each with those of its documents that are about single clusters, by name."""
    policies = {_address(policy): policy for policy in shared}
    if len(policies) < len(shared):
        raise InputError("one policy is given twice")
    documents: dict[tuple[str, str], dict[str, KubeObject]] = {address: {} for address in policies}
    for cluster, found in own.items():
        for document in found:
            by_cluster = documents.setdefault(_meant(document, policies), {})
            if cluster in by_cluster:
                raise InputError(f"the cluster {cluster} has the policy {document.name} twice")
            by_cluster[cluster] = document
    return tuple(
        FleetPolicy(policies.get(address), documents[address]) for address in sorted(documents)
    )


def _address(policy: KubeObject) -> tuple[str, str]:
    return policy.namespace, policy.name


def _meant(document: KubeObject, policies: Mapping[tuple[str, str], KubeObject]) -> tuple[str, str]:
    """Return the policy that a document of a cluster is about; one that names no namespace may leave it out."""
    if document.namespace:
        return _address(document)
    return next(
        (address for address in policies if address[1] == document.name), _address(document)
    )


def _resources(path: str | None) -> Callable[[str | None], list[KubeObject]]:
    """Return what reads the resources of a cluster, without what was rendered before."""
    if path is None:
        return lambda _: []
    if CLUSTER not in path:
        items = seen.resources(path, _is_rendered)
        return lambda _: items

    @lru_cache(maxsize=1)
    def read(cluster: str | None) -> list[KubeObject]:
        return seen.resources(path.replace(CLUSTER, cluster), _is_rendered) if cluster else []

    return read


def _is_rendered(file: Path) -> bool:
    line = first_line(file)
    return line is not None and render.is_header(line)


def _template(path: str) -> Template:
    found = inputs.objects(path)
    if len(found) != 1:
        raise InputError(f"{path}: must hold one Kustomization, found {len(found)} objects")
    try:
        return Template.of(found[0])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error

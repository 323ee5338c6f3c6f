"""`krm-windows render` for many clusters at once."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from operator import methodcaller
from pathlib import Path

from krm_windows import render
from krm_windows.cli import (
    cluster_resources,
    inputs,
    output,
    progress,
    report,
    stale,
)
from krm_windows.emit.timetables import Versions
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.fleet.output import ClusterOutcome, FleetOutput
from krm_windows.fleet.policies import FleetPolicy
from krm_windows.fleet.rendering import Files, Fleet, RenderedFiles
from krm_windows.inventory import file_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted, some
from krm_windows.policy import fields, load
from krm_windows.policy.model import KIND
from krm_windows.render import apart, command, layout
from krm_windows.render.command import CLUSTER
from krm_windows.render.delivery import Template
from krm_windows.results import Result, fails
from krm_windows.system import locks, tops, walk
from krm_windows.system.files import first_line
from krm_windows.system.reading import SUFFIXES

# What a fleet is rendered to, below its directory: files of ours that are about to be written
# again.
_OWN = re.compile(
    f"{layout.WINDOW}/.*|{layout.CLUSTERS}/[^/]+/(?:{layout.WINDOW}|{layout.DELIVERY})/.*"
)
# Names in a message, before `and 17 more`.
_LISTED = 3


def run(arguments: argparse.Namespace) -> ExitCode:
    """Render, or compare with what was rendered before."""
    policies = {path: inputs.policy(path) for path in arguments.policies}
    try:
        wanted = _fleet(arguments, [policies[path] for path in arguments.policies])
    except NoClusterError:
        # A policy that names its clusters wrongly has none: then say what is wrong with it.
        wrong: list[Result] = []
        for each in policies.values():
            wrong += load.read(each.node, file=file_of(each)).version(None)[1]
        if not fails(wrong):
            raise
        return _report(wrong, policies, arguments)
    tree = FleetOutput(wanted, arguments.output_dir, arguments.strict)
    base, said = _base(wanted, policies)
    # An error in the base is in every cluster: it is reported once, and none is rendered.
    if base.files is None or fails(said, strict=arguments.strict):
        return _report(said, policies, arguments, "nothing written")
    found = Findings(said)
    renewed = _check if arguments.check else _write
    number, done = renewed(tree, base.files, found, arguments)
    clusters = counted(len(wanted.clusters), "cluster")
    code = _report(found.results(), policies, arguments, clusters, *done, report.zone_rules())
    return ExitCode.ERROR if arguments.check and number else code


def _base(wanted: Fleet, policies: Mapping[str, KubeObject]) -> tuple[RenderedFiles, list[Result]]:
    """Render what all clusters share; return it with all that is to be said of the policies."""
    base = wanted.base()
    said = list(base.results)
    for path, config in policies.items():
        said += applied.check(config, path)
    return base, said


def _report(
    results: Sequence[Result],
    policies: Mapping[str, KubeObject],
    arguments: argparse.Namespace,
    *done: str,
) -> ExitCode:
    """Print what was found with the files where it is, and a line of what was done."""
    every = report.located(results, policies, arguments.resources)
    code = report.show(every, strict=arguments.strict)
    report.summarize(every, *done)
    return code


def renewal(arguments: argparse.Namespace) -> tuple[list[Result], dict[str, bytes | None]]:
    """Return what is to be said of a fleet, and which files of its directory `render` changes.

    By path, None for one that it removes; those of a cluster with an error stay as they are.
    """
    policies = {path: inputs.policy(path) for path in arguments.policies}
    wanted = _fleet(arguments, [policies[path] for path in arguments.policies])
    tree = FleetOutput(wanted, arguments.output_dir)
    base, results = _base(wanted, policies)
    edits: dict[str, bytes | None] = {}
    if base.files is not None and not fails(results):
        found = Findings(results)
        for outcome in (tree.base(base.files), *map(tree.cluster, tree.clusters())):
            found.add(outcome)
            edits |= outcome.edits()
        results = found.results()
    return report.located(results, policies, arguments.resources), edits


class NoClusterError(InputError):
    """There is no cluster to render for."""


def _clusters_of(tree: FleetOutput) -> Iterator[ClusterOutcome]:
    names = tree.clusters()
    return progress.bar(map(tree.cluster, names), len(names))


def _check(
    tree: FleetOutput, base: Files, found: "Findings", arguments: argparse.Namespace
) -> tuple[int, Iterable[str]]:
    """Show how a fleet differs; return how many files do, and that in words."""
    diffs: dict[str, str] = {}
    versions: list[Versions] = []
    for outcome in chain([tree.base(base)], _clusters_of(tree)):
        found.add(outcome)
        if changed := outcome.stale():
            diffs |= changed
            versions += outcome.versions()
    if arguments.diff:
        output.show("".join(diffs.values()))
    stale.show(arguments.output_dir, diffs, versions)
    return len(diffs), report.stale(len(diffs), stale.MORE)


def _write(
    tree: FleetOutput, base: Files, found: "Findings", arguments: argparse.Namespace
) -> tuple[int, Iterable[str]]:
    """Render a fleet; return how many files were written, and what was in words."""
    written = removed = 0
    with locks.alone(arguments.output_dir):
        # Only when it is asked for its outcome are all clusters written.
        tidied = map(tree.tidied_base, [base])
        for outcome in chain([tree.begun_base(base)], _clusters_of(tree), tidied):
            found.add(outcome)
            changes = outcome.write()
            written += changes.written
            removed += changes.removed
    return written, report.changes(written, removed)


class Findings:
    """What was found in the base and in clusters.

    Each once, and what is not true of all with the names of some.
    """

    def __init__(self, base: Iterable[Result]) -> None:
        # By all that they say: the same words about another object are another finding.
        self._base = dict.fromkeys(base)
        self._clusters: dict[Result, list[str]] = {}

    def add(self, outcome: ClusterOutcome) -> None:
        """Take what was found in a cluster."""
        for result in outcome.results:
            # What is true of the base is true of every cluster, and is reported without names.
            if result not in self._base:
                self._clusters.setdefault(result, []).append(outcome.cluster)

    def results(self) -> list[Result]:
        """Return all of it."""
        named = (
            result._replace(message=f"{result.message} [{some(names, _LISTED)}]")
            for result, names in self._clusters.items()
        )
        return [*self._base, *named]


def _fleet(arguments: argparse.Namespace, shared: Sequence[KubeObject]) -> Fleet:
    own = _clusters(arguments.clusters) if arguments.clusters else {}
    # `own` are policies that a cluster brings itself, or patches of a shared one.
    policies = _policies(shared, own)
    named = set(own)
    if arguments.all_clusters:
        named = named.union(*(policy.named for policy in policies))
    # Sorted: the output must not depend on the order of files on a disk.
    clusters = tuple(
        cluster for cluster in sorted(named) if any(map(methodcaller("reaches", cluster), policies))
    )
    if not clusters:
        raise NoClusterError("no cluster found: the policies name none, and --clusters has none")
    # How it is delivered is looked for among resources where no template says it.
    sees = arguments.resources is not None
    delivery = template(arguments.flux_kustomizations)
    place = None
    if sees and delivery is None:
        place = apart.place(arguments.output_dir)
    resources = _resources(arguments.resources)
    return Fleet(
        policies=policies,
        clusters=clusters,
        layout=arguments.layout,
        resources=resources,
        sees=sees,
        # Only with `{cluster}` in the path does each cluster have resources of its own.
        apart=CLUSTER in (arguments.resources or ""),
        uninstalls=arguments.uninstall,
        delivery=delivery,
        place=place,
        existing=_existing(arguments.output_dir, resources, arguments.policies),
        command=command.called(arguments, tops.top),
    )


def _existing(
    output: Path, resources: Callable[[str | None], list[KubeObject]], policies: Iterable[str]
) -> ExistingOutput:
    """Return what was rendered around the tree, not into it."""
    root = f"{os.path.realpath(output)}/"

    def is_own(file: str) -> bool:
        return file.startswith(root) and _OWN.fullmatch(file, len(root)) is not None

    files = (path for path in policies if path != inputs.STDIN)
    return ExistingOutput(output, is_own, resources, tuple(map(Path, files)))


def _clusters(folder: Path) -> dict[str, list[KubeObject]]:
    """Return the WindowPolicies of each cluster in a directory.

    A file of its name, or all below a directory of it.
    """
    inputs.check_directory(folder)
    found: dict[str, list[KubeObject]] = {}
    # A directory lists in any order, and messages are to come in the same one everywhere.
    for path in sorted(walk.entries(folder)):
        is_folder = path.is_dir()
        # `.gitkeep`, and a README.md beside the clusters.
        if path.name.startswith(".") or not (is_folder or path.suffix in SUFFIXES):
            continue
        name = path.name if is_folder else path.stem
        _refuse(folder, path, name)
        items = inputs.resources(str(path), without=_is_rendered)
        # Both `a.yaml` and `a/` may say something of the cluster `a`.
        policies = found.setdefault(name, [])
        policies.extend(item for item in items if item.kind == KIND)
    return found


def _refuse(folder: Path, path: Path, name: str) -> None:
    """Refuse what leads out of the directory, and what no cluster can be called."""
    # A link `prod.yaml -> /etc/passwd` in a pull request must show nobody that file.
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path}: leads out of {folder}, and only files inside it are read")
    # A name becomes a directory of the output and a label (RFC 1123).
    if not re.fullmatch(fields.LABEL, name):
        raise InputError(
            f"{path}: {name!r} is not a valid cluster name: a-z, 0-9 and -, starting and "
            "ending with a letter or digit"
        )


def _policies(
    shared: Sequence[KubeObject], own: Mapping[str, Sequence[KubeObject]]
) -> tuple[FleetPolicy, ...]:
    """Return the policies by name, each with its documents that are about single clusters."""
    policies = {_address(policy): policy for policy in shared}
    # A dict has taken one of the two for the other.
    if len(policies) < len(shared):
        raise InputError("a policy is given twice")
    documents: dict[tuple[str, str], dict[str, KubeObject]] = {address: {} for address in policies}
    for cluster, found in own.items():
        for document in found:
            # A document for a policy that no shared file has is a policy of this cluster alone.
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
    """Return the policy that a document of a cluster is about.

    One that names no namespace may leave it out.
    """
    if not document.namespace:
        for address in policies:
            # Without a namespace the name alone has to do: the first policy of it is meant.
            if address[1] == document.name:
                return address
    return _address(document)


def _resources(path: str | None) -> Callable[[str | None], list[KubeObject]]:
    """Return what reads the resources of a cluster, without what was rendered before."""
    if path is None:
        return lambda _: []
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
    line = first_line(file)
    return line is not None and render.is_header(line)


def template(path: str | None) -> Template | None:
    """Return the Flux Kustomization of a file; raises InputError where it holds no such."""
    if not path:
        return None
    try:
        return Template.of(inputs.only(path, "Kustomization"))
    except InputError as error:
        raise error.in_file(path) from error

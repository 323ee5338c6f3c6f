"""A fleet, as the arguments of `render` for many clusters give it."""

import argparse
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import methodcaller
from pathlib import Path

from krm_windows import render
from krm_windows.cli import cluster_resources, inputs, progress
from krm_windows.fleet import applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.fleet.output import FleetOutput, Outcome
from krm_windows.fleet.policies import FleetPolicy
from krm_windows.fleet.rendering import Fleet
from krm_windows.inventory import file_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.policy import fields, load
from krm_windows.policy.model import KIND
from krm_windows.render import apart, command, layout
from krm_windows.render.command import CLUSTER
from krm_windows.render.delivery import Template
from krm_windows.results import Result, fails
from krm_windows.system import tops
from krm_windows.system.files import first_line
from krm_windows.system.reading import SUFFIXES

# What a fleet is rendered to, below its directory: files of ours that are about to be written
# again.
_OWN = re.compile(
    f"{layout.WINDOW}/.*|{layout.CLUSTERS}/[^/]+/(?:{layout.WINDOW}|{layout.DELIVERY})/.*"
)


def outcomes(
    arguments: argparse.Namespace, policies: Mapping[str, KubeObject], *, strict: bool
) -> Iterator[Outcome]:
    """Yield what becomes of the base of a fleet and of its clusters; `policies` are by file."""
    own = _clusters(arguments.clusters) if arguments.clusters else {}
    # `own` are policies that a cluster brings itself, or patches of a shared one.
    every = _policies([policies[path] for path in arguments.policies], own)
    named = set(own)
    if arguments.all_clusters:
        named = named.union(*(policy.named for policy in every))
    # Sorted: the output must not depend on the order of files on a disk.
    clusters = tuple(
        cluster for cluster in sorted(named) if any(map(methodcaller("reaches", cluster), every))
    )
    if not clusters:
        # A policy that names its clusters wrongly has none: then say what is wrong with it.
        wrong: list[Result] = []
        for each in policies.values():
            wrong += load.read(each.node, file=file_of(each)).version(None)[1]
        if not fails(wrong):
            raise InputError("no cluster found: the policies name none, and --clusters has none")
        yield Outcome("", wrong)
        return
    said: list[Result] = []
    for path, config in policies.items():
        said += applied.check(config, path)
    tree = FleetOutput(_fleet(arguments, every, clusters), arguments.output_dir, strict)
    yield from tree.outcomes(said, lambda names: progress.bar(names, len(names)))


def _fleet(
    arguments: argparse.Namespace, policies: tuple[FleetPolicy, ...], clusters: tuple[str, ...]
) -> Fleet:
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
        existing=_existing(arguments.output_dir, resources),
        command=command.called(arguments, tops.top),
    )


def _existing(output: Path, resources: Callable[[str | None], list[KubeObject]]) -> ExistingOutput:
    """Return what was rendered around the tree, not into it."""
    root = f"{os.path.realpath(output)}/"

    def is_own(file: str) -> bool:
        return file.startswith(root) and _OWN.fullmatch(file, len(root)) is not None

    return ExistingOutput(output, is_own, resources)


def _clusters(folder: Path) -> dict[str, list[KubeObject]]:
    """Return the WindowPolicies of each cluster in a directory.

    A file of its name, or all below a directory of it.
    """
    inputs.check_directory(folder)
    found: dict[str, list[KubeObject]] = {}
    # A directory lists in any order, and messages are to come in the same one everywhere.
    for path in sorted(folder.iterdir()):
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
    return render.is_header(first_line(file))


def template(path: str | None) -> Template | None:
    """Return the Flux Kustomization of a file; raises InputError where it holds no such."""
    if not path:
        return None
    try:
        return Template.of(inputs.only(path, "Kustomization"))
    except InputError as error:
        raise error.in_file(path) from error

"""`krm-windows init`: a first policy for one cluster of a Flux repository."""

import argparse
import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from krm_windows import SOURCE, escape, rules
from krm_windows.cli import builds, inputs, output, rendered, report, times
from krm_windows.exit_codes import ExitCode
from krm_windows.flux import Cluster, Survey, cluster_directories, names, survey
from krm_windows.flux.builds import Builds
from krm_windows.flux.closure import kustomization_file
from krm_windows.flux.sources import Hints
from krm_windows.function import kinds
from krm_windows.init import policy
from krm_windows.init.policy import Draft
from krm_windows.init.targets import FirstTargets, propose
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted, some
from krm_windows.policy.load import load
from krm_windows.render.command import CALL, RenderCommand
from krm_windows.render.outputs import Output, Renewal
from krm_windows.results import Severity, fails
from krm_windows.system import files
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder

NAME = "deploy-windows"
OPENS = "Mon-Thu 09:00"
CLOSES = "16:00"
# So many targets of a kind are named; the policy has all of them.
_FEW = 3
# For those whose Kustomizations are only in the cluster, too.
_ADVICE = (
    "use --clusters GLOB to say where the clusters are, or, if `flux create` made the "
    f"Kustomizations, see {SOURCE}/blob/main/docs/how-to/start.md"
)


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "directory",
        nargs="?",
        default=Path(),
        type=Path,
        metavar="DIR",
        help="the repository that Flux applies (default: this directory)",
    )
    parser.add_argument(
        "--time-zone",
        required=True,
        metavar="ZONE",
        help="the time zone of the windows, such as Europe/Berlin",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the cluster (default: the first)",
    )
    parser.add_argument(
        "--clusters",
        metavar="GLOB",
        help="the directories of the clusters (default: search for them)",
    )
    builds.add_source_option(parser)
    builds.add_trust_option(parser)
    texts = {
        "name": ("NAME", NAME, "the policy's name"),
        "opens": ("MOMENT", OPENS, "when the window opens"),
        "closes": ("MOMENT", CLOSES, "when the window closes"),
    }
    for name, (what, default, words) in texts.items():
        parser.add_argument(
            f"--{name}", default=default, metavar=what, help=f"{words} (default: {default})"
        )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write a policy for a cluster, and say what to do next."""
    inputs.check_directory(arguments.directory)
    tree = Checkout.at(arguments.directory)
    hints = builds.hints(tree, arguments.source, arguments.directory)
    by_name = _directories(tree, arguments)
    name = arguments.cluster or next(iter(by_name))
    listed = ", ".join(by_name)
    if name not in by_name:
        raise InputError(f"cluster {name} not found; found: {listed}")
    found = _survey(tree, by_name[name], hints, trust=arguments.trust)
    cluster = replace(found.clusters[0], name=name)
    for notice in found.notices:
        # What was built, and not written in a file, has its name.
        said = f"{notice.about or f'{notice.file}:{notice.line}'}: {notice.message}"
        # Hints are for `check --repo`, which shows all of them.
        if notice.rule.severity is Severity.ERROR:
            output.log(said)
        elif notice.rule is rules.NOT_FOLLOWED:
            _show([f"not read: {said}"])
    proposed = propose(cluster, tree)
    if not proposed.targets:
        raise InputError(_nothing(cluster, proposed))
    draft = Draft(
        name=arguments.name,
        # Flux may apply a policy's objects only where it may write: where the root itself is.
        namespace=cluster.first.namespace,
        cluster=name,
        root=str(cluster.first),
        zone=arguments.time_zone,
        opens=arguments.opens,
        closes=arguments.closes,
        year=times.now().year,
        directory=cluster.root,
    )
    # What somebody edited is not written over; `set` and an editor change it.
    if tree.read(draft.file) is not None:
        raise InputError(f"{draft.file}: already exists; edit it, or use another --name")
    text = policy.write(draft, proposed)
    # What is only doubtful is for `check` to say, once the policy is the user's own.
    wrong = [each for each in load(KubeObject.parse(text.encode()).node).results if fails([each])]
    if wrong:
        raise InputError("; ".join(f"{each.path} {each.message}" for each in wrong))
    # Only one is written at a time: what is right for one may be wrong for another.
    if len(by_name) > 1:
        _show([f"using cluster {name} of {listed}; use --cluster NAME for another"])
    _show(_described(cluster, proposed))
    renewal = _write(tree, draft, text)
    if renewal.is_known:
        warned = [each for each in renewal.results if each.severity is Severity.WARNING]
        output.log_list(report.shown(warned, strict=False))
    else:
        output.log(f"{draft.rendered}: not rendered: {renewal.why}")
    _show(_next(tree, draft, len(renewal.edits), arguments))
    return ExitCode.of(failed=not renewal.is_known)


def _directories(tree: Checkout, arguments: argparse.Namespace) -> dict[str, str]:
    """Return the directories of clusters by their names; raises InputError where there is none."""
    # What `flux bootstrap` wrote says it best, then the habits of Flux repositories.
    if arguments.clusters is None:
        directories = [each.directory for each in cluster_directories.find(tree)]
    elif not (directories := tree.directories(arguments.clusters)):
        raise builds.unmatched(str(arguments.directory), arguments.clusters)
    if not directories:
        raise InputError(
            f"{arguments.directory}: no cluster found, because no file contains a Flux "
            f"Kustomization (kustomize.toolkit.fluxcd.io); {_ADVICE}"
        )
    return {name: directory for directory, name in names(directories).items()}


def _survey(tree: Checkout, directory: str, hints: Hints, *, trust: bool) -> Survey:
    """Return what a cluster comes to; the others are not built for it, which may take minutes."""
    # A policy in the directory of another cluster is that cluster's, though it is not followed.
    others = tuple(each.directory for each in cluster_directories.find(tree))
    cache = builds.cache(Path(tree.root))
    builder = Builder.find(cache, trust=trust)
    # Without kustomize most is known all the same: what cannot be built is told.
    made = Builds(tree, builder, os.cpu_count() or 1)
    return survey(tree, [directory], made, replace(hints, clusters=others))


def _nothing(cluster: Cluster, proposed: FirstTargets) -> str:
    """Say why a cluster has nothing that a policy could gate."""
    # A second policy of the same targets would be refused by `check --repo`.
    if proposed.gated:
        policies = ", ".join(sorted({gate.policy for gate in cluster.gates}))
        return f"cluster {cluster.name}: everything in it is already gated by {policies}; edit that"
    if proposed.left_out:
        return f"cluster {cluster.name}: nothing can be gated: {'; '.join(_left_out(proposed))}"
    return (
        f"cluster {cluster.name}: no Flux Kustomization and no HelmRelease was found in what "
        f"{cluster.root} applies, and only these can be gated; {_ADVICE}"
    )


def _show(lines: Iterable[str]) -> None:
    """Print lines; a name from the repository that has a line end in it stays in its line."""
    output.show(escape.lines(lines))


def _described(cluster: Cluster, proposed: FirstTargets) -> Iterator[str]:
    """Say what was found, a line for each fact."""
    yield f"targets in cluster {cluster.name}, closed outside the windows:"
    by_kind: dict[str, list[str]] = {}
    for each in proposed.targets:
        by_kind.setdefault(each.kind, []).append(each.path)
    for kind, targets in by_kind.items():
        yield f"  {kind}: {some(targets, _FEW)}"
    first = cluster.first
    if first.own is not None:
        yield f"left out: {first}, which delivers the windows"
    else:
        yield (
            f"left out: {first}, which delivers the windows if it has the usual name: nothing in "
            f"the repository applies {cluster.root}"
        )
    if proposed.gated:
        yield f"left out: {len(proposed.gated)} already gated by other policies"
    yield from _left_out(proposed)


def _left_out(proposed: FirstTargets) -> Iterator[str]:
    """Yield what is no target, and why."""
    for each, why in proposed.left_out.items():
        yield f"left out: {each}, {why}"


def _write(tree: Checkout, draft: Draft, text: str) -> Renewal:
    """Write the policy, its schema and what is rendered of it; return what came of rendering."""
    top = Path(tree.root)
    # An editor shows by the schema what a field means, and what it may be.
    schema = kinds.read("WindowPolicy", "json").encode()
    files.put(top, {policy.SCHEMA: schema, draft.file: text.encode()})
    command = RenderCommand(tuple(shlex.split(draft.command)[len(CALL) :]))
    renewal = rendered.renew(top, Output(command, (), frozenset()), Path.cwd())
    rendered.write(top, renewal.edits)
    return renewal


def _next(tree: Checkout, draft: Draft, count: int, arguments: argparse.Namespace) -> Iterator[str]:
    """Say what was written, and the next commands."""
    windows = f"{draft.rendered}/ ({counted(count, 'file')}), " if count else ""
    yield f"written: {draft.file}, {windows}{policy.SCHEMA}"
    yield "next:"
    # Without one, Flux applies every directory.
    kustomization = kustomization_file(tree, draft.directory)
    if kustomization is not None:
        yield f"  add `- {draft.name}` to `resources` in {kustomization}, or it is not applied"
    # The commands name paths as the repository has them, so that they can be kept in CI.
    if arguments.directory != Path():
        yield f"  cd {shlex.quote(str(arguments.directory))}"
    yield f"  krm-windows calendar {shlex.quote(draft.file)}"
    check = ["krm-windows", "check", "--repo", ".", "--clusters", draft.directory]
    for each in arguments.source:
        check += ["--source", str(each)]
    yield f"  {shlex.join(check)}"
    yield "whenever you have edited the policy:"
    yield f"  {draft.command}"

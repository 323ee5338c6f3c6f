"""`krm-windows init`: a first policy for one cluster of a Flux repository."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from krm_windows import SOURCE, escape, rules
from krm_windows.cli import builds, inputs, output, progress, rendered, report, repository, times
from krm_windows.exit_codes import ExitCode
from krm_windows.flux import (
    Cluster,
    Survey,
    cluster_directories,
    names,
    objects,
    survey,
)
from krm_windows.flux.builds import Builds
from krm_windows.flux.follow import ROOT
from krm_windows.function import kinds
from krm_windows.init import files as layout
from krm_windows.init import policy
from krm_windows.init.files import Place
from krm_windows.init.policy import Draft
from krm_windows.init.targets import FirstTargets, propose
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted
from krm_windows.policy.load import load
from krm_windows.render.command import CALL, RenderCommand
from krm_windows.render.outputs import Output, Renewal
from krm_windows.results import Severity, fails
from krm_windows.schedule import zones
from krm_windows.system import files, tops
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder

NAME = "deploy-windows"
# For those whose Kustomizations are only in the cluster.
CREATED = f"{SOURCE}/blob/main/docs/how-to/start.md"
OPENS = "Mon-Thu 09:00"
CLOSES = "16:00"
# Where Linux and macOS keep the zone of a machine: a link that ends in its name (localtime(5)).
_LOCALTIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"
_UTC = "Etc/UTC"
# Of what could not be read, so many are named.
_FEW = 3
# What a cluster is called that is worth windows first, by a part of its name.
_FIRST = ("production", "prod", "live", "main")
# As in `plant-prod-01` and `kubernetes/main/flux`.
_PARTS = re.compile(r"[^a-z]+")


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
    parser.add_argument("--yes", action="store_true", help="ask no questions and use the defaults")
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the cluster (default: production if it exists, else the first)",
    )
    parser.add_argument(
        "--clusters",
        metavar="GLOB",
        help="the directories of the clusters (default: search for them)",
    )
    builds.add_source_option(parser)
    builds.add_trust_option(parser)
    parser.add_argument(
        "--name", default=NAME, metavar="NAME", help=f"the policy's name (default: {NAME})"
    )
    parser.add_argument(
        "--time-zone",
        metavar="ZONE",
        help="the time zone, such as Europe/Berlin (default: that of this machine)",
    )
    parser.add_argument(
        "--opens", metavar="MOMENT", help=f"when the window opens (default: {OPENS})"
    )
    parser.add_argument(
        "--closes", metavar="MOMENT", help=f"when the window closes (default: {CLOSES})"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write a policy for a cluster, and say what to do next."""
    inputs.check_directory(arguments.directory)
    tree = Checkout.at(arguments.directory)
    # In CI nobody answers, and a call that waits there for ever would help nobody.
    asks = not arguments.yes and _is_interactive()
    by_name = _directories(tree, arguments)
    name = _chosen(by_name, arguments, asks=asks)
    found = _survey(tree, by_name[name], arguments)
    cluster = replace(found.clusters[0], name=name)
    _check_top(tree, cluster)
    _log_unread(found)
    proposed = propose(cluster, tree)
    if not proposed.targets:
        raise InputError(_nothing(cluster, proposed, tree))
    place = Place(cluster.root, arguments.name, _delivery(tree, cluster, proposed))
    # What somebody edited is not written over; `set` and an editor change it.
    if tree.read(place.policy) is not None:
        raise InputError(f"{place.policy}: already exists; edit it, or use another --name")
    draft = _draft(cluster, place, arguments)
    if asks:
        draft = replace(
            draft,
            zone=_question("Time zone of the windows?", draft.zone),
            opens=_question("When do they open?", draft.opens),
            closes=_question("When do they close?", draft.closes),
        )
    text = policy.write(draft, proposed)
    _check_options(text)
    _show(_described(found, cluster, proposed))
    written, renewal = _write(tree, place, proposed, text)
    if not renewal.is_known:
        output.log(f"{place.rendered}: not rendered: {renewal.why}")
    else:
        warned = [each for each in renewal.results if each.severity is Severity.WARNING]
        output.log_results(report.shown(warned, strict=False))
    _show(_next(tree, place, written, arguments))
    return ExitCode.of(failed=not renewal.is_known)


def _delivery(tree: Checkout, cluster: Cluster, proposed: FirstTargets) -> str:
    """Return the file of the root where `render` needs it, and does not read it with the rest."""
    if all(namespace == cluster.first.namespace for _, _, namespace, _ in proposed.targets):
        return ""
    for each in cluster_directories.find(tree):
        is_outside = not each.file.startswith(f"{cluster.root}/")
        if each.directory != cluster.root or cluster.root == "." or not is_outside:
            continue
        # `render` takes a file with one Kustomization.
        items = objects.written(tree.read(each.file) or b"", each.file)
        if [item.kind for item in items].count("Kustomization") == 1:
            return each.file
    return ""


def _is_interactive() -> bool:
    # An answer has to be typed, and the question to be seen.
    return sys.stdin.isatty() and output.is_terminal()


def _directories(tree: Checkout, arguments: argparse.Namespace) -> dict[str, str]:
    """Return the directories of clusters by their names; raises InputError where there is none."""
    # What `flux bootstrap` wrote says it best, then the habits of Flux repositories.
    if arguments.clusters is None:
        directories = [each.directory for each in cluster_directories.find(tree)]
    else:
        directories = tree.directories(arguments.clusters)
    if not directories and arguments.clusters is not None:
        raise InputError(f"{repository.unmatched(arguments)}; {repository.advice(tree)}")
    if not directories:
        raise InputError(
            f"{arguments.directory}: no cluster found, because no file contains a Flux "
            "Kustomization (kustomize.toolkit.fluxcd.io); use --clusters GLOB to say where the "
            f"clusters are, or, if `flux create` made the Kustomizations, see {CREATED}"
        )
    return {name: directory for directory, name in names(directories).items()}


def _chosen(
    by_name: Mapping[str, str],
    arguments: argparse.Namespace,
    *,
    asks: bool,
) -> str:
    """Return the cluster that the policy is for; raises InputError for a name that is none."""
    listed = ", ".join(by_name)
    wanted: str | None = arguments.cluster
    if wanted is None:
        wanted = _default(by_name)
        if asks and len(by_name) > 1:
            wanted = _question(f"Which cluster of {listed}?", wanted)
    if wanted not in by_name:
        raise InputError(f"cluster {wanted} not found; found: {listed}")
    # Only one is written at a time: what is right for one may be wrong for another.
    if len(by_name) > 1:
        _show([f"using cluster {wanted} of {listed}; use --cluster NAME for another"])
    return wanted


def _survey(
    tree: Checkout,
    directory: str,
    arguments: argparse.Namespace,
) -> Survey:
    """Return what a cluster comes to; the others are not built for it, which may take minutes."""
    hints = builds.hints(tree, arguments.source, arguments.directory)
    # A policy in the directory of another cluster is that cluster's, though it is not followed.
    others = tuple(each.directory for each in cluster_directories.find(tree))
    hints = replace(hints, clusters=others)
    cache = builds.cache(Path(tree.root), None)
    builder = Builder.find(cache, trust=arguments.trust)
    # Without kustomize most is known all the same: what cannot be built is told.
    with progress.meter("builds") as report:
        jobs = os.cpu_count() or 1
        made = Builds(tree, builder, jobs, report)
        return survey(tree, [directory], made, hints)


def _default(names: Collection[str]) -> str:
    """Return the cluster that is meant where nobody says which."""
    for wanted in _FIRST:
        # The very name comes before one that has more to it.
        if wanted in names:
            return wanted
        for name in names:
            if wanted in _PARTS.split(name.lower()):
                return name
    return next(iter(names))


def _log_unread(found: Survey) -> None:
    """Say what could not be built, so that nobody takes what is proposed for all there is."""
    for notice in found.notices:
        # Hints are for `check --repo`, which shows all of them.
        if notice.rule.severity is Severity.ERROR:
            # What was built, and not written in a file, has its name alone.
            place = f"{notice.file}:{notice.line}" if notice.file else notice.about
            output.log(f"{place}: {notice.message}")


def _nothing(cluster: Cluster, proposed: FirstTargets, tree: Checkout) -> str:
    """Say why a cluster has nothing that a policy could gate."""
    # A second policy of the same targets would be refused by `check --repo`.
    if proposed.gated:
        return (
            f"cluster {cluster.name}: everything in it is already gated by a policy: "
            f"{_policies(cluster, tree)}; edit it there"
        )
    if proposed.left_out:
        return f"cluster {cluster.name}: nothing can be gated: {'; '.join(_left_out(proposed))}"
    if not cluster.complete:
        return (
            f"cluster {cluster.name}: part of what {cluster.root} applies could not be built or "
            "is in another repository, and the rest has nothing that can be gated"
        )
    return (
        f"cluster {cluster.name}: {cluster.root} applies no Flux Kustomization and no "
        "HelmRelease, and only what it applies can be gated; use --clusters GLOB to say where the "
        f"clusters are, or, if `flux create` made them, see {CREATED}"
    )


def _policies(cluster: Cluster, tree: Checkout) -> str:
    """Name the policies of a cluster, and their files as far as they have any."""
    named = {gate.policy: gate.manifest.file for gate in cluster.gates}
    # What is rendered is not what is edited.
    for each in rendered.find(tree):
        if each.command is not None:
            named |= dict.fromkeys(each.policies & named.keys(), each.sources)
    shown = [f"{policy} in {file}" if file else policy for policy, file in named.items()]
    return ", ".join(shown)


def _check_top(tree: Checkout, cluster: Cluster) -> None:
    """Refuse a directory of a repository; Flux counts its paths from the top.

    Raises InputError where a Kustomization leads nowhere from here, and somewhere from there.
    """
    here = Path(tree.root).resolve()
    found = [each for each in cluster.kustomizations.values() if each.own is not None]
    missing = [each for each in found if not tree.is_directory(each.path)]
    top = tops.top(here.parent)
    for each in missing:
        if top is not None and (top / each.path).is_dir():
            raise InputError(
                f"{each} applies {each.path}, which is not here but in {top}: run "
                f"`krm-windows init {shlex.quote(str(top))}`"
            )


def _show(lines: Sequence[str]) -> None:
    """Print lines; a name from the repository that has a line end in it stays in its line."""
    shown = [escape.line(line) for line in lines]
    output.show("".join(f"{line}\n" for line in shown))


def _described(
    found: Survey,
    cluster: Cluster,
    proposed: FirstTargets,
) -> list[str]:
    """Say what was found, a line for each fact."""
    lines = [f"targets in cluster {cluster.name}, closed outside the windows:"]
    lines += [f"  {line}" for line in policy.kinds(proposed.targets)]
    lines += _left_as_root(found.tree, cluster)
    gated = len(proposed.gated)
    if gated:
        lines.append(f"left out: {gated} already gated by other policies")
    for each in proposed.freed:
        field = ".".join(each.path)
        lines.append(f"removed: `{field}: false` of {each.item}, because it would undo every close")
    lines += _left_out(proposed)
    lines += _unread(found)
    return lines


def _left_out(proposed: FirstTargets) -> Iterator[str]:
    """Yield what is no target, and why."""
    for (_, kind, namespace, name), why in proposed.left_out.items():
        yield f"left out: {kind} {namespace}/{name}, {why}"


def _left_as_root(tree: Checkout, cluster: Cluster) -> Iterator[str]:
    """Say what delivers the windows, as far as the repository says it."""
    first = cluster.first
    applied = {each.directory for each in cluster_directories.find(tree) if each.file}
    if not first.identity.name:
        yield (
            f"nothing in the repository applies {cluster.root}: the Kustomization that does is to "
            "deliver the windows, and must not be a target"
        )
    elif first.own is None and cluster.root not in applied:
        yield (
            f"left out: {first}, which delivers the windows if it has the usual name: nothing in "
            f"the repository applies {cluster.root}"
        )
    else:
        yield f"left out: {first}, which delivers the windows"
    other = cluster.kustomizations.get(ROOT)
    if other is not None and other is not first:
        yield (
            f"left out: {other}, which applies {other.path}: no policy may gate the name that "
            "`flux bootstrap` gives to what delivers a cluster's directory; rename it to gate it"
        )


def _unread(found: Survey) -> Iterator[str]:
    """Say what could not be read, and so is not proposed: some of it, and how much more."""
    notices = [each for each in found.notices if each.rule is rules.NOT_FOLLOWED]
    for notice in notices[:_FEW]:
        yield f"not read: {notice.about or f'{notice.file}:{notice.line}'}: {notice.message}"
    more = len(notices) - _FEW
    if more > 0:
        yield f"not read: {more} more; `krm-windows check --repo` lists them"


def _draft(cluster: Cluster, place: Place, arguments: argparse.Namespace) -> Draft:
    # Flux may apply a policy's objects only where it may write, which is where the root itself is.
    root = cluster.first
    return Draft(
        name=arguments.name,
        namespace=root.namespace,
        cluster=cluster.name,
        root=str(root),
        zone=arguments.time_zone or _zone(),
        opens=arguments.opens or OPENS,
        closes=arguments.closes or CLOSES,
        today=times.today(),
        place=place,
    )


def _zone() -> str:
    """Return the time zone of this machine, UTC where it has none with a name."""
    # POSIX lets a name begin with a colon: `TZ=:Europe/Berlin` (tzset(3)).
    named = os.environ.get("TZ", "").removeprefix(":")
    if not named:
        place = os.path.realpath(_LOCALTIME)
        _, _, named = place.rpartition(_ZONES)
    # `TZ` may be a rule instead, such as `CET-1CEST`, which names no zone.
    if named in zones.names():
        return named
    return _UTC


def _question(question: str, default: str) -> str:
    """Ask for what nothing in the repository says; an empty line takes the default."""
    return output.ask(f"{question} [{default}] ") or default


def _check_options(text: str) -> None:
    """Refuse a policy that would be wrong, by the options that make it so; raises InputError."""
    windows = f"spec.windows.{policy.WINDOW}"
    options = {
        "metadata.name": "--name",
        "spec.timeZone": "--time-zone",
        f"{windows}.opens": "--opens",
        f"{windows}.closes": "--closes",
    }
    # What is only doubtful is for `check` to say, once the policy is the user's own.
    wrong = [each for each in load(KubeObject.parse(text.encode()).node).results if fails([each])]
    if wrong:
        # The policy is in no file yet, so a place in it would lead nowhere.
        raise InputError(
            "; ".join(
                f"{options[each.path]} {each.message}" if each.path in options else str(each)
                for each in wrong
            )
        )


def _write(
    tree: Checkout,
    place: Place,
    proposed: FirstTargets,
    text: str,
) -> tuple[Sequence[str], Renewal]:
    """Write the policy, its schema, what is rendered of it, and the kustomization that lists that.

    And what had to lose `suspend: false`. Return their paths, and what came of rendering.
    """
    # Read before anything is written: a kustomization that cannot be edited stops it all.
    freed = layout.without_suspension(proposed.freed)
    kustomization = layout.listed(tree, place)
    schema = kinds.read("WindowPolicy", "json").encode()
    top = Path(tree.root)
    # An editor shows by the schema what a field means, and what it may be.
    files.put(top, {layout.SCHEMA: schema, place.policy: text.encode(), **freed})
    command = RenderCommand(tuple(shlex.split(place.render())[len(CALL) :]))
    renewal = rendered.renew(top, Output(command, (), frozenset()), Path.cwd())
    rendered.write(top, renewal.edits)
    # At last: until it lists what is there, it can be built, and so be rendered from.
    files.put(top, kustomization)
    number = counted(len(renewal.edits), "file")
    windows = [f"{place.rendered}/ ({number})"] if renewal.edits else []
    return [place.policy, *windows, *kustomization, *freed, layout.SCHEMA], renewal


def _next(
    tree: Checkout,
    place: Place,
    written: Sequence[str],
    arguments: argparse.Namespace,
) -> list[str]:
    """Say what was written, and the next commands."""
    lines = [f"written: {', '.join(written)}", "next:"]
    # The commands name paths as the repository has them, so that they can be kept in CI.
    if arguments.directory != Path():
        lines.append(f"  cd {shlex.quote(str(arguments.directory))}")
    return [
        *lines,
        f"  krm-windows calendar {shlex.quote(place.policy)}",
        f"  {shlex.join(_check(tree, place, arguments))}",
        "whenever you have edited the policy:",
        f"  {place.render()}",
    ]


def _check(tree: Checkout, place: Place, arguments: argparse.Namespace) -> Iterator[str]:
    """Yield the words of the command that checks the repository as it was read here."""
    yield from ("krm-windows", "check", "--repo", ".")
    pattern: str | None = arguments.clusters
    # By habit another directory may be taken for the cluster than the one that was chosen.
    if pattern is None and place.directory not in builds.directories(tree, None):
        pattern = place.directory
    if pattern is not None:
        yield from ("--clusters", pattern)
    for each in arguments.source:
        yield from ("--source", str(each))

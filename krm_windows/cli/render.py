"""`krm-windows render`: the windows of a policy as plain files, for Flux, which runs no plugin."""

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

from krm_windows import escape, render
from krm_windows.checks.overlap import Claim
from krm_windows.cli import cluster_resources, destinations, fleet, inputs, output, policies, report
from krm_windows.cli.inputs import UsageError
from krm_windows.emit.delivery import FOLDERS
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import applied, rendering
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.fleet.output import ClusterOutcome
from krm_windows.function import window_policy
from krm_windows.inventory import about
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted, some
from krm_windows.render import apart, command
from krm_windows.render.apart import Delivery
from krm_windows.results import Result, fails
from krm_windows.system import tops
from krm_windows.system.directories import Directory
from krm_windows.system.files import Changes, Folder

# So many files that are out of date are named, and so many clusters in a finding.
_FILES, _NAMES = 20, 3
_MORE = "; --diff shows how they differ"


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    command.options(parser)
    parser.add_argument(
        destinations.OPTION,
        type=destinations.directory,
        required=True,
        metavar="DIR",
        help="the directory to write",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; if DIR is out of date, name the files, and exit 1",
    )
    parser.add_argument("--diff", action="store_true", help="with --check, also show the diff")
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Render, or compare with what was rendered before."""
    if arguments.all_clusters and (arguments.cluster or arguments.flux_kustomization):
        raise UsageError(
            "--all-clusters and --cluster or --flux-kustomization cannot be used together"
        )
    if arguments.diff and not arguments.check:
        raise UsageError("--diff needs --check")
    arguments.policies = list(map(policies.file, arguments.policies))
    configs = {path: inputs.policy(path) for path in arguments.policies}
    found = _Findings()
    diffs: dict[str, str] = {}
    changes: list[Changes] = []
    with ExitStack() as stack:
        for outcome in found.of(_outcomes(arguments, configs, strict=arguments.strict)):
            # Nothing is written where one runs `--check`, as `gofmt -l` does it.
            if arguments.check:
                diffs |= outcome.stale()
                continue
            if not changes:
                stack.enter_context(Directory.named(arguments.output_dir).alone())
            changes.append(outcome.write())
    results = report.located(found.results(), configs, arguments.resources)
    code = report.show(results, strict=arguments.strict)
    if arguments.diff:
        output.show("".join(diffs.values()))
    output.show(escape.lines(_listed(arguments.output_dir, diffs)))
    summary: Iterable[str] = ["nothing written"]
    if changes:
        summary = report.changes(*map(sum, zip(*changes, strict=True)))
    elif diffs or code is ExitCode.FINE:
        summary = report.stale(len(diffs), _MORE)
    if found.clusters:
        summary = [counted(found.clusters, "cluster"), *summary]
    report.summarize(results, *summary, report.zone_rules())
    return ExitCode.ERROR if diffs else code


def renewal(arguments: argparse.Namespace) -> tuple[list[Result], dict[str, bytes | None]]:
    """Return what is to be said of a rendering, and which files of its directory it changes.

    By path, None for one that it removes; those of a cluster with an error stay as they are.
    """
    configs = {path: inputs.policy(path) for path in arguments.policies}
    found = _Findings()
    edits: dict[str, bytes | None] = {}
    for outcome in found.of(_outcomes(arguments, configs, strict=False)):
        edits |= outcome.edits()
    return report.located(found.results(), configs, arguments.resources), edits


def _outcomes(
    arguments: argparse.Namespace, configs: Mapping[str, KubeObject], *, strict: bool
) -> Iterable[ClusterOutcome]:
    """Yield what becomes of each part of the output."""
    # A fleet has its own form of output: a base and overlays for each cluster.
    if arguments.all_clusters:
        return fleet.outcomes(arguments, configs, strict=strict)
    if len(arguments.policies) != 1:
        raise UsageError(
            f"takes one POLICY for one cluster, got {len(arguments.policies)}; for more, use "
            "--all-clusters"
        )
    (config,) = configs.values()
    results, folder, files = _rendered(arguments, config)
    if folder is None or fails(results, strict=strict):
        return [ClusterOutcome("", results)]
    return [ClusterOutcome.of(folder, files, "", results)]


def _listed(directory: Path, files: Collection[str]) -> Iterator[str]:
    """Yield the lines that name files which are out of date."""
    if files:
        yield "out of date:"
    for name in islice(files, _FILES):
        yield f"  {directory / name}"
    if len(files) > _FILES:
        yield f"  and {len(files) - _FILES} more"


class _Findings:
    """What was found in the base and in clusters.

    Each once, and what is not true of all with the names of some.
    """

    def __init__(self) -> None:
        # By all that they say: the same words about another object are another finding.
        self._base: dict[Result, None] = {}
        self._clusters: dict[Result, list[str]] = {}
        self.clusters = 0

    def of(self, outcomes: Iterable[ClusterOutcome]) -> Iterator[ClusterOutcome]:
        """Take what was found in clusters, and yield those that have files."""
        for outcome in outcomes:
            self.clusters += bool(outcome.cluster)
            for result in outcome.results:
                if not outcome.cluster:
                    self._base[result] = None
                # What is true of the base is true of every cluster, and needs no names.
                elif result not in self._base:
                    self._clusters.setdefault(result, []).append(outcome.cluster)
            if outcome.folder is not None:
                yield outcome

    def results(self) -> list[Result]:
        """Return all of it."""
        named = (
            result._replace(message=f"{result.message} [{some(names, _NAMES)}]")
            for result, names in self._clusters.items()
        )
        return [*self._base, *named]


def _rendered(
    arguments: argparse.Namespace, config: KubeObject
) -> tuple[list[Result], Folder | None, Mapping[str, bytes]]:
    """Render one policy for one cluster; there is no directory where an error leaves no files."""
    file = arguments.policies[0]
    items = cluster_resources.read(arguments.resources)
    compiled = window_policy.compile_onto(config, items, arguments.cluster)
    made, results = rendering.planned(compiled, uninstalls=arguments.uninstall, is_blind=False)
    if file != inputs.STDIN:
        results += applied.check(config, file)
    if made is None:
        return results, None, {}
    plan, manifests = made
    existing = ExistingOutput(arguments.output_dir, resources=lambda _: items)
    # To uninstall removes a policy, so another one that claims the same targets does not matter.
    if not arguments.uninstall:
        results += about(config, existing.check(Claim.of(plan.timetable)))
    # What was rendered before, from whichever policy; our files begin with a comment that says so.
    older = Folder(arguments.output_dir, render.is_header).read().values()
    gated = partial(existing.gated, plan.timetable.cluster)
    results += rendering.after(older, [(config, plan)], gated)
    delivery = _delivery(items, arguments)
    results += about(config, apart.check(plan, manifests, delivery))
    files = render.rendered(plan, manifests, delivery)
    # What was rendered under a former name is ours, too.
    names = (plan.policy, *plan.timetable.former_names)
    headers = frozenset(map(render.header, names))
    folder = Folder(arguments.output_dir, headers.__contains__, inner=FOLDERS)
    return results, folder, command.signed(files, command.called(arguments, tops.top))


def _delivery(items: list[KubeObject], arguments: argparse.Namespace) -> Delivery | None:
    """Return how Flux delivers the output, as far as the command line says it."""
    place = apart.place(arguments.output_dir)
    file = arguments.flux_kustomization
    if file is None:
        return apart.find(items, place)
    item = inputs.flux_kustomization(file)
    found = apart.given(item, place)
    if found is None:
        raise InputError(
            f"{file}: its spec.path must be {arguments.output_dir} or a directory above it, as it "
            f"is in the source, found {item.get('spec', 'path')}"
        )
    return found

"""`krm-windows render`: the windows of a policy as plain files, for Flux, which runs no plugin."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from krm_windows import emit, render, rules
from krm_windows.checks import policy_changes, readonly, zone_release
from krm_windows.checks.overlap import Claim
from krm_windows.cli import cluster_resources, destinations, fleet, inputs, output, report, stale
from krm_windows.cli.inputs import UsageError
from krm_windows.emit import timetables
from krm_windows.emit.delivery import FOLDERS
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import applied
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.function import window_policy
from krm_windows.inventory import about
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan import uninstall
from krm_windows.plan.model import Plan
from krm_windows.render import apart, command
from krm_windows.render.apart import Delivery
from krm_windows.results import Result, fails
from krm_windows.system import tops
from krm_windows.system.files import Folder


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
        help="write nothing; if DIR is out of date, exit 1 with the hours that move and the files",
    )
    parser.add_argument("--diff", action="store_true", help="with --check, also show the diff")
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Render, or compare with what was rendered before."""
    # A fleet has its own form of output: a base and overlays for each cluster.
    of_many = arguments.all_clusters or arguments.clusters
    if of_many and arguments.cluster is not None:
        raise UsageError("--cluster and --all-clusters or --clusters cannot be used together")
    if arguments.diff and not arguments.check:
        raise UsageError("--diff needs --check")
    if of_many:
        return fleet.run(arguments)
    made = rendered(arguments)
    code = report.show(made.results, strict=arguments.strict)
    if made.folder is None or code is not ExitCode.FINE:
        report.summarize(made.results, "nothing written")
        return code
    # Nothing is written where one runs `--check`, as `gofmt -l` and `terraform fmt -check` do it.
    if arguments.check:
        return _compared(made.folder, made.files, shows_diff=arguments.diff)
    done = report.changes(*made.folder.write(made.files))
    report.summarize(made.results, *done, report.zone_rules())
    return ExitCode.FINE


def _compared(folder: Folder, files: Mapping[str, bytes], *, shows_diff: bool) -> ExitCode:
    """Print which files of a directory are not those that it should have, and what that changes."""
    diffs = folder.stale(files)
    if shows_diff:
        output.show("".join(diffs.values()))
    stale.show(folder.path, diffs, timetables.versions(folder.read().values(), files.values()))
    report.summarize((), *report.stale(len(diffs), stale.MORE), report.zone_rules())
    return ExitCode.of(failed=bool(diffs))


class SingleRendering(NamedTuple):
    """What a policy yields for one cluster.

    The `files` by name for a `folder`, which is None where an error among the `results` leaves
    none.
    """

    results: list[Result]
    folder: Folder | None = None
    files: Mapping[str, bytes] = {}


def rendered(arguments: argparse.Namespace) -> SingleRendering:
    """Render one policy for one cluster, and write nothing."""
    if len(arguments.policies) != 1:
        raise UsageError(
            f"takes one POLICY for one cluster, got {len(arguments.policies)}; for more, use "
            "--all-clusters"
        )
    file = arguments.policies[0]
    config = inputs.policy(file)
    items = cluster_resources.read(arguments.resources)
    plan, results = _plan(config, items, arguments)
    if file != inputs.STDIN:
        results = [*results, *applied.check(config, file)]
    if plan is None:
        return SingleRendering(report.located(results, {file: config}, arguments.resources))
    beside = () if file == inputs.STDIN else (Path(file),)
    existing = ExistingOutput(arguments.output_dir, resources=lambda _: items, beside=beside)
    # To uninstall removes a policy, so another one that claims the same targets does not matter.
    if not arguments.uninstall:
        results = [*results, *about(config, existing.check(Claim.of(plan.timetable)))]
    # What was rendered before says by which zone data it was built, and which targets it held.
    older = tuple(_older(arguments.output_dir))
    built = zone_release.recorded(map(KubeObject.parse, older), plan)
    results = [*results, *about(config, list(zone_release.differing(plan, built)))]
    # Where a newer release of the zone data moves nothing, the older one stays: no file changes.
    plan = zone_release.kept(plan, built)
    # A target that is dropped while it is shut would stay suspended: nobody is left to resume it.
    gated = partial(existing.gated, plan.timetable.cluster)
    forgotten = policy_changes.forgotten(older, [plan.timetable], gated)
    results = [*results, *about(config, forgotten)]
    manifests = emit.objects(plan)
    delivery = _delivery(items, arguments)
    results = [*results, *about(config, apart.check(plan, manifests, delivery))]
    results = report.located(results, {file: config}, arguments.resources)
    files = render.rendered(plan, manifests, delivery)
    signed = command.signed(files, command.called(arguments, tops.top))
    return SingleRendering(results, _folder(plan, arguments.output_dir), signed)


def _older(path: Path) -> Iterable[bytes]:
    """Return what was rendered into a directory before, from whichever policy."""
    # Our files begin with a comment that says so; what a person wrote beside them is left alone.
    return Folder(path, render.is_header).read().values()


def _folder(plan: Plan, path: Path) -> Folder:
    """Return the directory, where what was rendered under a former name is ours too."""
    policies = (plan.policy, *plan.timetable.former_names)
    return Folder(path, frozenset(map(render.header, policies)).__contains__, inner=FOLDERS)


def _delivery(items: list[KubeObject], arguments: argparse.Namespace) -> Delivery | None:
    """Return how Flux delivers the output, as far as the command line says it."""
    place = apart.place(arguments.output_dir)
    file = arguments.flux_kustomizations
    template = fleet.template(file)
    if template is None:
        return apart.find(items, place)
    found = apart.given(template.item, place)
    if found is None:
        raise InputError(
            f"{file}: its spec.path must be {arguments.output_dir} or a directory above it, as it "
            f"is in the source, found {template.item.get('spec', 'path')}"
        )
    return found


def _plan(
    config: KubeObject, items: list[KubeObject], arguments: argparse.Namespace
) -> tuple[Plan | None, Sequence[Result]]:
    compiled = window_policy.compile_onto(config, items, arguments.cluster)
    # Items are only read here: what a transformer would edit in them has to be edited by hand.
    results = readonly.refused(compiled.results, compiled.adopted)
    if arguments.uninstall:  # whoever cleans up names the targets, seen or not
        results = [result for result in results if result.rule != rules.TARGET_UNSEEN.id]
    if compiled.application is None or fails(results):
        return None, results
    plan = compiled.application.plan
    if arguments.uninstall:
        plan = uninstall(plan)
    return plan, results

"""`krm-windows check`: what a reviewer should know of a policy or a whole repository."""

import argparse
from dataclasses import replace
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path

from krm_windows import rules
from krm_windows.checks import overlap
from krm_windows.checks.audit import MAX_CLOSED, YEARS, Scope
from krm_windows.checks.formats import FORMATS, FORMATS_OF_EVERY
from krm_windows.checks.report import Report, on_unreadable
from krm_windows.cli import (
    cluster_resources,
    inputs,
    output,
    policies,
    previews,
    report,
    repository,
    times,
)
from krm_windows.cli.arguments import output_format, policy
from krm_windows.cli.inputs import UsageError
from krm_windows.edit.patches import check_cluster
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import audit
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan.given import Given
from krm_windows.preview.versions import Choice
from krm_windows.results import File, Place, fails

_DAY = timedelta(days=1)
_MOST_YEARS = 20


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser, "policies", nargs="*")
    parser.add_argument(
        "--from",
        dest="first",
        type=times.day,
        metavar="DATE",
        help="the first day (default: today)",
    )
    parser.add_argument(
        "--years",
        type=partial(times.count, what="years", most=_MOST_YEARS),
        default=YEARS,
        metavar="N",
        help=f"how many years to check (default: {YEARS})",
    )
    parser.add_argument(
        "--max-closed",
        type=_days,
        default=MAX_CLOSED,
        metavar="DAYS",
        help=f"how many days in a row the policy may be closed (default: {MAX_CLOSED // _DAY})",
    )
    output_format(parser, FORMATS)
    previews.options(parser, every="every cluster that the policy names")
    repository.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the findings."""
    # Exactly one of the two: neither has nothing to look at, both have two different subjects.
    if bool(arguments.policies) == (arguments.repo is not None):
        raise UsageError("check needs either a POLICY or --repo DIR")
    arguments.policies = list(map(policies.file, arguments.policies))
    for path in arguments.policies:
        # Whoever names a directory means what is in it.
        if Path(path).is_dir():
            raise UsageError(
                f"{path}: is a directory, not a policy; `krm-windows check --repo {path}` checks "
                "a repository"
            )
    if arguments.repo is not None:
        if arguments.cluster is not None or arguments.all_clusters:
            raise UsageError(
                "--cluster and --all-clusters need a POLICY; with --repo use --clusters GLOB"
            )
        found = [repository.report(arguments)]
    else:
        found = _found(arguments)
    # With many clusters the report says of which each finding is; with one that is noise.
    several = arguments.all_clusters or len(arguments.policies) > 1
    formats = FORMATS_OF_EVERY if several else FORMATS
    failed = any(fails(each.results, strict=arguments.strict) for each in found)
    if arguments.output != "text":
        output.show(formats[arguments.output](found))
    elif not output.is_quiet():
        output.show_words(formats["text"](found))
    else:
        for each in found:
            report.show(each.results, strict=arguments.strict)
    return ExitCode.of(failed=failed)


def _found(arguments: argparse.Namespace) -> list[Report]:
    """Return the reports on each policy, with the place of each finding."""
    scope = Scope(arguments.first or times.today(), arguments.years, arguments.max_closed)
    found: list[Report] = []
    configs: dict[str, KubeObject] = {}
    for path in arguments.policies:
        try:
            configs[path] = inputs.policy(path)
        except InputError as error:
            # A person reads it where every command says it.
            if arguments.output == "text":
                raise
            found.append(_unreadable(error, path, scope))
    items = cluster_resources.read(arguments.resources)
    choice = Choice(arguments.cluster, every=arguments.all_clusters)
    others: list[Given] = []
    for path, config in configs.items():
        # A program gets it as a finding.
        if arguments.output == "text":
            check_cluster(config, arguments.cluster)
        own = Given.of(config)
        # Said once, in the first report.
        overlaps = overlap.given(own, others, items)
        others.append(own)
        for each in audit.reports(config, lambda _: items, choice, scope):
            results = [*each.results, *overlaps]
            overlaps = []
            results = report.located(results, {path: config}, arguments.resources)
            found.append(replace(each, results=tuple(results)))
    return found


def _unreadable(error: InputError, path: str, scope: Scope) -> Report:
    """Return why a file was not audited: a CI that shows annotations sees nothing else."""
    result = rules.INPUT_UNREADABLE.result(error.message)
    if path != inputs.STDIN:
        place = Place(error.line or 1, error.column or 1)
        result = result._replace(file=File(path=Path(path).as_posix())).at(place)
    return on_unreadable(path, scope.days(UTC), result)


def _days(text: str) -> timedelta:
    return timedelta(days=times.count(text, "days", 99999))

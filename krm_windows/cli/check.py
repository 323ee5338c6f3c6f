"""`krm-windows check`: what a reviewer should know of a policy, or of a whole repository, before it is merged."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from krm_windows.checks.audit import MAX_CLOSED, YEARS, Scope
from krm_windows.checks.formats import FORMATS, FORMATS_OF_EVERY
from krm_windows.checks.overlap import Claim
from krm_windows.cli import chosen, inputs, output, places, report, repository, seen, times
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import audit, overlaps
from krm_windows.fleet.existing import ExistingOutput
from krm_windows.krm import InputError
from krm_windows.preview.versions import Choice
from krm_windows.results import fails

_DAY = timedelta(days=1)
_MOST_YEARS = 20


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "policies",
        metavar="POLICY",
        nargs="*",
        help="the file of a WindowPolicy, or - for standard input",
    )
    parser.add_argument(
        "--from", dest="first", type=_date, metavar="DATE", help="the first day (default: today)"
    )
    parser.add_argument(
        "--years",
        type=_years,
        default=YEARS,
        metavar="N",
        help=f"how many years are audited (default: {YEARS})",
    )
    parser.add_argument(
        "--max-closed",
        type=_days,
        default=MAX_CLOSED,
        metavar="DAYS",
        help=f"how many days in a row may be closed (default: {MAX_CLOSED // _DAY})",
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="the cluster (default: the policy's buildFor)"
    )
    parser.add_argument(
        "--all-clusters", action="store_true", help="every cluster that the policy names"
    )
    parser.add_argument(
        "--resources", metavar="DIR", help="where `closesEarly: auto` finds the targets' timeouts"
    )
    parser.add_argument(
        "-o", "--output", choices=FORMATS, default="text", help="the form (default: text)"
    )
    repository.options(parser)
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the findings."""
    if bool(arguments.policies) == (arguments.repo is not None):
        raise InputError("check takes a POLICY, or --repo DIR")
    chosen.check(arguments)
    if arguments.repo is not None:
        if arguments.cluster is not None or arguments.all_clusters:
            raise InputError(
                "--cluster, as --all-clusters, is about a POLICY; with --repo give --clusters GLOB"
            )
        return repository.run(arguments)
    configs = {path: inputs.policy(path) for path in arguments.policies}
    items = seen.resources(arguments.resources) if arguments.resources else []
    scope = Scope(arguments.first or times.now().date(), arguments.years, arguments.max_closed)
    choice = Choice(arguments.cluster, every=arguments.all_clusters)
    found = []
    for path, config in configs.items():
        file = None if path == inputs.STDIN else path
        found += [replace(each, file=file) for each in audit.reports(config, items, choice, scope)]
    shared = overlaps.found(list(configs.values()), items, choice, _rendered(arguments.policies))
    found = [overlaps.added(each, shared) for each in found]
    found = [replace(each, results=tuple(places.placed(each.results, configs))) for each in found]
    several = arguments.all_clusters or len(configs) > 1
    output.show((FORMATS_OF_EVERY if several else FORMATS)[arguments.output](found))
    failed = fails([result for each in found for result in each.results], strict=arguments.strict)
    return ExitCode.ERROR if failed else ExitCode.FINE


def _rendered(policies: Sequence[str]) -> dict[Claim, None]:
    """Return what was rendered anywhere around the files of some policies, each once."""
    folders = dict.fromkeys(Path(path).parent for path in policies if path != inputs.STDIN)
    return dict.fromkeys(
        claim for folder in folders for claim in ExistingOutput(folder / "windows").claims
    )


def _date(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a date such as 2026-12-20, got {text!r}"
        ) from None
    return times.possible(day, text)


def _years(text: str) -> int:
    return times.count(text, "years", _MOST_YEARS)


def _days(text: str) -> timedelta:
    return timedelta(days=times.count(text, "days", 99999))

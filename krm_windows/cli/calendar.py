"""`krm-windows calendar`: when a policy will be open."""

import argparse
import sys
from datetime import UTC, date, datetime

from krm_windows import rules
from krm_windows.cli import inputs, report
from krm_windows.exit_codes import ExitCode
from krm_windows.function import window_policy
from krm_windows.gate.wallclock import zone
from krm_windows.inventory import Inventory
from krm_windows.plan import compile_policy
from krm_windows.preview import calendar, text


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policy", metavar="POLICY", help="the file of the WindowPolicy, or - for standard input")
    parser.add_argument("--from", dest="start", type=_date, metavar="DATE", help="the first day (default: today)")
    parser.add_argument("--days", type=_days, default=7, metavar="N", help="how many days (default: 7)")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster (default: the policy's buildFor)")
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the calendar."""
    config = inputs.policy(arguments.policy)
    policy, cluster, results = window_policy.load_policy(config, arguments.cluster)
    code = report.show(results, strict=arguments.strict)
    if policy is None or code is not ExitCode.FINE:
        return code
    plan, planned = compile_policy(policy, cluster, Inventory((), visible=False))
    unknown = [result for result in planned if result.tags.get("rule") == rules.TIMEOUT_UNKNOWN.id]
    if unknown:
        return report.show(window_policy.about(config, unknown), strict=arguments.strict)
    first = arguments.start or datetime.now(UTC).astimezone(zone(plan.timetable.time_zone)).date()
    page = calendar.days(plan.timetable, first, arguments.days)
    sys.stdout.write(text.render(page))
    return ExitCode.FINE


def _date(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a date such as 2026-12-20, got {value!r}") from None


def _days(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) <= 3660:  # noqa: PLR2004 - ten years
        raise argparse.ArgumentTypeError(f"must be a number of days from 1 to 3660, got {value!r}")
    return int(value)

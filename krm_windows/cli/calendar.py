"""`krm-windows calendar`: when policies will be open."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from krm_windows.cli import previews, times
from krm_windows.exit_codes import ExitCode
from krm_windows.function.previews import Choice
from krm_windows.gate.wallclock import zone
from krm_windows.preview import records, text
from krm_windows.preview.calendar import Calendar, calendars


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policy", metavar="POLICY", nargs="+", help="a file with a WindowPolicy, or - for stdin")
    times.options(parser, days=7)
    parser.add_argument("--all-clusters", action="store_true", help="every cluster that a policy names")
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="the form (default: text)")
    previews.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the calendar."""
    choice = Choice(arguments.cluster, every=arguments.all_clusters)
    versions, code = previews.load(arguments.policy, choice, arguments)
    if versions:
        timetables = [version.timetable for version in versions]
        period = times.period(arguments, zone(timetables[0].time_zone))
        FORMATS[arguments.output](calendars(timetables, period), arguments)
    return code


def _text(every: Sequence[Calendar], _: argparse.Namespace) -> None:
    page = text.render(every)
    if not sys.stdout.isatty():
        previews.show(page)
        return
    from rich.console import Console  # noqa: PLC0415 - takes long to import, and only a terminal needs it

    from krm_windows.preview import color  # noqa: PLC0415 - likewise

    Console().print(color.paint(page), soft_wrap=True, end="")


def _json(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    several = arguments.all_clusters or len(arguments.policy) > 1
    previews.show_json(records.calendars(every) if several else records.calendar(every[0]))


def _written(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    writer = importlib.import_module(f"krm_windows.preview.{arguments.output}")
    previews.show(writer.render(every))


# A writer is imported where it is asked for: some take longer to import than the calendar takes to make.
FORMATS = {"text": _text, "json": _json, "html": _written, "svg": _written, "ics": _written}

"""`krm-windows calendar`: when policies will be open."""

import argparse
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from krm_windows.cli import output, policies, previews, times
from krm_windows.cli.arguments import output_format, policy
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.preview import color, html, ics, records, svg, text
from krm_windows.preview.calendar import Calendar, alike, calendars, described
from krm_windows.preview.versions import Choice

# Pixels of a picture; the first is the writer's own, which is not loaded for a text.
_WIDTH = 960


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy(parser, nargs="*")
    times.options(parser, days=7)
    output_format(parser, FORMATS)
    parser.add_argument(
        "--width",
        type=partial(times.count, what="columns"),
        metavar="N",
        help=(
            "the width in columns (default: COLUMNS, or the terminal's), or of the image of "
            f"`-o svg` in pixels (default: {_WIDTH}; for a phone: 400)"
        ),
    )
    previews.options(parser, every="every cluster that the policy names")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the calendar."""
    if arguments.width is not None and arguments.output not in ("svg", "text"):
        raise UsageError("--width needs `-o svg` or `-o text`")
    choice = Choice(arguments.cluster, every=arguments.all_clusters)
    given, cluster = arguments.policy or [None], arguments.cluster
    arguments.policy = [policies.file(each, cluster=cluster) for each in given]
    versions, code = previews.load(arguments.policy, choice, arguments)
    if versions:
        timetables = [version.timetable for version in versions]
        period = times.period(arguments)
        specs = (version.policy.spec for version in versions)
        every = tuple(map(described, calendars(timetables, period), specs))
        FORMATS[arguments.output](every, arguments)
    return code


def _json(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    # One object for one policy is easier to read by `jq` than a list of one.
    if arguments.all_clusters or len(arguments.policy) > 1:
        output.show_json(records.calendars(every))
    else:
        output.show_json(records.calendar(every[0]))


def _ics(every: Sequence[Calendar], _: argparse.Namespace) -> None:
    output.show(ics.render(alike(every)))


def _svg(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    output.show(svg.render(every, _marked(arguments), arguments.width or _WIDTH))


def _html(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    output.show(html.render(every, _marked(arguments)))


def _text(every: Sequence[Calendar], arguments: argparse.Namespace) -> None:
    width = arguments.width or output.width() or text.WIDTH
    page = text.render(every, width, _marked(arguments))
    if output.is_terminal():
        output.show_painted(page, color.paint)
    else:
        output.show(page)


def _marked(arguments: argparse.Namespace) -> datetime | None:
    """Return the instant that is marked: now, where the days are those from today on."""
    # A mark of now would change a page of some days that is kept and compared.
    if arguments.start is not None:
        return None
    return times.now()


FORMATS = {"text": _text, "json": _json, "html": _html, "svg": _svg, "ics": _ics}

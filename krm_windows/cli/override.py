"""`krm-windows override`: targets opened or closed at once, until a moment, for a reason.

For whoever has to let a fix in at 3 a.m., and for whoever has to stop the line.
"""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

from krm_windows import escape
from krm_windows.cli import changed, inputs, output, report, times
from krm_windows.cli.changed import ChangeSummary
from krm_windows.cli.inputs import UsageError
from krm_windows.edit import overrides
from krm_windows.edit.overrides import Listed, PolicyError, Wanted
from krm_windows.edit.proposal import Proposal
from krm_windows.exit_codes import ExitCode
from krm_windows.preview.clock import shown
from krm_windows.schedule.zones import zone as zone_of

# What each of the four calls takes besides what all do.
_ACTIONS = ("list", "end", "prune")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policy", metavar="FILE", help="the file of a WindowPolicy")
    state = parser.add_argument(
        "state", choices=tuple(overrides.STATES), help="the state, whatever the windows say"
    )
    # With `nargs="?"` it would only be found right behind FILE (argparse before Python 3.13).
    state.required = False
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument(
        "--for", dest="length", type=times.length, metavar="2h", help="how long, from now"
    )
    ends.add_argument(
        "--until",
        metavar="MOMENT",
        help="until when: 18:00, 2026-12-24, 2026-12-24T20:00, or an instant with an offset",
    )
    parser.add_argument("--reason", metavar="TEXT", help="why; also used as the commit message")
    parser.add_argument("--ticket", metavar="TEXT", help="the ticket with the request")
    parser.add_argument("--requested-by", metavar="TEXT", help="who requested it")
    parser.add_argument(
        "--name", metavar="NAME", help="its name (default: made from state and time)"
    )
    parser.add_argument("--cluster", metavar="NAME", help="only on this cluster (default: on all)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the overrides in the file")
    what.add_argument("--end", metavar="NAME", help="remove an override from the file")
    what.add_argument(
        "--prune", action="store_true", help="remove overrides that are over from the file"
    )
    changed.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Make, list or take out overrides."""
    now = times.now()
    _check(arguments)
    try:
        return _done(arguments, now)
    except PolicyError as error:
        policies = {arguments.policy: inputs.policy(arguments.policy)}
        found = report.located(error.results, policies)
        return report.show(found, strict=arguments.strict)


def _done(arguments: argparse.Namespace, now: datetime) -> ExitCode:
    if arguments.list:
        return _list(arguments, now)
    if arguments.end is not None:
        change = partial(overrides.ended, name=arguments.end, cluster=arguments.cluster)
        arguments.reason = arguments.reason or f"End override {arguments.end}"
        return changed.run(arguments, change, now, partial(_turns, name=arguments.end), urgent=True)
    if arguments.prune:
        arguments.reason = arguments.reason or "Remove the overrides that are over"
        return changed.run(arguments, partial(overrides.pruned, at=now), now, urgent=True)
    # `urgent`: what is made at 3 a.m. must not be held up by a finding about next year.
    wanted = _wanted(arguments, now)
    change = partial(overrides.made, wanted=wanted, at=now)
    return changed.run(arguments, change, now, partial(_made, wanted=wanted), urgent=True)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a call that says two things, or none."""
    others = [name for name in _ACTIONS if getattr(arguments, name)]
    if arguments.state is None and not others:
        raise UsageError("give `open` or `closed`, or --list, --end NAME or --prune")
    if arguments.state is not None and others:
        raise UsageError(
            f"`{arguments.state}` creates an override, so it cannot be used with --{others[0]}"
        )
    if arguments.state is not None:
        _check_new(arguments)


def _check_new(arguments: argparse.Namespace) -> None:
    """Refuse an override without an end or a reason."""
    # Without an end, an override would be a policy that nobody decided on.
    if arguments.length is None and arguments.until is None:
        raise UsageError("an override needs an end: give --for 2h, or --until MOMENT")
    if not arguments.reason:
        raise UsageError("an override needs a reason: give --reason TEXT")


def _wanted(arguments: argparse.Namespace, now: datetime) -> Wanted:
    """Return the override that was asked for."""
    # Named here, so that it can be said under which name it is ended.
    name = arguments.name or overrides.default_name(arguments.state, now)
    return Wanted(
        state=arguments.state,
        reason=arguments.reason,
        length=arguments.length,
        until=arguments.until,
        ticket=arguments.ticket,
        requested_by=arguments.requested_by,
        name=name,
        cluster=arguments.cluster,
    )


def _turns(proposal: Proposal, name: str | None) -> ChangeSummary:
    """Say what holds now through the change, and what else would; of which override."""
    return ChangeSummary(proposal.spoken_turns, name)


def _made(proposal: Proposal, wanted: Wanted) -> ChangeSummary:
    """Say what holds now, and which instant the end was taken for."""
    said = _turns(proposal, wanted.name)
    return replace(said, text=overrides.spoken_end(proposal.new, wanted) + said.text)


def _list(arguments: argparse.Namespace, now: datetime) -> ExitCode:
    inputs.check_file(arguments.policy)
    found = overrides.listed(inputs.policy(arguments.policy), now)
    if arguments.output == "json":
        output.show_json([each.record() for each in found])
    else:
        output.show_words("".join(_lines(found)))
    return ExitCode.FINE


def _lines(found: Iterable[Listed]) -> Iterable[str]:
    """Yield a line for each override, or one that says that there is none."""
    rows = [(*_where(each), each.phase, _span(each), each.reason) for each in found]
    if not rows:
        yield "no overrides\n"
        return
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (f"{text:<{width}}" for text, width in zip(row, widths, strict=True))
        yield escape.line("  ".join(padded).rstrip()) + "\n"


def _where(each: Listed) -> tuple[str, str, str]:
    return each.name, each.cluster or "all clusters", each.state


def _span(each: Listed) -> str:
    """Return beginning and end: in the time zone of its place, if there they are one instant."""
    zone = each.zone or zone_of("UTC")
    words = zone.key if each.zone else "UTC, first to last: each cluster by its own clock"
    begins = shown(each.begins, zone) if each.begins else "always"
    return f"{begins} to {shown(each.ends, zone)} ({words})"

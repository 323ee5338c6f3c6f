"""`krm-windows override`: targets opened or closed at once, until a moment, for a reason.

For whoever has to let a fix in at 3 a.m., and for whoever has to stop the line.
"""

import argparse
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from krm_windows import escape
from krm_windows.cli import changed, inputs, output, times
from krm_windows.cli.inputs import UsageError
from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride, OverrideRequest
from krm_windows.exit_codes import ExitCode
from krm_windows.preview.clock import shown

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
    parser.add_argument("--reason", metavar="TEXT", help="why; also the commit's message")
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
    others = [name for name in _ACTIONS if getattr(arguments, name)]
    if arguments.state is None and not others:
        raise UsageError("give `open` or `closed`, or --list, --end NAME or --prune")
    if arguments.state is not None and others:
        raise UsageError(
            f"`{arguments.state}` creates an override, so it cannot be used with --{others[0]}"
        )
    if arguments.list:
        return _list(arguments, now)
    name = arguments.end
    if name is not None:
        change = partial(overrides.ended, name=name, cluster=arguments.cluster)
        arguments.reason = arguments.reason or f"End override {name}"
    elif arguments.prune:
        change = partial(overrides.pruned, at=now)
        arguments.reason = arguments.reason or "Remove the overrides that are over"
    else:
        # Named here, so that it can be said under which name it is ended.
        name = arguments.name or overrides.default_name(arguments.state, now)
        change = partial(overrides.made, request=_request(arguments, name), at=now)
    # `urgent`: what is made at 3 a.m. must not be held up by a finding about next year.
    return changed.run(arguments, change, now, urgent=True, override=name)


def _request(arguments: argparse.Namespace, name: str) -> OverrideRequest:
    """Return the override that was asked for; refuses one without an end or a reason."""
    # Without an end, an override would be a policy that nobody decided on.
    if arguments.length is None and arguments.until is None:
        raise UsageError("an override needs an end: give --for 2h, or --until MOMENT")
    if not arguments.reason:
        raise UsageError("an override needs a reason: give --reason TEXT")
    return OverrideRequest(
        state=arguments.state,
        reason=arguments.reason,
        length=arguments.length,
        until=arguments.until,
        ticket=arguments.ticket,
        requested_by=arguments.requested_by,
        name=name,
        cluster=arguments.cluster,
    )


def _list(arguments: argparse.Namespace, now: datetime) -> ExitCode:
    found = overrides.listed(inputs.policy(arguments.policy), now)
    if arguments.output == "json":
        output.show_json([each.record() for each in found])
    else:
        output.show_words("".join(_lines(found)))
    return ExitCode.FINE


def _lines(found: Sequence[ListedOverride]) -> Iterator[str]:
    """Yield a line for each override, or one that says that there is none."""
    if not found:
        yield "no overrides\n"
    for each in found:
        place = each.cluster or "all clusters"
        parts = (each.name, place, each.state, each.phase, _span(each), each.reason)
        yield escape.line("  ".join(parts)) + "\n"


def _span(each: ListedOverride) -> str:
    begins = shown(each.begins, each.zone) if each.begins else "always"
    return f"{begins} to {shown(each.ends, each.zone)} ({each.zone.key})"

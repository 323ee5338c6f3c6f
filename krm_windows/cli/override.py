"""`krm-windows override`: targets opened or closed at once, until a moment, for a reason.

For whoever has to let a fix in at 3 a.m., and for whoever has to stop the line.
"""

import argparse
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from krm_windows import escape
from krm_windows.cli import changed, inputs, output, times
from krm_windows.edit import overrides
from krm_windows.edit.overrides import Listed
from krm_windows.edit.proposal import Proposal
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError, KubeObject, Value
from krm_windows.policy import moments
from krm_windows.policy.findings import RefusedError
from krm_windows.preview import sentences
from krm_windows.preview.clock import shown, stamp
from krm_windows.schedule import zones

# As the command says it, and as the field `state` of a policy does.
_STATES = {"open": "Open", "closed": "Closed"}
# What each of the four calls takes besides what all do.
_ACTIONS = ("list", "end", "prune")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policy", metavar="FILE", help="the file of a WindowPolicy")
    state = parser.add_argument(
        "state", choices=tuple(_STATES), help="what holds, whatever windows say"
    )
    # With `nargs="?"` it would only be found right behind FILE (argparse before Python 3.13).
    state.required = False
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument(
        "--for", dest="length", type=_length, metavar="2h", help="how long, from now on"
    )
    ends.add_argument(
        "--until",
        metavar="MOMENT",
        help="until when: 18:00, 2026-12-24, 2026-12-24T20:00, or an instant with an offset",
    )
    parser.add_argument("--reason", metavar="TEXT", help="why; it is the message of a commit, too")
    parser.add_argument("--ticket", metavar="TEXT", help="where it was asked for")
    parser.add_argument("--requested-by", metavar="TEXT", help="who asked for it")
    parser.add_argument("--name", metavar="NAME", help="its name (default: from state and time)")
    parser.add_argument("--cluster", metavar="NAME", help="on this cluster alone (default: on all)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="print the overrides of the file")
    what.add_argument("--end", metavar="NAME", help="take an override out of the file")
    what.add_argument(
        "--prune", action="store_true", help="take those that are over out of the file"
    )
    changed.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Make, list or take out overrides."""
    now = times.now()
    _check(arguments)
    if arguments.list:
        return _list(arguments, now)
    if arguments.end is not None:
        change = partial(overrides.ended, name=arguments.end, cluster=arguments.cluster)
        return changed.run(arguments, change, now, _turns, urgent=True)
    if arguments.prune:
        return changed.run(arguments, partial(overrides.pruned, at=now), now, urgent=True)
    # `urgent`: what is made at 3 a.m. must not be held up by a finding about next year.
    return changed.run(arguments, partial(_added, arguments, now), now, _turns, urgent=True)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a call that says two things, or none."""
    others = [name for name in _ACTIONS if getattr(arguments, name)]
    if arguments.state is None and not others:
        raise InputError("say `open` or `closed`, or --list, --end NAME or --prune")
    if arguments.state is not None and others:
        raise InputError(f"`{arguments.state}` makes an override, --{others[0]} makes none")
    if arguments.state is not None:
        _check_new(arguments)


def _check_new(arguments: argparse.Namespace) -> None:
    """Refuse an override without an end or a reason."""
    # Without an end, an override would be a policy that nobody decided on.
    if arguments.length is None and arguments.until is None:
        raise InputError("an override has an end: give --for 2h, or --until MOMENT")
    if not arguments.reason:
        raise InputError("an override has a reason: give --reason TEXT")


def _added(
    arguments: argparse.Namespace,
    now: datetime,
    policy: KubeObject,
) -> KubeObject:
    """Return the policy with the override that was asked for."""
    starts, ends = _bounds(arguments, now, _zone(policy))
    entry: dict[str, Value] = {
        "state": _STATES[arguments.state],
        "starts": starts,
        "ends": ends,
        "reason": arguments.reason,
    }
    if arguments.requested_by:
        entry["requestedBy"] = arguments.requested_by
    if arguments.ticket:
        entry["ticket"] = arguments.ticket
    name = arguments.name or overrides.default_name(arguments.state, now)
    return overrides.added(policy, name, arguments.cluster, entry)


def _bounds(arguments: argparse.Namespace, now: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """Return beginning and end as the policy is to have them.

    What ends at an instant begins at one; what ends on the wall clock (`18:00`, a date) begins
    there, too, as a time of day counts from the beginning.
    """
    # Cron has no seconds: an override begins at a full minute.
    begins = overrides.minute(now).astimezone(zone)
    if arguments.length is not None:
        ends = overrides.until(now, arguments.length).astimezone(zone)
        return _written(begins), _written(ends)
    # An offset such as `+01:00` says which instant it is, so it can stand in the policy as it is.
    if _is_instant(arguments.until):
        return _written(begins), arguments.until
    # Without an offset, as in `2026-12-24T20:00`: the policy's zone says which instant that is.
    return _written(begins.replace(tzinfo=None)), arguments.until


def _is_instant(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _written(at: datetime) -> str:
    """Write a full minute: with an offset, the reader's own, where it is an instant."""
    return at.isoformat(timespec="minutes")


def _turns(proposal: Proposal) -> str:
    """Say what holds now through the change, and what else would."""
    lines: list[str] = []
    for turn in proposal.turns:
        pair = turn.succession
        lines.append(sentences.turn(pair.new.timetable, turn.was, turn.now))
    # Clusters on which the same holds share a sentence only by accident: each is named.
    return "".join(dict.fromkeys(lines))


def _list(arguments: argparse.Namespace, now: datetime) -> ExitCode:
    if not Path(arguments.policy).is_file():
        raise InputError(f"{arguments.policy}: no such file")
    found = overrides.listed(inputs.policy(arguments.policy), now)
    if arguments.output == "json":
        output.show_json([_record(each) for each in found])
    else:
        output.show("".join(_lines(found)))
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
    """Return beginning and end, in UTC: clusters may have other time zones."""
    begins = shown(each.begins, UTC) if each.begins else "always"
    return f"{begins} to {shown(each.ends, UTC)} UTC"


def _record(each: Listed) -> dict[str, object]:
    return {
        "name": each.name,
        "cluster": each.cluster,
        "state": each.state,
        "begins": stamp(each.begins, UTC) if each.begins else None,
        "ends": stamp(each.ends, UTC),
        "phase": each.phase,
        "reason": each.reason,
    }


def _zone(policy: KubeObject) -> ZoneInfo:
    """Return the policy's time zone; UTC where it is wrong, which is found when it is audited."""
    name = policy.get("spec", "timeZone")
    if isinstance(name, str) and name in zones.names():
        return zones.zone(name)
    return zones.zone("Etc/UTC")


def _length(text: str) -> timedelta:
    try:
        length = moments.duration(text)
    except RefusedError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    # `--for 0h` would end as it begins.
    if not length:
        raise argparse.ArgumentTypeError("must be longer than nothing")
    return length

"""`krm-windows override`: targets opened or closed at once, until a moment, for a reason.

For whoever has to let a fix in at 3 a.m., and for whoever has to stop the line.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from krm_windows import escape
from krm_windows.cli import changed, inputs, output, policies, questions, times
from krm_windows.cli.changed import Change, Urgency
from krm_windows.cli.inputs import UsageError
from krm_windows.cli.policies import StoredPolicy
from krm_windows.edit import overrides
from krm_windows.edit.overrides import ListedOverride, OverrideRequest, Phase
from krm_windows.edit.patches import check_cluster, clusters_of, rules_on
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import some
from krm_windows.policy.moments import Role
from krm_windows.preview.clock import coming, shown

# What each of the four calls takes besides what all do.
_ACTIONS = ("list", "end", "prune")
_ALL = "all clusters"
_DEFAULT = "2h"
# So many overrides are named where one has to be.
_FEW = 10
# What is around a beginning: `20:00 for 2h`, or `from 20:00 until 22:00`.
_AROUND = re.compile("(?i)^from | (?=(?:for|until) )")


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    policy = parser.add_argument(
        "policy",
        metavar="POLICY",
        help="the file of a WindowPolicy, or its name (default: the only one in this repository)",
    )
    state = parser.add_argument(
        "state", metavar="open|closed", help="the state, whatever the windows say"
    )
    # With `nargs="?"` they would only be found side by side (argparse before Python 3.13).
    policy.required = state.required = False
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--for", dest="ends", type=_length, metavar="2h", help="how long")
    ends.add_argument(
        "--until",
        dest="ends",
        metavar="MOMENT",
        help=(
            "until when: 18:00, 'tomorrow 06:00', 'Monday 06:00', 2026-12-24, 2026-12-24T20:00, or "
            "an instant with an offset"
        ),
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
    what.add_argument(
        "--end",
        metavar="NAME",
        nargs="?",
        const="",
        help="remove an override from the file (default: the only one that is not over)",
    )
    what.add_argument(
        "--prune", action="store_true", help="remove overrides that are over from the file"
    )
    changed.options(parser, "when it begins, as --until has it (default: now); else the first day")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Make, list or take out overrides."""
    now = times.now()
    if arguments.policy in overrides.STATES:
        # Alone, or in the other order.
        arguments.policy, arguments.state = arguments.state, arguments.policy
    if arguments.state not in (None, *overrides.STATES):
        raise UsageError(f"`{arguments.state}` is neither `open` nor `closed`")
    others = [name for name in _ACTIONS if getattr(arguments, name) not in (None, False)]
    if arguments.state is not None and others:
        raise UsageError(
            f"`{arguments.state}` creates an override, so it cannot be used with --{others[0]}"
        )
    # Programs are asked nothing: who reads JSON is one.
    asks = arguments.output == "text" and output.can_ask()
    if arguments.state is None and not others and not asks:
        raise UsageError("give `open` or `closed`, or --list, --end NAME or --prune")
    if arguments.list:
        return _list(arguments, now)
    arguments.policy = _file(arguments, asks=asks)
    if arguments.commit:
        # Before anything is asked.
        changed.check_commit(arguments.policy)
    arguments.starts, arguments.start = arguments.start, None
    if others and arguments.starts:
        try:
            arguments.start = times.first_day(arguments.starts)
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--from {error}") from None
    # `urgent`: what is made at 3 a.m. must not be held up by a finding about next year.
    if arguments.prune:
        arguments.reason = arguments.reason or "Remove the overrides that are over"
        return changed.run(arguments, partial(overrides.pruned, at=now), now, Urgency())
    make = _ending if others else _making
    policy = inputs.policy(arguments.policy)
    check_cluster(policy, arguments.cluster)
    change, urgency = make(arguments, policy, now, asks=asks)
    return changed.run(arguments, change, now, urgency)


def _ending(
    arguments: argparse.Namespace, policy: KubeObject, now: datetime, *, asks: bool
) -> tuple[Change, Urgency]:
    name = arguments.end or _running(arguments, policy, now, asks=asks)
    places = overrides.holders(policy, name)
    if not places and name in clusters_of(policy):
        raise InputError(f"{name} is a cluster: give --end --cluster {name}")
    if arguments.cluster is None and len(places) == 1:
        [arguments.cluster] = places
    confirm = ""
    if asks and not arguments.end:
        if arguments.cluster is None:
            arguments.cluster = _where(policy, name)
        confirm = f"Remove {name} on {arguments.cluster or _ALL} from {arguments.policy}"
    on = f" on {arguments.cluster}" if arguments.cluster else ""
    arguments.reason = arguments.reason or f"End override {name}{on}"
    change = partial(overrides.ended, name=name, places=[arguments.cluster])
    return change, Urgency(name, confirm=confirm)


def _making(
    arguments: argparse.Namespace, policy: KubeObject, now: datetime, *, asks: bool
) -> tuple[Change, Urgency]:
    confirm = ""
    if asks and not (arguments.state and arguments.reason and arguments.ends):
        _ask(arguments, policy, now)
        confirm = f"Write this to {arguments.policy}"
    # Without an end, an override would be a policy that nobody decided on.
    if arguments.ends is None:
        raise UsageError("an override needs an end: give --for 2h, or --until MOMENT")
    if not arguments.reason:
        raise UsageError("an override needs a reason: give --reason TEXT")
    request = OverrideRequest(
        state=arguments.state,
        reason=arguments.reason,
        until=arguments.ends,
        ticket=arguments.ticket,
        requested_by=arguments.requested_by,
        name=arguments.name,
        cluster=arguments.cluster,
        starts=arguments.starts,
    )
    zone = overrides.zone_of_ends(policy, request.cluster)
    begins = _begin(arguments.starts, now, zone)
    ends = overrides.bound(arguments.ends, begins, now, zone)
    when = f"until {coming(ends, zone, overrides.minute(now))}"
    if arguments.starts:
        when = f"from {shown(begins, zone)} until {shown(ends, zone)} ({zone.key})"
    heading = escape.lines([f"{request.state} {when}: {request.reason}"])
    urgency = Urgency(arguments.name or "", heading, confirm)
    return partial(overrides.made, request=request, at=now), urgency


def _ask(arguments: argparse.Namespace, policy: KubeObject, now: datetime) -> None:
    """Ask for what is missing of an override, unless what is given is wrong."""
    # Of a policy with errors nothing is written.
    overrides.listed(policy, now)
    if arguments.cluster is None:
        arguments.cluster = _where(policy)
    overrides.check_name(policy, arguments.name or "", arguments.cluster)
    zone = overrides.zone_of_ends(policy, arguments.cluster)
    overrides.bound(arguments.ends or _DEFAULT, _begin(arguments.starts, now, zone), now, zone)

    def end(answer: str) -> str:
        starts, ends = arguments.starts, answer
        if not starts:
            match [*filter(None, _AROUND.split(answer))]:
                case [begins, last]:
                    starts, ends = begins, last
        overrides.bound(ends, _begin(starts, now, zone), now, zone)
        arguments.starts = starts
        return ends

    def state(answer: str) -> str:
        # `open for 2h` says both.
        word, _, rest = answer.partition(" ")
        wanted = "answer `open` or `closed`"
        if word.lower() not in overrides.STATES:
            raise InputError(f"{answer!r}: {wanted}")
        if rest and arguments.ends:
            raise InputError(f"{rest!r}: --for or --until says that already: {wanted}")
        arguments.ends = end(rest) if rest else arguments.ends
        return word.lower()

    both = "" if arguments.ends else f" (or closed Mon 06:00, {zone.key})"
    arguments.state = arguments.state or questions.ask(f"Open or closed{both}", state, "open")
    if not arguments.ends:
        how = f"{arguments.state.capitalize()} for how long, or until when"
        arguments.ends = questions.ask(f"{how} (18:00, 20:00 for 2h, {zone.key})", end, _DEFAULT)
    if not arguments.reason:
        arguments.reason = questions.ask("Why (all can read it)", _reason)


def _where(policy: KubeObject, override: str = "") -> str | None:
    """Ask on which cluster; None is on all. Of one that is there, of those that have it."""
    clusters = [
        each
        for each in clusters_of(policy)
        if not override or override in rules_on(policy, "overrides", each)
    ]
    chosen = questions.choose("Where", [_ALL, *clusters]) if clusters else _ALL
    return None if chosen == _ALL else chosen


def _reason(answer: str) -> str:
    if not answer:
        raise InputError("a reason is needed")
    return answer


def _length(text: str) -> str:
    """Check a duration; it is read with what `--until` takes."""
    times.length(text)
    return text


def _begin(given: str | None, now: datetime, zone: ZoneInfo) -> datetime:
    return overrides.bound(given, now, now, zone, Role.BEGIN) if given else now


def _file(arguments: argparse.Namespace, *, asks: bool) -> str:
    """Return the file of the policy; to end an override without a name, of one that has any."""
    is_any = arguments.end == "" and not (arguments.policy or arguments.cluster)
    if is_any and not any(any(overrides.named(each.config)) for each in policies.around()):
        raise InputError("there is no override to end")
    # From what means most on.
    meant: tuple[Callable[[StoredPolicy], bool], ...] = (
        lambda each: any(arguments.end in ("", name) for name, _ in overrides.named(each.config)),
        policies.naming(arguments.end),
    )

    def choose(names: Sequence[str]) -> str:
        having = defaultdict(list)
        for each in policies.around():
            for cluster in each.clusters if each.config.name in names else ():
                having[cluster].append(each.config.name)
        clusters = {cluster: found[0] for cluster, found in having.items() if len(found) == 1}
        chosen = questions.choose("Which policy, or cluster", names, "", clusters)
        if chosen in names:
            return chosen
        arguments.cluster = chosen
        return clusters[chosen]

    may_choose = choose if asks else None
    return policies.file(arguments.policy, may_choose, *meant, cluster=arguments.cluster)


def _running(
    arguments: argparse.Namespace, policy: KubeObject, now: datetime, *, asks: bool
) -> str:
    """Return the override that is not over; of several the one that is chosen, and its cluster.

    With a cluster, of those that hold there.
    """
    listed = overrides.listed(policy, now, arguments.cluster)
    found = [each for each in listed if each.phase is not Phase.OVER]
    if len(found) > 1 and asks:
        lines = dict(zip(map(_line, found), found, strict=True))
        found = [lines[questions.choose("Which override", list(lines), default="")]]
    if len(found) != 1:
        names = some([f"{each.name} on {each.place}" for each in found], _FEW)
        none = f"there is no override to end on {arguments.cluster or 'any cluster'}"
        advice = f"give --end NAME; not over yet: {names}" if found else none
        raise InputError(f"{arguments.policy}: {advice}")
    [chosen] = found
    arguments.cluster = arguments.cluster or chosen.cluster
    return chosen.name


def _list(arguments: argparse.Namespace, now: datetime) -> ExitCode:
    # A program expects the list of one policy.
    if arguments.policy is None and arguments.output == "text":
        return _list_all(now)
    arguments.policy = policies.file(arguments.policy)
    found = overrides.listed(inputs.policy(arguments.policy), now)
    if arguments.output == "json":
        output.show_json([each.record() for each in found])
    else:
        output.show_lines(_lines(found))
    return ExitCode.FINE


def _list_all(now: datetime) -> ExitCode:
    """List the overrides of every policy of the repository, under its name."""
    failed = False
    for each in policies.around():
        try:
            lines = _lines(overrides.listed(each.config, now))
        except InputError as error:
            output.log(f"{each.file}: {error}")
            failed = True
            continue
        output.show_lines([each, *(f"  {line}" for line in lines)])
    return ExitCode.of(failed=failed)


def _lines(found: Sequence[ListedOverride]) -> Iterator[str]:
    """Yield a line for each override, or one that says that there is none."""
    yield from map(_line, found) if found else ["no overrides"]


def _line(each: ListedOverride) -> str:
    return "  ".join((each.name, each.place, each.state, each.phase, _span(each), each.reason))


def _span(each: ListedOverride) -> str:
    begins = shown(each.begins, each.zone) if each.begins else "always"
    return f"{begins} to {shown(each.ends, each.zone)} ({each.zone.key})"

"""A policy in plain words.

A sentence for each rule, every moment as it is resolved, and what wins over what.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo

from krm_windows import escape
from krm_windows.policy import phrases
from krm_windows.policy.days import days
from krm_windows.policy.hooks import Hook, Hooks
from krm_windows.policy.model import Freeze, Override, Spec, Window, WindowPolicy
from krm_windows.policy.moments import Moment, Value
from krm_windows.preview.calendar import gated_by, named
from krm_windows.preview.clock import shown, stamp
from krm_windows.schedule import wallclock
from krm_windows.schedule.recurrence import EVERY_HOUR, EVERY_MINUTE, Recurrence
from krm_windows.schedule.timetable import Timetable

_CLOCKS = """\
When clocks go forward, a moment in the skipped hour happens at its end.
When they go back, nothing changes during the repeated hour: the state before it stays until that \
hour is over."""


def render(policy: WindowPolicy, timetable: Timetable) -> str:
    """Return the page; every line ends in a newline."""
    # What people wrote may hold what steers a terminal.
    return "".join(f"{escape.line(line)}\n" for line in _lines(policy.spec, timetable))


def _lines(spec: Spec, timetable: Timetable) -> Iterator[str]:
    yield f"{named(timetable)} says when changes may reach {gated_by(timetable)}."
    yield f"All times are wall-clock times in {spec.time_zone}."
    yield ""
    yield from _rules(spec, timetable.zone)
    yield "The first that applies wins:"
    # A list that is read from the top, as the evaluator decides.
    for place, words in enumerate(order(timetable), 1):
        yield f"  {place}. {words}"
    yield from _margin(timetable)
    yield ""
    if spec.hooks:
        yield from _hooks(spec.hooks)
    if spec.events:
        yield "Kubernetes Events on the targets report what was done."
        yield ""
    yield from _CLOCKS.splitlines()


def _rules(spec: Spec, zone: tzinfo) -> Iterator[str]:
    """Yield what each window, freeze and override says, by their names."""
    # By name, as a map in YAML has no order.
    for name, window in sorted(spec.windows.items()):
        yield from _window(name, window, zone)
    for name, freeze in sorted(spec.freezes.items()):
        yield from _freeze(name, freeze, zone)
    for name, override in sorted(spec.overrides.items()):
        yield from _override(name, override, zone)


def _window(name: str, window: Window, zone: tzinfo) -> Iterator[str]:
    yield f"windows.{name}: changes may reach them {window.words()}."
    # A block of YAML (`|`) has several lines, and ends in a line end.
    if window.description:
        yield from _description(window.description.strip().split("\n"))
    yield from _resolved("opens", window.opens, zone)
    yield from _end("closes", window.closes, window.duration, window.opens, zone)
    yield ""


def _description(lines: list[str]) -> Iterator[str]:
    """Yield what somebody wrote.

    Several lines get a rim, so that none is taken for one of ours.
    """
    if len(lines) == 1:
        yield f"  {lines[0]}"
        return
    yield from (f"  | {line}" for line in lines)


def _freeze(name: str, freeze: Freeze, zone: tzinfo) -> Iterator[str]:
    yield f"freezes.{name}: nothing may reach them {freeze.words()}, whatever the windows say."
    yield f"  {freeze.reason}"
    yield from _resolved("starts", freeze.starts, zone)
    yield from _end("ends", freeze.ends, freeze.duration, freeze.starts, zone)
    yield ""


def _override(
    name: str,
    override: Override,
    zone: tzinfo,
) -> Iterator[str]:
    may = "changes may" if override.state == "Open" else "nothing may"
    yield (
        f"overrides.{name}: {may} reach them {override.words()}, whatever windows and freezes say."
    )
    parts = [override.reason]
    if override.requested_by:
        parts.append(f"requested by {override.requested_by}")
    if override.ticket:
        parts.append(f"see {override.ticket}")
    yield f"  {', '.join(parts)}"
    # One without a beginning has always held.
    if override.starts:
        yield from _resolved("starts", override.starts, zone)
    yield from _end("ends", override.ends, None, override.starts, zone)
    yield ""


def _hooks(hooks: Hooks) -> Iterator[str]:
    """Yield what runs around every occurrence, and where."""
    yield f"Jobs run in {hooks.namespace} around every opening:"
    before, applied, after = hooks.before_open, hooks.after_apply, hooks.after_close
    if hooks.only_if == "Pending":
        yield "  if a target has something to apply when it opens:"
    if before:
        yield f"  before opening     {_job(before)}"
        outcome = {"Abort": "it stays closed this time", "Continue": "it opens anyway"}
        yield from _failure(outcome[before.on_failure], before.rollback)
    if applied:
        yield f"  after a change     {_job(applied)}"
        outcome = {"Close": "everything is closed again", "Continue": "nothing changes"}
        yield from _failure(outcome[applied.on_failure], applied.rollback)
    if after:
        yield f"  after closing      {_job(after)}"
        # A reconciliation that has begun is not cut off: the Job waits for it, but not for ever.
        length = phrases.duration(after.timeout)
        yield f"                     as soon as no target is reconciling, or after {length}"
    yield ""


def _failure(outcome: str, rollback: Hook | None) -> Iterator[str]:
    yield f"  if that fails      {outcome}"
    if rollback:
        yield f"    and once         {_job(rollback)}"


def _job(hook: Hook) -> str:
    # Without a command the image's own entry point runs, whose name nobody knows here.
    program = " ".join([*hook.command, *hook.args]) or hook.image
    return f"{program}, for at most {phrases.duration(hook.timeout)}"


def _resolved(
    field: str,
    moment: Moment[Value],
    zone: tzinfo,
) -> Iterator[str]:
    yield f"  {field:<8} {moment.text:<20} {_words(moment.value, zone)}"


def _end(
    field: str,
    moment: Moment[Value] | None,
    length: timedelta | None,
    begins: Moment[Value] | None,
    zone: tzinfo,
) -> Iterator[str]:
    """Yield what an end comes to: a moment, or a length of time from the beginning."""
    if moment is not None:
        yield from _resolved(field, moment, zone)
        return
    counted = "on the clock"
    # After an instant, a length is real time, whatever clocks do meanwhile.
    if begins is not None and isinstance(begins.value, datetime) and begins.value.tzinfo:
        counted = "in real time"
    words = phrases.duration(length or timedelta())
    yield f"  duration {words:<20} after its own beginning, counted {counted}"


def _words(value: Value, zone: tzinfo) -> str:
    match value:
        case Recurrence():
            return _fields(value)
        case time():
            return f"the first {value:%H:%M} after its own beginning"
    at = wallclock.utc(value, zone)
    # `Mon 2026-12-14 08:00, the instant 2026-12-14T07:00:00Z`.
    return f"{shown(at, zone)}, the instant {stamp(at, UTC).replace('+00:00', 'Z')}"


def _fields(recurrence: Recurrence) -> str:
    """Say a recurrence as the cluster has it.

    The minutes, the hours, and the days that they are of.
    """
    minutes = _field("minute", recurrence.minutes, EVERY_MINUTE)
    hours = _field("hour", recurrence.hours, EVERY_HOUR)
    return f"{minutes}; {hours}; {days(recurrence)}"


def _field(
    name: str,
    numbers: Collection[int],
    every: Collection[int],
) -> str:
    if numbers == every:
        return f"every {name}"
    return f"{name} {', '.join(map(str, sorted(numbers)))}"


def order(timetable: Timetable) -> Iterator[str]:
    """Yield what decides, the strongest first; what the policy does not have is left out."""
    states = {rule.state for rule in timetable.overrides}
    # `spec.state` holds until somebody changes it back.
    if timetable.state != "Scheduled":
        yield f"state: {timetable.state}, set by hand, so nothing below has an effect"
    if "Closed" in states:
        yield "overrides that close"
    if "Open" in states:
        yield "overrides that open"
    if timetable.freezes:
        yield "freezes: they close the part of a window that they overlap; the rest stays open"
    if timetable.windows:
        yield "windows: open while at least one window is open"
    yield f"otherwise: {timetable.outside_windows.lower()}"


def _margin(timetable: Timetable) -> Iterator[str]:
    if timetable.closes_early:
        length = phrases.duration(timetable.closes_early)
        yield (
            f"Windows close {length} early, so that running reconciliations finish in time; "
            "overrides do not."
        )

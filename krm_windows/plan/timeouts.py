"""How long a target may go on after it is suspended: what `closesEarly: auto` stands for.

Suspension does not stop what already runs. A Kustomization runs up to `spec.timeout`, else its
interval less 30 s, but at least 30 s (kustomize-controller, `Kustomization.GetTimeout`); a
HelmRelease up to 5 m unless set (helm-controller, `HelmRelease.GetTimeout`); a source has no work
of its own, so its consumers' timeouts count.
"""

from collections.abc import Iterable
from datetime import timedelta

from krm_windows import rules
from krm_windows.inventory import Inventory, Resource
from krm_windows.plan import sources
from krm_windows.plan.targets import Selection
from krm_windows.results import Result
from krm_windows.schedule import durations

_MINUTE = timedelta(minutes=1)
LEAST = timedelta(seconds=30)
HELM_DEFAULT = timedelta(minutes=5)


def longest(
    selections: Iterable[Selection], inventory: Inventory
) -> tuple[timedelta, list[Result]]:
    """Return the longest effective timeout of all targets in whole minutes.

    With it, what keeps it from being known.
    """
    found: list[timedelta] = []
    results: list[Result] = []
    for selection in selections:
        # One look at the stream for all names of an entry.
        seen = {resource.name: resource for resource in selection.seen(inventory)}
        for name in selection.names:
            timeouts = _timeouts(selection, name, seen.get(name), inventory)
            found += filter(None, timeouts)
            # Silence would be a window that closes too late, so it is an error and not a guess.
            if not all(timeouts) or not timeouts:
                results.append(_unknown(selection, name, is_seen=name in seen))
    # Rounded up, as nothing may run on after the end.
    minutes = -(-max(found, default=timedelta()) // _MINUTE)
    return minutes * _MINUTE, results


def _timeouts(
    selection: Selection,
    name: str,
    resource: Resource | None,
    inventory: Inventory,
) -> list[timedelta | None]:
    """Return the timeout of a target, or of each that a source feeds; None is not known."""
    if resource is None:
        return []
    runners: Iterable[Resource] = (resource,)
    if selection.row.is_source:
        runners = sources.users(selection, name, inventory)
    return list(map(_own, runners))


def _own(resource: Resource) -> timedelta | None:
    written = resource.text("spec", "timeout")
    if resource.kind not in ("HelmRelease", "Kustomization"):
        return None
    if written:  # `${timeout}` is not known before Flux puts a value there
        return go_duration(written)
    if resource.kind == "HelmRelease":
        return HELM_DEFAULT
    interval = go_duration(resource.text("spec", "interval"))
    if not interval:
        return None
    return max(interval - LEAST, LEAST)


def go_duration(text: str) -> timedelta | None:
    """Parse a duration as Go writes it (`1h30m`, `90s`), None if it is none or negative."""
    length = durations.nanoseconds(text)
    if length is None or length < 0:
        return None
    # Python knows no nanoseconds; less than a microsecond does not matter to a timeout.
    return timedelta(microseconds=length // 1000)


def _unknown(selection: Selection, name: str, *, is_seen: bool) -> Result:
    reason = "it is not among the resources"
    if is_seen:
        reason = "it does not say how long a run may take"
        if selection.row.is_source:
            reason = "not all that it feeds is known to say how long a run may take"
    return rules.TIMEOUT_UNKNOWN.result(
        f"cannot be `auto`: the timeout of {selection.row.kind} {selection.namespace}/{name} is "
        f"unknown, because {reason}; set the longest timeout of the targets, such as 10m",
        path="spec.closesEarly",
        current="auto",
    )

"""How long a target may go on after it is suspended: what `closesEarly: auto` stands for.

Suspension does not stop what already runs. A Kustomization runs up to `spec.timeout`, else its interval less 30 s, but
at least 30 s (kustomize-controller, `Kustomization.GetTimeout`); a HelmRelease up to 5 m unless set
(helm-controller, `HelmRelease.GetTimeout`); a source has no work of its own, so its consumers' timeouts count.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from krm_windows import rules
from krm_windows.inventory import Inventory, Resource
from krm_windows.plan import sources
from krm_windows.plan.targets import Selection
from krm_windows.results import Result
from krm_windows.schedule import durations

LEAST = timedelta(seconds=30)
HELM_DEFAULT = timedelta(minutes=5)


def longest(
    selections: Iterable[Selection], inventory: Inventory
) -> tuple[timedelta, list[Result]]:
    """Return the longest effective timeout of all targets in whole minutes, and what keeps it from being known."""
    found: list[timedelta] = []
    results: list[Result] = []
    for selection in selections:
        seen = {resource.name: resource for resource in selection.seen(inventory)}
        for name in selection.names:
            timeouts = list(_timeouts(selection, name, seen.get(name), inventory))
            found += timeouts
            results += [] if timeouts else [_unknown(selection, name)]
    minutes = -(-max(found, default=timedelta()) // timedelta(minutes=1))
    return timedelta(minutes=minutes), results


def _timeouts(
    selection: Selection, name: str, resource: Resource | None, inventory: Inventory
) -> Iterator[timedelta]:
    if resource is None:
        return
    if selection.row.is_source:
        yield from (
            timeout for user in sources.users(selection, name, inventory) if (timeout := _own(user))
        )
    elif timeout := _own(resource):
        yield timeout


def _own(resource: Resource) -> timedelta | None:
    timeout = go_duration(resource.text("spec", "timeout"))
    if resource.kind == "HelmRelease":
        return timeout or HELM_DEFAULT
    if resource.kind != "Kustomization":
        return None
    interval = go_duration(resource.text("spec", "interval"))
    return timeout or (max(interval - LEAST, LEAST) if interval else None)


def go_duration(text: str) -> timedelta | None:
    """Parse a duration as Go writes it (`1h30m`, `90s`), None where the text is none, or less than nothing."""
    length = durations.nanoseconds(text)
    return timedelta(microseconds=length // 1000) if length is not None and length >= 0 else None


def _unknown(selection: Selection, name: str) -> Result:
    return rules.TIMEOUT_UNKNOWN.result(
        f"cannot be `auto`: the timeout of {selection.row.kind} {selection.namespace}/{name} is not visible here; "
        "write the longest timeout of the targets, such as 10m",
        path="spec.closesEarly",
        current="auto",
    )

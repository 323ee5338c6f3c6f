"""The objects of a cluster: what to ask kubectl for, and what it answers."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from krm_windows.emit import names
from krm_windows.emit.labels import COMPONENT, HOOK, POLICY
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Target
from krm_windows.gateable import group_of
from krm_windows.inventory import Inventory
from krm_windows.krm import plain_json
from krm_windows.plan import targets
from krm_windows.policy.model import WindowPolicy
from krm_windows.system.kubectl import Query

LiveObject = dict[str, object]
"""An object as the API server gives it, in plain types."""

Address = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


def queries(policy: WindowPolicy) -> Iterator[Query]:
    """Yield what each `kubectl get` asks for: a policy's targets, and then its own Jobs."""
    home = policy.metadata.namespace
    for selector in (*policy.spec.targets, *policy.spec.released):
        # An empty inventory: which targets match labels is for kubectl to find out, in the cluster.
        found = targets.select(selector, "", home, Inventory((), visible=False))
        # kubectl takes `resource.version.group`, of which the last two may be missing.
        parts = (found.row.resource, found.version, found.row.group)
        resource = ".".join(filter(None, parts))
        if selector.match_labels:
            yield Query(resource, found.namespace, labels=selector.match_labels)
        else:
            yield Query(resource, found.namespace, names=found.names)
    # One query for both, so that a CronJob and its Jobs are of one moment.
    yield _ours(policy, "cronjobs.batch,jobs.batch")


def _ours(policy: WindowPolicy, resources: str) -> Query:
    home = policy.metadata.namespace
    label = names.label(f"{home}/{policy.metadata.name}")
    return Query(resources, home, labels={POLICY: label})


def windows(policy: WindowPolicy) -> Query:
    """Return what asks for the ConfigMaps of a policy, one of which has the timetable."""
    return _ours(policy, "configmaps")


def closer(policy: WindowPolicy) -> Iterator[Query]:
    """Yield what says why no run started.

    The policy's Pods, and the Events beside them, which have no labels.
    """
    yield _ours(policy, "pods")
    yield Query("events", policy.metadata.namespace)


def instant(value: object) -> datetime | None:
    """Read an instant as the API server writes it, None where a value is none.

    Example: `2026-11-20T13:03:11Z` (metav1.Time). An object from a file may say anything.
    """
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    # Without an offset nobody could compare it.
    return found if found and found.tzinfo else None


def read(text: str) -> list[LiveObject]:
    """Read what `kubectl get -o json` prints.

    An object, a list, or several of either, one after the other. Raises ValueError where it is
    no JSON, or no object of Kubernetes, ExcessError where it is nested too deeply.
    """
    found: list[LiveObject] = []
    # `kubectl get` is called several times, and its answers may be in one file one after the other.
    for value in plain_json.values(text):
        found.extend(_objects(value))
    return found


def by_address(objects: Iterable[LiveObject]) -> dict[Address, LiveObject]:
    """Return the objects by what a target is found by; of two with one address the first."""
    found: dict[Address, LiveObject] = {}
    for live in objects:
        found.setdefault(_address(live), live)
    return found


def find(objects: Mapping[Address, LiveObject], target: Target) -> LiveObject | None:
    """Return the object of a target."""
    # Without the version: the API server gives an object in any that it serves.
    return objects.get((target.group, target.kind, target.namespace, target.name))


def is_of_gate(live: LiveObject, label: str) -> bool:
    """Say whether an object carries the label of a policy, and is not of one of its hooks.

    The Jobs of hooks carry it too, and say nothing of the policy's targets.
    """
    labels = dig(live, "metadata", "labels")
    return bool(dig(labels, POLICY) == label and dig(labels, COMPONENT) != HOOK)


def entries(live: LiveObject, *path: str) -> list[object]:
    """Return a list that is deep in an object; an empty one where there is no list."""
    found = dig(live, *path)
    return found if isinstance(found, list) else []


def _objects(value: object) -> list[LiveObject]:
    if not isinstance(value, dict) or "kind" not in value:
        raise ValueError("contains something other than Kubernetes objects")
    items = value.get("items")
    # `kind: List` with `items`; any other object has none at its top.
    if not isinstance(items, list):
        return [value]
    return [item for item in items if isinstance(item, dict)]


def _address(live: LiveObject) -> Address:
    return (
        group_of(str(live.get("apiVersion"))),
        str(live.get("kind")),
        str(dig(live, "metadata", "namespace")),
        str(dig(live, "metadata", "name")),
    )

"""What of the windows is delivered by itself, by a small Flux Kustomization, and has not arrived.

Nothing else waits for it: in a cluster only that Kustomization says so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from krm_windows.emit import names
from krm_windows.emit.labels import POLICY
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Target
from krm_windows.gateable import KUSTOMIZE, group_of
from krm_windows.plan.model import Plan
from krm_windows.status.objects import LiveObject, entries, is_of_gate
from krm_windows.system.kubectl import Query

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A Flux Kustomization that has not applied its part, why, and whose rights are in that.

    `targets` are empty where it brings no rights (a PrometheusRule).
    """

    by: str
    reason: str
    targets: tuple[Target, ...] = ()

    @property
    def words(self) -> str:
        """Say it to a person."""
        if not self.targets:
            return f"{self.by} has not applied its part of the windows: {self.reason}"
        named = ", ".join(map(str, self.targets))
        return f"the gate has no rights on {named} yet: {self.by}: {self.reason}"


def query(plan: Plan) -> Query | None:
    """Return what asks for those Kustomizations, None where a policy has none.

    They are in the namespace of the one that delivers the windows, which is any.
    """
    is_foreign = any(rights.namespace != plan.namespace for rights in plan.rights)
    if not is_foreign and "PrometheusRule" not in plan.extras:
        return None
    return Query(f"kustomizations.{KUSTOMIZE}", None, labels={POLICY: names.label(plan.policy)})


def undelivered(plan: Plan, objects: Sequence[LiveObject]) -> Iterator[Undelivered]:
    """Yield what is not applied, as the Kustomizations among some objects say."""
    for live in objects:
        is_flux = group_of(str(live.get("apiVersion"))) == KUSTOMIZE
        if not is_flux or not is_of_gate(live, names.label(plan.policy)):
            continue
        if reason := _reason(live):
            namespace, name = (dig(live, "metadata", key) for key in ("namespace", "name"))
            held = (
                each
                for each in plan.timetable.targets
                if name == names.apart(plan, f"namespace-{each.namespace}")
            )
            yield Undelivered(f"Kustomization {namespace}/{name}", reason, tuple(held))


def _reason(live: LiveObject) -> str:
    """Say why a Kustomization has not applied its newest revision; nothing where it has."""
    if dig(live, "spec", "suspend") is True:
        return "it is suspended"
    for condition in entries(live, "status", "conditions"):
        if dig(condition, "type") == "Ready":
            message = " ".join(str(dig(condition, "message")).split())
            return "" if dig(condition, "status") == "True" else message[:_LONGEST]
    return "it has not been reconciled yet"

"""Labels and annotations of what is emitted."""

from krm_windows.emit import names
from krm_windows.emit.manifest import Manifest
from krm_windows.inventory import POLICY as POLICY  # noqa: PLC0414
from krm_windows.plan.model import Plan

WINDOW = "krm-windows.dev/window"
GOVERNED_BY = "krm-windows.dev/governed-by"
# Has Flux leave `${…}` in an object alone (kustomize-controller, `postBuild`).
SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
# Has Flux make an object anew where it cannot be changed.
FORCE = "kustomize.toolkit.fluxcd.io/force"
# What a Pod is for: the gate's, or a hook's, which a NetworkPolicy of the gate is not about.
COMPONENT = "app.kubernetes.io/component"
GATE = "gate"
HOOK = "hook"


def labels(plan: Plan) -> dict[str, str]:
    """Return the labels that every emitted object and its Pods carry."""
    return {
        COMPONENT: GATE,
        "app.kubernetes.io/instance": names.fit(plan.name, names.NAME_LIMIT),
        "app.kubernetes.io/managed-by": "krm-windows",
        "app.kubernetes.io/name": "krm-windows",
        POLICY: names.policy_label(plan),
    }


def metadata(
    plan: Plan,
    name: str,
    namespace: str,
    annotations: dict[str, str] | None = None,
) -> Manifest:
    """Return an object's metadata.

    Flux must not substitute variables in code, so every object opts out.
    """
    noted = {SUBSTITUTE: "disabled", **(annotations or {})}
    return {
        "name": name,
        "namespace": namespace,
        "labels": labels(plan),
        # Sorted, so that it does not matter who added which.
        "annotations": dict(sorted(noted.items())),
    }


def cluster_metadata(plan: Plan, name: str) -> Manifest:
    """Return the metadata of an object of the whole cluster."""
    return {"name": name, "labels": labels(plan), "annotations": {SUBSTITUTE: "disabled"}}

"""Objects as the API server gives them, for what judges a policy by its cluster."""

import json

from krm_windows.gate.annotations import annotation

OPEN, CLOSED = "2026-11-24T10:00Z", "2026-11-21T10:00Z"
SINCE, UNTIL = "2026-11-19T16:00:00+00:00", "2026-11-23T07:00:00+00:00"
LiveObject = dict[str, object]


def closed_by(policy: str, **said: object) -> dict[str, str]:
    fields = {"policy": policy, "reason": "", "since": SINCE, "until": UNTIL, **said}
    return {annotation(policy): json.dumps(fields)}


OURS = closed_by("flux-system/week")
HOLD = {"krm-windows.dev/hold": "anna:\nthe press"}


def live(
    name: str = "apps",
    *,
    suspend: object = None,
    notes: object = None,
    applied: str | None = "main@sha1:0",
    **meta: object,
) -> LiveObject:
    """Return a Kustomization; one that has applied nothing (None) is new."""
    created = "2026-01-01T00:00:00Z" if applied is not None else "2026-11-21T09:30:00Z"
    metadata = {"name": name, "namespace": "flux-system", "annotations": notes or {}}
    spec: LiveObject = {"sourceRef": {"kind": "GitRepository", "name": "fleet"}}
    return {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"creationTimestamp": created, **metadata, **meta},
        "spec": spec if suspend is None else {**spec, "suspend": suspend},
        "status": {} if applied is None else {"lastAppliedRevision": applied},
    }

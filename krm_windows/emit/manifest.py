"""The shape of what is emitted.

Enough of Kubernetes' object for the rooms that put it somewhere.
"""

from typing import NotRequired, TypedDict


class Metadata(TypedDict):
    """An emitted object's metadata; an object of the whole cluster has no namespace."""

    name: str
    namespace: NotRequired[str]
    labels: dict[str, str]
    annotations: dict[str, str]


class Manifest(TypedDict):
    """An emitted object; which of the fields behind `metadata` it has is said by its kind."""

    apiVersion: str
    kind: str
    metadata: Metadata
    automountServiceAccountToken: NotRequired[bool]
    data: NotRequired[dict[str, str]]
    roleRef: NotRequired[dict[str, str]]
    rules: NotRequired[list[dict[str, list[str]]]]
    spec: NotRequired[dict[str, object]]
    subjects: NotRequired[list[dict[str, str]]]


Identity = tuple[str, str, str]


def identity(manifest: Manifest) -> Identity:
    """Return kind, namespace (empty for an object of the whole cluster) and name."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]

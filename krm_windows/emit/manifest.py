"""The shape of what is emitted."""

from typing import Any, TypeAlias

Manifest: TypeAlias = dict[str, Any]
"""A Kubernetes object as YAML has it; one of the whole cluster has no namespace."""

Identity = tuple[str, str, str]


def identity(manifest: Manifest) -> Identity:
    """Return kind, namespace (empty for an object of the whole cluster) and name."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]

"""One policy for one cluster as plain files in one directory, with a kustomization that lists them."""

from collections.abc import Iterable

from krm_windows import emit
from krm_windows.apply.place import file_name
from krm_windows.krm import writer
from krm_windows.plan.model import Plan

KUSTOMIZATION = "kustomization.yaml"


_HEADER = "# Rendered by krm-windows from WindowPolicy "


def header(policy: str) -> str:
    """Return the first line of every file of a policy (`namespace/name`), by which they are told from others."""
    return f"{_HEADER}{policy}: edit the policy, not this file."


def is_header(line: str) -> bool:
    """Whether a file that begins with this line was rendered from some policy."""
    return line.startswith(_HEADER)


def files(plan: Plan) -> dict[str, bytes]:
    """Return the content of each file by its name."""
    objects: dict[str, object] = {}
    for manifest in emit.objects(plan):
        kind, _, name = emit.identity(manifest)
        objects[file_name(kind, name)] = manifest
    objects[KUSTOMIZATION] = kustomization(objects)
    return {name: _content(plan, value) for name, value in objects.items()}


def kustomization(files: Iterable[str]) -> dict[str, object]:
    """Return the kustomization that lists files of its directory."""
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(files)}


def _content(plan: Plan, value: object) -> bytes:
    return f"{header(plan.policy)}\n{writer.render(value)}".encode()

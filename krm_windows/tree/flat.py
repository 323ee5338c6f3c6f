"""One policy for one cluster as plain files in one directory, with a kustomization that lists them."""

from krm_windows import emit
from krm_windows.apply.place import file_name
from krm_windows.krm import writer
from krm_windows.plan.model import Plan

KUSTOMIZATION = "kustomization.yaml"


def header(plan: Plan) -> str:
    """Return the first line of every file, by which they are told from others."""
    return f"# Rendered by krm-windows from WindowPolicy {plan.policy}: edit the policy, not this file."


def files(plan: Plan) -> dict[str, bytes]:
    """Return the content of each file by its name."""
    objects: dict[str, object] = {}
    for manifest in emit.objects(plan):
        kind, _, name = emit.identity(manifest)
        objects[file_name(kind, name)] = manifest
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(objects),
    }
    return {name: _content(plan, value) for name, value in {**objects, KUSTOMIZATION: kustomization}.items()}


def _content(plan: Plan, value: object) -> bytes:
    return f"{header(plan)}\n{writer.render(value)}".encode()

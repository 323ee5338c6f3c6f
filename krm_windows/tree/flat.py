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
    objects = {_file_name(manifest): manifest for manifest in emit.objects(plan)}
    kustomization: dict[str, object] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(objects),
    }
    return {name: _content(plan, value) for name, value in {**objects, KUSTOMIZATION: kustomization}.items()}


def _file_name(manifest: dict[str, object]) -> str:
    metadata = manifest["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError("a manifest's metadata is a mapping")
    return file_name(str(manifest["kind"]), str(metadata["name"]))


def _content(plan: Plan, value: dict[str, object]) -> bytes:
    return f"{header(plan)}\n{writer.render(value)}".encode()

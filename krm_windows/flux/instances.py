"""What the Flux Operator makes of a FluxInstance to sync a cluster: a source and a Kustomization.

As its builder does (flux-operator, internal/builder/templates.go), with the instance's own patches
(`spec.kustomize.patches`).
"""

from dataclasses import replace

from krm_windows.flux.model import Object
from krm_windows.flux.objects import built
from krm_windows.flux.sources import Sync, instance
from krm_windows.gateable import KUSTOMIZE, SOURCE
from krm_windows.krm import InputError, render
from krm_windows.system.kustomize import Builder, BuildError, Inputs

# What says which revision, by the kind of the source.
_REVISION = {"GitRepository": "name", "OCIRepository": "tag"}


def synced(builder: Builder | None, sync: Sync) -> list[Object]:
    """Return source and Kustomization that an instance yields.

    Raises InputError where its patches cannot be applied.
    """
    output = b"---\n".join(render(each).encode() for each in _written(sync))
    every = sync.item.parts(*_spec(sync), "kustomize", "patches")
    # kustomize refuses one without a target that is about nothing, such as about a Deployment.
    patches = [
        {"patch": patch.get("patch"), "target": patch["target"]}
        for patch in every
        if patch.get("target")
    ]
    if patches and builder is None:
        raise InputError("kustomize is needed for its patches")
    if patches and builder:
        root = {"resources": ["sync.yaml"], "patches": patches}
        files = {"kustomization.yaml": render(root).encode(), "sync.yaml": output}
        try:
            output = builder.build(Inputs(".", files))
        except BuildError as error:
            raise InputError(f"its patches cannot be applied: {error}") from error
    return [replace(each, made_by=sync.item) for each in built(output, ".")]


def _spec(sync: Sync) -> tuple[str, ...]:
    return (instance(sync.item) or ("sync",))[:-1]


def _written(sync: Sync) -> list[dict[str, object]]:
    path = instance(sync.item) or ()
    source = sync.source
    metadata = {"name": source.name, "namespace": source.namespace}
    spec: dict[str, object] = {"url": sync.item.text(*path, "url")}
    if source.kind in _REVISION:
        spec["ref"] = {_REVISION[source.kind]: sync.item.text(*path, "ref")}
    own: dict[str, object] = {
        "path": sync.item.text(*path, "path"),
        "prune": True,
        "sourceRef": {"kind": source.kind, "name": source.name},
    }
    if sync.item.get(*_spec(sync), "cluster", "multitenant") is True:
        own["serviceAccountName"] = "kustomize-controller"
    return [
        {"apiVersion": f"{SOURCE}/v1", "kind": source.kind, "metadata": metadata, "spec": spec},
        {
            "apiVersion": f"{KUSTOMIZE}/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": own,
        },
    ]

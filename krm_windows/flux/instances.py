"""What the Flux Operator makes of a FluxInstance to sync a cluster: a source and a Kustomization.

As its builder does (flux-operator, internal/builder/templates.go), with those of the instance's own
patches (`spec.kustomize.patches`) that are about either.
"""

from dataclasses import replace

from krm_windows.flux.model import Object
from krm_windows.flux.objects import built
from krm_windows.flux.sources import Sync, instance
from krm_windows.gateable import KUSTOMIZE, SOURCE
from krm_windows.krm import InputError, Value, render
from krm_windows.system.kustomize import Builder, BuildError, Inputs

# What says which revision, by the kind of the source.
_REVISION = {"GitRepository": "name", "OCIRepository": "tag"}


def default_account(item: Object) -> str:
    """Return the account that Flux impersonates by default, empty without multitenancy."""
    if instance(item) is None or item.get(*_spec(item), "cluster", "multitenant") is not True:
        return ""
    return item.text(*_spec(item), "cluster", "tenantDefaultServiceAccount") or "default"


def _spec(item: Object) -> tuple[str, ...]:
    return (instance(item) or ("sync",))[:-1]


def synced(builder: Builder | None, sync: Sync) -> list[Object]:
    """Return source and Kustomization that an instance yields.

    Raises InputError where a patch cannot be applied.
    """
    objects = _written(sync)
    kinds = {str(each["kind"]) for each in objects}
    wanted = [
        {"patch": patch.get("patch"), "target": patch.get("target")}
        for patch in sync.item.parts(*_spec(sync.item), "kustomize", "patches")
        if _concerns(patch, kinds)
    ]
    output = b"---\n".join(render(each).encode() for each in objects)
    if wanted:
        if builder is None:
            raise InputError("kustomize is needed for its patches")
        root = {"resources": ["sync.yaml"], "patches": wanted}
        files = {"kustomization.yaml": render(root).encode(), "sync.yaml": output}
        try:
            output = builder.build(Inputs(".", files))
        except BuildError as error:
            raise InputError(f"its patches cannot be applied: {error}") from error
    return [replace(each, made_by=sync.item) for each in built(output, ".")]


def _written(sync: Sync) -> list[dict[str, object]]:
    path = instance(sync.item) or ()
    kind, namespace, name = sync.source.kind, sync.source.namespace, sync.source.name
    metadata = {"name": name, "namespace": namespace}
    spec: dict[str, object] = {"url": sync.item.text(*path, "url")}
    if kind in _REVISION:
        spec["ref"] = {_REVISION[kind]: sync.item.text(*path, "ref")}
    own: dict[str, object] = {
        "path": sync.item.text(*path, "path"),
        "prune": True,
        "sourceRef": {"kind": kind, "name": name},
    }
    if default_account(sync.item):
        own["serviceAccountName"] = "kustomize-controller"
    return [
        {"apiVersion": f"{SOURCE}/v1", "kind": kind, "metadata": metadata, "spec": spec},
        {
            "apiVersion": f"{KUSTOMIZE}/v1",
            "kind": "Kustomization",
            "metadata": metadata,
            "spec": own,
        },
    ]


def _concerns(patch: dict[str, Value], kinds: set[str]) -> bool:
    """Whether a patch may be about one of some kinds: most are about Flux' own Deployments."""
    target = patch.get("target")
    if isinstance(target, dict):
        kind = str(target.get("kind") or "")
        # Whatever else is written there is a regular expression.
        return kind in kinds or not kind.isalpha()
    # kustomize refuses one without a target that is about nothing.
    return any(f"kind: {kind}" in str(patch.get("patch")) for kind in kinds)

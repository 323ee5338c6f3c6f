"""What is delivered by itself, so that the windows arrive where it cannot be applied yet.

On a new cluster nobody has created the namespaces of all targets, nor the definitions of all kinds.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath

from krm_windows import rules
from krm_windows.emit import Manifest, delivery, identity, names
from krm_windows.flux import artifacts
from krm_windows.flux.sources import OPERATOR, below
from krm_windows.gateable import KUSTOMIZE, group_of
from krm_windows.krm import KubeObject, render
from krm_windows.plan.model import Plan
from krm_windows.results import Result
from krm_windows.system import tops

# Where and as whom Flux applies something (Kustomization API).
_REACHED = ("kubeConfig", "serviceAccountName", "sourceRef")

Folders = Mapping[str, list[Manifest]]
"""What is apart, by the directory that it is in."""


def split(plan: Plan, manifests: Iterable[Manifest]) -> tuple[list[Manifest], Folders]:
    """Return what can be applied wherever the policy's namespace exists, and what is apart."""
    folders: dict[str, list[Manifest]] = {"": []}
    for manifest in manifests:
        folders.setdefault(_folder(plan, manifest), []).append(manifest)
    return folders.pop(""), folders


def _folder(plan: Plan, manifest: Manifest) -> str:
    """Return the directory of an object that is apart, empty for all others."""
    kind, namespace, _ = identity(manifest)
    if namespace not in ("", plan.namespace):
        return f"namespace-{namespace}"
    # The groups of Kubernetes itself have no dot, or end so; of another an add-on has the CRD.
    group = group_of(manifest["apiVersion"])
    if "." in group and not group.endswith(".k8s.io"):
        return kind.lower()
    return ""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How Flux delivers a directory.

    `item` is the Flux Kustomization that applies it, or a directory above it; `path` is where it is
    in the source.
    """

    item: KubeObject
    path: str

    def kustomizations(self, plan: Plan, folders: Folders) -> list[Manifest]:
        """Return a Flux Kustomization for each directory of what is apart.

        It is in the namespace of the one that delivers the windows, as source, account and
        kubeConfig are named from there.
        """
        given = {key: self.item.get("spec", key) for key in _REACHED}
        reached = {key: value for key, value in given.items() if value is not None}
        return [
            delivery.kustomization(
                plan,
                names.apart(plan, folder),
                self.item.namespace,
                f"./{normpath(f'{self.path}/{folder}')}",
                reached,
            )
            for folder in folders
        ]


def find(items: Sequence[KubeObject], directory: str | None) -> Delivery | None:
    """Return how a directory of a repository is delivered, by the objects of a cluster.

    That is the Flux Kustomization with the innermost path at or above it. None where there is none,
    or where what it applies is on another cluster, on which Flux does not run.
    """
    # The top of any repository may be what a `.` means. So only what Flux was bootstrapped with is
    # believed, which is named after its namespace.
    found = [
        given(item, directory)
        for item in _deliverers(items)
        if _path(item) != "." or item.name == item.namespace
    ]
    innermost = max(filter(None, found), key=lambda each: len(_path(each.item)), default=None)
    if innermost is None or innermost.item.get("spec", "kubeConfig") is not None:
        return None
    return innermost


def given(item: KubeObject, directory: str | None) -> Delivery | None:
    """Return how a directory is delivered by a Flux Kustomization, None where it is not.

    `directory` is as `place` gives it. Git has all of a repository, an artifact maybe a part of it.
    """
    if directory is None:
        return None
    path = _path(item)
    is_git = item.get("spec", "sourceRef", "kind") == "GitRepository"
    is_from_top = is_git and not directory.startswith("/")
    if path == ".":
        # Of an artifact nothing says which part of the repository it is.
        return Delivery(item, directory) if is_from_top else None
    # Between slashes, so that only whole names are equal.
    whole, wanted = f"/{directory}/", f"/{path}/"
    at = whole.rfind(wanted, 0, len(wanted) if is_from_top else None)
    return None if at < 0 else Delivery(item, whole[at:].strip("/"))


def _path(item: KubeObject) -> str:
    return below("", str(item.get("spec", "path") or "."))


def _deliverers(items: Iterable[KubeObject]) -> Iterator[KubeObject]:
    """Yield the Flux Kustomizations, also those that the Flux Operator makes of its instances."""
    for item in items:
        group = group_of(item.api_version)
        if (group, item.kind) == (KUSTOMIZE, "Kustomization"):
            # One that is put together has other paths than the repositories that it is made of.
            if item.get("spec", "sourceRef", "kind") != artifacts.KIND:
                yield item
        elif (group, item.kind) == (OPERATOR, "FluxInstance"):
            # All that it makes is named after its namespace.
            name, path, kind = (item.get("spec", "sync", key) for key in ("name", "path", "kind"))
            yield _kustomization(str(name or item.namespace), item.namespace, path, kind)


def _kustomization(name: str, namespace: str, path: object, source: object) -> KubeObject:
    made = {
        "apiVersion": f"{KUSTOMIZE}/v1",
        "kind": "Kustomization",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"path": path, "sourceRef": {"kind": source, "name": name}},
    }
    return KubeObject.parse(render(made).encode())


def check(plan: Plan, manifests: Iterable[Manifest], delivery: Delivery | None) -> list[Result]:
    """Say of what should be apart that it is not."""
    _, folders = split(plan, manifests)
    if not folders or delivery:
        return []
    needs = []
    for first, *_ in folders.values():
        kind, namespace, _ = identity(first)
        definition = f"the CustomResourceDefinition of {kind}"
        needs.append(definition if namespace == plan.namespace else f"the namespace {namespace}")
    message = (
        f"objects that need {' and '.join(needs)} are applied together with the windows: as long "
        "as that does not exist, as on a new cluster, Flux applies none of the windows, nor what "
        "else the same Kustomization applies; so that they are delivered by themselves, name the "
        "Flux Kustomization that delivers the windows by --flux-kustomization FILE, or show it by "
        "--resources DIR"
    )
    return [rules.DELIVERED_TOGETHER.result(message, path="spec.targets")]


def place(output: Path) -> str:
    """Return where a directory is below the top of its Git repository.

    Without Git it is absolute, as nothing says where the repository begins.
    """
    real = Path(os.path.realpath(output))
    top = tops.top(real)
    return real.relative_to(top).as_posix() if top else real.as_posix()

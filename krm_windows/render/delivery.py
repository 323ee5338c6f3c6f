"""The Flux Kustomization of each cluster that delivers its windows, made of one template."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from krm_windows import gateable
from krm_windows.apply.paths import file_name
from krm_windows.gateable import group_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.render import flat
from krm_windows.render.layout import CLUSTERS, DELIVERY, PolicyOutput, directory

# What Flux demands of a Kustomization (kustomize.toolkit.fluxcd.io/v1), but for what is filled in.
_REQUIRED = (
    ("metadata", "name"),
    ("metadata", "namespace"),
    ("spec", "interval"),
    ("spec", "sourceRef", "name"),
)


@dataclass(frozen=True, slots=True)
class Template:
    """A Flux Kustomization whose `path` is where the tree is in its source."""

    item: KubeObject

    @classmethod
    def of(cls, item: KubeObject) -> "Template":
        """Take a template.

        Raises InputError where it is of another kind, or lacks what Flux requires.
        """
        if (group_of(item.api_version), item.kind) != (gateable.KUSTOMIZE, "Kustomization"):
            raise InputError(
                f"must be a Kustomization of {gateable.KUSTOMIZE}, found {item.api_version} "
                f"{item.kind}"
            )
        for path in _REQUIRED:
            if not item.get(*path):
                raise InputError(f"must have {'.'.join(path)}")
        return cls(item)

    def files(
        self,
        cluster: str,
        parts: Sequence[PolicyOutput],
    ) -> dict[str, bytes]:
        """Return the files that deliver the windows of a cluster, by path."""
        policies = ", ".join(part.plan.policy for part in parts)
        name = file_name(self.item.kind, self.item.name)
        files = {name: flat.content(policies, self._for(cluster))}
        for part in parts:
            for file, manifest in flat.named(part.delivering).items():
                files[file] = flat.content(part.plan.policy, manifest)
        files[flat.KUSTOMIZATION] = flat.content(policies, flat.kustomization(files))
        return {f"{CLUSTERS}/{cluster}/{DELIVERY}/{file}": files[file] for file in files}

    def path(self, cluster: str) -> str:
        """Return where the windows of a cluster are in their source."""
        # `path` of the template is where the tree is; each cluster is below it:
        # `./fleet` gives `./fleet/clusters/plant-7/reconciliation-window`.
        prefix = PurePosixPath(str(self.item.get("spec", "path") or "."))
        return str(prefix / directory(cluster))

    def _for(self, cluster: str) -> dict[str, object]:
        """Return the Flux Kustomization of a cluster."""
        # Flux demands it; the template may say otherwise.
        spec: dict[str, object] = {"prune": True}
        given = self.item.get("spec")
        if isinstance(given, dict):
            spec.update(given)
        spec["path"] = f"./{self.path(cluster)}"
        return {
            "apiVersion": self.item.get("apiVersion"),
            "kind": self.item.get("kind"),
            "metadata": self.item.get("metadata"),
            "spec": spec,
        }

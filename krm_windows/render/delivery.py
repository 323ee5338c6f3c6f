"""The Flux Kustomization of each cluster that delivers its windows, made of one template."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from krm_windows import gateable
from krm_windows.apply.paths import file_name
from krm_windows.gateable import group_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.render import flat
from krm_windows.render.layout import CLUSTERS, DELIVERY, PolicyOutput, directory, names

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
        policies = names(parts)
        name = file_name(self.item.kind, self.item.name)
        files = {name: flat.content(policies, self._for(cluster))}
        for part in parts:
            files |= flat.objects(part.plan.policy, part.delivering)
        files[flat.KUSTOMIZATION] = flat.content(policies, flat.kustomization(files))
        return flat.below(f"{CLUSTERS}/{cluster}/{DELIVERY}", files)

    def path(self, cluster: str) -> str:
        """Return where the windows of a cluster are in their source."""
        # `path` of the template is where the tree is; each cluster is below it:
        # `./fleet` gives `./fleet/clusters/plant-7/reconciliation-window`.
        prefix = PurePosixPath(str(self.item.get("spec", "path") or "."))
        return str(prefix / directory(cluster))

    def _for(self, cluster: str) -> dict[str, object]:
        """Return the Flux Kustomization of a cluster."""
        given = self.item.get("spec")
        spec = given if isinstance(given, dict) else {}
        # Flux demands `prune`; the template may say otherwise.
        placed = {"prune": True, **spec, "path": f"./{self.path(cluster)}"}
        kept = {key: self.item.get(key) for key in ("apiVersion", "kind", "metadata")}
        return {**kept, "spec": placed}

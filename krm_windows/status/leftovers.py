"""What a target that is gone has left in the cluster, found by the labels of who applied it.

kustomize-controller and helm-controller label every object with the name and namespace of the
Kustomization or HelmRelease, and remove none of them if that is deleted while it is suspended.
"""

from dataclasses import dataclass

from krm_windows.gate.timetable import Target
from krm_windows.gateable import HELM, KUSTOMIZE
from krm_windows.plurals import some

_FEW = 3


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What is labelled with the name of a target that is gone, each as `Kind namespace/name`.

    `objects` is None where nobody asked; not `complete`, some kinds could not be listed.
    """

    target: Target
    objects: tuple[str, ...] | None = None
    complete: bool = False

    @property
    def command(self) -> str:
        """The command that lists it, for a shell."""
        kinds = "$(kubectl api-resources --verbs=list -o name | paste -sd, -)"
        labels = ",".join(f"{key}={value}" for key, value in selector(self.target).items())
        return f"kubectl get {kinds} -A --show-kind --ignore-not-found -l {labels}"

    @property
    def words(self) -> str:
        """Say it to a person; empty where nothing is left."""
        if self.complete and not self.objects:
            return ""
        # Where nobody asked, it may be in the cluster, and not in what was read.
        missing = "was not found" if self.objects is None else "is gone"
        left = "if it was removed while it was closed, what it applied is still there"
        if self.objects:
            named = some(self.objects, _FEW)
            left = f"what it applied is still there, managed by nothing: {named}"
        return f"{self.target} {missing}: {left}; list it all with: {self.command}"


def is_labelled(target: Target) -> bool:
    """Whether what a target applies has labels that name it."""
    return (target.group, target.kind) in {(KUSTOMIZE, "Kustomization"), (HELM, "HelmRelease")}


def selector(target: Target) -> dict[str, str]:
    """Return the labels of what a target has applied."""
    return {f"{target.group}/name": target.name, f"{target.group}/namespace": target.namespace}

"""What a move between change classes must not forget.

The Flux Kustomization that loses an object would prune it. Flux prunes what it applied and no
longer finds, unless another Kustomization has applied it since (owner labels) or the object in the
cluster says `kustomize.toolkit.fluxcd.io/prune: disabled`.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from krm_windows import rules
from krm_windows.inventory import resource_of
from krm_windows.krm import KubeObject
from krm_windows.results import Result

PRUNE = "kustomize.toolkit.fluxcd.io/prune"


def moved(older: Mapping[str, bytes], newer: Mapping[str, bytes]) -> Iterator[Result]:
    """Yield each object that was in one class and now is in another.

    Both are given as `class/file`. One that said before that it is not to be pruned has been handed
    over.
    """
    # By the file's name, which is made of the object's kind and name.
    left = {PurePosixPath(path).name: path for path in older if path not in newer}
    for path in newer:
        origin = left.get(PurePosixPath(path).name)
        # It was there before, or it is new altogether.
        if path in older or origin is None:
            continue
        before = KubeObject.parse(older[origin])
        # Flux reads either (kustomize-controller).
        if "disabled" in (before.annotations.get(PRUNE), before.labels.get(PRUNE)):
            continue
        source, goal = (PurePosixPath(each).parts[0] for each in (origin, path))
        message = (
            f"must not move from {source} to {goal} in one step: {source} would prune it unless "
            f"{goal} applies it first; first annotate it with {PRUNE}: disabled in its current "
            "place, and move it once that has been applied to the cluster"
        )
        yield resource_of(KubeObject.parse(newer[path])).result(
            rules.CLASS_MOVED, message, path="metadata", proposed=f"{PRUNE}: disabled"
        )

"""Marks and hook notes that stand in Git: only the gate writes them, in the cluster."""

from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.gate.annotations import CLOSED_BY, HOOKS
from krm_windows.inventory import file_of, ref_of
from krm_windows.krm import KubeObject
from krm_windows.results import Result

_SHARED = "krm-windows.dev/"  # what the names of both end in, so that an object without it need not be read
# Where annotations of an object stand, and where those of what Flux applies or Helm renders for it do.
_PLACES = (("metadata", "annotations"), ("spec", "commonMetadata", "annotations"))

MESSAGE = (
    "is written by the gate alone, in the cluster: from Git it would be a claim that the gate closed this, put back "
    "at every reconcile; remove it (krm-windows.dev/hold keeps a target shut)"
)


def check(items: Iterable[KubeObject]) -> Iterator[Result]:
    """Yield each annotation of an object in Git that only the gate writes, under whatever digest."""
    for item in items:
        for path in paths(item):
            yield rules.MARK_IN_GIT.result(MESSAGE, path=path, ref=ref_of(item), file=file_of(item))


def paths(item: KubeObject) -> Iterator[str]:
    """Yield the paths of such annotations in an object."""
    if not item.mentions(_SHARED):
        return
    for place in _PLACES:
        found = item.get(*place)
        for key in sorted(found) if isinstance(found, dict) else ():
            if key.startswith((CLOSED_BY, HOOKS)):
                yield ".".join((*place, key))

"""Closed-by annotations in Git: only the gate writes them, in the cluster."""

from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.gate.annotations import CLOSED_BY
from krm_windows.inventory import file_of, ref_of
from krm_windows.krm import KubeObject, mentioning
from krm_windows.results import Result

# The annotations of an object, and those of what Flux applies or Helm renders for it.
_PLACES = (("metadata", "annotations"), ("spec", "commonMetadata", "annotations"))

MESSAGE = (
    "must not be set in Git: only the gate writes it, in the cluster, and every reconcile would "
    "put this value back; remove it (to keep a target closed, use krm-windows.dev/hold)"
)


def check(items: Iterable[KubeObject]) -> Iterator[Result]:
    """Yield each annotation in Git that only the gate writes, under whatever digest."""
    for item in mentioning(items, CLOSED_BY):
        for path in paths(item):
            yield rules.ANNOTATION_IN_GIT.result(
                MESSAGE, path=path, ref=ref_of(item), file=file_of(item)
            )


def paths(item: KubeObject) -> Iterator[str]:
    """Yield the paths of such annotations in an object."""
    for place in _PLACES:
        found = item.get(*place)
        # What follows is a digest of the policy's name: `closed-by.krm-windows.dev/3f2a…`.
        for key in sorted(found) if isinstance(found, dict) else ():
            if key.startswith(CLOSED_BY):
                yield ".".join((*place, key))

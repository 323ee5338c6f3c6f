"""What a cluster would refuse for its size, found before anybody applies it.

Each object as it is emitted, measured. The sizes are those of Kubernetes' own JSON, byte by byte. A
layer above that adds labels or annotations adds to them.
"""

import json
from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.emit import Manifest
from krm_windows.plan.model import Plan
from krm_windows.results import Result, named

MOST_ANNOTATED = 256 * 1024
"""Bytes of all annotations of an object.

Source: k8s.io/apimachinery, pkg/api/validation: TotalAnnotationSizeLimitB.
"""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Go writes these in JSON as \u003c, so that it can be in HTML (encoding/json, HTMLEscape): a
# byte becomes six, ...
_ESCAPED = "<>&"
# ... and each of these, three bytes in UTF-8, too.
_SEPARATORS = "\u2028\u2029"


def too_large(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Result]:
    """Yield each object of `manifests`, what the plan emits, that is too large to be applied.

    The API server takes four times as much, etcd six times.
    """
    held = plan.timetable
    count = len(held.targets) + len(held.released)
    for manifest in manifests:
        found = annotated(manifest, size(manifest))
        if found > MOST_ANNOTATED:
            metadata = manifest["metadata"]
            place = named(metadata.get("namespace", ""), metadata["name"])
            message = (
                f"cannot be applied: the {manifest['kind']} {place} would be {found:,} bytes, "
                f"more than the {MOST_ANNOTATED:,} that annotations may hold: `kubectl apply` "
                f"keeps the whole object in {LAST_APPLIED}; remove windows, freezes and overrides "
                "that are over, shorten their texts, or split its "
                f"{count:,} targets into at least {-(-found // MOST_ANNOTATED)} policies "
                "(docs/reference/limits.md)"
            )
            yield rules.TOO_LARGE.result(message, path="spec", current=str(found))


def size(manifest: Manifest) -> int:
    """Return how many bytes an object has as Kubernetes and kubectl write it.

    Compact JSON, with Go's escapes.
    """
    text = json.dumps(manifest, ensure_ascii=False, separators=(",", ":"))
    # Five bytes more for each of these, and three for a separator of three bytes.
    escapes = 5 * sum(map(text.count, _ESCAPED))
    escapes += 3 * sum(map(text.count, _SEPARATORS))
    return _bytes(text) + escapes


def annotated(manifest: Manifest, whole: int) -> int:
    """Return how many bytes of annotations an object has after a client-side `kubectl apply`.

    kubectl keeps the object, of `whole` bytes, in one of them, with a newline (kubectl,
    util.GetModifiedConfiguration).
    """
    annotations = manifest["metadata"]["annotations"]
    # Kubernetes counts keys and values, in bytes of UTF-8.
    own = sum(_bytes(key) + _bytes(value) for key, value in annotations.items())
    newline = 1
    return own + len(LAST_APPLIED) + whole + newline


def _bytes(text: str) -> int:
    return len(text.encode())

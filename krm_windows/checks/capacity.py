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

MOST_DATA = 1024**2
"""Bytes of the values of a ConfigMap.

Source: k8s.io/kubernetes, pkg/apis/core: MaxSecretSize, which holds for both.
"""

MOST_STORED = 1024**2 * 3 // 2
"""Bytes of a request to etcd (etcd, `--max-request-bytes`)."""

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
    """Yield each object that is too large to be applied, with the hardest limit it exceeds.

    `manifests` is what the plan emits.
    """
    held = plan.timetable
    count = len(held.targets) + len(held.released)
    for manifest in manifests:
        stored = size(manifest)
        # Only a ConfigMap has `data`.
        limits = (
            (
                sum(map(_bytes, manifest.get("data", {}).values())),
                MOST_DATA,
                "a ConfigMap may hold",
            ),
            (stored, MOST_STORED, "etcd accepts in one request (--max-request-bytes)"),
            (
                annotated(manifest, stored),
                MOST_ANNOTATED,
                f"annotations may hold: `kubectl apply` keeps the whole object in {LAST_APPLIED}",
            ),
        )
        # One limit is enough to say: what makes it smaller helps against the others, too.
        for found, most, whose in limits:
            if found > most:
                metadata = manifest["metadata"]
                place = named(metadata.get("namespace", ""), metadata["name"])
                message = (
                    f"cannot be applied: the {manifest['kind']} {place} would be {found:,} bytes, "
                    f"more than the {most:,} that {whose}; remove windows, freezes and overrides "
                    "that are over, shorten their texts, or split its "
                    f"{count:,} targets into at least {-(-found // most)} policies "
                    "(docs/reference/limits.md)"
                )
                yield rules.TOO_LARGE.result(message, path="spec", current=str(found))
                break


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

"""What a cluster would refuse for its size, found before anybody applies it.

Each object as it is emitted, measured. The sizes are those of Kubernetes' own JSON, byte by byte. A
layer above that adds labels or annotations adds to them.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krm_windows import rules
from krm_windows.emit import Manifest, configmap, names
from krm_windows.plan.model import Plan
from krm_windows.results import Result

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


class _Excess(NamedTuple):
    """A limit that an object exceeds.

    The bytes it has, those it may have, and whose limit it is, in words.
    """

    size: int
    most: int
    whose: str


def too_large(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Result]:
    """Yield each object that is too large to be applied, with the hardest limit it exceeds.

    `manifests` is what the plan emits.
    """
    for manifest in manifests:
        # One limit is enough to say: what makes it smaller helps against the others, too.
        excess = next(_excesses(manifest), None)
        if excess:
            yield _result(plan, manifest, excess)


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


def _excesses(manifest: Manifest) -> Iterator[_Excess]:
    """Yield the limits that an object exceeds, the hardest first."""
    # Only a ConfigMap has `data`.
    values = manifest.get("data", {}).values()
    data = sum(map(_bytes, values))
    stored = size(manifest)
    kept = annotated(manifest, stored)
    if data > MOST_DATA:
        yield _Excess(data, MOST_DATA, "a ConfigMap may hold")
    if stored > MOST_STORED:
        yield _Excess(stored, MOST_STORED, "etcd accepts in one request (--max-request-bytes)")
    if kept > MOST_ANNOTATED:
        yield _Excess(
            kept,
            MOST_ANNOTATED,
            "annotations may hold, because `kubectl apply` stores the whole object in "
            f"{LAST_APPLIED}",
        )


def _result(plan: Plan, manifest: Manifest, excess: _Excess) -> Result:
    field, taken = _largest(plan, manifest)
    metadata = manifest["metadata"]
    name = metadata["name"]
    # An object of the whole cluster has no namespace.
    namespace = metadata.get("namespace")
    if namespace:
        name = f"{namespace}/{name}"
    fix = _fix(plan, field, taken, excess)
    message = (
        f"cannot be applied: the {manifest['kind']} {name} would be {excess.size:,} bytes, more "
        f"than the {excess.most:,} that {excess.whose}; {fix}"
    )
    return rules.TOO_LARGE.result(
        message,
        path=f"spec.{field}",
        current=str(excess.size),
    )


def _largest(plan: Plan, manifest: Manifest) -> tuple[str, int]:
    """Return the field of the policy that most of an object comes from, and its bytes."""
    kind = manifest["kind"]
    if names.TIME_INTERVALS in manifest.get("data", {}):
        # Each dated day that differs is a line, in a month of its own.
        return "freezes", size(manifest)
    if kind == "ConfigMap":
        shares = _shares(plan)
        field = max(shares, key=lambda each: shares[each])
        return field, shares[field]
    # Alerts and the schedules of the gate grow with the windows.
    if kind == "PrometheusRule" or (kind == "CronJob" and plan.runs_gate):
        field = "windows"
    elif kind == "ValidatingAdmissionPolicy" and plan.hooks:
        field = "hooks"
    else:
        # A Role names its targets, and a CronJob that acts has each of them in its arguments.
        field = "targets"
    return field, size(manifest)


def _shares(plan: Plan) -> dict[str, int]:
    """Return how many bytes of the gate's ConfigMap come from which field.

    It is measured without each.
    """
    whole = size(configmap.config_map(plan))
    held = plan.timetable
    without = {
        "targets": held._replace(targets=(), released=()),
        "windows": held._replace(windows=()),
        "freezes": held._replace(freezes=()),
        "overrides": held._replace(overrides=()),
    }
    shares = {}
    for field, rest in without.items():
        smaller = plan._replace(timetable=rest)
        shares[field] = whole - size(configmap.config_map(smaller))
    # Hooks are in a table of their own, as text.
    hooks = configmap.tables(plan).get(configmap.HOOKS, "")
    shares["hooks"] = len(hooks)
    return shares


def _fix(plan: Plan, field: str, taken: int, excess: _Excess) -> str:
    """Say what to write less of, and for targets, into how many policies they fit at least."""
    # Without targets it would be too large all the same: to split them does not help.
    rest = max(excess.size - taken, 0)
    if field != "targets" or rest >= excess.most:
        return (
            f"`{field}` accounts for {taken:,} of them: remove entries that are over, or "
            "shorten their text"
        )
    held = plan.timetable
    count = len(held.targets) + len(held.released)
    # What is not targets is in each of them again.
    room = excess.most - rest
    # Rounded up.
    policies = max(-(-taken // room), 2)
    return (
        f"split its {count:,} targets into at least {policies} policies (docs/reference/limits.md)"
    )

"""The part of the API that names what is gated, and which kinds can be."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from krm_windows import gateable, rules
from krm_windows.policy import fields
from krm_windows.policy.findings import Finding, closest, raise_for
from krm_windows.policy.parts import Part, context


class TargetSelector(Part):
    """Objects that the windows gate: of one kind, by name or by label."""

    kind: fields.Text = Field(description="The kind.", examples=["Kustomization"])
    names: tuple[fields.Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="The objects' names.",
        examples=[["apps"]],
    )
    match_labels: dict[fields.Text, fields.AnyText] | None = Field(
        default=None,
        min_length=1,
        description="Labels that an object among the resources must have, all of them.",
        examples=[{"team": "payments"}],
    )
    namespace: fields.Label | None = Field(
        default=None, description="The objects' namespace; default: the policy's."
    )
    api_version: fields.ApiVersion | None = Field(
        default=None,
        description=(
            "Group and version, if two groups share the kind or the kind is not in the table."
        ),
    )
    resource: fields.Label | None = Field(
        default=None,
        description="The plural name in the API path, for a kind that is not in the table.",
    )
    suspend_field: fields.FieldPath | None = Field(
        default=None,
        description=(
            "The boolean field that stops reconciliation when it is true, for a kind that is not "
            "in the table."
        ),
    )
    true_means: Literal["Closed"] | None = Field(
        default=None,
        description=(
            "What true in `suspendField` means, for a kind that is not in the table; a field that "
            "opens when it is true cannot be used."
        ),
    )
    must_exist: fields.Flag | None = Field(
        default=None,
        description=(
            "Whether a missing object is an error; default: only if another object of its kind "
            "and namespace is visible."
        ),
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse fields that contradict each other, and kinds that cannot be gated."""
        raise_for(_contradictions(self))
        return self


def _contradictions(target: TargetSelector) -> Iterator[Finding]:
    """Yield what is wrong between the fields of a selector, and with its kind."""
    if (target.names is None) == (target.match_labels is None):
        # Both would leave open whether one or the other is enough.
        must = "must have exactly one of `names` and `matchLabels`"
        yield Finding(rules.TARGET_SELECTOR, must)
    never = _never(target)
    if never is not None:
        # What else is said of its fields would only lead to another error.
        yield never
        return
    row = gateable.find(target.kind, target.api_version)
    if target.suspend_field:
        yield from _suspend_field(target, target.suspend_field, row)
    is_known = row or gateable.refusal(target.kind, target.api_version)
    # Of a kind that nobody knows the gate needs its URL, for which the plural counts, and a field.
    if not (is_known or (target.api_version and target.resource and target.suspend_field)):
        yield _unknown_kind(target.kind, target.api_version)


def _never(target: TargetSelector) -> Finding | None:
    """Return what keeps a kind from being a target, whatever else the selector says."""
    kind, api_version = target.kind, target.api_version
    instead = "gate the Kustomization or HelmRelease that applies it instead"
    privileged = gateable.privileged(kind, api_version)
    if privileged is not None:
        group = f'the API group "{privileged.group}"' if privileged.group else "the core API group"
        must = (
            f"must not be of {group}, which {privileged.why}: the gate would get the right to read "
            f"and patch {kind}; {instead}"
        )
        path = "apiVersion" if api_version else "kind"
        return Finding(rules.TARGET_PRIVILEGED, must, api_version or kind, path=path)
    if gateable.is_cluster_scoped(kind, api_version, target.resource):
        must = f"must be a namespaced kind: cluster-scoped kinds are not supported yet; {instead}"
        return Finding(rules.TARGET_CLUSTER_SCOPED, must, kind, path="kind")
    return None


def _suspend_field(
    target: TargetSelector, field: str, row: gateable.Gateable | None
) -> Iterator[Finding]:
    """Yield what is wrong with the field that closes a target: the gate writes true into it."""
    if row is None and target.true_means is None:
        # `spec.paused` stops, `spec.syncPolicy.automated.enabled` would be switched on by a close.
        must = (
            "must have `trueMeans: Closed` next to it, which says that true stops reconciliation; "
            "a field in which true lets it continue cannot gate the kind"
        )
        yield Finding(rules.SUSPEND_FIELD, must, field, path="suspendField")
    if row is not None and field != ".".join(row.field):
        known = ".".join(row.field)
        must = f"must not be set: {row.kind} is closed by {known}, and no other field stops it"
        yield Finding(rules.SUSPEND_FIELD, must, field, path="suspendField")


def _unknown_kind(kind: str, api_version: str | None) -> Finding:
    row = gateable.find(kind)
    # The very kind, of a group that has no such field, such as kustomize's own Kustomization.
    if row is not None:
        must = f"must not be {api_version}: the kind that can be gated is of {row.group}"
        return Finding(rules.TARGET_KIND, must, api_version, path="apiVersion")
    # Most likely it is a kind of the table, mistyped.
    known = sorted(row.kind for row in gateable.TABLE)
    proposed = closest(kind, known)
    listed = "a known kind" if proposed else f"one of {', '.join(known)}"
    must = (
        f"must be {listed}, or have `apiVersion`, `resource`, `suspendField` and `trueMeans` set "
        "next to it"
    )
    return Finding(rules.TARGET_KIND, must, kind, proposed, "kind")


def not_repeated(
    targets: tuple[TargetSelector, ...], info: ValidationInfo
) -> tuple[TargetSelector, ...]:
    """Refuse every name that occurs twice for one kind and namespace."""
    seen: set[tuple[str, str, str | None, str]] = set()
    found: list[Finding] = []
    for i, target in enumerate(targets):
        row = gateable.find(target.kind, target.api_version)
        # The group of the kind in the table, or the one that the target says.
        group = row.group if row else gateable.group_of(target.api_version or "")
        for j, name in enumerate(target.names or ()):
            key = (group, target.kind, target.namespace or context(info).namespace, name)
            if key in seen:
                must = "must be listed only once"
                path = f"[{i}].names[{j}]"
                found.append(Finding(rules.TARGET_DUPLICATE, must, name, path=path))
            seen.add(key)
    raise_for(found)
    return targets

"""The API `krm-windows.dev/v1alpha1`, WindowPolicy.

The one source of schema, function definition and field reference.

A model is validated from a tree of texts (see `policy.load`), so every leaf reads its own text, and
a model what its moments mean together. Which fields may be beside which is checked in
`policy.contradictions`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import time, timedelta
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from krm_windows import gateable, rules
from krm_windows.policy import fields, occurrences, phrases, quantities
from krm_windows.policy.findings import Finding, RefusedError, raise_for
from krm_windows.policy.hooks import Hooks
from krm_windows.policy.images import DEFAULTS
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.network import NetworkPolicy
from krm_windows.policy.parts import Leaf, Part, Schema, context, one_of
from krm_windows.policy.resources import Resources

API_VERSION: Literal["krm-windows.dev/v1alpha1"] = "krm-windows.dev/v1alpha1"
KIND: Literal["WindowPolicy"] = "WindowPolicy"


class Metadata(fields.ObjectMeta):
    """The object's metadata; labels, annotations and the rest are Kubernetes' own."""

    name: fields.Name = Field(
        description="The policy's name; all generated objects are named after it.",
        examples=["office-hours"],
    )
    namespace: fields.Label = Field(
        description="The namespace of the Jobs and the ServiceAccount.", examples=["flux-system"]
    )


# What the table says something of, good or bad; the rest has to say it itself.
_KNOWN_KINDS = {row.kind for row in gateable.TABLE} | {kind for kind, _ in gateable.REFUSED}
# A kind outside of the table has to say where its objects and their field are.
_UNKNOWN_KIND: Schema = {
    "if": {"properties": {"kind": {"enum": sorted(_KNOWN_KINDS)}}},
    "else": {"required": ["apiVersion", "resource", "suspendField", "trueMeans"]},
}


def _of_groups(groups: Iterable[str]) -> str:
    """Return the pattern of an `apiVersion` of any of these groups, or of those below them."""
    named = "|".join(re.escape(group) for group in groups if group)
    return rf"^(v[^/]*$|([^/]*\.)?({named})/)"


# No kind of these groups is ever a target (`target-privileged`, `target-cluster-scoped`).
_OF_REFUSED_GROUP: Schema = {
    "type": "string",
    "pattern": _of_groups(
        (*(row.group for row in gateable.PRIVILEGED), *gateable.CLUSTER_GROUPS),
    ),
}
_NEVER: Schema = {
    "not": {"properties": {"apiVersion": _OF_REFUSED_GROUP}, "required": ["apiVersion"]}
}
_ONLY_NULL: Schema = {"additionalProperties": {"type": "null"}}
# Windows are needed unless the policy says what holds without: open but for freezes, or closed but
# for overrides.
_NO_WINDOWS: Schema = {
    "if": {"properties": {"outsideWindows": {"const": "Open"}}, "required": ["outsideWindows"]},
    "then": {"properties": {"windows": _ONLY_NULL}},
    "else": {
        "anyOf": [
            {"required": ["outsideWindows"]},
            {"properties": {"windows": {"not": _ONLY_NULL}}, "required": ["windows"]},
        ]
    },
}


class TargetSelector(
    Part, json_schema_extra=one_of("names", "matchLabels") | _UNKNOWN_KIND | _NEVER
):
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


class CronJobNames(Part):
    """Names for a window's CronJobs; those that already are among the resources are adopted."""

    open: fields.CronJobName | None = Field(
        default=None, description="The CronJob of the opening edge."
    )
    close: fields.CronJobName | None = Field(
        default=None, description="The CronJob of the closing edge."
    )


class Window(Part, json_schema_extra=one_of("closes", "duration")):
    """A time when changes may reach the cluster: from `opens` until `closes`, or for `duration`."""

    opens: fields.Begin = Field(description="The moment at which it opens.")
    closes: fields.End | None = Field(
        default=None, description="The moment at which it closes; a date includes that day."
    )
    duration: fields.Duration | None = Field(
        default=None, description="How long it is open, instead of `closes`."
    )
    description: fields.AnyText = Field(default="", description="What the window is for.")
    cron_jobs: CronJobNames | None = Field(
        default=None, description="Names of the CronJobs to emit or adopt."
    )

    @property
    def ends(self) -> Value | timedelta:
        """When an occurrence ends: a moment, or a length of time."""
        return _value(self.closes, self.duration)

    def words(self) -> str:
        """Say in words when the window is open."""
        return phrases.occurrence(self.opens, _end(self.closes, self.duration))

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse an end that the beginning leaves no room for."""
        return _check_end(self, self.opens, self.closes, "closes", info)


class Freeze(Part, json_schema_extra=one_of("ends", "duration")):
    """A time when nothing may reach the cluster, whatever the windows say."""

    starts: fields.Begin = Field(description="The moment at which it begins.")
    ends: fields.End | None = Field(
        default=None, description="The moment at which it ends; a date includes that day."
    )
    duration: fields.Duration | None = Field(
        default=None, description="How long it lasts, instead of `ends`."
    )
    reason: fields.Text = Field(
        description="Why; it is written into the annotation of every target that is kept closed.",
        examples=["Year-end closing"],
    )

    @property
    def ends_at(self) -> Value | timedelta:
        """When an occurrence ends: a moment, or a length of time."""
        return _value(self.ends, self.duration)

    def words(self) -> str:
        """Say in words when the freeze holds."""
        return phrases.occurrence(self.starts, _end(self.ends, self.duration))

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse an end that the beginning leaves no room for."""
        return _check_end(self, self.starts, self.ends, "ends", info)


class Override(Part):
    """An exception to everything but `state`: in Git, explained, and with an end."""

    state: Literal["Open", "Closed"] = Field(
        description="The state while it lasts; `Closed` takes precedence over `Open`."
    )
    starts: fields.Once | None = Field(
        default=None, description="The moment at which it begins; default: it has already begun."
    )
    ends: fields.OnceEnd = Field(
        description=(
            "The moment at which it ends; a date includes that day, a time of day needs `starts`."
        )
    )
    reason: fields.Text = Field(description="Why.", examples=["Urgent security fix"])
    requested_by: fields.Text | None = Field(default=None, description="Who asked for it.")
    ticket: fields.Text | None = Field(default=None, description="Where it was asked for.")

    @property
    def ends_at(self) -> Value | timedelta:
        """When it ends."""
        return self.ends.value

    def words(self) -> str:
        """Say in words when the override holds."""
        return phrases.occurrence(self.starts, self.ends)

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse an end that the beginning leaves no room for."""
        # A time of day, such as `12:00`, is relative to a beginning.
        if self.starts is None and isinstance(self.ends.value, time):
            must = "must have a date: a time of day needs `starts`"
            raise RefusedError(Finding(rules.MOMENT_ROLE, must, self.ends.text, path="ends"))
        return _check_end(self, self.starts, self.ends, "ends", info)


# What a run takes at 1,000 targets (docs/reference/limits.md).
_LEAST_MEMORY = quantities.read("48Mi")
# Only of an image that is named by its digest is it certain which program it has.
_IMAGE_BY_DIGEST: dict[str, Schema] = {
    "if": {"properties": {"program": {"const": "Image"}}, "required": ["program"]},
    "then": {"required": ["image"], "properties": {"image": {"pattern": "@sha256:"}}},
}


class Actuator(Part, json_schema_extra=_IMAGE_BY_DIGEST):
    """What turns the targets in the cluster."""

    type: Literal["Gate", "Kubectl"] = Field(
        default="Gate",
        description=(
            "`Gate`: a small program that decides what should be open. `Kubectl`: CronJobs that "
            "run kubectl at each edge, and no program."
        ),
    )
    program: Literal["ConfigMap", "Image"] = Field(
        default="ConfigMap",
        description=(
            "Where the gate's program is: `ConfigMap`: in the policy's ConfigMap, for any image "
            "with Python. `Image`: in `image`, which must be one of krm-windows, by its digest; "
            "the ConfigMap contains only what the program reads."
        ),
    )
    image: fields.Image | None = Field(
        default=None,
        description=(
            "The image it runs on, pinned, preferably by digest (`name:tag@sha256:…`): any with "
            "Python 3.11 or later, for `Kubectl` any with kubectl; default: "
            f"`{DEFAULTS['Gate'].reference}`, for `Kubectl` `{DEFAULTS['Kubectl'].reference}`."
        ),
    )
    # The default of Kubernetes, too, for an image that is pinned ("Images", imagePullPolicy).
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When the image is pulled."
    )
    image_pull_secrets: tuple[fields.Name, ...] = Field(
        default=(), description="Names of Secrets to pull it with."
    )
    resources: Resources = Field(
        default_factory=Resources,
        description=(
            "Requests and limits of the gate's Pods, to fit the ResourceQuota and LimitRange of "
            "the namespace; default: requests of 10m cpu, 64Mi memory and no disk, limits of 1 "
            "cpu, 128Mi memory and 64Mi disk."
        ),
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse what the gate could not run with."""
        # The Pod would be killed (OOMKilled) in every run.
        limit = self.resources.limits.memory
        if limit is not None and limit.nanos < _LEAST_MEMORY.nanos:
            must = f"must be at least {_LEAST_MEMORY}, or a run would be killed (OOMKilled)"
            path = "resources.limits.memory"
            raise RefusedError(Finding(rules.RESOURCES, must, str(limit), path=path))
        if self.program == "Image" and "@" not in (self.image or ""):
            must = (
                "must be an image of krm-windows, by its digest (`name:tag@sha256:…`), with "
                "`program: Image`"
            )
            raise RefusedError(Finding(rules.PROGRAM_IMAGE, must, self.image, path="image"))
        return self

    @property
    def runs_on(self) -> str:
        """The image: the one given, or the default of the type."""
        return self.image or DEFAULTS[self.type].reference


def _patch(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise RefusedError(Finding(rules.FIELD_TYPE, "must be a map, a merge patch on `spec`"))


Patch = Annotated[Mapping[str, object], Leaf(_patch, {"type": "object"})]


def _not_repeated(
    targets: tuple[TargetSelector, ...], info: ValidationInfo
) -> tuple[TargetSelector, ...]:
    """Refuse every name that occurs twice for one kind and namespace."""
    raise_for(_repeated(targets, context(info).namespace))
    return targets


def _repeated(targets: tuple[TargetSelector, ...], home: str | None) -> Iterator[Finding]:
    seen: set[tuple[str, str, str | None, str]] = set()
    for i, target in enumerate(targets):
        group = _group(target)
        for j, name in enumerate(target.names or ()):
            key = (group, target.kind, target.namespace or home, name)
            if key in seen:
                must = "must be listed only once"
                yield Finding(rules.TARGET_DUPLICATE, must, name, path=f"[{i}].names[{j}]")
            seen.add(key)


def _group(target: TargetSelector) -> str:
    """Return the API group of a target: that of its kind in the table, or the one that it says."""
    row = gateable.find(target.kind, target.api_version)
    if row:
        return row.group
    if target.api_version:
        return gateable.group_of(target.api_version)
    return ""


def _not_shared(windows: dict[str, Window]) -> dict[str, Window]:
    """Refuse every CronJob name that two edges claim."""
    raise_for(_shared_names(windows))
    return windows


def _shared_names(windows: Mapping[str, Window]) -> Iterator[Finding]:
    seen: set[str] = set()
    for name, window in windows.items():
        if window.cron_jobs is None:
            continue
        for edge, given in window.cron_jobs.model_dump(exclude_none=True).items():
            if given in seen:
                must = "must name a different CronJob for every edge"
                path = f"{name}.cronJobs.{edge}"
                yield Finding(rules.CRONJOB_SHARED, must, given, path=path)
            seen.add(given)


class Spec(Part, json_schema_extra=_NO_WINDOWS):
    """When changes may reach which objects."""

    time_zone: fields.TimeZone = Field(
        description="The IANA time zone in which every moment is read."
    )
    targets: Annotated[
        tuple[TargetSelector, ...], Field(min_length=1), AfterValidator(_not_repeated)
    ] = Field(
        description="The objects that are gated.",
        examples=[[{"kind": "Kustomization", "names": ["apps"]}]],
    )
    windows: Annotated[dict[fields.Label, Window], AfterValidator(_not_shared)] = Field(
        default_factory=dict,
        description="When changes may reach the cluster: the union of all windows, by name.",
    )
    freezes: dict[fields.Label, Freeze] = Field(
        default_factory=dict,
        description="When changes may not reach it, whatever the windows say, by name.",
    )
    overrides: dict[fields.Label, Override] = Field(
        default_factory=dict, description="Dated exceptions to both, by name."
    )
    outside_windows: Literal["Closed", "Open"] = Field(
        default="Closed",
        description=(
            "The state outside all windows; `Open` for a policy with only freezes, `Closed` for "
            "one without windows, which only an override opens."
        ),
    )
    state: Literal["Scheduled", "Open", "Closed"] = Field(
        default="Scheduled",
        description="`Open` or `Closed` overrides everything else in the policy.",
    )
    closes_early: fields.Margin = Field(
        default=timedelta(0),
        json_schema_extra={"default": "0m"},
        description=(
            "How long before its end a window closes, so that running reconciliations finish "
            "inside it; `auto`: the longest timeout of the targets."
        ),
    )
    interval: fields.Interval = Field(
        default=timedelta(minutes=15),
        json_schema_extra={"default": "15m"},
        description="How often the gate runs between edges.",
    )
    first_apply: Literal["Allow", "Wait"] = Field(
        default="Allow",
        description="Whether a target that was never applied is applied while closed.",
    )
    actuator: Actuator = Field(
        default_factory=Actuator, description="What opens and closes the targets."
    )
    hooks: Hooks | None = Field(
        default=None, description="Jobs that run around every occurrence, in a separate namespace."
    )
    events: fields.Flag = Field(
        default=False,
        description="Whether Kubernetes Events on the targets report what was done.",
    )
    former_names: tuple[fields.PolicyName, ...] = Field(
        default=(),
        description=(
            "Former names of this policy, as namespace/name: their closed-by annotations count "
            "as its own."
        ),
    )
    released: tuple[TargetSelector, ...] = Field(
        default=(),
        description="Former targets, which are only to be opened; remove them once they are open.",
    )
    adopt_until: fields.Deadline | None = Field(
        default=None,
        description=(
            "Until then a suspension without the closed-by annotation counts as the policy's "
            "own; a date includes that day."
        ),
    )
    admission_policy: Literal["Enabled", "Disabled"] = Field(
        default="Enabled",
        description=(
            "Whether the API server restricts the gate's service account to the field that "
            "suspends, its annotations to the gate, and the Jobs of hooks to those of this "
            "policy; needs Kubernetes 1.30 or later, and Flux must be allowed to create "
            "cluster-scoped ValidatingAdmissionPolicies and their bindings."
        ),
    )
    cross_namespace_targets: Literal["Refuse", "Allow"] = Field(
        default="Refuse",
        description=(
            "Whether `targets` and `released` may be in other namespaces than the policy; "
            "`check --repo` ignores this in the policies of tenants."
        ),
    )
    extras: tuple[
        Literal["AlertmanagerTimeIntervals", "NetworkPolicy", "PrometheusRule", "StateMetrics"],
        ...,
    ] = Field(
        default=(),
        description=(
            "What else is generated: `AlertmanagerTimeIntervals` tells Alertmanager and Grafana "
            "when the policy is open and closed, `NetworkPolicy` restricts the gate's Pods to "
            "the API server, `PrometheusRule` adds alerts, `StateMetrics` makes "
            "kube-state-metrics report the targets."
        ),
    )
    network_policy: NetworkPolicy | None = Field(
        default=None,
        description=(
            "Where the API server is, for the extra `NetworkPolicy`; default: any address, port "
            "443 or 6443."
        ),
    )
    clusters: dict[fields.Label, Patch] = Field(
        default_factory=dict,
        description=(
            "A merge patch (RFC 7386) on this `spec` for each cluster, by its name; `{}` for a "
            "cluster without changes."
        ),
    )
    build_for: fields.Label | None = Field(
        default=None,
        description="The cluster this build is for; default: none, and `clusters` is ignored.",
    )


class WindowPolicy(Part):
    """When changes may reach a cluster, and what is held back until then."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = Field(description="The version of this API.")
    kind: Literal["WindowPolicy"] = Field(description="The kind of this object.")
    metadata: Metadata = Field(description="Name and namespace.")
    spec: Spec = Field(description="When the policy is open.")


def _end(moment: Moment[Value] | None, duration: timedelta | None) -> Moment[Value] | timedelta:
    # Which of them may be there is checked in `contradictions`, from the texts.
    return moment or duration or timedelta(0)


def _value(moment: Moment[Value] | None, duration: timedelta | None) -> Value | timedelta:
    if moment:
        return moment.value
    return duration or timedelta(0)


P = TypeVar("P", bound=Part)


def _check_end(
    part: P,
    begins: Moment[Value] | None,
    ends: Moment[Value] | None,
    name: str,
    info: ValidationInfo,
) -> P:
    if begins is not None and ends is not None:
        zone = context(info).time_zone
        raise_for(occurrences.check(begins, ends, name, zone))
    return part

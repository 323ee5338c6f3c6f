"""The API `krm-windows.dev/v1alpha1`, WindowPolicy.

The one source of schema, function definition and field reference.

A model is validated from a tree of texts (see `policy.load`), so every leaf reads its own text, and
a model what its moments mean together. Which fields may be beside which is checked in
`policy.contradictions`.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
    model_validator,
)

from krm_windows import gateable, rules
from krm_windows.policy import fields, occurrences, phrases, quantities
from krm_windows.policy.fields import Part, one_of
from krm_windows.policy.findings import Finding, RefusedError, raise_for
from krm_windows.policy.hooks import Hooks
from krm_windows.policy.images import DEFAULTS
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.network import NetworkPolicy
from krm_windows.policy.resources import Resources

API_VERSION: Literal["krm-windows.dev/v1alpha1"] = "krm-windows.dev/v1alpha1"
KIND: Literal["WindowPolicy"] = "WindowPolicy"


class Metadata(Part):
    """The object's metadata; labels, annotations and the rest are Kubernetes' own."""

    model_config = ConfigDict(extra="ignore")

    name: fields.Name = Field(description="The policy's name; what is emitted is named after it.")
    namespace: fields.Label = Field(description="Where the Jobs and the ServiceAccount live.")


# What the table says something of, good or bad; the rest has to say it itself.
_KNOWN_KINDS = {row.kind for row in gateable.TABLE} | {kind for kind, _ in gateable.REFUSED}
_KINDS: list[JsonValue] = []
_KINDS += sorted(_KNOWN_KINDS)
# A kind outside of the table has to say where its objects and their field are.
_UNKNOWN_KIND: dict[str, JsonValue] = {
    "if": {"properties": {"kind": {"enum": _KINDS}}},
    "else": {"required": ["apiVersion", "resource", "suspendField"]},
}
_ONLY_NULL: dict[str, JsonValue] = {"additionalProperties": {"type": "null"}}
# Windows are needed unless everything is open but for freezes.
_NO_WINDOWS: dict[str, JsonValue] = {
    "if": {"properties": {"outsideWindows": {"const": "Open"}}, "required": ["outsideWindows"]},
    "then": {"properties": {"windows": _ONLY_NULL}},
    "else": {"properties": {"windows": {"not": _ONLY_NULL}}, "required": ["windows"]},
}


class TargetSelector(Part):
    """Objects that the windows gate: of one kind, by name or by label."""

    model_config = ConfigDict(json_schema_extra=one_of("names", "matchLabels") | _UNKNOWN_KIND)

    kind: fields.Text = Field(description="The kind, such as `Kustomization`.")
    names: tuple[fields.Name, ...] | None = Field(
        default=None,
        min_length=1,
        description="The objects' names.",
    )
    match_labels: dict[fields.Text, fields.AnyText] | None = Field(
        default=None,
        min_length=1,
        description="Labels, all of which an object among the resources must have.",
    )
    namespace: fields.Label | None = Field(
        default=None, description="The objects' namespace; default: the policy's."
    )
    api_version: fields.ApiVersion | None = Field(
        default=None,
        description=(
            "Group and version, where two groups share a kind or the kind is not in the table."
        ),
    )
    resource: fields.Label | None = Field(
        default=None,
        description="The plural in the API's path, for a kind that is not in the table.",
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
            "What true in `suspendField` means, where its name does not say it; a field whose true "
            "opens cannot be gated."
        ),
    )
    must_exist: fields.Flag | None = Field(
        default=None,
        description=(
            "Whether a missing object is an error; default: if another of its kind and namespace "
            "is visible."
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


class Window(Part):
    """A time when changes may reach the cluster: from `opens` until `closes`, or for `duration`."""

    model_config = ConfigDict(json_schema_extra=one_of("closes", "duration"))

    opens: fields.Begin = Field(description="The moment at which it opens.")
    closes: fields.End | None = Field(
        default=None, description="The moment at which it closes; a date is included."
    )
    duration: fields.Duration | None = Field(
        default=None, description="How long it is open, instead of `closes`."
    )
    description: fields.AnyText = Field(default="", description="What the window is for, in words.")
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
        _check_ends(self.opens, self.closes, "closes", info)
        return self


class Freeze(Part):
    """A time when nothing may reach the cluster, whatever the windows say."""

    model_config = ConfigDict(json_schema_extra=one_of("ends", "duration"))

    starts: fields.Begin = Field(description="The moment at which it begins.")
    ends: fields.End | None = Field(
        default=None, description="The moment at which it ends; a date is included."
    )
    duration: fields.Duration | None = Field(
        default=None, description="How long it lasts, instead of `ends`."
    )
    reason: fields.Text = Field(
        description="Why; it is written into the annotation of everything that is kept closed."
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
        _check_ends(self.starts, self.ends, "ends", info)
        return self


class Override(Part):
    """An exception to everything but `state`: in Git, explained, and with an end."""

    state: Literal["Open", "Closed"] = Field(
        description="What holds while it lasts; `Closed` wins over `Open`."
    )
    starts: fields.Once | None = Field(
        default=None, description="The moment at which it begins; default: it has already begun."
    )
    ends: fields.OnceEnd = Field(
        description="The moment at which it ends; a date is included, a time of day needs `starts`."
    )
    reason: fields.Text = Field(description="Why.")
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
        if self.starts:
            raise_for(occurrences.check(self.starts, self.ends, "ends", _zone(info)))
        # A time of day, such as `12:00`, is relative to a beginning.
        # A date begins with four digits, a time of day has a colon among its first three
        # characters.
        elif ":" in self.ends.text[:3]:
            must = "must have a date, because without `starts` a time of day is relative to nothing"
            raise RefusedError(Finding(rules.MOMENT_ROLE, must, self.ends.text, path="ends"))
        return self


# What a run takes at 1,000 targets (docs/reference/limits.md).
_LEAST_MEMORY = quantities.read("48Mi")


class Actuator(Part):
    """What turns the targets in the cluster."""

    type: Literal["Gate", "Kubectl"] = Field(
        default="Gate",
        description=(
            "`Gate`: a small program that works out what should hold. `Kubectl`: CronJobs that "
            "act at each edge, and no program."
        ),
    )
    image: fields.Image | None = Field(
        default=None,
        description=(
            "The image it runs on, pinned, best by digest (`name:tag@sha256:…`): "
            "any Python from 3.11 on, for `Kubectl` any with kubectl; "
            f"default: `{DEFAULTS['Gate'].reference}`, for `Kubectl` "
            f"`{DEFAULTS['Kubectl'].reference}`."
        ),
    )
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When the image is pulled."
    )
    image_pull_secrets: tuple[fields.Name, ...] = Field(
        default=(), description="Names of Secrets to pull it with."
    )
    resources: Resources = Field(
        default_factory=fields.shared(Resources.model_construct),
        description=(
            "Requests and limits of the gate's Pods, as the ResourceQuota and LimitRange of the "
            "namespace want it; default: requests of 10m cpu, 64Mi memory and no disk, limits of "
            "1 cpu, 128Mi memory and 64Mi disk."
        ),
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        # The Pod would be killed (OOMKilled) in every run.
        limit = self.resources.limits.memory
        if limit is not None and limit.amount < _LEAST_MEMORY.amount:
            must = (
                f"must be at least {_LEAST_MEMORY}, or a run would be killed for the memory that "
                "it takes"
            )
            path = "resources.limits.memory"
            raise RefusedError(Finding(rules.RESOURCES, must, str(limit), path=path))
        return self

    @property
    def runs_on(self) -> str:
        """The image: the one given, or the default of the type."""
        return self.image or DEFAULTS[self.type].reference


def _patch(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise RefusedError(Finding(rules.FIELD_TYPE, "must be a map, a merge patch on `spec`"))


def _clusters(value: object) -> object:
    """Show a list of clusters as the map that it has to be."""
    if isinstance(value, Mapping):
        return value
    names: list[object] = []
    if isinstance(value, list):
        names = value
    # With the names that were written, so that the fix can be copied.
    named = [name for name in names[:_SHOWN] if isinstance(name, str)] or ["north"]
    form = ", ".join([f"{name}: {{}}" for name in named])
    must = f"must be a map, a patch for each cluster by its name, such as `clusters: {{{form}}}`"
    raise RefusedError(Finding(rules.FIELD_TYPE, must))


# So many of them are enough to show the form.
_SHOWN = 3
Patch = Annotated[Mapping[str, object], fields.Leaf(_patch, {"type": "object"})]


class Spec(Part):
    """When changes may reach which objects."""

    model_config = ConfigDict(json_schema_extra=_NO_WINDOWS)

    time_zone: fields.TimeZone = Field(
        description="The IANA time zone in which every moment is read."
    )
    targets: tuple[TargetSelector, ...] = Field(
        min_length=1, description="The objects that are gated."
    )
    windows: dict[fields.Label, Window] = Field(
        default_factory=dict,
        description="When changes may reach the cluster: the union of all, by name.",
    )
    freezes: dict[fields.Label, Freeze] = Field(
        default_factory=dict, description="When they may not, whatever the windows say, by name."
    )
    overrides: dict[fields.Label, Override] = Field(
        default_factory=dict, description="Dated exceptions to both, by name."
    )
    outside_windows: Literal["Closed", "Open"] = Field(
        default="Closed",
        description="What holds where no window is; `Open` for a policy of freezes only.",
    )
    state: Literal["Scheduled", "Open", "Closed"] = Field(
        default="Scheduled",
        description="`Open` or `Closed` holds the policy by hand and outranks everything.",
    )
    closes_early: fields.Margin = Field(
        default=timedelta(0),
        json_schema_extra={"default": "0m"},
        description=(
            "So long before an end nothing is started any more; `auto`: the targets' longest "
            "timeout."
        ),
    )
    interval: fields.Interval = Field(
        default=timedelta(minutes=15),
        json_schema_extra={"default": "15m"},
        description="How often the gate runs between edges.",
    )
    first_apply: Literal["Allow", "Wait"] = Field(
        default="Allow", description="Whether a target that was never applied may be, while closed."
    )
    actuator: Actuator = Field(
        default_factory=fields.shared(Actuator.model_construct),
        description="What turns the targets.",
    )
    hooks: Hooks | None = Field(
        default=None, description="Jobs around every occurrence, in a namespace of their own."
    )
    events: fields.Flag = Field(
        default=False,
        description="Whether Kubernetes Events on the targets say what was done to them.",
    )
    former_names: tuple[fields.PolicyName, ...] = Field(
        default=(),
        description=(
            "Names this policy had, as namespace/name: their closed-by annotations count as its "
            "own."
        ),
    )
    released: tuple[TargetSelector, ...] = Field(
        default=(), description="Former targets, only to be opened; remove them once they are."
    )
    adopt_until: fields.Deadline | None = Field(
        default=None,
        description=(
            "Until then a suspension without the closed-by annotation counts as ours; a date is "
            "included."
        ),
    )
    admission_policy: Literal["Enabled", "Disabled"] = Field(
        default="Enabled",
        description=(
            "Whether the API server holds the gate's account to the field that it turns, its "
            "annotations to the gate, and the Jobs of hooks to this policy; needs Kubernetes "
            "1.30 or later and a delivery that may create cluster-scoped "
            "ValidatingAdmissionPolicy and Binding."
        ),
    )
    cross_namespace_targets: Literal["Refuse", "Allow"] = Field(
        default="Refuse",
        description=(
            "Whether `targets` and `released` may lie in other namespaces than the policy; "
            "`check --repo` does not take a tenant's word for it."
        ),
    )
    extras: tuple[
        Literal["AlertmanagerTimeIntervals", "NetworkPolicy", "PrometheusRule", "StateMetrics"],
        ...,
    ] = Field(
        default=(),
        description=(
            "What else is emitted: `AlertmanagerTimeIntervals` says when it is open and closed to "
            "Alertmanager and Grafana, `NetworkPolicy` lets the gate's Pods reach the API server "
            "alone, `PrometheusRule` alerts, `StateMetrics` has kube-state-metrics report the "
            "targets."
        ),
    )
    network_policy: NetworkPolicy | None = Field(
        default=None,
        description=(
            "Where the API server is, for the extra `NetworkPolicy`; default: anywhere, at port "
            "443 or 6443."
        ),
    )
    clusters: Annotated[dict[fields.Label, Patch], BeforeValidator(_clusters)] = Field(
        default_factory=dict,
        description=(
            "A merge patch (RFC 7386) on this `spec` for each cluster, by its name; `{}` for one "
            "that takes it unchanged."
        ),
    )
    build_for: fields.Label | None = Field(
        default=None,
        description="The cluster this build is for; absent: the policy without `clusters`.",
    )

    @field_validator("extras", mode="before")
    @classmethod
    def _extras(cls, extras: object) -> object:
        names: list[object] = []
        if isinstance(extras, list):
            names = extras
        # An extra of an earlier release, of which Literal alone would only say that it is none.
        found = [index for index, name in enumerate(names) if name == "AdmissionPolicy"]
        raise_for(map(_no_extra, found))
        return extras

    @field_validator("targets", mode="after")
    @classmethod
    def _targets(
        cls,
        targets: tuple[TargetSelector, ...],
        info: ValidationInfo,
    ) -> tuple[TargetSelector, ...]:
        # The policy's namespace is a field of another part, so the context has it.
        namespace = (info.context or {}).get("namespace")
        raise_for(_repeated(targets, str(namespace)))
        return targets

    @field_validator("windows", mode="after")
    @classmethod
    def _windows(cls, windows: dict[str, Window]) -> dict[str, Window]:
        raise_for(_shared_names(windows))
        return windows


class WindowPolicy(Part):
    """When changes may reach a cluster, and what is held back until then."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = Field(description="The version of this API.")
    kind: Literal["WindowPolicy"] = Field(description="The kind of this object.")
    metadata: Metadata = Field(description="Name and namespace.")
    spec: Spec = Field(description="What holds when.")


def _zone(info: ValidationInfo) -> str | None:
    """Return the policy's time zone, which `policy.load` reads first; None where it is wrong."""
    zone = (info.context or {}).get("time_zone")
    if isinstance(zone, str):
        return zone
    return None


def _no_extra(index: int) -> Finding:
    must = (
        "must be left out: admission policies are the default now, and `admissionPolicy: "
        "Disabled` does without"
    )
    return Finding(rules.FIELD_VALUE, must, "AdmissionPolicy", path=f"[{index}]")


def _end(moment: Moment[Value] | None, duration: timedelta | None) -> Moment[Value] | timedelta:
    # Which of them may stand there is checked in `contradictions`, from the texts.
    return moment or duration or timedelta(0)


def _value(moment: Moment[Value] | None, duration: timedelta | None) -> Value | timedelta:
    if moment:
        return moment.value
    return duration or timedelta(0)


def _check_ends(
    begins: Moment[Value],
    ends: Moment[Value] | None,
    name: str,
    info: ValidationInfo,
) -> None:
    if ends is not None:
        raise_for(occurrences.check(begins, ends, name, _zone(info)))


def _repeated(targets: tuple[TargetSelector, ...], namespace: str) -> Iterator[Finding]:
    """Yield every name that occurs twice for one kind and namespace."""
    seen: set[tuple[str, str, str, str]] = set()
    for i, target in enumerate(targets):
        group = _group(target)
        for j, name in enumerate(target.names or ()):
            key = (group, target.kind, target.namespace or namespace, name)
            if key in seen:
                must = "must be named only once"
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


def _shared_names(windows: Mapping[str, Window]) -> Iterator[Finding]:
    """Yield every CronJob name that two edges claim."""
    seen: set[str] = set()
    for name, window in windows.items():
        if window.cron_jobs is None:
            continue
        for edge, given in window.cron_jobs.model_dump().items():
            if given is None:
                continue
            if given in seen:
                must = "must name a CronJob of its own for every edge"
                yield Finding(rules.CRONJOB_SHARED, must, given, path=f"{name}.cronJobs.{edge}")
            seen.add(given)

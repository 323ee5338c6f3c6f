"""The API `krm-windows.dev/v1alpha1`, WindowPolicy.

The one source of schema, function definition and field reference.

A model is validated from a tree of texts (see `policy.load`), so every leaf reads its own text, and
a model what its fields mean together.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel

from krm_windows import rules
from krm_windows.policy import fields, occurrences, phrases, quantities
from krm_windows.policy.findings import Finding, RefusedError, raise_for
from krm_windows.policy.hooks import Hooks
from krm_windows.policy.images import DEFAULTS
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.network import NetworkPolicy
from krm_windows.policy.parts import Part, context
from krm_windows.policy.resources import Resources
from krm_windows.policy.targets import TargetSelector, not_repeated
from krm_windows.schedule.recurrence import Recurrence

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


class CronJobNames(Part):
    """Names for a window's CronJobs; those that already are among the resources are adopted."""

    open: fields.CronJobName | None = Field(
        default=None, description="The CronJob of the opening edge."
    )
    close: fields.CronJobName | None = Field(
        default=None, description="The CronJob of the closing edge."
    )


class OccurrenceEnds(NamedTuple):
    """The two ends of an occurrence; `name` is the field of the second one."""

    begins: Moment[Recurrence | datetime] | None
    ends: Moment[Value] | None
    duration: timedelta | None = None
    name: str = "ends"

    @property
    def end(self) -> Moment[Value] | timedelta:
        """The moment at which it ends, or how long it lasts."""
        return self.ends or self.duration or timedelta(0)


class _Lasting(Part):
    """What has a beginning and an end."""

    @abstractmethod
    def span(self) -> OccurrenceEnds:
        """Return both."""

    @property
    def ends_at(self) -> Value | timedelta:
        """When an occurrence ends: a moment, or a length of time."""
        end = self.span().end
        return end.value if isinstance(end, Moment) else end

    def words(self) -> str:
        """Say in words when it takes place."""
        return phrases.occurrence(self.span().begins, self.span().end)

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse two ends or none, and one that the beginning leaves no room for."""
        begins, ends, duration, name = self.span()
        # Which of two ends counts nobody could say, and without one it never ends.
        if (ends is None) == (duration is None):
            must = f"must have exactly one of `{name}` and `duration`"
            raise RefusedError(Finding(rules.END_CHOICE, must))
        if begins is not None and ends is not None:
            raise_for(occurrences.check(begins, ends, name, context(info).time_zone))
        return self


class Window(_Lasting):
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

    def span(self) -> OccurrenceEnds:
        """Return when it opens and closes."""
        return OccurrenceEnds(self.opens, self.closes, self.duration, "closes")


class Freeze(_Lasting):
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

    def span(self) -> OccurrenceEnds:
        """Return when it begins and ends."""
        return OccurrenceEnds(self.starts, self.ends, self.duration)


class Override(_Lasting):
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

    def span(self) -> OccurrenceEnds:
        """Return when it begins and ends."""
        return OccurrenceEnds(self.starts, self.ends)

    @model_validator(mode="after")
    def _check_time(self) -> Self:
        """Refuse a time of day that is relative to nothing."""
        # A time of day, such as `12:00`, is relative to a beginning.
        if self.starts is None and isinstance(self.ends.value, time):
            must = "must have a date: a time of day needs `starts`"
            raise RefusedError(Finding(rules.MOMENT_ROLE, must, self.ends.text, path="ends"))
        return self


# What a run takes at 1,000 targets (docs/reference/limits.md).
_LEAST_MEMORY = quantities.read("48Mi")


class Actuator(Part):
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
        default_factory=Resources.model_construct,
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


def _not_shared(windows: dict[str, Window]) -> dict[str, Window]:
    """Refuse every CronJob name that two edges claim."""
    seen: set[str] = set()
    found: list[Finding] = []
    for name, window in windows.items():
        for edge, given in window.cron_jobs or ():
            if given in seen:
                must = "must name a different CronJob for every edge"
                path = f"{name}.cronJobs.{edge}"
                found.append(Finding(rules.CRONJOB_SHARED, must, given, path=path))
            seen |= {given} if given else set()
    raise_for(found)
    return windows


class Spec(Part):
    """When changes may reach which objects."""

    time_zone: fields.TimeZone = Field(
        description="The IANA time zone in which every moment is read."
    )
    targets: Annotated[
        tuple[TargetSelector, ...], Field(min_length=1), AfterValidator(not_repeated)
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
        default_factory=Actuator.model_construct, description="What opens and closes the targets."
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
    clusters: dict[fields.Label, dict[str, Any]] = Field(
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

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        """Refuse fields that contradict each other."""
        raise_for(_contradictions(self, context(info).namespace))
        return self


class WindowPolicy(Part):
    """When changes may reach a cluster, and what is held back until then."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = Field(description="The version of this API.")
    kind: Literal["WindowPolicy"] = Field(description="The kind of this object.")
    metadata: Metadata = Field(description="Name and namespace.")
    spec: Spec = Field(description="When the policy is open.")


# What only a program in the cluster keeps.
_BEYOND_EDGES = (
    *("adopt_until", "closes_early", "events", "first_apply", "former_names", "freezes", "hooks"),
    *("interval", "outside_windows", "overrides", "released", "state"),
)
# Values that ask for nothing, beside those that are false.
_AS_WITHOUT = {"outside_windows": "Closed", "state": "Scheduled"}


def _contradictions(spec: Spec, home: str | None) -> Iterator[Finding]:
    """Yield what is wrong between the fields of a spec; `home` is the policy's namespace."""
    path = "outsideWindows"
    # A policy of freezes only, written without saying so. Said, it is open by an override alone.
    if not spec.windows and "outside_windows" not in spec.model_fields_set:
        must = (
            "must be Open for a policy with only freezes, or Closed for one that only an override "
            "opens, or `windows` must have an entry"
        )
        yield Finding(rules.OUTSIDE_WINDOWS, must, path=path)
    # Both say "open": one of them was not meant.
    if spec.windows and spec.outside_windows == "Open":
        must = (
            "must be Closed, or `windows` must have no entry: otherwise the policy is open "
            "outside its windows too"
        )
        yield Finding(rules.OUTSIDE_WINDOWS, must, "Open", path=path)
    if spec.network_policy and "NetworkPolicy" not in spec.extras:
        must = "has no effect without `extras: [NetworkPolicy]`"
        yield Finding(rules.NETWORK_POLICY, must, path="networkPolicy")
    if spec.actuator.type == "Kubectl":
        yield from _beyond_edges(spec)
    targets = [(f"targets[{i}].namespace", each) for i, each in enumerate(spec.targets)]
    targets += [(f"released[{i}].namespace", each) for i, each in enumerate(spec.released)]
    elsewhere = {path: each.namespace for path, each in targets if each.namespace}
    # As Flux has it with `--no-cross-namespace-refs`: a reference that leaves is a decision. Who
    # may write policies in one namespace would else close, and open, what is another's.
    for path, namespace in elsewhere.items():
        if home and namespace != home and spec.cross_namespace_targets == "Refuse":
            must = (
                f"must be the policy's own namespace, {home}; set `crossNamespaceTargets: Allow` "
                "in the policy to gate targets in other namespaces"
            )
            yield Finding(rules.TARGET_ELSEWHERE, must, namespace, path=path)
    if spec.hooks:
        owners = {"flux-system": "Flux's"} | dict.fromkeys(elsewhere.values(), "a target's")
        yield from _hook_namespace(spec.hooks.namespace, owners | {home or "": "the policy's"})


def _beyond_edges(spec: Spec) -> Iterator[Finding]:
    """Yield what the actuator `Kubectl` cannot keep, as its CronJobs know nothing but edges."""
    only = "the actuator Kubectl, which acts only at edges; or use the actuator Gate"
    for name in _BEYOND_EDGES:
        value = getattr(spec, name)
        if name in spec.model_fields_set and value and value != _AS_WITHOUT.get(name):
            must = f"must not be set with {only}"
            yield Finding(rules.KUBECTL_FIELD, must, path=to_camel(name))
    if "program" in spec.actuator.model_fields_set:
        must = "must not be set with the actuator Kubectl, which has no program"
        yield Finding(rules.KUBECTL_FIELD, must, path="actuator.program")
    # Without any edge nothing would close the targets in the first place.
    said = spec.outside_windows if "outside_windows" in spec.model_fields_set else None
    if not spec.windows and said == "Closed":
        must = f"must have an entry with {only}"
        yield Finding(rules.KUBECTL_FIELD, must, path="windows")


def _hook_namespace(namespace: str, owners: Mapping[str, str]) -> Iterator[Finding]:
    """Refuse a namespace of others.

    The right to create Jobs is that to use every account beside them.
    """
    whose = "Kubernetes'" if namespace.startswith("kube-") else owners.get(namespace)
    if whose:
        must = (
            f"must be a separate namespace, not {whose}: anyone who may create Jobs can use every "
            "service account in it"
        )
        yield Finding(rules.HOOK_NAMESPACE, must, namespace, path="hooks.namespace")

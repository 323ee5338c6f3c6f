"""The API `krm-windows.dev/v1alpha1`, WindowPolicy.

The one source of schema, function definition and field reference.

A model is validated from a tree of texts (see `policy.load`), so every leaf reads its own text, and
a model what its moments mean together. Which fields may be beside which is checked in
`policy.contradictions`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import time, timedelta
from typing import Annotated, Literal

from krm_windows import gateable, rules
from krm_windows.policy import fields, occurrences, phrases, quantities
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.hooks import Hooks
from krm_windows.policy.images import DEFAULTS
from krm_windows.policy.moments import Moment, Value
from krm_windows.policy.network import NetworkPolicy
from krm_windows.policy.parts import Context, Leaf, Part, Schema, field, one_of
from krm_windows.policy.resources import Resources

API_VERSION: Literal["krm-windows.dev/v1alpha1"] = "krm-windows.dev/v1alpha1"
KIND: Literal["WindowPolicy"] = "WindowPolicy"


class Metadata(Part):
    """The object's metadata; labels, annotations and the rest are Kubernetes' own."""

    others = fields.OBJECT_META

    name: fields.Name = field(
        description="The policy's name; all generated objects are named after it.",
        example="office-hours",
    )
    namespace: fields.Label = field(
        description="The namespace of the Jobs and the ServiceAccount.", example="flux-system"
    )


# What the table says something of, good or bad; the rest has to say it itself.
_KNOWN_KINDS = {row.kind for row in gateable.TABLE} | {kind for kind, _ in gateable.REFUSED}
_KINDS: list[Schema] = []
_KINDS += sorted(_KNOWN_KINDS)
# A kind outside of the table has to say where its objects and their field are.
_UNKNOWN_KIND: dict[str, Schema] = {
    "if": {"properties": {"kind": {"enum": _KINDS}}},
    "else": {"required": ["apiVersion", "resource", "suspendField"]},
}


def _of_groups(groups: Iterable[str]) -> str:
    """Return the pattern of an `apiVersion` of any of these groups, or of those below them."""
    named = "|".join(re.escape(group) for group in groups if group)
    return rf"^(v[^/]*$|([^/]*\.)?({named})/)"


# No kind of these groups is ever a target (`target-privileged`, `target-cluster-scoped`).
_OF_REFUSED_GROUP: dict[str, Schema] = {
    "type": "string",
    "pattern": _of_groups(
        (*(row.group for row in gateable.PRIVILEGED), *gateable.CLUSTER_GROUPS),
    ),
}
_NEVER: dict[str, Schema] = {
    "not": {"properties": {"apiVersion": _OF_REFUSED_GROUP}, "required": ["apiVersion"]}
}
_ONLY_NULL: dict[str, Schema] = {"additionalProperties": {"type": "null"}}
# Windows are needed unless the policy says what holds without: open but for freezes, or closed but
# for overrides.
_NO_WINDOWS: dict[str, Schema] = {
    "if": {"properties": {"outsideWindows": {"const": "Open"}}, "required": ["outsideWindows"]},
    "then": {"properties": {"windows": _ONLY_NULL}},
    "else": {
        "anyOf": [
            {"required": ["outsideWindows"]},
            {"properties": {"windows": {"not": _ONLY_NULL}}, "required": ["windows"]},
        ]
    },
}


class TargetSelector(Part):
    """Objects that the windows gate: of one kind, by name or by label."""

    more_schema = one_of("names", "matchLabels") | _UNKNOWN_KIND | _NEVER

    kind: fields.Text = field(description="The kind.", example="Kustomization")
    names: tuple[fields.Name, ...] | None = field(
        default=None,
        filled=True,
        description="The objects' names.",
        example=["apps"],
    )
    match_labels: dict[fields.Text, fields.AnyText] | None = field(
        default=None,
        filled=True,
        description="Labels that an object among the resources must have, all of them.",
        example={"team": "payments"},
    )
    namespace: fields.Label | None = field(
        default=None, description="The objects' namespace; default: the policy's."
    )
    api_version: fields.ApiVersion | None = field(
        default=None,
        description=(
            "Group and version, if two groups share the kind or the kind is not in the table."
        ),
    )
    resource: fields.Label | None = field(
        default=None,
        description="The plural name in the API path, for a kind that is not in the table.",
    )
    suspend_field: fields.FieldPath | None = field(
        default=None,
        description=(
            "The boolean field that stops reconciliation when it is true, for a kind that is not "
            "in the table."
        ),
    )
    true_means: Literal["Closed"] | None = field(
        default=None,
        description=(
            "What true in `suspendField` means, if its name does not show it; a field that "
            "opens when it is true cannot be used."
        ),
    )
    must_exist: fields.Flag | None = field(
        default=None,
        description=(
            "Whether a missing object is an error; default: only if another object of its kind "
            "and namespace is visible."
        ),
    )


class CronJobNames(Part):
    """Names for a window's CronJobs; those that already are among the resources are adopted."""

    open: fields.CronJobName | None = field(
        default=None, description="The CronJob of the opening edge."
    )
    close: fields.CronJobName | None = field(
        default=None, description="The CronJob of the closing edge."
    )


class Window(Part):
    """A time when changes may reach the cluster: from `opens` until `closes`, or for `duration`."""

    more_schema = one_of("closes", "duration")

    opens: fields.Begin = field(description="The moment at which it opens.")
    closes: fields.End | None = field(
        default=None, description="The moment at which it closes; a date includes that day."
    )
    duration: fields.Duration | None = field(
        default=None, description="How long it is open, instead of `closes`."
    )
    description: fields.AnyText = field(default="", description="What the window is for.")
    cron_jobs: CronJobNames | None = field(
        default=None, description="Names of the CronJobs to emit or adopt."
    )

    @property
    def ends(self) -> Value | timedelta:
        """When an occurrence ends: a moment, or a length of time."""
        return _value(self.closes, self.duration)

    def words(self) -> str:
        """Say in words when the window is open."""
        return phrases.occurrence(self.opens, _end(self.closes, self.duration))

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield what is wrong with the end, as seen from the beginning."""
        return _check_ends(self.opens, self.closes, "closes", context)


class Freeze(Part):
    """A time when nothing may reach the cluster, whatever the windows say."""

    more_schema = one_of("ends", "duration")

    starts: fields.Begin = field(description="The moment at which it begins.")
    ends: fields.End | None = field(
        default=None, description="The moment at which it ends; a date includes that day."
    )
    duration: fields.Duration | None = field(
        default=None, description="How long it lasts, instead of `ends`."
    )
    reason: fields.Text = field(
        description="Why; it is written into the annotation of every target that is kept closed.",
        example="Year-end closing",
    )

    @property
    def ends_at(self) -> Value | timedelta:
        """When an occurrence ends: a moment, or a length of time."""
        return _value(self.ends, self.duration)

    def words(self) -> str:
        """Say in words when the freeze holds."""
        return phrases.occurrence(self.starts, _end(self.ends, self.duration))

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield what is wrong with the end, as seen from the beginning."""
        return _check_ends(self.starts, self.ends, "ends", context)


class Override(Part):
    """An exception to everything but `state`: in Git, explained, and with an end."""

    state: Literal["Open", "Closed"] = field(
        description="The state while it lasts; `Closed` takes precedence over `Open`."
    )
    starts: fields.Once | None = field(
        default=None, description="The moment at which it begins; default: it has already begun."
    )
    ends: fields.OnceEnd = field(
        description=(
            "The moment at which it ends; a date includes that day, a time of day needs `starts`."
        )
    )
    reason: fields.Text = field(description="Why.", example="Urgent security fix")
    requested_by: fields.Text | None = field(default=None, description="Who asked for it.")
    ticket: fields.Text | None = field(default=None, description="Where it was asked for.")

    @property
    def ends_at(self) -> Value | timedelta:
        """When it ends."""
        return self.ends.value

    def words(self) -> str:
        """Say in words when the override holds."""
        return phrases.occurrence(self.starts, self.ends)

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield what is wrong with the end, as seen from the beginning."""
        if self.starts:
            yield from occurrences.check(self.starts, self.ends, "ends", context.time_zone)
        # A time of day, such as `12:00`, is relative to a beginning.
        elif isinstance(self.ends.value, time):
            must = "must have a date: a time of day needs `starts`"
            yield Finding(rules.MOMENT_ROLE, must, self.ends.text, path="ends")


# What a run takes at 1,000 targets (docs/reference/limits.md).
_LEAST_MEMORY = quantities.read("48Mi")


class Actuator(Part):
    """What turns the targets in the cluster."""

    type: Literal["Gate", "Kubectl"] = field(
        default="Gate",
        description=(
            "`Gate`: a small program that decides what should be open. `Kubectl`: CronJobs that "
            "run kubectl at each edge, and no program."
        ),
    )
    image: fields.Image | None = field(
        default=None,
        description=(
            "The image it runs on, pinned, preferably by digest (`name:tag@sha256:…`): any with "
            "Python 3.11 or later, for `Kubectl` any with kubectl; default: "
            f"`{DEFAULTS['Gate'].reference}`, for `Kubectl` `{DEFAULTS['Kubectl'].reference}`."
        ),
    )
    # The default of Kubernetes, too, for an image that is pinned ("Images", imagePullPolicy).
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = field(
        default="IfNotPresent", description="When the image is pulled."
    )
    image_pull_secrets: tuple[fields.Name, ...] = field(
        default=(), description="Names of Secrets to pull it with."
    )
    resources: Resources = field(
        default_factory=Resources,
        description=(
            "Requests and limits of the gate's Pods, to fit the ResourceQuota and LimitRange of "
            "the namespace; default: requests of 10m cpu, 64Mi memory and no disk, limits of 1 "
            "cpu, 128Mi memory and 64Mi disk."
        ),
    )

    def check(self, _context: Context) -> Iterator[Finding]:
        """Yield what the gate could not run with."""
        # The Pod would be killed (OOMKilled) in every run.
        limit = self.resources.limits.memory
        if limit is not None and limit.nanos < _LEAST_MEMORY.nanos:
            must = f"must be at least {_LEAST_MEMORY}, or a run would be killed (OOMKilled)"
            path = "resources.limits.memory"
            yield Finding(rules.RESOURCES, must, str(limit), path=path)

    @property
    def runs_on(self) -> str:
        """The image: the one given, or the default of the type."""
        return self.image or DEFAULTS[self.type].reference


def _patch(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise RefusedError(Finding(rules.FIELD_TYPE, "must be a map, a merge patch on `spec`"))


def _not_by_name(value: object) -> Iterator[Finding]:
    """Show a list of clusters as the map that it has to be."""
    if isinstance(value, Mapping):
        return
    names: list[object] = []
    if isinstance(value, list):
        names = value
    # With the names that were written, so that the fix can be copied.
    named = [name for name in names[:_SHOWN] if isinstance(name, str)] or ["north"]
    form = ", ".join([f"{name}: {{}}" for name in named])
    must = f"must be a map, a patch for each cluster by its name, such as `clusters: {{{form}}}`"
    yield Finding(rules.FIELD_TYPE, must)


# So many of them are enough to show the form.
_SHOWN = 3
Patch = Annotated[Mapping[str, object], Leaf(_patch, {"type": "object"})]


def _no_extras(extras: object) -> Iterator[Finding]:
    """Yield every extra of an earlier release, of which else would be said only that it is none."""
    if not isinstance(extras, list):
        return
    must = (
        "must be removed: admission policies are now the default, and `admissionPolicy: "
        "Disabled` turns them off"
    )
    for index, name in enumerate(extras):
        if name == "AdmissionPolicy":
            yield Finding(rules.FIELD_VALUE, must, name, path=f"[{index}]")


def _repeated(targets: tuple[TargetSelector, ...], context: Context) -> Iterator[Finding]:
    """Yield every name that occurs twice for one kind and namespace."""
    seen: set[tuple[str, str, str | None, str]] = set()
    for i, target in enumerate(targets):
        group = _group(target)
        for j, name in enumerate(target.names or ()):
            key = (group, target.kind, target.namespace or context.namespace, name)
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


def _shared_names(windows: Mapping[str, Window], _context: Context) -> Iterator[Finding]:
    """Yield every CronJob name that two edges claim."""
    seen: set[object] = set()
    for name, window in windows.items():
        if window.cron_jobs is None:
            continue
        for edge, given in window.cron_jobs.as_map().items():
            if given in seen:
                must = "must name a different CronJob for every edge"
                path = f"{name}.cronJobs.{edge}"
                yield Finding(rules.CRONJOB_SHARED, must, str(given), path=path)
            seen.add(given)


class Spec(Part):
    """When changes may reach which objects."""

    more_schema = _NO_WINDOWS

    time_zone: fields.TimeZone = field(
        description="The IANA time zone in which every moment is read."
    )
    targets: tuple[TargetSelector, ...] = field(
        filled=True, check=_repeated, description="The objects that are gated."
    )
    windows: dict[fields.Label, Window] = field(
        default_factory=dict,
        check=_shared_names,
        description="When changes may reach the cluster: the union of all windows, by name.",
    )
    freezes: dict[fields.Label, Freeze] = field(
        default_factory=dict,
        description="When changes may not reach it, whatever the windows say, by name.",
    )
    overrides: dict[fields.Label, Override] = field(
        default_factory=dict, description="Dated exceptions to both, by name."
    )
    outside_windows: Literal["Closed", "Open"] = field(
        default="Closed",
        description=(
            "The state outside all windows; `Open` for a policy with only freezes, `Closed` for "
            "one without windows, which only an override opens."
        ),
    )
    state: Literal["Scheduled", "Open", "Closed"] = field(
        default="Scheduled",
        description="`Open` or `Closed` overrides everything else in the policy.",
    )
    closes_early: fields.Margin = field(
        default=timedelta(0),
        shown="0m",
        description=(
            "How long before its end a window closes, so that running reconciliations finish "
            "inside it; `auto`: the longest timeout of the targets."
        ),
    )
    interval: fields.Interval = field(
        default=timedelta(minutes=15),
        shown="15m",
        description="How often the gate runs between edges.",
    )
    first_apply: Literal["Allow", "Wait"] = field(
        default="Allow",
        description="Whether a target that was never applied is applied while closed.",
    )
    actuator: Actuator = field(
        default_factory=Actuator, description="What opens and closes the targets."
    )
    hooks: Hooks | None = field(
        default=None, description="Jobs that run around every occurrence, in a separate namespace."
    )
    events: fields.Flag = field(
        default=False,
        description="Whether Kubernetes Events on the targets report what was done.",
    )
    former_names: tuple[fields.PolicyName, ...] = field(
        default=(),
        description=(
            "Former names of this policy, as namespace/name: their closed-by annotations count "
            "as its own."
        ),
    )
    released: tuple[TargetSelector, ...] = field(
        default=(),
        description="Former targets, which are only to be opened; remove them once they are open.",
    )
    adopt_until: fields.Deadline | None = field(
        default=None,
        description=(
            "Until then a suspension without the closed-by annotation counts as the policy's "
            "own; a date includes that day."
        ),
    )
    admission_policy: Literal["Enabled", "Disabled"] = field(
        default="Enabled",
        description=(
            "Whether the API server restricts the gate's service account to the field that "
            "suspends, its annotations to the gate, and the Jobs of hooks to those of this "
            "policy; needs Kubernetes 1.30 or later, and Flux must be allowed to create "
            "cluster-scoped ValidatingAdmissionPolicies and their bindings."
        ),
    )
    cross_namespace_targets: Literal["Refuse", "Allow"] = field(
        default="Refuse",
        description=(
            "Whether `targets` and `released` may be in other namespaces than the policy; "
            "`check --repo` ignores this in the policies of tenants."
        ),
    )
    extras: tuple[
        Literal["AlertmanagerTimeIntervals", "NetworkPolicy", "PrometheusRule", "StateMetrics"],
        ...,
    ] = field(
        default=(),
        before=_no_extras,
        description=(
            "What else is generated: `AlertmanagerTimeIntervals` tells Alertmanager and Grafana "
            "when the policy is open and closed, `NetworkPolicy` restricts the gate's Pods to "
            "the API server, `PrometheusRule` adds alerts, `StateMetrics` makes "
            "kube-state-metrics report the targets."
        ),
    )
    network_policy: NetworkPolicy | None = field(
        default=None,
        description=(
            "Where the API server is, for the extra `NetworkPolicy`; default: any address, port "
            "443 or 6443."
        ),
    )
    clusters: dict[fields.Label, Patch] = field(
        default_factory=dict,
        before=_not_by_name,
        description=(
            "A merge patch (RFC 7386) on this `spec` for each cluster, by its name; `{}` for a "
            "cluster without changes."
        ),
    )
    build_for: fields.Label | None = field(
        default=None,
        description="The cluster this build is for; default: none, and `clusters` is ignored.",
    )


class WindowPolicy(Part):
    """When changes may reach a cluster, and what is held back until then."""

    api_version: Literal["krm-windows.dev/v1alpha1"] = field(description="The version of this API.")
    kind: Literal["WindowPolicy"] = field(description="The kind of this object.")
    metadata: Metadata = field(description="Name and namespace.")
    spec: Spec = field(description="When the policy is open.")


def _end(moment: Moment[Value] | None, duration: timedelta | None) -> Moment[Value] | timedelta:
    # Which of them may be there is checked in `contradictions`, from the texts.
    return moment or duration or timedelta(0)


def _value(moment: Moment[Value] | None, duration: timedelta | None) -> Value | timedelta:
    if moment:
        return moment.value
    return duration or timedelta(0)


def _check_ends(
    begins: Moment[Value],
    ends: Moment[Value] | None,
    name: str,
    context: Context,
) -> Iterator[Finding]:
    if ends is not None:
        yield from occurrences.check(begins, ends, name, context.time_zone)

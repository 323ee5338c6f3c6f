"""Proof on a final stream: the function was run, rights and targets are in their places.

A layer above may have moved, renamed or dropped what was emitted, and an exec function that is not
enabled is skipped without a word (kustomize), so this reads what would be applied.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, product
from typing import NamedTuple

from krm_windows import rules
from krm_windows.apply import annotations, targets
from krm_windows.checks import local_config, overlap
from krm_windows.checks.overlap import Claim
from krm_windows.emit import Manifest, beside, configmap, kubectl, names, state_metrics, timetables
from krm_windows.emit.labels import GOVERNED_BY, POLICY
from krm_windows.emit.names import TIME_INTERVALS
from krm_windows.gate.revisions import RESOURCES, SOURCE, Source
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Inventory, Resource, file_of, ref_of
from krm_windows.krm import InputError, KubeObject, mentioning, plain_json
from krm_windows.plan.model import Plan
from krm_windows.plan.rights import REVIEWS
from krm_windows.plan.rights import granted as granted_targets
from krm_windows.policy.model import KIND
from krm_windows.results import Result

# In place of a name: a rule without `resourceNames` is about all objects (rbac/v1, PolicyRule).
ALL = "*"
# The verbs on a source, with `onlyIf: Pending`.
_READ = ("get",)


class _Right(NamedTuple):
    """One line of a Role: verbs on one object of a resource in a namespace, or on `ALL` of them."""

    namespace: str
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]

    @property
    def is_read(self) -> bool:
        """Whether it is that to read a source."""
        return self.group == SOURCE and self.verbs == _READ

    @property
    def what(self) -> tuple[str, ...]:
        """The object, in whatever namespace, with whatever verbs."""
        return self.group, self.resource, self.name


class Emitted(NamedTuple):
    """The objects of one policy that a stream holds."""

    plan: Plan
    items: tuple[KubeObject, ...]

    def of(self, *kinds: str) -> list[KubeObject]:
        """Return the objects of some kinds."""
        return [item for item in self.items if item.kind in kinds]

    def is_apart(self, folder: str) -> bool:
        """Whether a directory is delivered by a Flux Kustomization of its own, that is there."""
        paths = (str(item.get("spec", "path")) for item in self.of("Kustomization"))
        return any(path.endswith(f"/{folder}") for path in paths)

    def has_rights(self, namespace: str) -> bool:
        """Whether the rights in a namespace have to be here, and are not elsewhere in whole."""
        is_here = any(role.namespace == namespace for role in self.of("Role", "RoleBinding"))
        return is_here or not self.is_apart(f"namespace-{namespace}")

    def programs(self) -> list[KubeObject]:
        """Return the ConfigMaps of the gate; those for kube-state-metrics and alerts are none."""
        return [item for item in self.of("ConfigMap") if not _is_for_others(item)]


def _is_for_others(item: KubeObject) -> bool:
    keys = (state_metrics.KEY, TIME_INTERVALS)
    return any(item.get("data", key) is not None for key in keys)


def verify(
    plan: Plan,
    items: Iterable[KubeObject],
    stream: Inventory,
) -> list[Result]:
    """Return what is wrong with a stream that should hold the windows of this plan."""
    # An iterator would be empty for the second of the checks below.
    items = tuple(items)
    found = [*annotations.check(items), *_local(items)]
    ours = tuple(_emitted(plan, items))
    if not ours:
        message = (
            f"the resources contain nothing of the policy {plan.policy}: the function did not "
            "run on them (kustomize skips an exec function without --enable-exec, and kubectl "
            "always skips it)"
        )
        return [*found, rules.NOT_RUN.result(message)]
    own = Claim.of(plan.timetable)
    found += overlap.conflicts(own, _others(plan, items))
    found += _targets(plan, stream)
    emitted = Emitted(plan, ours)
    for check in (_missing, _timetable, _triggers, _references, _rights, _beside):
        found += check(emitted)
    return found


def _emitted(plan: Plan, items: Iterable[KubeObject]) -> Iterator[KubeObject]:
    """Yield the objects that bear the label of the plan's policy."""
    label = names.policy_label(plan)
    # To look for the text is far quicker than to parse the labels of every object.
    for item in mentioning(items, label):
        if item.labels.get(POLICY) == label:
            yield item


def _local(items: Iterable[KubeObject]) -> Iterator[Result]:
    """Yield the policies that would be applied."""
    for item in items:
        # A cluster has no definition of it, so all that is applied with it would fail.
        if item.kind == KIND and local_config.lacks(item):
            yield rules.LOCAL_CONFIG.result(
                local_config.MESSAGE,
                path=local_config.PATH,
                ref=ref_of(item),
                file=file_of(item),
            )


def _others(plan: Plan, items: Iterable[KubeObject]) -> Iterator[Claim]:
    """Yield what other policies claim of which the same stream holds the windows.

    One build is for one cluster. With the actuator `Kubectl` there is no timetable, so the Roles
    say what is claimed.
    """
    claimed: set[str] = set()
    granted: dict[str, list[Target]] = {}
    for label, item in _of_others(names.policy_label(plan), items):
        found = timetables.read(item)
        if found is not None:
            # A policy with a timetable says all there; its Roles would say it again.
            claimed.add(label)
            claim = Claim.of(found)
            yield claim._replace(cluster=plan.timetable.cluster)
        elif item.kind == "Role":
            turned = granted_targets(item.get("rules"), item.namespace)
            granted.setdefault(label, []).extend(turned)
    for label, targets_ in granted.items():
        if label not in claimed:
            policy = names.policy_of(label)
            yield Claim(policy, plan.timetable.cluster, tuple(targets_))


def _of_others(own: str, items: Iterable[KubeObject]) -> Iterator[tuple[str, KubeObject]]:
    """Yield the objects of policies with another label than our own, behind that label."""
    # Most objects are of no policy, and need not be parsed.
    for item in mentioning(items, POLICY):
        label = item.labels.get(POLICY)
        if label is not None and label != own:
            yield label, item


def _targets(plan: Plan, stream: Inventory) -> Iterator[Result]:
    for target, resource in targets.visible(plan.timetable.targets, stream):
        yield from _suspension(plan, target, resource)
        policy = resource.item.annotations.get(GOVERNED_BY)
        # Each build writes its own policy there: another is that of a build after this one.
        if policy not in (None, plan.policy):
            yield resource.result(
                rules.TWO_POLICIES,
                f"is also gated by the policy {policy}",
                path=f"metadata.annotations.{GOVERNED_BY}",
                current=policy,
            )


def _suspension(
    plan: Plan,
    target: Target,
    resource: Resource,
) -> Iterator[Result]:
    """Report a field that the parent would bring back.

    With `firstApply: Wait` a target is suspended on purpose until its first window.
    """
    value = resource.item.get(*target.field)
    # Absent, it is the gate's alone.
    if not isinstance(value, bool):
        return
    if value and plan.timetable.first_apply == "Wait":
        return
    yield resource.result(
        rules.TARGET_SUSPEND,
        "must not be set in applied manifests: the parent would restore it at its next reconcile",
        path=".".join(target.field),
        current=str(value).lower(),
    )


def _timetable(emitted: Emitted) -> Iterator[Result]:
    """Compare the ConfigMap that would be applied with what this policy compiles to.

    `Kubectl` has none.
    """
    plan = emitted.plan
    if not plan.runs_gate:
        return
    tables = configmap.tables(plan)
    for item in emitted.programs():
        for key, wanted in tables.items():
            found = item.get("data", key)
            # By meaning: a layer above may have laid the text out anew.
            if isinstance(found, str) and _parsed(found) == _parsed(wanted):
                continue
            yield rules.STALE.result(
                "does not match the policy: run the function again",
                path=f"data.{key}",
                ref=ref_of(item),
            )
        yield from _program(plan, item)


def _program(plan: Plan, item: KubeObject) -> Iterator[Result]:
    program = configmap.shipped(plan)
    # Sources and not a version: a release candidate may have the version of its release.
    other: list[str] = []
    for key, source in program.items():
        if item.get("data", key) != source:
            other.append(key)
    if other:
        message = (
            f"contains the gate of another release ({', '.join(other)} differ): run the "
            "function again"
        )
        yield rules.STALE.result(message, path="data", ref=ref_of(item))
    if not plan.ships_program and item.get("data", configmap.ENTRY) is not None:
        message = (
            "contains the gate, which is in the image (`program: Image`): run the function again"
        )
        yield rules.STALE.result(message, path="data", ref=ref_of(item))


def _missing(emitted: Emitted) -> Iterator[Result]:
    """Look for what no reference leads to, and for what every other object refers to.

    `Kubectl` needs neither.
    """
    if not emitted.plan.runs_gate:
        return
    # The Job runs the gate at once when the windows change, so nothing else names it.
    wanted = {
        "ConfigMap": emitted.programs(),
        "Job": emitted.of("Job"),
    }
    for kind, found in wanted.items():
        if not found:
            yield rules.EMITTED_MISSING.result(
                f"the {kind} of the policy {emitted.plan.policy} is missing"
            )


def _parsed(text: str) -> object:
    try:
        return plain_json.read(text)
    except (ValueError, InputError):
        # It equals nothing that a policy compiles to.
        return None


def _triggers(emitted: Emitted) -> Iterator[Result]:
    """Look for a CronJob that is not suspended for every edge.

    One that acts has to do what the policy says.
    """
    plan = emitted.plan
    # A CronJob that was suspended starts nothing, so it counts as missing.
    found = list(_active(emitted))
    for trigger in plan.triggers:
        arguments: list[object] = []
        # By name it is not looked for: a layer above may have put something before all names.
        if trigger.suspends is not None:
            acts = kubectl.pod(plan, suspend=trigger.suspends).containers
            arguments = [act["args"] for act in acts]
        if (trigger.schedule, trigger.time_zone, arguments) in found:
            continue
        patches = ""
        if arguments:
            patches = " and patches all targets"
        yield rules.EMITTED_MISSING.result(
            f'no active CronJob of the policy {plan.policy} has the schedule "{trigger.schedule}" '
            f"in {trigger.time_zone}{patches} ({trigger.words})"
        )


def _active(emitted: Emitted) -> Iterator[tuple[object, object, list[object]]]:
    """Yield schedule, time zone and arguments of each CronJob that is not suspended."""
    for item in emitted.of("CronJob"):
        if item.get("spec", "suspend") is True:
            continue
        # What the gate's Jobs do is in the ConfigMap, not in their arguments.
        arguments: list[object] = []
        if not emitted.plan.runs_gate:
            arguments = _acts(item)
        yield (
            item.get("spec", "schedule"),
            item.get("spec", "timeZone"),
            arguments,
        )


def _acts(item: KubeObject) -> list[object]:
    """Return the arguments of each container of a CronJob."""
    path = ("spec", "jobTemplate", "spec", "template", "spec", "containers")
    containers = item.get(*path)
    if not isinstance(containers, list):
        return []
    return [item.get(*path, index, "args") for index in range(len(containers))]


def _references(emitted: Emitted) -> Iterator[Result]:
    """Look for the account and the ConfigMap of every Job beside it."""
    # By the names that they have now: what was renamed together still fits together.
    present = {(item.kind, item.namespace, item.name) for item in emitted.items}
    for item in emitted.of("CronJob", "Job"):
        for kind, name in _needed(emitted.plan, item):
            if (kind, item.namespace, name) not in present:
                yield rules.REFERENCE_BROKEN.result(
                    f'refers to the {kind} "{name}", which does not exist in {item.namespace}',
                    ref=ref_of(item),
                )


def _needed(plan: Plan, item: KubeObject) -> Iterator[tuple[str, object]]:
    """Yield kind and name of what the Pods of a CronJob or Job refer to."""
    job: tuple[str, ...] = ("spec",)
    if item.kind == "CronJob":
        job = ("spec", "jobTemplate", "spec")
    pod = (*job, "template", "spec")
    yield "ServiceAccount", item.get(*pod, "serviceAccountName")
    # The first volume is that of the program (emit.gate); `Kubectl` has none.
    if plan.runs_gate:
        yield "ConfigMap", item.get(*pod, "volumes", 0, "configMap", "name")


def _beside(emitted: Emitted) -> Iterator[Result]:
    """Look for the objects that no other refers to, by what they say.

    Alerts and admission policies name accounts and CronJobs in their texts; these are looked for,
    too.
    """
    # What has no reference to follow is compared as a whole; metadata may be added to by layers.
    wanted = beside(emitted.plan)
    for manifest in wanted:
        found = emitted.of(manifest["kind"])
        if not found and emitted.is_apart(manifest["kind"].lower()):
            continue
        if not any(_says(item, manifest) for item in found):
            message = (
                f"the {manifest['kind']} of the policy {emitted.plan.policy} is missing or "
                "differs from the policy"
            )
            yield rules.EMITTED_MISSING.result(message)
    # The names as they are now: texts still have those that were emitted.
    standing = set()
    for item in emitted.items:
        if item.namespace == emitted.plan.namespace:
            standing.add((item.kind, item.name))
    for kind, name, message in _named(emitted.plan):
        if (kind, name) not in standing:
            yield rules.REFERENCE_BROKEN.result(message)


def _named(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield the kind and name of what a text names, and what it means if there is none."""
    if plan.admission:
        account = names.gate(plan)
        message = (
            f'the admission policies name the ServiceAccount "{account}" in {plan.namespace}, '
            "which was not found there (a layer above renamed or moved it, and cannot change "
            "the name in the policies): nothing would limit the gate, or, if it was moved, its "
            "annotations would be rejected and it could not close anything; run the function in "
            "the outermost layer"
        )
        yield "ServiceAccount", account, message
    if "PrometheusRule" in plan.extras:
        for trigger in plan.triggers:
            cron_job = names.cron_job(plan, trigger)
            message = (
                f'the PrometheusRule names the CronJob "{cron_job}", which was not found (a '
                "layer above renamed it, and cannot change the name in the expression); run the "
                "function in the outermost layer"
            )
            yield "CronJob", cron_job, message


def _says(item: KubeObject, manifest: Manifest) -> bool:
    """Whether an object says what a manifest does, but for its metadata."""
    for key, value in manifest.items():
        # Layers above may add labels, annotations and a prefix to names.
        if key != "metadata" and item.get(key) != value:
            return False
    return True


def _rights(emitted: Emitted) -> Iterator[Result]:
    """Prove that each target can be turned, and nothing else be touched."""
    wanted = {each for each in _planned(emitted.plan) if emitted.has_rights(each.namespace)}
    roles = emitted.of("Role")
    bound = [role for role in roles if _bound(emitted, role)]
    given = set(chain.from_iterable(map(_granted, bound)))
    # A Role grants nothing outside of its own namespace.
    named = {(right.namespace, right.what) for right in given}
    for right in sorted(wanted):
        is_given = right in given
        # With whatever verbs: those are compared below. One source that is not seen here may have
        # a name in the Role, which was made where it is seen.
        if right.name != ALL or right.is_read:
            is_given = right.name == ALL or (right.namespace, right.what) in named
        if not is_given:
            yield _lacking(emitted, right)
    for role in roles:
        for right in _granted(role):
            if not _is_due(right, wanted):
                message = (
                    f"grants {list(right.verbs)} on {'/'.join(right.what)}, more than the policy "
                    "needs"
                )
                yield rules.RIGHTS_EXCESS.result(message, ref=ref_of(role))


def _is_due(right: _Right, wanted: Collection[_Right]) -> bool:
    """Whether a right is one of those of a policy, bound or not.

    All verbs together: `get` alone, or with `delete` beside, is another one.
    """
    # It only asks; in another namespace than the targets' it is of no use.
    if (right.resource, right.verbs) == (REVIEWS.resource, REVIEWS.verbs):
        return True
    # Where a target is not seen here, its source may be any.
    if right.is_read and any(each.is_read and each.name == ALL for each in wanted):
        return True
    # In the wrong namespace it is missing in the right one, which is said.
    known = {(each.what, each.verbs) for each in wanted if each.name != ALL}
    return right in wanted or (right.what, right.verbs) in known


def _planned(plan: Plan) -> Iterator[_Right]:
    """Yield the rights of a plan, one by one."""
    for rights in plan.rights:
        for grant in rights.grants:
            for name in grant.names or (ALL,):
                yield _Right(
                    rights.namespace, grant.group, grant.resource, name, tuple(grant.verbs)
                )


def _lacking(emitted: Emitted, right: _Right) -> Result:
    """Report a right that no bound Role gives."""
    does = f"{' and '.join(right.verbs)} {right.resource} there"
    if right.name != ALL and right.is_read:
        kinds = {resource: kind for kind, resource in RESOURCES.items()}
        source = Source(kinds[right.resource], right.namespace, right.name)
        does = f"read {source}, so hooks would run even if there is nothing to apply"
    elif right.name != ALL:
        held = emitted.plan.timetable
        own = (right.namespace, right.what)
        does = next(
            f"suspend and resume {each}{_misplaced(emitted, right)}"
            for each in (*held.targets, *held.released)
            if (each.namespace, (each.group, each.resource, each.name)) == own
        )
    return rules.RIGHTS_MISSING.result(f"no bound Role in {right.namespace} lets the gate {does}")


def _bound(emitted: Emitted, role: KubeObject) -> bool:
    """Whether a binding beside a Role gives it to an account that is there."""
    accounts = {(item.namespace, item.name) for item in emitted.of("ServiceAccount")}
    for binding in emitted.of("RoleBinding"):
        # A RoleBinding can name Roles of its own namespace only (RBAC).
        if binding.namespace != role.namespace:
            continue
        kind = binding.get("roleRef", "kind")
        name_of_role = binding.get("roleRef", "name")
        if (kind, name_of_role) != ("Role", role.name):
            continue
        # Ours have one subject each; kustomize renames it with the account.
        namespace = binding.get("subjects", 0, "namespace")
        name = binding.get("subjects", 0, "name")
        if (namespace, name) in accounts:
            return True
    return False


def _granted(role: KubeObject) -> Iterator[_Right]:
    """Yield what a Role grants, one by one; a rule without names grants all."""
    found = role.get("rules")
    if not isinstance(found, list):
        return
    for i in range(len(found)):
        verbs = tuple(_texts(role, "rules", i, "verbs"))
        groups = _texts(role, "rules", i, "apiGroups")
        resources = _texts(role, "rules", i, "resources")
        names = _texts(role, "rules", i, "resourceNames") or [ALL]
        # A rule holds for each combination of what it lists (rbac/v1, PolicyRule).
        for group, resource, name in product(groups, resources, names):
            yield _Right(role.namespace, group, resource, name, verbs)


def _texts(item: KubeObject, *path: str | int) -> list[str]:
    found = item.get(*path)
    if not isinstance(found, list):
        return []
    return [str(text) for text in found]


def _misplaced(emitted: Emitted, right: _Right) -> str:
    """Say where a right on a target is instead, and what to do."""
    roles = emitted.of("Role")
    every = chain.from_iterable(map(_granted, roles))
    elsewhere = {each.namespace for each in every if each.what == right.what}
    found = ""
    # A kustomization's `namespace:` moves every Role into one namespace.
    if elsewhere:
        namespaces = ", ".join(sorted(elsewhere))
        found = f"; its Role is in {namespaces}, moved there by a layer above"
    mend = "run the function in the outermost layer, or set no `namespace:` on its output"
    is_foreign = right.namespace != emitted.plan.namespace
    if is_foreign and all(role.namespace != right.namespace for role in roles):
        mend += (
            f"; if it is delivered by itself (namespace-{right.namespace}), verify the directory "
            "above it instead of a stream, or have both builds in the stream"
        )
    return f"{found}; {mend}"

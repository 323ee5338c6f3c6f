"""Proof on a final stream: the function was run on it, and rights and targets are where they belong.

A layer above may have moved, renamed or dropped what was emitted, and an exec function that is not enabled is skipped
without a word (kustomize), so this looks at what would be applied.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from krm_windows import rules
from krm_windows.apply import marks, targets
from krm_windows.checks import local_config, overlap, roles, timetables
from krm_windows.checks.overlap import Claim
from krm_windows.emit import Manifest, beside, configmap, kubectl, names, state_metrics
from krm_windows.emit.labels import GOVERNED_BY, POLICY
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Inventory, file_of, ref_of
from krm_windows.krm import InputError, KubeObject, plain_json
from krm_windows.plan.model import Plan
from krm_windows.policy.model import KIND
from krm_windows.results import Result

ALL = "*"


@dataclass(frozen=True, slots=True)
class Emitted:
    """The objects of one policy that a stream holds."""

    plan: Plan
    items: tuple[KubeObject, ...]

    def of(self, *kinds: str) -> list[KubeObject]:
        """Return the objects of some kinds."""
        return [item for item in self.items if item.kind in kinds]

    def programs(self) -> list[KubeObject]:
        """Return the ConfigMaps of the gate; that for kube-state-metrics is none."""
        return [
            item for item in self.of("ConfigMap") if item.get("data", state_metrics.KEY) is None
        ]


def verify(plan: Plan, items: Iterable[KubeObject], stream: Inventory) -> list[Result]:
    """Return what is wrong with a stream that should hold the windows of this plan."""
    items = tuple(items)
    marked = list(marks.check(items))
    label = names.policy_label(plan)
    ours = tuple(
        item for item in items if item.mentions(label) and item.labels.get(POLICY) == label
    )
    marked += _local(items)
    if not ours:
        return [
            *marked,
            rules.NOT_RUN.result(
                f"the resources hold nothing of the policy {plan.policy}: the function was not run on them "
                "(kustomize skips an exec function without --enable-exec, and kubectl always does)"
            ),
        ]
    emitted = Emitted(plan, ours)
    overlaps = overlap.check(Claim.of(plan.timetable), _others(plan, items))
    checks = (_missing, _timetable, _triggers, _references, _rights, _beside)
    return [
        *marked,
        *overlaps,
        *_targets(plan, stream),
        *(result for check in checks for result in check(emitted)),
    ]


def _local(items: Iterable[KubeObject]) -> Iterator[Result]:
    """Yield the policies that would be applied."""
    for item in items:
        if item.kind == KIND and local_config.lacks(item):
            yield rules.LOCAL_CONFIG.result(
                local_config.MESSAGE, path=local_config.PATH, ref=ref_of(item), file=file_of(item)
            )


def _others(plan: Plan, items: Iterable[KubeObject]) -> Iterator[Claim]:
    """Yield what other policies claim of which the same stream holds the windows: one build is for one cluster."""
    own = names.policy_label(plan)
    claimed: set[str] = set()
    granted: dict[str, list[Target]] = {}
    for item in items:
        label = item.labels.get(POLICY) if item.mentions(POLICY) else None
        if label is None or label == own:
            continue
        if (found := timetables.read(item)) is not None:
            claimed.add(label)
            yield replace(Claim.of(found), cluster=plan.timetable.cluster)
        elif item.kind == "Role":
            granted.setdefault(label, []).extend(roles.targets(item))
    for label, targets_ in granted.items():
        if label not in claimed:
            yield Claim(label.replace(".", "/", 1), plan.timetable.cluster, tuple(targets_))


def _targets(plan: Plan, stream: Inventory) -> Iterator[Result]:
    for target, resource in targets.visible(plan.timetable.targets, stream):
        value, path = resource.item.get(*target.field), ".".join(target.field)
        if value is False or (value is True and plan.timetable.first_apply != "Wait"):
            message = (
                "must not stand in what is applied: the parent's next reconcile would bring it back"
            )
            yield resource.result(
                rules.TARGET_SUSPEND, message, path=path, current=str(value).lower()
            )
        governor = resource.item.annotations.get(GOVERNED_BY)
        if governor not in (None, plan.policy):
            message = f"is gated by the policy {governor} too"
            path = f"metadata.annotations.{GOVERNED_BY}"
            yield resource.result(rules.TWO_POLICIES, message, path=path, current=governor)


def _timetable(emitted: Emitted) -> Iterator[Result]:
    """Compare the ConfigMap that would be applied with what this policy compiles to; `Kubectl` has none."""
    if not emitted.plan.runs_gate:
        return
    plan = emitted.plan
    for item in emitted.programs():
        for key, wanted in configmap.tables(plan).items():
            found = item.get("data", key)
            if not isinstance(found, str) or _parsed(found) != _parsed(wanted):
                message = "is not what the policy compiles to: run the function again"
                yield rules.STALE.result(message, path=f"data.{key}", ref=ref_of(item))
        program = configmap.program(configmap.parts(plan))
        other = [key for key, source in program.items() if item.get("data", key) != source]
        if other:
            message = f"is the gate of another release ({', '.join(other)} differ): run the function again"
            yield rules.STALE.result(message, path="data", ref=ref_of(item))


def _missing(emitted: Emitted) -> Iterator[Result]:
    """Look for what no reference leads to, and for what every other object refers to; `Kubectl` needs neither."""
    for kind, found in {"ConfigMap": emitted.programs(), "Job": emitted.of("Job")}.items():
        if emitted.plan.runs_gate and not found:
            yield rules.EMITTED_MISSING.result(
                f"the {kind} of the policy {emitted.plan.policy} is missing"
            )


def _parsed(text: str) -> object:
    try:
        return plain_json.read(text)
    except (ValueError, InputError):
        return None


def _triggers(emitted: Emitted) -> Iterator[Result]:
    """Look for a CronJob that is not suspended for every edge; one that acts has to do what the policy says."""
    found = [
        (
            item.get("spec", "schedule"),
            item.get("spec", "timeZone"),
            [] if emitted.plan.runs_gate else _acts(item),
        )
        for item in emitted.of("CronJob")
        if item.get("spec", "suspend") is not True
    ]
    for trigger in emitted.plan.triggers:
        acts = (
            []
            if trigger.suspends is None
            else kubectl.pod(emitted.plan, suspend=trigger.suspends).containers
        )
        if (trigger.schedule, trigger.time_zone, [act["args"] for act in acts]) not in found:
            yield rules.EMITTED_MISSING.result(
                f'no active CronJob of the policy {emitted.plan.policy} has the schedule "{trigger.schedule}" '
                f"in {trigger.time_zone}{' and patches all targets' if acts else ''} ({trigger.words})"
            )


def _acts(item: KubeObject) -> list[object]:
    """Return the arguments of each container of a CronJob."""
    containers = ("spec", "jobTemplate", "spec", "template", "spec", "containers")
    count = item.get(*containers)
    return [
        item.get(*containers, i, "args")
        for i in range(len(count) if isinstance(count, list) else 0)
    ]


def _references(emitted: Emitted) -> Iterator[Result]:
    """Look for the account and the ConfigMap of every Job beside it."""
    standing = {(item.kind, item.namespace, item.name) for item in emitted.items}
    for item in emitted.of("CronJob", "Job"):
        pod = ("spec", "jobTemplate", "spec") if item.kind == "CronJob" else ("spec",)
        account = item.get(*pod, "template", "spec", "serviceAccountName")
        program = item.get(*pod, "template", "spec", "volumes", 0, "configMap", "name")
        needed = [
            ("ServiceAccount", account),
            *([("ConfigMap", program)] if emitted.plan.runs_gate else []),
        ]
        for kind, name in needed:
            if (kind, item.namespace, name) not in standing:
                yield rules.REFERENCE_BROKEN.result(
                    f'refers to the {kind} "{name}", which is not in {item.namespace}',
                    ref=ref_of(item),
                )


def _beside(emitted: Emitted) -> Iterator[Result]:
    """Look for what nothing refers to, word for word: it names accounts and CronJobs inside of texts."""
    wanted = beside(emitted.plan)
    for manifest in wanted:
        if not any(_says(item, manifest) for item in emitted.of(manifest["kind"])):
            message = f"the {manifest['kind']} of the policy {emitted.plan.policy} is missing, or not what it yields"
            yield rules.EMITTED_MISSING.result(message)
    standing = {
        (item.kind, item.name) for item in emitted.items if item.namespace == emitted.plan.namespace
    }
    for kind, name, message in _named(emitted.plan):
        if (kind, name) not in standing:
            yield rules.REFERENCE_BROKEN.result(message)


def _named(plan: Plan) -> Iterator[tuple[str, str, str]]:
    """Yield kind and name of what is named inside of a text, and what it means if there is no such object."""
    if plan.admission:
        account = names.gate(plan)
        message = (
            f'the admission policies name the ServiceAccount "{account}" in {plan.namespace} where no layer above '
            "can rename or move it, and there is none: nothing would hold the gate to its field, and one that was "
            "moved could close nothing, as its marks would be refused; run the function in the outermost layer"
        )
        yield "ServiceAccount", account, message
    if "PrometheusRule" in plan.extras:
        for trigger in plan.triggers:
            cron_job = names.cron_job(plan, trigger)
            message = (
                f'the PrometheusRule names the CronJob "{cron_job}" where no layer above can rename it, and there is '
                "none; run the function in the outermost layer"
            )
            yield "CronJob", cron_job, message


def _says(item: KubeObject, manifest: Manifest) -> bool:
    """Whether an object says what a manifest does, but for its metadata."""
    return all(item.get(key) == value for key, value in manifest.items() if key != "metadata")


def _rights(emitted: Emitted) -> Iterator[Result]:
    """Prove that each target can be turned, and nothing else be touched."""
    bound = [role for role in emitted.of("Role") if _bound(emitted, role)]
    wanted = {*emitted.plan.timetable.targets, *emitted.plan.timetable.released}
    for target in sorted(wanted, key=str):
        if not any(role.namespace == target.namespace and _grants(role, target) for role in bound):
            yield _misplaced(emitted, target)
    loose = _loose(emitted.plan)
    for namespace, verbs, group, resource in sorted(loose):
        found = [
            granted for role in bound if role.namespace == namespace for granted in _granted(role)
        ]
        if (list(verbs), (group, resource, ALL)) not in found:
            message = (
                f"no bound Role in {namespace} lets the gate {' and '.join(verbs)} {resource} there"
            )
            yield rules.RIGHTS_MISSING.result(message)
    named = {(target.group, target.resource, target.name) for target in wanted}
    for role in emitted.of("Role"):
        for verb_list, (group, resource, name) in _granted(role):
            turns = verb_list == ["get", "patch"] and (group, resource, name) in named
            if not turns and not (
                name == ALL and (role.namespace, tuple(verb_list), group, resource) in loose
            ):
                message = (
                    f"grants {verb_list} on {group}/{resource}/{name}, more than the policy needs"
                )
                yield rules.RIGHTS_EXCESS.result(message, ref=ref_of(role))


def _loose(plan: Plan) -> set[tuple[str, tuple[str, ...], str, str]]:
    """Return namespace, verbs, group and resource of every right that cannot name its objects."""
    return {
        (rights.namespace, grant.verbs, grant.group, grant.resource)
        for rights in plan.rights
        for grant in rights.grants
        if not grant.names
    }


def _bound(emitted: Emitted, role: KubeObject) -> bool:
    accounts = {(item.namespace, item.name) for item in emitted.of("ServiceAccount")}
    return any(
        binding.namespace == role.namespace
        and (binding.get("roleRef", "kind"), binding.get("roleRef", "name")) == ("Role", role.name)
        and (binding.get("subjects", 0, "namespace"), binding.get("subjects", 0, "name"))
        in accounts
        for binding in emitted.of("RoleBinding")
    )


def _grants(role: KubeObject, target: Target) -> bool:
    return any(
        granted == (target.group, target.resource, target.name) for _, granted in _granted(role)
    )


def _granted(role: KubeObject) -> Iterator[tuple[list[str], tuple[str, str, str]]]:
    """Yield the verbs for each (group, resource, name) of a Role; a rule without names grants all."""
    found = role.get("rules")
    for i in range(len(found) if isinstance(found, list) else 0):
        names = _texts(role, "rules", i, "resourceNames") or [ALL]
        groups, resources = (
            _texts(role, "rules", i, field) for field in ("apiGroups", "resources")
        )
        for granted in product(groups, resources, names):
            yield _texts(role, "rules", i, "verbs"), granted


def _texts(item: KubeObject, *path: str | int) -> list[str]:
    found = item.get(*path)
    return [str(text) for text in found] if isinstance(found, list) else []


def _misplaced(emitted: Emitted, target: Target) -> Result:
    elsewhere = sorted({role.namespace for role in emitted.of("Role") if _grants(role, target)})
    found = (
        f"; the Role for it lies in {', '.join(elsewhere)}, moved there by a layer above"
        if elsewhere
        else ""
    )
    return rules.RIGHTS_MISSING.result(
        f"no bound Role in {target.namespace} lets the gate turn {target}{found}; run the function in the outermost "
        "layer, or put no `namespace:` over its output"
    )

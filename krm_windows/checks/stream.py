"""Proof on a final stream: the function was run, rights and targets are in their places.

A layer above may have moved, renamed or dropped what was emitted, and an exec function that is not
enabled is skipped without a word (kustomize), so this reads what would be applied.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

from krm_windows import rules
from krm_windows.apply import annotations, targets
from krm_windows.checks import local_config, overlap
from krm_windows.checks.overlap import Claim
from krm_windows.emit import Manifest, beside, configmap, kubectl, names, state_metrics, timetables
from krm_windows.emit.labels import GOVERNED_BY, POLICY
from krm_windows.emit.names import TIME_INTERVALS
from krm_windows.gate.revisions import SOURCE
from krm_windows.inventory import Inventory, file_of, ref_of
from krm_windows.krm import InputError, KubeObject, mentioning, plain_json
from krm_windows.plan.model import Plan
from krm_windows.plan.rights import REVIEWS, note
from krm_windows.policy.model import KIND
from krm_windows.results import Result

# In place of a name: a rule without `resourceNames` is about all objects (rbac/v1, PolicyRule).
ALL = "*"
_OUTERMOST = "run the function in the outermost layer"


class _Right(NamedTuple):
    """One line of a Role: verbs on one object of a resource in a namespace, or on `ALL` of them."""

    namespace: str
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]

    @property
    def is_read(self) -> bool:
        """Whether it is that to read a source, with `onlyIf: Pending`."""
        return self.group == SOURCE and self.verbs == ("get",)

    def __str__(self) -> str:
        """Say it in words: `get and patch kustomizations shop/apps`."""
        return f"{' and '.join(self.verbs)} {self.resource} {self.namespace}/{self.name}"


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

    def programs(self) -> list[KubeObject]:
        """Return the ConfigMaps of the gate, not those for metrics, alerts, or notes of hooks."""
        others = {note(self.plan.name)} if self.plan.hooks else set()
        return [
            item
            for item in self.of("ConfigMap")
            if item.get("data", state_metrics.KEY) is None
            and item.get("data", TIME_INTERVALS) is None
            and item.name not in others
        ]


def verify(plan: Plan, items: Sequence[KubeObject], stream: Inventory) -> list[Result]:
    """Return what is wrong with a stream that should hold the windows of this plan."""
    found = [*annotations.check(items), *_local(items)]
    label = names.policy_label(plan)
    # To look for the text is far quicker than to parse the labels of every object.
    labelled = [(item.labels.get(POLICY), item) for item in mentioning(items, POLICY)]
    emitted = Emitted(plan, tuple(item for its, item in labelled if its == label))
    if not emitted.items:
        message = (
            f"the resources contain nothing of the policy {plan.policy}: the function did not "
            "run on them (kustomize skips an exec function without --enable-exec, and kubectl "
            "always skips it)"
        )
        return [*found, rules.NOT_RUN.result(message)]
    others = [item for its, item in labelled if its not in (None, label)]
    found += overlap.conflicts(Claim.of(plan.timetable), _claims(plan, others))
    found += _targets(plan, stream)
    for check in (_gate, _triggers, _references, _rights, _beside):
        found += check(emitted)
    return found


def _local(items: Iterable[KubeObject]) -> Iterator[Result]:
    """Yield the policies that would be applied."""
    for item in items:
        # A cluster has no definition of it, so all that is applied with it would fail.
        if item.kind == KIND and local_config.lacks(item):
            yield rules.LOCAL_CONFIG.result(
                local_config.MESSAGE, path=local_config.PATH, ref=ref_of(item), file=file_of(item)
            )


def _claims(plan: Plan, others: Iterable[KubeObject]) -> Iterator[Claim]:
    """Yield what other policies claim of which the same stream holds the windows.

    One build is for one cluster.
    """
    for item in others:
        found = timetables.read(item)
        if found is not None:
            yield Claim.of(found)._replace(cluster=plan.timetable.cluster)


def _targets(plan: Plan, stream: Inventory) -> Iterator[Result]:
    for target, resource in targets.visible(plan.timetable.targets, stream):
        value = resource.item.get(*target.field)
        # Absent, the field is the gate's alone. With `firstApply: Wait` a target is suspended on
        # purpose until its first window.
        is_first = value is True and plan.timetable.first_apply == "Wait"
        if isinstance(value, bool) and not is_first:
            yield resource.result(
                rules.TARGET_SUSPEND,
                "must not be set in applied manifests: the parent would restore it at its next "
                "reconcile",
                path=".".join(target.field),
                current=str(value).lower(),
            )
        policy = resource.item.annotations.get(GOVERNED_BY)
        # Each build writes its own policy there: another is that of a build after this one.
        if policy not in (None, plan.policy):
            yield resource.result(
                rules.TWO_POLICIES,
                f"is also gated by the policy {policy}",
                path=f"metadata.annotations.{GOVERNED_BY}",
                current=policy,
            )


def _gate(emitted: Emitted) -> Iterator[Result]:
    """Compare the gate that would be applied with that of this policy; `Kubectl` has none."""
    plan = emitted.plan
    if not plan.runs_gate:
        return
    # The Job runs the gate at once when the windows change, so nothing else names it.
    for kind, there in (("ConfigMap", emitted.programs()), ("Job", emitted.of("Job"))):
        if not there:
            yield rules.EMITTED_MISSING.result(f"the {kind} of the policy {plan.policy} is missing")
    for item in emitted.programs():
        for key, wanted in configmap.tables(plan).items():
            # By meaning: a layer above may have laid the text out anew.
            if _parsed(item.get("data", key)) != _parsed(wanted):
                yield _stale(item, f"data.{key}", "does not match the policy")
        # Sources and not a version: a release candidate may have the version of its release.
        program = configmap.shipped(plan)
        other = [key for key, source in program.items() if item.get("data", key) != source]
        if other:
            differ = f"contains the gate of another release ({', '.join(other)} differ)"
            yield _stale(item, "data", differ)
        if not plan.ships_program and item.get("data", configmap.ENTRY) is not None:
            message = "contains the gate, which is in the image (`program: Image`)"
            yield _stale(item, "data", message)


def _stale(item: KubeObject, path: str, message: str) -> Result:
    return rules.STALE.result(f"{message}: run the function again", path=path, ref=ref_of(item))


def _parsed(text: object) -> object:
    try:
        return plain_json.read(text) if isinstance(text, str) else None
    except (ValueError, InputError):
        # It equals nothing that a policy compiles to.
        return None


def _triggers(emitted: Emitted) -> Iterator[Result]:
    """Look for a CronJob that is not suspended for every edge; one that acts, does as planned.

    By name it is not looked for: a layer above may have put something before all names.
    """
    plan = emitted.plan
    # What the gate's Jobs do is in the ConfigMap, not in their arguments.
    found = [
        (
            item.get("spec", "schedule"),
            item.get("spec", "timeZone"),
            [] if plan.runs_gate else _arguments(item),
        )
        for item in emitted.of("CronJob")
        if item.get("spec", "suspend") is not True
    ]
    for trigger in plan.triggers:
        acts: list[object] = []
        if trigger.suspends is not None:
            pod = kubectl.pod(plan, suspend=trigger.suspends)
            acts = [container["args"] for container in pod.containers]
        if (trigger.schedule, trigger.time_zone, acts) not in found:
            does = " and patches all targets" if acts else ""
            yield rules.EMITTED_MISSING.result(
                f"no active CronJob of the policy {plan.policy} has the schedule "
                f'"{trigger.schedule}" in {trigger.time_zone}{does} ({trigger.words})'
            )


def _arguments(cron_job: KubeObject) -> list[object]:
    """Return the arguments of each container of a CronJob."""
    containers = cron_job.get("spec", "jobTemplate", "spec", "template", "spec", "containers")
    if not isinstance(containers, list):
        return []
    return [each.get("args") if isinstance(each, dict) else None for each in containers]


def _references(emitted: Emitted) -> Iterator[Result]:
    """Look for the account and the ConfigMap of every Job beside it."""
    # By the names that they have now: what was renamed together still fits together.
    present = {(item.kind, item.namespace, item.name) for item in emitted.items}
    for item in emitted.of("CronJob", "Job"):
        job = ("spec", "jobTemplate", "spec") if item.kind == "CronJob" else ("spec",)
        pod = (*job, "template", "spec")
        needed = [("ServiceAccount", item.get(*pod, "serviceAccountName"))]
        # The first volume is that of the program (emit.gate); `Kubectl` has none.
        if emitted.plan.runs_gate:
            needed.append(("ConfigMap", item.get(*pod, "volumes", 0, "configMap", "name")))
        for kind, name in needed:
            if (kind, item.namespace, name) not in present:
                yield rules.REFERENCE_BROKEN.result(
                    f'refers to the {kind} "{name}", which does not exist in {item.namespace}',
                    ref=ref_of(item),
                )


def _beside(emitted: Emitted) -> Iterator[Result]:
    """Look for the objects that no other refers to: each as a whole, but for its metadata.

    And for what alerts and admission policies name in their texts, where no layer above renames it.
    """
    plan = emitted.plan
    for manifest in beside(plan):
        kind = manifest["kind"]
        there = emitted.of(kind)
        if not there and emitted.is_apart(kind.lower()):
            continue
        if not any(_says(item, manifest) for item in there):
            message = (
                f"the {kind} of the policy {plan.policy} is missing or differs from the policy"
            )
            yield rules.EMITTED_MISSING.result(message)
    named = []
    if plan.hooks:
        named.append(("hooks.json", "ConfigMap", note(plan.name)))
    if plan.admission:
        named.append(("admission policies", "ServiceAccount", names.gate(plan)))
    if "PrometheusRule" in plan.extras:
        named += (
            ("PrometheusRule", "CronJob", names.cron_job(plan, each)) for each in plan.triggers
        )
    present = {(each.kind, each.name) for each in emitted.items if each.namespace == plan.namespace}
    for whose, kind, name in named:
        if (kind, name) not in present:
            message = (
                f'the text of the {whose} has the {kind} "{name}" in {plan.namespace}, which was '
                "not found there: a layer above renamed or moved it, and the text would be about "
                f"nothing; {_OUTERMOST}"
            )
            yield rules.REFERENCE_BROKEN.result(message)


def _says(item: KubeObject, manifest: Manifest) -> bool:
    """Whether an object says what a manifest does; layers above may add to its metadata."""
    return all(item.get(key) == manifest[key] for key in manifest if key != "metadata")


def _rights(emitted: Emitted) -> Iterator[Result]:
    """Prove that each target can be turned, and nothing else be touched."""
    wanted = {each for each in _planned(emitted.plan) if _is_here(emitted, each.namespace)}
    roles = emitted.of("Role")
    # A Role grants nothing outside of its own namespace.
    bound = (role for role in roles if _is_bound(emitted, role))
    given = set(chain.from_iterable(map(_granted, bound)))
    # A source that is not seen here may have a name in the Role, which was made where it is seen.
    reads = {each.namespace for each in wanted if each.is_read and each.name == ALL}
    read = {each.namespace for each in given if each.is_read}
    # With whatever verbs: those are compared below.
    named = {each._replace(verbs=()) for each in given}
    for right in sorted(wanted - given):
        is_named = right.name != ALL and right._replace(verbs=()) in named
        if not (is_named or (right.is_read and right.name == ALL and right.namespace in read)):
            message = (
                f"no bound Role there lets the gate {right}: {_OUTERMOST}, or set "
                "no `namespace:` on its output; where the rights are delivered by themselves "
                f"(namespace-{right.namespace}), verify the directory above, or both builds"
            )
            yield rules.RIGHTS_MISSING.result(message)
    # In the wrong namespace it is missing in the right one, which is said.
    known = {each._replace(namespace="") for each in wanted if each.name != ALL}
    for role in roles:
        for right in _granted(role):
            # It only asks; in another namespace than the targets' it is of no use.
            asks = (right.resource, right.verbs) == (REVIEWS.resource, REVIEWS.verbs)
            is_due = right in wanted or right._replace(namespace="") in known
            # Where a target is not seen here, its source may be any.
            if not (asks or is_due or (right.is_read and reads)):
                message = f"grants {right} of {right.group!r}, more than the policy needs"
                yield rules.RIGHTS_EXCESS.result(message, ref=ref_of(role))


def _is_here(emitted: Emitted, namespace: str) -> bool:
    """Whether the rights in a namespace have to be in the stream, and are not elsewhere whole."""
    roles = emitted.of("Role", "RoleBinding")
    is_here = any(role.namespace == namespace for role in roles)
    return is_here or not emitted.is_apart(f"namespace-{namespace}")


def _planned(plan: Plan) -> Iterator[_Right]:
    """Yield the rights of a plan, one by one."""
    for rights in plan.rights:
        for grant in rights.grants:
            for name in grant.names or (ALL,):
                verbs = tuple(grant.verbs)
                yield _Right(rights.namespace, grant.group, grant.resource, name, verbs)


def _is_bound(emitted: Emitted, role: KubeObject) -> bool:
    """Whether a binding beside a Role gives it to an account that is there."""
    accounts = {(item.namespace, item.name) for item in emitted.of("ServiceAccount")}
    # A RoleBinding can name Roles of its own namespace only (RBAC). Ours have one subject each;
    # kustomize renames it with the account.
    return any(
        binding.namespace == role.namespace
        and (binding.get("roleRef", "kind"), binding.get("roleRef", "name")) == ("Role", role.name)
        and (binding.get("subjects", 0, "namespace"), binding.get("subjects", 0, "name"))
        in accounts
        for binding in emitted.of("RoleBinding")
    )


def _granted(role: KubeObject) -> Iterator[_Right]:
    """Yield what a Role grants, one by one; a rule without names grants all."""
    found = role.get("rules")
    for rule in found if isinstance(found, list) else ():
        verbs = tuple(_texts(rule, "verbs"))
        # A rule holds for each combination of what it lists (rbac/v1, PolicyRule).
        listed = (_texts(rule, "apiGroups"), _texts(rule, "resources"))
        for group, resource, name in product(*listed, _texts(rule, "resourceNames") or [ALL]):
            yield _Right(role.namespace, group, resource, name, verbs)


def _texts(rule: object, key: str) -> list[str]:
    found = rule.get(key) if isinstance(rule, dict) else None
    return list(map(str, found)) if isinstance(found, list) else []

"""What is wrong with a hand-written set-up, apart from its times.

Rights, images, Jobs that suspend what applies them, and `suspend` in Git.
"""

import re
from collections.abc import Collection, Iterator

from krm_windows import rules
from krm_windows.flux.model import Object
from krm_windows.krm import Value
from krm_windows.migrate import heuristics, jobs
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating, suspension
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.repository import Document, Repository
from krm_windows.results import Result

# A tag but `latest`, or a digest.
_PINNED = re.compile(r".*(?::(?!latest$)[\w][\w.-]*|@sha256:[0-9a-f]{64})\Z")
# Images that cannot be pulled any more, or that speak to an API that Flux does not serve any more.
_DEAD = (
    (
        re.compile(r"(?:docker\.io/)?bitnami/"),
        "Bitnami took its images from Docker Hub in September 2025",
    ),
    (
        re.compile(r"(?:k8s\.gcr\.io|gcr\.io/google[-_]containers)/"),
        "that registry has been frozen since April 2023",
    ),
    (
        re.compile(r"(?:[^/]*/)*flux-cli:v0\."),
        "it supports only Kustomization v1beta2 and older, and Flux serves only v1",
    ),
)
ADVICE = "use `--clusters` to say where the clusters are"
# Roles that may change much more than a field.
_ROLES_FOR_ALL = ("cluster-admin", "admin", "edit")
BINDINGS = ("ClusterRoleBinding", "RoleBinding")
# What it takes to suspend and resume an object.
_NEEDED = frozenset({"get", "patch"})


def check(gating: Gating) -> Iterator[Result]:
    """Yield what is wrong on one cluster."""
    for job in gating.jobs:
        yield from _self_lock(job, gating)
        yield from _images(job)
        yield from _rights(job, gating)
    yield from _suspended(gating)


def _self_lock(job: Job, gating: Gating) -> Iterator[Result]:
    """Name a CronJob that suspends the Kustomization which applies it."""
    applied = job.document.applied_by
    # Only what suspends locks itself out: a resume lets edits in again.
    if applied is None or not any(action.suspends for action in job.actions):
        return
    # Where Git does not have it, it is taken to have the name of the directory, as is the habit.
    habit = applied.path.rpartition("/")[2]
    for target in gating.targets:
        if target.kind != "Kustomization":
            continue
        if applied.own and target == applied.identity:
            message = (
                f"{job.name} suspends {target}, which applies it: while that is closed, a change "
                "to the times has to wait"
            )
        elif not applied.own and target.name == habit:
            message = (
                f"{job.name} suspends {target}, and is applied from {applied.path}: if this "
                "Kustomization applies it, a change to the times has to wait while it is closed"
            )
        else:
            continue
        location = job.document.at("spec", "schedule")
        yield found_at(rules.MIGRATE_SELF_LOCK, location, message)


def _images(job: Job) -> Iterator[Result]:
    for path, container in jobs.containers(job.document):
        image = str(container.get("image") or "")
        why = next((why for pattern, why in _DEAD if pattern.match(image)), None)
        if image and not why and not _PINNED.fullmatch(image):
            message = f"{job.name} runs on {image}, which is not pinned and can change"
        elif why:
            message = f"{job.name} runs on {image}: {why}"
        else:
            continue
        yield found_at(rules.MIGRATE_IMAGE, job.document.at(*path, "image"), message)


def _rights(job: Job, gating: Gating) -> Iterator[Result]:
    """Name rights of a CronJob's account that no window needs."""
    account = jobs.account(job.document)
    for binding in gating.cluster.objects:
        if (job.document.namespace, account) not in subjects(binding):
            continue
        if binding.kind == "ClusterRoleBinding":
            message = f"{account} has its permissions in every namespace, through {binding}"
            # Its role may be too large as well, so both are said.
            yield found_at(rules.MIGRATE_RIGHTS, binding.location, message)
        bound = role_of(binding)
        roles = [each for each in gating.cluster.objects if (each.kind, each.name) == bound]
        for role in roles[:1]:
            yield from _excess(role)
        # One that every cluster has (Kubernetes, "User-facing roles").
        if not roles and bound[1] in _ROLES_FOR_ALL:
            message = f"{account} has the role {bound[1]}"
            yield found_at(rules.MIGRATE_RIGHTS, binding.location, message)


def _excess(role: Document) -> Iterator[Result]:
    """Name verbs that are not needed, and rules for every object of a kind."""
    for index, rule in enumerate(role.parts("rules")):
        location = role.at("rules", index)
        # Also `*`, which has more than those two.
        excess = sorted(set(_texts(rule.get("verbs"))) - _NEEDED)
        if excess:
            message = f"{role} grants {', '.join(excess)}, which no window needs"
            yield found_at(rules.MIGRATE_RIGHTS, location, message)
        # A rule without names is about every object (rbac/v1, PolicyRule).
        if not rule.get("resourceNames"):
            resources = ", ".join(_texts(rule.get("resources")))
            message = f"{role} has no resourceNames: it grants access to all {resources}"
            yield found_at(rules.MIGRATE_RIGHTS, location, message)


def _texts(listed: Value) -> list[str]:
    return list(map(str, listed)) if isinstance(listed, list) else []


def role_of(binding: Object) -> tuple[str, str]:
    """Return kind and name of the role of a binding."""
    return binding.text("roleRef", "kind"), binding.text("roleRef", "name")


def subjects(binding: Object) -> set[tuple[str, str]]:
    """Return namespace and name of the accounts that a binding is for."""
    if binding.kind not in BINDINGS:
        return set()
    return {
        # Kubernetes demands a namespace here; kustomize fills it in, and so do we.
        (str(each.get("namespace") or binding.namespace), str(each.get("name")))
        for each in binding.parts("subjects")
        if each.get("kind") == "ServiceAccount"
    }


def _suspended(gating: Gating) -> Iterator[Result]:
    """Name targets whose `suspend` is in Git, so that Flux sets it back (server-side apply)."""
    for target in gating.targets:
        found = gating.cluster.gated.get(target)
        held = found.get(*suspension(target)) if found else None
        if found is None or not isinstance(held, bool):
            continue
        message = (
            f"{target} has `suspend: {str(held).lower()}` in Git, which "
            f"{'closes' if held else 'opens'} it whenever its parent reconciles; remove the line"
        )
        yield found_at(rules.MIGRATE_SUSPEND, found.at(*suspension(target)), message)


def unused(
    repository: Repository, used: Collection[str], names: Collection[str]
) -> Iterator[Result]:
    """Yield files that no cluster has, with a CronJob that opens or closes, or a patch of one."""
    for path, content in sorted(repository.contents.items()):
        # JSON here is dashboards and the like, and no manifests. Reading is dear: what has no such
        # word in it holds no CronJob.
        if path in used or path.endswith(".json") or b"CronJob" not in content:
            continue
        for each in repository.documents(path):
            found = Document(**vars(Object.in_file(each.item, path)))
            if jobs.is_one(found):
                message = (
                    f"{found} is not applied to any cluster that was found, so it is in no "
                    f"policy; {ADVICE}"
                )
                yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, each.at(), message)
            elif found.kind == "CronJob" and found.name in names:
                message = (
                    f"the patch of {found.name} is used by no cluster that was found, so it has no "
                    "effect there"
                )
                yield found_at(rules.MIGRATE_PATCH_UNUSED, each.at(), message)


def unreadable(repository: Repository, reported: Collection[str]) -> Iterator[Result]:
    """Yield files that are no YAML and look as if they held such CronJobs, but for some."""
    for location, why in repository.unreadable.items():
        content = repository.contents[location.file].decode(errors="replace")
        # Files of templates are no YAML, and there are many.
        if location.file not in reported and heuristics.mentions(content):
            message = f"is not valid YAML, so windows in it are not found: {why}"
            yield found_at(rules.MIGRATE_UNSUPPORTED, location, message)

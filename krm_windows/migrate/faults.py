"""What is wrong with a hand-written set-up, apart from its times.

Rights, images, Jobs that suspend what applies them, and `suspend` in Git.
"""

import re
from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.migrate import heuristics, jobs, trees
from krm_windows.migrate.clusters import AppliedDirectory, ClusterObjects
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating, Target
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.trees import Document, leaf, text
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
_BINDINGS = ("ClusterRoleBinding", "RoleBinding")
# What it takes to suspend and resume an object.
_NEEDED = frozenset({"get", "patch"})


def check(gating: Gating) -> Iterator[Result]:
    """Yield what is wrong on one cluster."""
    # Several CronJobs act on one target, which is looked at once.
    gated = sorted(set(gating.targets))
    for directory in gating.cluster.directories:
        yield from _self_lock(directory, gating, gated)
    for job in gating.jobs:
        yield from _images(job)
        yield from _rights(job, gating.cluster)
    yield from _suspended(gating.cluster, gated)


def _self_lock(
    directory: AppliedDirectory,
    gating: Gating,
    gated: Iterable[Target],
) -> Iterator[Result]:
    """Name CronJobs that suspend the Kustomization which applies them."""
    held = _holder(directory, gated)
    if held is None:
        return
    for job in gating.jobs:
        closes = any(action.suspends for action in job.actions)
        # Only what suspends locks itself out: a resume lets edits in again.
        is_applied_here = any(job.document is each for each in directory.objects)
        if not closes or not is_applied_here:
            continue
        if directory.kustomization:
            message = (
                f"{job.name} suspends {directory.kustomization}, which applies it: while that "
                "is closed, a change to the times has to wait"
            )
        else:
            message = (
                f"{job.name} suspends {held}, and is applied from {directory.path}: if this "
                "Kustomization applies it, a change to the times has to wait while it is closed"
            )
        yield found_at(rules.MIGRATE_SELF_LOCK, job.location, message)


def _holder(directory: AppliedDirectory, gated: Iterable[Target]) -> Target | None:
    """Return the Kustomization among what is gated that applies a directory, or seems to.

    Where Git does not have it, it is taken to have the name of the directory, as is the habit.
    """
    flux = {target.name: target for target in gated if target.kind == "Kustomization"}
    applier = directory.kustomization
    if applier is None:
        _, _, name = directory.path.rpartition("/")
        return flux.get(name)
    held = flux.get(applier.name)
    if held is None or held.namespace != applier.namespace:
        return None
    return held


def _images(job: Job) -> Iterator[Result]:
    for container in jobs.containers(job.document):
        image = leaf(container, "image")
        if image is None:
            continue
        reasons = (why for pattern, why in _DEAD if pattern.match(image.text))
        dead = next(reasons, None)
        if dead:
            message = f"{job.name} runs on {image.text}: {dead}"
        elif not _PINNED.fullmatch(image.text):
            message = f"{job.name} runs on {image.text}, which is not pinned and can change"
        else:
            continue
        yield found_at(rules.MIGRATE_IMAGE, image.location, message)


def _rights(job: Job, cluster: ClusterObjects) -> Iterator[Result]:
    """Name rights of a CronJob's account that no window needs."""
    account = jobs.account(job.document)
    for binding in cluster.objects:
        if binding.kind not in _BINDINGS:
            continue
        if (job.namespace, account) not in subjects(binding):
            continue
        if binding.kind == "ClusterRoleBinding":
            message = f"{account} has its permissions in every namespace, through {binding}"
            # Its role may be too large as well, so both are said.
            yield found_at(rules.MIGRATE_RIGHTS, binding.location, message)
        role = _role(binding, cluster)
        if role is None:
            yield from _known_role(account, binding)
        else:
            yield from _excess(role)


def _role(binding: Document, cluster: ClusterObjects) -> Document | None:
    """Return the role of a binding, None where the repository does not have it."""
    kind = text(binding.tree, "roleRef", "kind")
    name = text(binding.tree, "roleRef", "name")
    for each in cluster.objects:
        if (each.kind, each.name) == (kind, name):
            return each
    return None


def _known_role(account: str, binding: Document) -> Iterator[Result]:
    """Name a role that every cluster has (Kubernetes, "User-facing roles")."""
    name = text(binding.tree, "roleRef", "name")
    if name in _ROLES_FOR_ALL:
        yield found_at(rules.MIGRATE_RIGHTS, binding.location, f"{account} has the role {name}")


def _excess(role: Document) -> Iterator[Result]:
    """Name verbs that are not needed, and rules for every object of a kind."""
    for rule in trees.items(role.tree, "rules"):
        first = next(trees.leaves(rule), None)
        location = role.location
        if first:
            location = first.location
        # Also `*`, which has more than those two.
        excess = {each.text for each in trees.leaves(trees.at(rule, "verbs"))} - _NEEDED
        if excess:
            verbs = ", ".join(sorted(excess))
            message = f"{role} grants {verbs}, which no window needs"
            yield found_at(rules.MIGRATE_RIGHTS, location, message)
        # A rule without names is about every object (rbac/v1, PolicyRule).
        if not trees.items(rule, "resourceNames"):
            resources = ", ".join(each.text for each in trees.leaves(trees.at(rule, "resources")))
            message = f"{role} has no resourceNames: it grants access to all {resources}"
            yield found_at(rules.MIGRATE_RIGHTS, location, message)


def subjects(binding: Document) -> set[tuple[str, str]]:
    """Return namespace and name of the accounts that a binding is for."""
    found = set()
    for subject in trees.items(binding.tree, "subjects"):
        if text(subject, "kind") == "ServiceAccount":
            # Kubernetes demands a namespace here; kustomize fills it in, and so do we.
            namespace = text(subject, "namespace") or binding.namespace
            found.add((namespace, text(subject, "name")))
    return found


def _suspended(cluster: ClusterObjects, gated: Iterable[Target]) -> Iterator[Result]:
    """Name targets whose `suspend` is in Git, so that Flux sets it back (server-side apply)."""
    known = cluster.gated
    for target in gated:
        found = known.get((target.kind, target.namespace, target.name))
        row = target.row
        if found is None or row is None:
            # A kind that is not in the table has no field that could be in Git.
            continue
        held = leaf(found.tree, *row.field)
        if held is None or not isinstance(held.value, bool):
            continue
        does, advice = "opens", "the file that is written has no such line"
        if held.value:
            does, advice = "closes", "remove the line"
        message = (
            f"{target} has `suspend: {held.text}` in Git, which {does} it whenever its parent "
            f"reconciles; {advice}"
        )
        yield found_at(rules.MIGRATE_SUSPEND, held.location, message)


def unused(
    repository: Repository,
    used: frozenset[str],
    names: frozenset[str],
) -> Iterator[Result]:
    """Yield files that no cluster has, with a CronJob that opens or closes, or a patch of one."""
    for path in sorted(repository.contents):
        # JSON here is dashboards and the like, and no manifests.
        if path in used or path.endswith(".json"):
            continue
        # Reading is dear: what has no such word in it holds no CronJob.
        if b"CronJob" not in repository.contents[path]:
            continue
        for found in repository.documents(path):
            if jobs.is_one(found):
                message = (
                    f"{found} is not applied to any cluster that was found, so it is in no "
                    f"policy; {ADVICE}"
                )
                yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, found.location, message)
            elif found.kind == "CronJob" and found.name in names and path not in repository.named:
                message = (
                    f"the patch of {found.name} is in no kustomization of the repository, "
                    "so it has no effect"
                )
                yield found_at(rules.MIGRATE_PATCH_UNUSED, found.location, message)


def unreadable(repository: Repository) -> Iterator[Result]:
    """Yield files that are no YAML and look as if they held such CronJobs."""
    for location, why in repository.unreadable.items():
        content = repository.contents[location.file]
        # Files of templates are no YAML, and there are many.
        if b"CronJob" not in content:
            continue
        if heuristics.mentions(content.decode(errors="replace")):
            message = f"is not valid YAML, so windows in it are not found: {why}"
            yield found_at(rules.MIGRATE_UNSUPPORTED, location, message)

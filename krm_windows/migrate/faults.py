"""What is wrong with a hand-written set-up, apart from its times: rights, images, self-locks, `suspend` in Git."""

import re
from collections.abc import Iterable, Iterator

from krm_windows import gateable, rules
from krm_windows.migrate import jobs, shapes, trees
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gated, Gating, targets
from krm_windows.migrate.jobs import Job
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.sites import Part, Site
from krm_windows.migrate.trees import Document, leaf, text
from krm_windows.results import Result

_PINNED = re.compile(r".*(?::(?!latest$)[\w][\w.-]*|@sha256:[0-9a-f]{64})\Z")
# Images that cannot be pulled any more, or that speak to an API that Flux does not serve any more.
_DEAD = (
    (
        re.compile(r"(?:docker\.io/)?bitnami/"),
        "Bitnami took its images from Docker Hub in September 2025",
    ),
    (
        re.compile(r"(?:k8s\.gcr\.io|gcr\.io/google[-_]containers)/"),
        "that registry is frozen since April 2023",
    ),
    (
        re.compile(r"(?:[^/]*/)*flux-cli:v0\."),
        "it knows v1beta2 of the Kustomization at most, and Flux serves v1 only",
    ),
)
ADVICE = "`--clusters` says where clusters lie"
_NEEDED = frozenset({"get", "patch"})


def check(gating: Gating) -> Iterator[Result]:
    """Yield what is wrong on one cluster."""
    gated = {
        target
        for job in gating.jobs
        for action in job.actions
        for target in targets(action, gating.site)
    }
    for part in gating.site.parts:
        yield from _self_lock(part, gating, gated)
    for job in gating.jobs:
        yield from _images(job)
        yield from _rights(job, gating.site)
    yield from _suspended(gating.site, gated)


def _self_lock(part: Part, gating: Gating, gated: Iterable[Gated]) -> Iterator[Result]:
    flux = {target.name: target for target in gated if target.kind == "Kustomization"}
    by, last = part.deliverer, part.path.rpartition("/")[2]
    for job in gating.jobs:
        closes = any(action.suspends for action in job.actions)
        if not closes or not any(job.document is each for each in part.objects):
            continue
        if by and by.name in flux and flux[by.name].namespace == by.namespace:
            message = f"{job.name} suspends {by}, which applies it: while closed, an edit of the times has to wait"
            yield found_at(rules.MIGRATE_SELF_LOCK, job.place, message)
        elif by is None and last in flux:
            message = (
                f"{job.name} suspends {flux[last]}, and is applied from {part.path}: if this Kustomization applies "
                "that, an edit of the times has to wait while closed"
            )
            yield found_at(rules.MIGRATE_SELF_LOCK, job.place, message)


def _images(job: Job) -> Iterator[Result]:
    for container in jobs.containers(job.document):
        image = leaf(container, "image")
        if image is None:
            continue
        dead = next((why for pattern, why in _DEAD if pattern.match(image.text)), None)
        if dead:
            yield found_at(
                rules.MIGRATE_IMAGE, image.place, f"{job.name} runs on {image.text}: {dead}"
            )
        elif not _PINNED.fullmatch(image.text):
            message = f"{job.name} runs on {image.text}, which may be another image tomorrow"
            yield found_at(rules.MIGRATE_IMAGE, image.place, message)


def _rights(job: Job, site: Site) -> Iterator[Result]:
    account = (job.namespace, jobs.account(job.document))
    for binding in site.objects:
        if binding.kind not in ("ClusterRoleBinding", "RoleBinding") or account not in subjects(
            binding
        ):
            continue
        wide = binding.kind == "ClusterRoleBinding"
        if wide:
            message = f"{account[1]} has its rights in every namespace, by {binding}"
            yield found_at(rules.MIGRATE_RIGHTS, binding.place, message)
        role = (text(binding.tree, "roleRef", "kind"), text(binding.tree, "roleRef", "name"))
        yield from _excess(
            account[1],
            binding,
            next((each for each in site.objects if (each.kind, each.name) == role), None),
        )


def _excess(account: str, binding: Document, role: Document | None) -> Iterator[Result]:
    name = text(binding.tree, "roleRef", "name")
    if role is None:
        if name in ("cluster-admin", "admin", "edit"):
            yield found_at(rules.MIGRATE_RIGHTS, binding.place, f"{account} has the role {name}")
        return
    for rule in trees.items(role.tree, "rules"):
        verbs = {each.text for each in trees.leaves(trees.at(rule, "verbs") or [])} - _NEEDED
        place = next(iter([each.place for each in trees.leaves(rule)]), role.place)
        if verbs:
            yield found_at(
                rules.MIGRATE_RIGHTS,
                place,
                f"{role} grants {', '.join(sorted(verbs))}, which no window needs",
            )
        if not trees.items(rule, "resourceNames"):
            resources = ", ".join(
                each.text for each in trees.leaves(trees.at(rule, "resources") or [])
            )
            yield found_at(
                rules.MIGRATE_RIGHTS,
                place,
                f"{role} names no objects: it grants every one of {resources}",
            )


def subjects(binding: Document) -> set[tuple[str, str]]:
    """Return namespace and name of the accounts that a binding is for."""
    return {
        (text(subject, "namespace") or binding.namespace, text(subject, "name"))
        for subject in trees.items(binding.tree, "subjects")
        if text(subject, "kind") == "ServiceAccount"
    }


def _suspended(site: Site, gated: Iterable[Gated]) -> Iterator[Result]:
    known = site.gated
    for target in sorted(set(gated)):
        found = known.get((target.kind, target.namespace, target.name))
        row = gateable.find(target.kind)
        held = leaf(found.tree, *row.field) if found and row else None
        if held and isinstance(held.value, bool):
            does = "closes" if held.value else "opens"
            message = f"{target} says `suspend: {held.text}` in Git, which {does} it whenever its parent reconciles"
            yield found_at(rules.MIGRATE_SUSPEND, held.place, f"{message}; remove the line")


def unused(repository: Repository, used: frozenset[str], names: frozenset[str]) -> Iterator[Result]:
    """Yield files with a CronJob that opens or closes that no cluster has, or with a patch of one that is not used."""
    for path in sorted(repository.contents):
        if path in used or path.endswith(".json") or b"CronJob" not in repository.contents[path]:
            continue
        for found in repository.documents(path):
            if jobs.is_one(found):
                message = f"{found} is applied to no cluster that was found, so no policy has it"
                yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, found.place, f"{message}; {ADVICE}")
            elif found.kind == "CronJob" and found.name in names and path not in repository.named:
                message = f"the patch of {found.name} is in no kustomization of the repository, so it has no effect"
                yield found_at(rules.MIGRATE_PATCH_UNUSED, found.place, message)


def unreadable(repository: Repository) -> Iterator[Result]:
    """Yield files that are no YAML and look as if they held such CronJobs."""
    for place, why in repository.unreadable.items():
        content = repository.contents[place.file]
        if b"CronJob" in content and shapes.mentions(content.decode(errors="replace")):
            yield found_at(
                rules.MIGRATE_UNREAD, place, f"is no YAML, so windows in it are not seen: {why}"
            )

"""What goes when policies take over: CronJobs, and the accounts and rights that only they use."""

from collections.abc import Collection, Iterator

from krm_windows.migrate import faults, jobs
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.trees import Document, Tree, text

_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
# A ClusterRole that others bind, too, is not among the unused.
_ROLES = ("Role", "ClusterRole")
# The second is the old name of the first.
_ACCOUNT_FIELDS = ("serviceAccountName", "serviceAccount")


def of_cluster(gating: Gating, used_elsewhere: Collection[str]) -> Iterator[Document]:
    """Yield what goes out of a cluster; `used_elsewhere` are names of accounts that stay."""
    objects = list(gating.cluster.objects)
    accounts: set[tuple[str, str]] = set()
    for job in gating.jobs:
        yield job.document
        name = jobs.account(job.document)
        if name not in used_elsewhere:
            accounts.add((job.namespace, name))
    for each in objects:
        if each.kind == "ServiceAccount" and (each.namespace, each.name) in accounts:
            yield each
    yield from _rights(objects, accounts)


def _rights(objects: list[Document], accounts: set[tuple[str, str]]) -> Iterator[Document]:
    """Yield the bindings that are for some accounts only, and the roles that only those use."""
    unused: set[tuple[str, str]] = set()
    used: set[tuple[str, str]] = set()
    for each in objects:
        if each.kind not in _BINDINGS:
            continue
        subjects = faults.subjects(each)
        role = (text(each.tree, "roleRef", "kind"), text(each.tree, "roleRef", "name"))
        # A binding of several accounts goes only if all of them do.
        if subjects and subjects <= accounts:
            yield each
            unused.add(role)
        else:
            used.add(role)
    for each in objects:
        if each.kind in _ROLES and (each.kind, each.name) in unused - used:
            yield each


def accounts_of_others(repository: Repository, own: Collection[Document]) -> frozenset[str]:
    """Return the names of the accounts that something other than some CronJobs runs as.

    The namespace does not matter: kustomize may set it anywhere.
    """
    locations = {document.location for document in own}
    # Any Pod that names no account runs as this one.
    found = {"default"}
    for path, content in repository.contents.items():
        # To look for the word is much cheaper than to read every file.
        if b"serviceAccount" not in content:
            continue
        for document in repository.documents(path):
            if document.location not in locations and not jobs.is_one(document):
                found.update(_accounts(document.tree))
    return frozenset(found)


def _accounts(tree: Tree) -> Iterator[str]:
    if isinstance(tree, dict):
        for key in _ACCOUNT_FIELDS:
            if key in tree:
                yield text(tree, key)
        for entry in tree.values():
            yield from _accounts(entry)
    elif isinstance(tree, list):
        for entry in tree:
            yield from _accounts(entry)

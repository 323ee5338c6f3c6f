"""Which of a cluster's sources are this repository.

Only those are followed into it, from the directory that each is. A source is this repository where
the object that syncs the cluster says so (`gotk-sync.yaml` of `flux bootstrap`, or a FluxInstance
of the Flux Operator), where it has the address of one that is, or where somebody says so
(`--source`). Any other is another repository: its `path` means a directory there, whatever is at
that path here.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from posixpath import join, normpath

from krm_windows.flux.model import Identity, Object, ObjectIdentity, reference
from krm_windows.gateable import HELM, KUSTOMIZE, SOURCE
from krm_windows.krm import InputError

# `flux bootstrap` and the operator name the source of a cluster's own directory like their
# namespace.
NAME = "flux-system"
OPERATOR = "fluxcd.controlplane.io"
# What source-controller checks out where `spec.ref` says nothing.
_DEFAULT_BRANCH = "master"
_BRANCHES = "refs/heads/"
# `https://` or `ssh://`, and the user of `git@github.com`.
_SCHEME = re.compile(r"[a-z+]+://")
_USER = re.compile(r"[^@/]*@")


@dataclass(frozen=True, slots=True)
class Given:
    """What `--source` says.

    The sources of this name, in one namespace or in any (`""`), are `directory`.
    """

    name: str
    namespace: str
    directory: str

    @classmethod
    def parse(cls, text: str) -> "Given":
        """Read `NAME=DIR` or `NAMESPACE/NAME=DIR`; raises InputError.

        DIR is relative to the repository.
        """
        source, equals, directory = text.partition("=")
        namespace, _, name = source.rpartition("/")
        is_complete = bool(equals and name and directory)
        if not is_complete or "/" in namespace or directory.startswith("/"):
            raise InputError(f"{text!r} must be a source such as flux-system=. or apps/team=deploy")
        return cls(name, namespace, below("", directory))

    def __str__(self) -> str:
        """Write it as `--source` takes it."""
        named = self.name
        if self.namespace:
            named = f"{self.namespace}/{self.name}"
        return f"{named}={self.directory}"

    def means(self, source: ObjectIdentity) -> bool:
        """Whether it is about a source."""
        return self.name == source.name and self.namespace in ("", source.namespace)


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of the repository before anything in it is read.

    That is `--source`, the addresses of Git's remotes, and the directories of all clusters, also of
    those that are not followed.
    """

    given: tuple[Given, ...] = ()
    addresses: frozenset[str] = frozenset()
    clusters: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        given: Iterable[Given],
        addresses: Iterable[str],
    ) -> "Hints":
        """Take addresses as they are written."""
        return cls(tuple(given), frozenset(map(normal, addresses)))


@dataclass(frozen=True, slots=True)
class Sync:
    """What syncs a cluster.

    The object that says so, its source, and which directory of this repository that is.
    """

    item: Object
    source: ObjectIdentity
    directory: str
    address: str = ""
    branch: str = ""


@dataclass
class Sources:
    """The sources of one cluster, whose directory is `root`, as they become known.

    `known` are the objects of the cluster. `addresses` are those of this repository, which all
    clusters share. `assumed` is set where a source was taken for this repository by its name alone.
    """

    root: str
    known: Mapping[Identity, Object]
    given: tuple[Given, ...] = ()
    addresses: set[str] = field(default_factory=set)
    sync: Sync | None = None
    assumed: bool = False

    def learn(self, items: Iterable[Object], namespace: str) -> None:
        """Look among objects that the cluster applies for what syncs it.

        `namespace` is that of those without one.
        """
        for item in items:
            # The first that says so: a cluster is synced once.
            if self.sync is None:
                self.sync = synced(item, namespace, self.root)
        # All clusters share the addresses: what is here for one is here for the others.
        if self.sync is not None:
            self.addresses |= {self.sync.address, self._declared(self.sync.source)} - {""}

    def home(self, source: ObjectIdentity) -> str | None:
        """Return the directory of this repository that a source is, `.` for all of it.

        It is None where the source is another repository.
        """
        # What a person says wins over what is found.
        for each in self.given:
            if each.means(source):
                return each.directory
        if self.sync is None:
            return self._assumed_home(source)
        if source == self.sync.source or self._is_here(source):
            return self.sync.directory
        return None

    def _assumed_home(self, source: ObjectIdentity) -> str | None:
        """Return the directory that a source is where nothing says what syncs the cluster."""
        if self._is_here(source):
            return "."
        # Nothing says so but the name that `flux bootstrap` gives, so the user is warned.
        if source.path == f"{NAME}/{NAME}" and not self._is_elsewhere(source):
            self.assumed = True
            return "."
        return None

    def _declared(self, source: Identity) -> str:
        """Return the address of a source, empty where it is declared nowhere."""
        declared = self.known.get(source)
        if declared is None:
            return ""
        return normal(declared.text("spec", "url"))

    def _is_here(self, source: Identity) -> bool:
        """Whether a source has an address of this repository.

        It is no other branch than the cluster's own, either. A tag or a range of tags is taken from
        the same branch some day.
        """
        if self._declared(source) not in self.addresses:
            return False
        return not self._is_other_branch(source)

    def is_elsewhere(self, source: ObjectIdentity | None) -> bool:
        """Whether a source is known to be another repository, or another branch of this one."""
        # An artifact of another name may be a directory of this repository.
        if source is None or source.kind != "GitRepository":
            return False
        return self._is_elsewhere(source) or self._is_other_branch(source)

    def _is_elsewhere(self, source: Identity) -> bool:
        """Whether a source has an address that is not this repository's.

        That is not known where nothing says this repository's address.
        """
        address = self._declared(source)
        return bool(address) and bool(self.addresses) and address not in self.addresses

    def _is_other_branch(self, source: Identity) -> bool:
        """Whether a source and the cluster's own are known to be different branches."""
        if self.sync is None:
            return False
        own = self.sync.branch or _branch(self.known.get(self.sync.source))
        other = _branch(self.known.get(source))
        # A branch that is not known is taken for the same.
        return bool(own) and bool(other) and own != other

    def is_certain(self, source: ObjectIdentity) -> bool:
        """Whether a source is certainly what is checked out: it is given, or syncs the cluster."""
        named = [self.sync.source.path] if self.sync else []
        return source.path in (f"{NAME}/{NAME}", *named) or any(x.means(source) for x in self.given)

    def why_foreign(self, source: ObjectIdentity) -> str:
        """Say why a source is not followed."""
        named = ", ".join(filter(None, (str(source), self._declared(source))))
        if self.is_elsewhere(source):
            return f"{named} is another repository, or another branch of this one"
        return (
            f"it is not known whether {named} is this repository; if it is, or a directory of it, "
            f"add `--source {source.path}=.`, or the directory in place of the dot"
        )


def below(directory: str, path: str) -> str:
    """Join a path to a directory as Flux does.

    `..` leads nowhere above (cyphar/filepath-securejoin).
    """
    # From a root that nothing is above, `..` cannot lead out.
    inside = normpath("/" + path).lstrip("/")
    return normpath(join(directory, inside) or ".")


def inside(path: str, directory: str) -> str | None:
    """Return a path as seen from a directory, None where it is not in there."""
    if directory == ".":
        return path
    if path == directory:
        return "."
    # With the slash: `apps-old` is not in `apps`.
    prefix = f"{directory}/"
    if path.startswith(prefix):
        return path.removeprefix(prefix)
    return None


def synced(item: Object, namespace: str, root: str) -> Sync | None:
    """Return what an object says of the sync of the cluster whose directory is `root`.

    It is a Kustomization that applies this directory, a FluxInstance, or the HelmRelease of one.
    None where the object is not about it. `namespace` is that of an object without one.
    """
    home = item.namespace or namespace
    if (item.group, item.kind) == (KUSTOMIZE, "Kustomization"):
        return _of_kustomization(item, home, root)
    path = instance(item)
    if path is None:
        return None
    kind = item.text(*path, "kind")
    directory = _offset(kind, root, item.text(*path, "path"))
    if not kind or directory is None:
        return None
    # The operator names the source like the namespace where `sync.name` says nothing.
    source = ObjectIdentity(SOURCE, kind, home, item.text(*path, "name") or home)
    _, _, branch = item.text(*path, "ref").partition(_BRANCHES)
    return Sync(item, source, directory, normal(item.text(*path, "url")), branch)


def _of_kustomization(
    item: Object,
    namespace: str,
    root: str,
) -> Sync | None:
    """Read a Kustomization.

    Of an artifact, or of everything, it is taken for the sync only by its name.
    """
    source = reference(item, namespace, "spec", "sourceRef")
    if source is None:
        return None
    path = item.text("spec", "path")
    directory = None
    # `flux-system/flux-system`, as `flux bootstrap` names it.
    if item.name == namespace:
        directory = _offset(source.kind, root, path)
    # `.` is below everything, and so says nothing of this cluster.
    elif below("", path) == root != ".":
        directory = "."
    if directory is None:
        return None
    return Sync(item, source, directory)


def instance(item: Object) -> tuple[str, ...] | None:
    """Return the path of the sync of a FluxInstance in an object, None where it has none.

    The HelmRelease is one of the chart `flux-instance`, which takes the instance as its values.
    """
    match (item.group, item.kind):
        case (group, "FluxInstance") if group == OPERATOR:
            return ("spec", "sync")
        case (group, "HelmRelease") if group == HELM:
            return ("spec", "values", "instance", "sync")
    return None


def _offset(kind: str, root: str, path: str) -> str | None:
    """Return the directory that a source is, where the cluster's own directory is its `path`.

    None where it is not. An artifact may hold a part of the repository only (`flux push artifact
    --path`), Git has all of it.
    """
    inside = below("", path)
    if inside == root:
        return "."
    if kind != "GitRepository" and inside != "." and root.endswith(f"/{inside}"):
        return root.removesuffix(f"/{inside}")
    return None


def _branch(declared: Object | None) -> str:
    """Return the branch that a declared source is.

    It is empty where the source is none of Git's, or a tag or commit says what it is.
    """
    if declared is None or declared.kind != "GitRepository":
        return ""
    # Any of these outranks the branch (source-controller, GitRepositoryRef).
    if any(declared.text("spec", "ref", key) for key in ("tag", "semver", "commit")):
        return ""
    name = declared.text("spec", "ref", "name")
    if name:
        # `refs/tags/v1` is no branch.
        return name.partition(_BRANCHES)[2]
    return declared.text("spec", "ref", "branch") or _DEFAULT_BRANCH


def normal(address: str) -> str:
    """Return an address without scheme, user and suffix, so that one repository has one."""
    place = address
    scheme = _SCHEME.match(place)
    if scheme:
        place = place[scheme.end() :]
    user = _USER.match(place)
    if user:
        place = place[user.end() :]
    # `git@github.com:org/fleet.git` and `ssh://git@github.com/org/fleet` are one.
    return place.rstrip("/").removesuffix(".git").replace(":", "/").lower()

"""Which changes a policy gates: those that reach what it gates in a repository, or named paths."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname

from krm_windows import rules
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.flux import Cluster, Kustomization, Survey
from krm_windows.flux.model import Notice
from krm_windows.patterns import glob

# A directory that all paths are below.
_ROOT = ""


@dataclass(frozen=True, slots=True)
class Reach:
    """Paths of a repository: files, all below some directories, and what some globs match.

    `*` in a glob matches any characters, `/` included.
    """

    files: frozenset[str] = frozenset()
    directories: frozenset[str] = frozenset()
    globs: tuple[str, ...] = ()

    def has(self, path: str) -> bool:
        """Whether a path, which need not be there any more or yet, is among them."""
        if path in self.files:
            return True
        if any(glob.matches(each, path) for each in self.globs):
            return True
        # The root, which is above all.
        if _ROOT in self.directories:
            return True
        return not self.directories.isdisjoint(_above(path))

    def with_paths(self, other: "Reach") -> "Reach":
        """Return it with the files and directories of another one."""
        files = self.files | other.files
        directories = self.directories | other.directories
        return Reach(files, directories, self.globs)

    def moved(self, directory: str) -> "Reach":
        """Return it as it is where its paths are below a directory, `.` being the root."""
        if directory == ".":
            return self
        files = {f"{directory}/{file}" for file in self.files}
        directories = {f"{directory}/{each}".rstrip("/") for each in self.directories}
        return Reach(frozenset(files), frozenset(directories), self.globs)

    def touched(self, paths: Iterable[str]) -> bool:
        """Whether any of some paths is among them."""
        return any(self.has(path) for path in paths)


def of_policies(survey: Survey, named: Collection[str]) -> Mapping[tuple[str, str], Reach]:
    """Return what each of some policies gates, by its `namespace/name` and a cluster's name.

    A policy is there for those clusters of which it gates anything.
    """
    found: dict[tuple[str, str], Reach] = {}
    failed = [each for each in survey.notices if each.rule is rules.BUILD_FAILED]
    for cluster in survey.clusters:
        for policy, reach in _of_cluster(cluster, failed):
            if policy not in named:
                continue
            key = policy, cluster.name
            # Several Kustomizations of a cluster may have the same policy.
            before = found.get(key, Reach())
            found[key] = before.with_paths(reach)
    return found


def _of_cluster(cluster: Cluster, failed: Sequence[Notice]) -> Iterator[tuple[str, Reach]]:
    """Yield policies of a cluster, each with some paths that it gates.

    Where it has `failed` to be built, nobody knows which files it reads: it may be any.
    """
    gated = GatedCluster(cluster)
    for kustomization in cluster.kustomizations.values():
        is_failed = any(_is_about(each, kustomization) for each in failed)
        # Its source is another repository: a path such as `./` is none of this one.
        if not kustomization.files and not kustomization.complete and not is_failed:
            continue
        # A file that is new in a directory of which files are read may be read, too.
        directories = {dirname(file) for file in kustomization.files}
        directories.add(kustomization.path)
        # Of one whose path does not exist that path is all.
        if is_failed and kustomization.files:
            directories.add(_ROOT)
        whole = Reach(kustomization.files, frozenset(map(_named, directories)))
        # Those that suspend it, or the source that it takes its files from.
        policies = gated.holds(kustomization)
        for policy in policies:
            yield policy, whole
        for item in kustomization.objects:
            if _is_followed(cluster, item.identity):
                continue
            # A HelmRelease, say, that is gated itself.
            reach = whole
            # kustomize may not say in which file it is.
            if item.file:
                reach = Reach(frozenset({item.file}))
            for policy in gated.gates(item) - policies:
                yield policy, reach


def _is_about(notice: Notice, kustomization: Kustomization) -> bool:
    """Whether a notice is about a Kustomization, or a file in what it applies."""
    if notice.about is not None:
        return notice.about.identity == kustomization.identity
    below = notice.file == kustomization.path or notice.file.startswith(f"{kustomization.path}/")
    return below or notice.file in kustomization.files


def _is_followed(cluster: Cluster, identity: tuple[str, str, str, str]) -> bool:
    """Whether an object is a Kustomization of the cluster: what it applies is what waits."""
    _, kind, namespace, name = identity
    return kind == "Kustomization" and f"{namespace}/{name}" in cluster.kustomizations


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path."""
    above = dirname(path)
    while above:
        yield above
        above = dirname(above)


def _named(directory: str) -> str:
    """Return a directory as the paths of a forge have it: the root is empty."""
    plain = directory.removeprefix("./").strip("/")
    if plain == ".":
        return ""
    return plain

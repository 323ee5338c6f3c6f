"""The clusters of a repository, each with its policies.

They are put together from what `follow` found of each, with what there is to say of all.
"""

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from posixpath import dirname

from krm_windows import rules
from krm_windows.flux import cluster_directories, layers, policies
from krm_windows.flux.builds import Builds
from krm_windows.flux.closure import kustomization_file, window_policies
from krm_windows.flux.follow import ROOT, FollowedCluster, follow
from krm_windows.flux.model import Cluster, Finding, Gate, Kustomization, Object
from krm_windows.flux.policies import WrittenPolicy
from krm_windows.flux.sources import Hints, below
from krm_windows.gateable import GROUP
from krm_windows.system.checkout import Checkout


@dataclass(frozen=True)
class Survey:
    """All that a repository comes to; `notices` are what could not be followed or built."""

    tree: Checkout
    clusters: tuple[Cluster, ...]
    notices: tuple[Finding, ...]

    @cached_property
    def read(self) -> frozenset[str]:
        """The files that were read for the clusters."""
        found: set[str] = set()
        for cluster in self.clusters:
            found = found.union(*(each.files for each in cluster.kustomizations.values()))
        return frozenset(found)

    @cached_property
    def _flux(self) -> list[Object]:
        """The objects of Flux in other files."""
        return cluster_directories.unread(self.tree, self.read)

    @cached_property
    def unread(self) -> tuple[Object, ...]:
        """The Kustomizations in other files, but for those that apply a cluster's directory."""
        roots = {cluster.root for cluster in self.clusters}
        found = cluster_directories.kustomizations(self._flux)
        return tuple(each for each in found if below("", each.text("spec", "path")) not in roots)

    @cached_property
    def unlisted(self) -> dict[str, str]:
        """The directories that may be of other clusters, each with a file that says so."""
        applied: set[str] = set()
        for cluster in self.clusters:
            for own in cluster.kustomizations.values():
                # What one that is not followed leads to may be anywhere around.
                applied.add(own.path if own.is_followed else own.path.partition("/")[0])
        return cluster_directories.unlisted(self.tree, self._flux, self.read, applied)


def survey(
    tree: Checkout,
    clusters: Sequence[str],
    builds: Builds,
    hints: Hints | None = None,
) -> Survey:
    """Follow the clusters whose directories are given, and put together what is known of all.

    `hints` say which sources are this repository, where nothing in it does.
    """
    known = hints or Hints()
    states = follow(tree, clusters, builds, known)
    for state in states:
        layers.examine(builds, state)
    read: dict[tuple[str, bytes], WrittenPolicy] = {}
    within = [list(_within(state, read)) for state in states]
    # The directories of all clusters there are, not only of those that are followed.
    roots = {*clusters, *known.clusters}
    loose = _unreferenced(tree, states, within, roots)
    found = []
    for state, own in zip(states, within, strict=True):
        found.append(_cluster(state, own, loose))
    notices = list(_assumed(tree, states))
    for state in states:
        notices += state.notices
    for each in (*read.values(), *loose):
        if each.loaded.policy is None:
            notices.append(each.faulty())
    notices += _of_builds(states)
    # A dict keeps their order, and each once: clusters share most of what is said.
    distinct = tuple(dict.fromkeys(notices))
    return Survey(tree, tuple(found), distinct)


def _of_builds(states: Sequence[FollowedCluster]) -> Iterator[Finding]:
    """Yield what is said of the builds of clusters, and of a root of which nothing was built."""
    for state in states:
        root, *_ = state.built.values()
        said = {notice.rule for notice in root.notices}
        if not root.objects and said == {rules.NOT_FOLLOWED}:
            message = f"nothing of {state.root} was built, so this cluster was not checked"
            yield replace(root.notices[-1], rule=rules.CLUSTER_UNBUILT, message=message)
        for build in state.built.values():
            yield from build.notices


def _assumed(tree: Checkout, states: Sequence[FollowedCluster]) -> Iterator[Finding]:
    """Say once where nothing but a name says which source this directory is."""
    # Where something syncs the cluster, that says it.
    found = [state for state in states if state.sources.assumed and state.sources.sync is None]
    if not found:
        return
    clusters = ""
    if len(found) > 1:
        clusters = f" (in {len(found)} clusters)"
    message = (
        f"the Flux source of this directory is unknown{clusters}: {ROOT} is assumed, as created "
        f"by `flux bootstrap` and the Flux Operator; confirm it with `--source {ROOT}=.`"
    )
    root = found[0].root
    file = kustomization_file(tree, root) or next(tree.files(root), root)
    yield Finding(rules.SOURCE_ASSUMED, message, file=file)


def _within(
    state: FollowedCluster, read: dict[tuple[str, bytes], WrittenPolicy]
) -> Iterator[tuple[WrittenPolicy, Kustomization]]:
    """Yield the policies in what a cluster builds.

    Each comes with the Kustomization that delivers it.
    """
    for key, build in state.built.items():
        for file, item in build.policies:
            # A policy that many clusters share is read once, if it is the same in each.
            known = (file, item.span)
            if known not in read:
                read[known] = WrittenPolicy.of(file, item)
            yield read[known], state.found[key]


def _unreferenced(
    tree: Checkout,
    states: Sequence[FollowedCluster],
    within: Sequence[Sequence[tuple[WrittenPolicy, Kustomization]]],
    roots: Collection[str],
) -> list[WrittenPolicy]:
    """Return the policies in files that lead to no cluster, neither as they are nor rendered.

    One beside a kustomization is a part of that, and one in the directory of another cluster is
    that cluster's.
    """
    # A policy that some build leads to is no loose one.
    named: set[str] = set()
    for own, state in zip(within, states, strict=True):
        named.update(each.name for each, _ in own)
        named.update(gate.policy for gate in policies.rendered(state.found.values()))
    return [each for each in _in_files(tree, roots) if each.name not in named]


def _in_files(tree: Checkout, roots: Collection[str]) -> Iterator[WrittenPolicy]:
    """Yield the policies in files that no kustomization, and no other cluster, may have."""
    for path in tree.manifests():
        content = tree.read(path) or b""
        if GROUP.encode() not in content or _is_taken(tree, path, roots):
            continue
        for item in window_policies(content):
            yield WrittenPolicy.of(path, item)


def _is_taken(tree: Checkout, path: str, roots: Collection[str]) -> bool:
    above = dirname(path)
    if kustomization_file(tree, above) is not None:
        return True
    for root in roots:
        # Clusters are side by side, so whatever is beside one is another's. A policy above them all
        # is for each of them.
        parent = dirname(root)
        is_beside = bool(parent) and above.startswith(f"{parent}/")
        if above == root or is_beside or above.startswith(f"{root}/"):
            return True
    return False


def _cluster(
    state: FollowedCluster,
    own: Sequence[tuple[WrittenPolicy, Kustomization]],
    loose: Sequence[WrittenPolicy],
) -> Cluster:
    """Return a cluster with its policies.

    Rendered ones come first, then those among plugins, then those in files.
    """
    gates: list[Gate | None] = [*policies.rendered(state.found.values())]
    named = {gate.policy for gate in gates if gate}
    for each, kustomization in own:
        # What was rendered from a policy is nearer to the cluster than the policy itself.
        if each.name in named:
            continue
        named.add(each.name)
        build_for = each.loaded.build_for
        gates.append(each.gate(build_for, kustomization.objects, kustomization.key))
    every = list(state.known.values())
    for each in loose:
        name = _named(state.root, each.loaded.clusters)
        # One that names no clusters is for all.
        if name is not None or not each.loaded.clusters:
            gates.append(each.gate(name, every, None))
    # Those that are wrong gate nothing that could be known.
    return Cluster(state.name, state.root, state.found, tuple(filter(None, gates)))


def _named(root: str, clusters: Container[str]) -> str | None:
    """Return the innermost part of a cluster's directory that names one of some clusters."""
    for part in reversed(root.split("/")):
        if part in clusters:
            return part
    return None

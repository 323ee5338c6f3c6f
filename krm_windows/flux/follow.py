"""Follow each cluster's directory through its Flux Kustomizations.

They are followed as far as they lead into this repository.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from posixpath import basename

from krm_windows import rules
from krm_windows.flux import artifacts, cluster_directories, instances, substitution
from krm_windows.flux.artifact_files import Artifact
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.closure import joined
from krm_windows.flux.model import (
    Finding,
    Identity,
    Kustomization,
    Object,
    ObjectIdentity,
)
from krm_windows.flux.objects import substituted
from krm_windows.flux.sources import NAME, OPERATOR, Hints, Sources, below
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import InputError, Value
from krm_windows.system.checkout import Checkout

# `flux bootstrap` and the operator name what delivers a cluster's own directory like their
# namespace.
ROOT = f"{NAME}/{NAME}"
# What delivers it where another directory has that name, and nothing says its own.
UNNAMED = f"{NAME}/"


@dataclass
class FollowedCluster:
    """A cluster while it is followed.

    `waiting` are the Kustomizations that are not built yet; of some nothing may ever say which
    directory of this repository they apply. `asked` is what was asked for to build each of `built`.
    `by_hand` are those that apply its directory and lie in it, which it may leave out of a build.
    """

    name: str
    root: str
    sources: Sources
    found: dict[str, Kustomization] = field(default_factory=dict)
    built: dict[str, Build] = field(default_factory=dict)
    asked: dict[str, Request] = field(default_factory=dict)
    waiting: list[Kustomization] = field(default_factory=list)
    known: dict[Identity, Object] = field(default_factory=dict)
    notices: list[Finding] = field(default_factory=list)
    by_hand: tuple[Object, ...] = ()


def follow(
    tree: Checkout,
    clusters: Sequence[str],
    builds: Builds,
    hints: Hints,
) -> list[FollowedCluster]:
    """Follow the clusters whose directories are given; what they share is built once.

    `hints` say which sources are this repository, where nothing in it does.
    """
    addresses = set(hints.addresses)
    named = names(clusters)
    # The addresses are one set for all clusters: what one learns, the others know.
    states = [_started(tree, each, named[each], hints, addresses) for each in clusters]
    # What is built may name further directories, so it goes on until nothing new is due.
    while due := list(chain.from_iterable(_due(tree, state) for state in states)):
        builds.build(request for _, _, request in due)
        for state, kustomization, request in due:
            _receive(state, kustomization, request, builds)
    for state in states:
        _give_up(tree, state)
    return states


def names(clusters: Sequence[str]) -> dict[str, str]:
    """Name each cluster by the last part of its directory, or by all of it if that is taken."""
    # `clusters/prod` and `sites/prod` are two: both are named by all of their directories.
    last = Counter(map(basename, clusters))
    found = {}
    for each in clusters:
        found[each] = basename(each)
        if last[found[each]] > 1:
            found[each] = each
    return found


def _started(
    tree: Checkout,
    directory: str,
    name: str,
    hints: Hints,
    addresses: set[str],
) -> FollowedCluster:
    known: dict[Identity, Object] = {}
    sources = Sources(directory, known, hints.given, addresses)
    root = Kustomization(ROOT, None, None, directory)
    return FollowedCluster(
        name,
        directory,
        sources,
        known=known,
        waiting=[root],
        by_hand=cluster_directories.by_hand(tree, directory),
    )


def _due(
    tree: Checkout, state: FollowedCluster
) -> Iterator[tuple[FollowedCluster, Kustomization, Request]]:
    """Take what can be built, first what does not wait for a ConfigMap that another may bring."""
    known = [pair for each in state.waiting if (pair := _located(tree, state, each))]
    # All of them wait: what they wait for comes from nowhere in Git.
    due = [pair for pair in known if not _waits(state, pair[0])] or known
    keys = {each.key for each, _ in due}
    state.waiting = [each for each in state.waiting if each.key not in keys]
    for kustomization, request in due:
        yield state, kustomization, request


def _waits(state: FollowedCluster, kustomization: Kustomization) -> bool:
    """Whether a ConfigMap with variables of a Kustomization is not known yet."""
    if kustomization.own is None:
        return False
    for kind, name in substitution.sources(kustomization.own):
        if kind == "ConfigMap" and _data(state, kustomization, name) is None:
            return True
    return False


def _data(
    state: FollowedCluster,
    kustomization: Kustomization,
    name: str,
) -> Mapping[str, str] | None:
    """Return the data of a ConfigMap beside a Kustomization."""
    found = state.known.get(("", "ConfigMap", kustomization.namespace, name))
    if found is None:
        return None
    data = found.get("data")
    if not isinstance(data, dict):
        return None
    # Numbers are no strings to the API server, which would refuse such data anyhow.
    return {key: str(text) for key, text in data.items()}


def _receive(
    state: FollowedCluster,
    kustomization: Kustomization,
    request: Request,
    builds: Builds,
) -> None:
    """Take in what was built.

    A root is built once more as the Kustomization changes it that applies it.
    """
    made: Sequence[Object] = ()
    if kustomization.own is None:
        # What is built comes first: it says by itself what syncs it.
        items = (*builds.done[request].objects, *state.by_hand)
        state.sources.learn(items, kustomization.namespace)
        made = _made_by_instance(state, builds)
        kustomization = _rooted(kustomization, made, items, state.sources)
        declared: dict[Identity, Object] = {item.identity: item for item in (*made, *items)}
        artifact = _artifact(state.sources, kustomization.source, declared)
        changed = Request.of(request.directory, _changes(kustomization.own), artifact)
        # Built already, if the Kustomization changes nothing of it.
        if changed != request:
            builds.build([changed])
            request = changed
    # With the variables of `postBuild`, which may name further directories.
    build = builds.done[request]
    objects = _substituted(state, kustomization, build)
    arrived = replace(
        kustomization, objects=(*objects, *made), complete=build.complete, files=build.files
    )
    state.built[arrived.key] = build
    state.asked[arrived.key] = request
    _record(state, arrived)


def _record(state: FollowedCluster, kustomization: Kustomization) -> None:
    """Note what a Kustomization applies, and what that leads to."""
    kustomization = _without_sets(state, kustomization)
    state.found[kustomization.key] = kustomization
    # The first one counts where two Kustomizations apply one object.
    for item in kustomization.objects:
        state.known.setdefault(item.identity, item)
    state.sources.learn(kustomization.objects, kustomization.namespace)
    for own in kustomization.objects:
        # kustomize's own kind has the same name and another group.
        if (own.group, own.kind) == (KUSTOMIZE, "Kustomization"):
            _discover(state, own, kustomization)


def _without_sets(state: FollowedCluster, kustomization: Kustomization) -> Kustomization:
    """Say of each ResourceSet that what it makes in the cluster is not known."""
    for item in kustomization.objects:
        if (item.group, item.kind) == (OPERATOR, "ResourceSet"):
            message = "what the Flux Operator makes of it is not followed"
            state.notices.append(Finding(rules.NOT_FOLLOWED, message, about=item))
            kustomization = replace(kustomization, complete=False)
    return kustomization


def _made_by_instance(state: FollowedCluster, builds: Builds) -> Sequence[Object]:
    """Return what the Flux Operator makes of an instance that syncs a cluster."""
    sync = state.sources.sync
    if sync is None or sync.item.kind == "Kustomization":
        return ()
    try:
        return instances.synced(builds.builder, sync)
    except InputError as error:
        message = f"what syncs the cluster is not known in full: {error.message}"
        state.notices.append(Finding(rules.NOT_FOLLOWED, message, about=sync.item))
        return ()


def _rooted(
    root: Kustomization, made: Sequence[Object], items: Iterable[Object], sources: Sources
) -> Kustomization:
    """Return a cluster's root as the Kustomization that applies it.

    Where Git has none, and no instance makes it, it stays what it is. `items` are what it applies.
    """
    if sources.sync is None:
        is_taken = any(item.identity == root.identity for item in items)
        return replace(root, key=UNNAMED) if is_taken else root
    own = next((each for each in made if each.kind == "Kustomization"), sources.sync.item)
    if (own.group, own.kind) != (KUSTOMIZE, "Kustomization"):
        return root
    namespace = own.namespace or root.namespace
    return replace(root, key=f"{namespace}/{own.name}", own=own)


def _substituted(
    state: FollowedCluster,
    kustomization: Kustomization,
    build: Build,
) -> tuple[Object, ...]:
    """Return what was built with the variables of a Kustomization put in."""

    def known(name: str) -> Mapping[str, str] | None:
        return _data(state, kustomization, name)

    if kustomization.own is None:
        return build.objects
    found = substitution.variables(kustomization.own, known)
    if found is None:
        return build.objects
    variables, complete = found
    return tuple(substituted(item, variables, complete=complete) for item in build.objects)


def _discover(state: FollowedCluster, own: Object, parent: Kustomization) -> None:
    """Take in a Kustomization, unless it was discovered before."""
    # Without a namespace it is put into that of its parent (`spec.targetNamespace` aside).
    key = f"{own.namespace or parent.namespace}/{own.name}"
    if key in state.found or any(each.key == key for each in state.waiting):
        return
    path = below("", own.text("spec", "path"))
    state.waiting.append(Kustomization(key, own, parent.key, path))


def _located(
    tree: Checkout, state: FollowedCluster, kustomization: Kustomization
) -> tuple[Kustomization, Request] | None:
    """Return what to build for a Kustomization; None as long as nothing says where it leads."""
    own = kustomization.own
    if own is None:
        # Until something says which source it is of, what holds for any.
        return kustomization, Request(kustomization.path, artifact=Artifact())
    found, source = _origin(state, kustomization) or ("", None)
    artifact = _artifact(state.sources, source, state.known)
    if source is None or not tree.is_directory(found) or _refusal(tree, artifact, found):
        return None
    changes = _changes(own)
    if own.get("spec", "ignoreMissingComponents") is True:
        named = (each for each in own.entries("spec", "components") if isinstance(each, str))
        changes["components"] = [x for x in named if tree.is_directory(joined(found, x))]
    return replace(kustomization, path=found), Request.of(found, changes, artifact)


def _refusal(tree: Checkout, artifact: Artifact, directory: str) -> str | None:
    """Say why a directory is not read; None where it is."""
    return replace(tree, elsewhere=artifact.included).refusal(directory)


def _artifact(
    sources: Sources, source: ObjectIdentity | None, known: Mapping[Identity, Object]
) -> Artifact:
    """Return what a source makes of this repository, as far as it is known."""
    home = None if source is None else sources.home(source)
    return Artifact.of(home or ".", None if source is None else known.get(source))


def _give_up(tree: Checkout, state: FollowedCluster) -> None:
    """Say of each Kustomization that led nowhere why."""
    for kustomization in state.waiting:
        state.found[kustomization.key] = replace(
            kustomization,
            complete=False,
            elsewhere=state.sources.is_elsewhere(kustomization.source),
        )
        state.notices.append(_not_followed(tree, state, kustomization))


def _origin(
    state: FollowedCluster, kustomization: Kustomization
) -> tuple[str, ObjectIdentity] | None:
    """Return the directory of this repository that a Kustomization applies, with its source.

    It is None as long as none is known.
    """
    source = kustomization.source
    path = kustomization.path
    # A variable that nothing in Git gives a value: only the cluster knows.
    if source is None or "${" in path:
        return None
    origins = iter([(source, path)])
    # An artifact is put together of other sources; any other source is one itself.
    if source.kind == artifacts.KIND:
        origins = artifacts.directories(source, path, state.known.values())
    for origin, directory in origins:
        home = state.sources.home(origin)
        if home is not None:
            return below(home, directory), origin
    return None


def _not_followed(
    tree: Checkout,
    state: FollowedCluster,
    kustomization: Kustomization,
) -> Finding:
    """Say why a Kustomization is not followed.

    The reason is its path, or its source, or what puts that together.
    """
    source = kustomization.source
    path = kustomization.path
    own = kustomization.own
    if source is None or "${" in path:
        message = f"its path {path}, or its source, is known only in the cluster"
        return Finding(rules.NOT_FOLLOWED, message, about=own)
    origin = _origin(state, kustomization)
    if origin is None:
        reason = state.sources.why_foreign(source)
        if source.kind == artifacts.KIND:
            reason = f"no directory of this repository is known for {source}"
        message = f"it is not read: {reason}"
        return Finding(
            rules.NOT_FOLLOWED, message, about=own, fact=reason, of=kustomization.identity
        )
    found, repository = origin
    refusal = _refusal(tree, _artifact(state.sources, repository, state.known), found)
    if refusal is not None:
        return Finding(rules.NOT_FOLLOWED, f"its path {path} {refusal}", about=own)
    # An artifact may hold a part of the repository only, and another source may be another branch.
    if source.kind != "GitRepository" or not state.sources.is_certain(source):
        message = (
            f"{found} is not in this checkout, and {source} may be another part or branch; if it "
            f"is a directory of this repository, add `--source {source.path}=DIR`"
        )
        return Finding(rules.NOT_FOLLOWED, message, about=own)
    return Finding(rules.BUILD_FAILED, f"its path {path} does not exist", about=own)


# The fields of a Flux Kustomization that change what is built, and those of a kustomization.
CHANGING = {
    "targetNamespace": "namespace",
    "namePrefix": "namePrefix",
    "nameSuffix": "nameSuffix",
    "patches": "patches",
    "components": "components",
    "images": "images",
}


def _changes(own: Object | None) -> dict[str, Value]:
    """Return what Flux puts into the kustomization that it builds.

    See fluxcd/pkg/kustomize, Generator.
    """
    if own is None:
        return {}
    found: dict[str, Value] = {}
    for field_name, name in CHANGING.items():
        entry = own.get("spec", field_name)
        if entry:
            found[name] = entry
    return found

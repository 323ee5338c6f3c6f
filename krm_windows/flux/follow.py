"""From each cluster's directory through its Flux Kustomizations, as far as they lead into this repository."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from posixpath import basename, dirname

from krm_windows import rules
from krm_windows.flux import artifacts, policies, resourcesets, substitution
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.closure import GROUP, joined, kustomization_file, window_policies
from krm_windows.flux.model import Cluster, Gate, Identity, Kustomization, Notice, Object
from krm_windows.flux.objects import substituted
from krm_windows.flux.policies import Written
from krm_windows.flux.sources import Hints, Sources, below
from krm_windows.flux.substitution import Variables
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import Value
from krm_windows.system.checkout import Checkout

# `flux bootstrap` and the operator name what delivers a cluster's own directory like their namespace.
ROOT = "flux-system/flux-system"


@dataclass(frozen=True)
class Survey:
    """All that a repository comes to; `notices` are what could not be followed or built."""

    tree: Checkout
    clusters: tuple[Cluster, ...]
    notices: tuple[Notice, ...]
    builds: int


@dataclass
class _State:
    """A cluster while it is followed: what is known, and the requests that are due, each with who made it.

    `waiting` are the Kustomizations of which nothing says yet which directory of this repository they apply.
    """

    name: str
    root: str
    sources: Sources
    found: dict[str, Kustomization] = field(default_factory=dict)
    built: dict[str, Build] = field(default_factory=dict)
    due: list[tuple[Kustomization, Request]] = field(default_factory=list)
    waiting: list[Kustomization] = field(default_factory=list)
    known: dict[Identity, Object] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    notices: list[Notice] = field(default_factory=list)


def survey(
    tree: Checkout, clusters: Sequence[str], builds: Builds, hints: Hints | None = None
) -> Survey:
    """Follow the clusters whose directories are given; what they share is built once.

    `hints` say which sources are this repository, where nothing in it does.
    """
    last = Counter(basename(directory) for directory in clusters)
    known = hints or Hints()
    addresses = set(known.addresses)
    states = [
        _begun(each, basename(each) if last[basename(each)] == 1 else each, known, addresses)
        for each in clusters
    ]
    shared: dict[tuple[Request, Variables, bool], tuple[Object, ...]] = {}
    while any(state.due for state in states):
        rounds = [(state, _ready(state)) for state in states]
        builds.build(request for _, ready in rounds for _, request in ready)
        for state, ready in rounds:
            for kustomization, request in ready:
                _arrive(state, kustomization, request, builds, shared)
        for state in states:
            _decide(tree, state)
    for state in states:
        _give_up(tree, state)
    return _survey(tree, states, builds)


def _begun(directory: str, name: str, hints: Hints, addresses: set[str]) -> _State:
    known: dict[Identity, Object] = {}
    sources = Sources(directory, known, hints.given, addresses)
    root = Kustomization(ROOT, None, None, directory)
    return _State(name, directory, sources, known=known, due=[(root, Request(directory))])


def _ready(state: _State) -> list[tuple[Kustomization, Request]]:
    """Take what is due, but first what does not wait for a ConfigMap that another may yet bring."""
    ready = [pair for pair in state.due if not _waits(state, pair[0])] or state.due
    state.due = [pair for pair in state.due if pair not in ready]
    return ready


def _waits(state: _State, kustomization: Kustomization) -> bool:
    origins = substitution.sources(kustomization.own) if kustomization.own else []
    wanted = [name for kind, name in origins if kind == "ConfigMap"]
    return any(_data(state, kustomization, name) is None for name in wanted)


def _data(state: _State, kustomization: Kustomization, name: str) -> Mapping[str, str] | None:
    """Return the data of a ConfigMap beside a Kustomization."""
    found = state.known.get(("", "ConfigMap", kustomization.namespace, name))
    data = found.get("data") if found else None
    return {key: str(text) for key, text in data.items()} if isinstance(data, dict) else None


Shared = dict[tuple[Request, Variables, bool], tuple[Object, ...]]


def _applying(
    state: _State, kustomization: Kustomization, request: Request, build: Build, shared: Shared
) -> Kustomization:
    """Return a Kustomization with what it applies."""
    objects = _substituted(state, kustomization, request, build, shared)
    return replace(kustomization, objects=objects, complete=build.complete)


def _arrive(
    state: _State, kustomization: Kustomization, request: Request, builds: Builds, shared: Shared
) -> None:
    """Take in what was built; a root once more as the Kustomization changes it that it turns out to be."""
    if kustomization.own is None:
        kustomization = _rooted(kustomization, builds.done[request].objects, state.sources)
        changed = Request.of(
            request.directory, _changes(kustomization.own) if kustomization.own else {}
        )
        if changed != request:
            builds.build([changed])
            request = changed
    arrived = _applying(state, kustomization, request, builds.done[request], shared)
    state.built[arrived.key] = builds.done[request]
    _arrived(state, arrived)


def _arrived(state: _State, kustomization: Kustomization) -> None:
    """Note what a Kustomization applies, and what that leads to."""
    kustomization = _expanded(state, kustomization)
    state.found[kustomization.key] = kustomization
    state.met.add(kustomization.key)
    for item in kustomization.objects:
        state.known.setdefault(item.identity, item)
    state.sources.learn(kustomization.objects, kustomization.namespace)
    for own in kustomization.objects:
        if (own.group, own.kind) == (KUSTOMIZE, "Kustomization"):
            _meet(state, own, kustomization)


def _expanded(state: _State, kustomization: Kustomization) -> Kustomization:
    """Add what ResourceSets make in the cluster to what the Kustomization that delivers them applies."""
    sets = [item for item in kustomization.objects if resourcesets.is_one(item)]
    objects, complete = list(kustomization.objects), kustomization.complete
    for item in sets:
        found = resourcesets.expand(item)
        objects += found.objects
        for reason in found.reasons:
            complete = False
            state.notices.append(
                Notice(rules.NOT_FOLLOWED, f"what it makes is not all known: {reason}", about=item)
            )
    return replace(kustomization, objects=tuple(objects), complete=complete)


def _rooted(root: Kustomization, objects: Sequence[Object], sources: Sources) -> Kustomization:
    """Return a cluster's root as the Kustomization that applies the cluster's own directory, where Git has that."""
    sources.learn(objects, root.namespace)
    own = sources.sync.item if sources.sync is not None else None
    if own is None or (own.group, own.kind) != (KUSTOMIZE, "Kustomization"):
        return root
    return replace(root, key=f"{own.namespace or root.namespace}/{own.name}", own=own)


def _substituted(
    state: _State, kustomization: Kustomization, request: Request, build: Build, shared: Shared
) -> tuple[Object, ...]:
    own = kustomization.own
    found = (
        substitution.variables(own, lambda name: _data(state, kustomization, name)) if own else None
    )
    if found is None:
        return build.objects
    key = (request, *found)
    if key not in shared:
        shared[key] = tuple(
            substituted(item, found[0], complete=found[1]) for item in build.objects
        )
    return shared[key]


def _meet(state: _State, own: Object, parent: Kustomization) -> None:
    """Take in a Kustomization, unless it was met before."""
    key = f"{own.namespace or parent.namespace}/{own.name}"
    if key not in state.met:
        state.met.add(key)
        state.waiting.append(
            Kustomization(key, own, parent.key, below("", own.text("spec", "path")))
        )


def _decide(tree: Checkout, state: _State) -> None:
    """Ask for the builds of those Kustomizations of which it is known by now where they lead."""
    waiting, state.waiting = state.waiting, []
    for kustomization in waiting:
        found = _directory(state, kustomization)
        if found is None or not tree.is_directory(found):
            state.waiting.append(kustomization)
        else:
            changes = _changes(kustomization.own) if kustomization.own else {}
            if (
                kustomization.own is not None
                and kustomization.own.get("spec", "ignoreMissingComponents") is True
            ):
                changes["components"] = _present(tree, found, changes.get("components"))
            state.due.append((replace(kustomization, path=found), Request.of(found, changes)))


def _present(tree: Checkout, directory: str, components: Value) -> list[Value]:
    """Return those components of a Kustomization in a directory that are there."""
    entries = components if isinstance(components, list) else []
    return [
        each
        for each in entries
        if isinstance(each, str) and tree.is_directory(joined(directory, each))
    ]


def _give_up(tree: Checkout, state: _State) -> None:
    """Say of each Kustomization that led nowhere why."""
    for kustomization in state.waiting:
        state.found[kustomization.key] = replace(kustomization, complete=False)
        state.notices.append(_lost(tree, state, kustomization))


def _directory(state: _State, kustomization: Kustomization) -> str | None:
    """Return the directory of this repository that a Kustomization applies; None as long as none is known."""
    source, path = kustomization.source, kustomization.path
    if source is None or "${" in path:
        return None
    if source[1] != artifacts.KIND:
        home = state.sources.home(source)
        return below(home, path) if home is not None else None
    for origin, directory in artifacts.directories(source, path, state.known.values()):
        home = state.sources.home(origin)
        if home is not None:
            return below(home, directory)
    return None


def _lost(tree: Checkout, state: _State, kustomization: Kustomization) -> Notice:
    """Say why a Kustomization is not followed: its path, or its source, or what puts that together."""
    source, path, own = kustomization.source, kustomization.path, kustomization.own
    if source is None or "${" in path:
        return Notice(
            rules.NOT_FOLLOWED,
            f"its path {path}, or its source, is known to the cluster only",
            about=own,
        )
    found = _directory(state, kustomization)
    if found is None:
        reason = _reason(state, source)
        message = f"it is not followed: {reason}"
        return Notice(rules.NOT_FOLLOWED, message, about=own, fact=reason, of=str(kustomization))
    if tree.real(found) is None:
        return Notice(rules.NOT_FOLLOWED, f"its path {path} leads out of the repository", about=own)
    if source[1] != "GitRepository":  # an artifact may hold a part of the repository only
        message = f"there is no {found} here, and {source[1]} {source[2]}/{source[3]} may hold another part"
        return Notice(rules.NOT_FOLLOWED, message, about=own)
    return Notice(rules.BUILD_FAILED, f"its path {path} does not exist", about=own)


def _reason(state: _State, source: Identity) -> str:
    if source[1] != artifacts.KIND:
        return state.sources.foreign(source)
    return f"no directory of this repository is known to be in {source[1]} {source[2]}/{source[3]}"


def _changes(own: Object) -> dict[str, Value]:
    """Return what Flux puts into the kustomization that it builds (fluxcd/pkg/kustomize, Generator)."""
    fields = {"targetNamespace": "namespace"} | {
        name: name for name in ("namePrefix", "nameSuffix", "patches", "components", "images")
    }
    found = {name: own.get("spec", field) for field, name in fields.items()}
    return {name: entry for name, entry in found.items() if entry}


def _survey(tree: Checkout, states: Sequence[_State], builds: Builds) -> Survey:
    read: dict[tuple[str, bytes], Written] = {}
    within = [list(_within(state, read)) for state in states]
    loose = _loose(tree, states, within)
    clusters = tuple(_cluster(state, own, loose) for state, own in zip(states, within, strict=True))
    wrong = [each.faulty() for each in (*read.values(), *loose) if each.loaded.policy is None]
    unbuilt = {notice: instead for state in states for notice, instead in _unbuilt(state)}
    found = [
        *_assumed(tree, states),
        *chain.from_iterable(state.notices for state in states),
        *wrong,
    ]
    built = {id(build): build for state in states for build in state.built.values()}
    found += [unbuilt.get(notice, notice) for build in built.values() for notice in build.notices]
    return Survey(
        tree,
        clusters,
        tuple(dict.fromkeys(found)),
        len(builds.done),
    )


def _unbuilt(state: _State) -> Iterator[tuple[Notice, Notice]]:
    """Yield what is said in place of a notice, where the cluster's own directory is what could not be built."""
    root = next(iter(state.built.values()))
    if root.unbuilt is not None:
        message = f"{state.root} {root.unbuilt.message}; so nothing is known of this cluster"
        yield root.unbuilt, replace(root.unbuilt, rule=rules.CLUSTER_UNBUILT, message=message)


def _assumed(tree: Checkout, states: Sequence[_State]) -> Iterator[Notice]:
    """Say once where nothing but a name tells which source this directory is."""
    found = [state for state in states if state.sources.assumed and state.sources.sync is None]
    if found:
        clusters = f" (in {len(found)} clusters)" if len(found) > 1 else ""
        message = (
            f"nothing here says which source this directory is{clusters}: it is taken for {ROOT}, as `flux bootstrap` "
            f"and the Flux Operator name it; `--source {ROOT}=.` confirms it"
        )
        yield Notice(rules.SOURCE_ASSUMED, message, _entrance(tree, found[0].root))


def _entrance(tree: Checkout, root: str) -> str:
    """Return a file of a cluster's directory to speak of, the directory itself where it has none."""
    file = kustomization_file(tree, root)
    if file is not None:
        return file
    return next((path for path in tree.manifests() if path.startswith(f"{root}/")), root)


def _within(
    state: _State, read: dict[tuple[str, bytes], Written]
) -> Iterator[tuple[Written, Kustomization]]:
    """Yield the policies that stand in what a cluster builds, with the Kustomization that delivers each."""
    for key, build in state.built.items():
        for file, item in build.policies:
            known = (file, item.span)
            read[known] = read.get(known) or Written.of(file, item)
            yield read[known], state.found[key]


def _loose(
    tree: Checkout,
    states: Sequence[_State],
    within: Sequence[Sequence[tuple[Written, Kustomization]]],
) -> list[Written]:
    """Return the policies in files that lead to no cluster, neither as they stand nor rendered.

    One beside a kustomization is a part of that, and one in the directory of another cluster is that cluster's.
    """
    told = {each.name for own in within for each, _ in own}
    told |= {
        gate.policy
        for state in states
        for each in state.found.values()
        for gate in policies.rendered(each)
    }
    found = []
    others = {dirname(state.root) for state in states} - {""}
    for path in tree.manifests():
        content = tree.read(path) or b""
        if GROUP.encode() in content and not _is_taken(tree, path, others):
            found += [
                each
                for item in window_policies(content)
                if (each := Written.of(path, item)).name not in told
            ]
    return found


def _is_taken(tree: Checkout, path: str, others: set[str]) -> bool:
    above = dirname(path)
    return kustomization_file(tree, above) is not None or any(
        above.startswith(f"{place}/") for place in others
    )


def _cluster(
    state: _State, own: Sequence[tuple[Written, Kustomization]], loose: Sequence[Written]
) -> Cluster:
    rendered = [gate for each in state.found.values() for gate in policies.rendered(each)]
    told = {gate.policy for gate in rendered}
    gates: list[Gate | None] = [*rendered]
    for each, kustomization in own:
        if each.name not in told:
            told.add(each.name)
            gates.append(each.gate(each.loaded.build_for, kustomization.objects, kustomization.key))
    every = list(state.known.values())
    for each in loose:
        name = next(
            (part for part in reversed(state.root.split("/")) if part in each.loaded.clusters), None
        )
        if name is not None or not each.loaded.clusters:
            gates.append(each.gate(name, every, None))
    return Cluster(state.name, state.root, state.found, tuple(gate for gate in gates if gate))

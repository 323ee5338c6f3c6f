"""From each cluster's directory through its Flux Kustomizations, as far as they lead into this repository."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from posixpath import basename, dirname, join, normpath

from krm_windows import rules
from krm_windows.gateable import KUSTOMIZE
from krm_windows.krm import Value
from krm_windows.repository import artifacts, policies, substitution
from krm_windows.repository.builds import Build, Builds, Request
from krm_windows.repository.closure import GROUP, kustomization_file, window_policies
from krm_windows.repository.model import Cluster, Gate, Identity, Kustomization, Notice, Object
from krm_windows.repository.objects import substituted
from krm_windows.repository.policies import Written
from krm_windows.repository.substitution import Variables
from krm_windows.workspace.checkout import Checkout

# `flux bootstrap` and the operator name what delivers a cluster's own directory like their namespace.
ROOT = "flux-system/flux-system"
_OPERATOR = "fluxcd.controlplane.io"
_SCHEME = re.compile(r"[a-z+]+://")
_USER = re.compile(r"[^@/]*@")


@dataclass(frozen=True)
class Survey:
    """All that a repository comes to; `notices` are what could not be followed or built."""

    tree: Checkout
    clusters: tuple[Cluster, ...]
    notices: tuple[Notice, ...]
    builds: int


@dataclass
class _State:
    """A cluster while it is followed: what is known, and the requests that are due, each with who made it."""

    name: str
    root: str
    found: dict[str, Kustomization] = field(default_factory=dict)
    built: dict[str, Build] = field(default_factory=dict)
    due: list[tuple[Kustomization, Request]] = field(default_factory=list)
    known: dict[Identity, Object] = field(default_factory=dict)
    home: set[str] = field(default_factory=set)
    met: set[str] = field(default_factory=set)
    notices: list[Notice] = field(default_factory=list)


def survey(tree: Checkout, clusters: Sequence[str], builds: Builds) -> Survey:
    """Follow the clusters whose directories are given; what they share is built once."""
    last = Counter(basename(directory) for directory in clusters)
    states = [_begun(each, basename(each) if last[basename(each)] == 1 else each) for each in clusters]
    shared: dict[tuple[Request, Variables, bool], tuple[Object, ...]] = {}
    while any(state.due for state in states):
        rounds = [(state, _ready(state)) for state in states]
        builds.build(request for _, ready in rounds for _, request in ready)
        for state, ready in rounds:
            for kustomization, request in ready:
                arrived = _applying(state, kustomization, request, builds.done[request], shared)
                state.built[arrived.key] = builds.done[request]
                _arrived(tree, state, arrived)
    return _survey(tree, states, builds)


def _begun(directory: str, name: str) -> _State:
    root = Kustomization(ROOT, None, None, directory)
    return _State(name, directory, due=[(root, Request(directory))])


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
    if kustomization.own is None:
        kustomization = _rooted(kustomization, build.objects)
    objects = _substituted(state, kustomization, request, build, shared)
    return replace(kustomization, objects=objects, complete=build.complete)


def _arrived(tree: Checkout, state: _State, kustomization: Kustomization) -> None:
    """Note what a Kustomization applies, and what that leads to."""
    state.found[kustomization.key] = kustomization
    state.met.add(kustomization.key)
    for item in kustomization.objects:
        state.known.setdefault(item.identity, item)
    state.home |= _addresses(state, kustomization)
    for own in kustomization.objects:
        if (own.group, own.kind) == (KUSTOMIZE, "Kustomization"):
            _follow(tree, state, own, kustomization)


def _rooted(root: Kustomization, objects: Sequence[Object]) -> Kustomization:
    """Return a cluster's root as the Kustomization that applies the cluster's own directory, where Git has that."""
    for item in objects:
        if (item.group, item.kind) == (KUSTOMIZE, "Kustomization") and _path(item) == root.path:
            return replace(root, key=f"{item.namespace}/{item.name}", own=item)
    return root


def _substituted(
    state: _State, kustomization: Kustomization, request: Request, build: Build, shared: Shared
) -> tuple[Object, ...]:
    own = kustomization.own
    found = substitution.variables(own, lambda name: _data(state, kustomization, name)) if own else None
    if found is None:
        return build.objects
    key = (request, *found)
    if key not in shared:
        shared[key] = tuple(substituted(item, found[0], complete=found[1]) for item in build.objects)
    return shared[key]


def _follow(tree: Checkout, state: _State, own: Object, parent: Kustomization) -> None:
    """Ask for the build of a Kustomization, unless it was met before or its path is not one of this repository."""
    key = f"{own.namespace or parent.namespace}/{own.name}"
    if key in state.met:
        return
    state.met.add(key)
    kustomization = Kustomization(key, own, parent.key, _path(own))
    found = _directory(tree, state, kustomization)
    if isinstance(found, str):
        state.due.append((replace(kustomization, path=found), Request.of(found, _changes(own))))
    else:
        state.found[key] = replace(kustomization, complete=False)
        state.notices.append(found)


def _path(own: Object) -> str:
    """Return the directory that a Kustomization applies; `.` is the repository's own."""
    return normpath(join(".", own.text("spec", "path").lstrip("/") or "."))


def _directory(tree: Checkout, state: _State, kustomization: Kustomization) -> str | Notice:
    """Return the directory of this repository that a Kustomization applies, or say why it is not followed."""
    source, path, own = kustomization.source, kustomization.path, kustomization.own
    if source is None or "${" in path:
        return Notice(rules.NOT_FOLLOWED, f"its path {path}, or its source, is known to the cluster only", about=own)
    if source[1] == artifacts.KIND:
        every = artifacts.directories(source, path, state.known.values())
        return next((found for origin, found in every if _is_home(state, origin)), _foreign(kustomization))
    if not _is_home(state, source) and not (_is_unknown(state, source) and path != "." and tree.is_directory(path)):
        return _foreign(kustomization)
    return path if tree.is_directory(path) else _missing(tree, kustomization, source)


def _missing(tree: Checkout, kustomization: Kustomization, source: Identity) -> Notice:
    path, own = kustomization.path, kustomization.own
    if path.startswith("../") or tree.real(path) is None:
        return Notice(rules.NOT_FOLLOWED, f"its path {path} leads out of the repository", about=own)
    if source[1] != "GitRepository":  # an artifact may hold a part of the repository only
        return _foreign(kustomization)
    return Notice(rules.BUILD_FAILED, f"its path {path} does not exist", about=own)


def _foreign(kustomization: Kustomization) -> Notice:
    _, kind, namespace, name = kustomization.source or ("", "", "", "")
    message = f"it applies {kind} {namespace}/{name}, which is not known to be this repository"
    return Notice(rules.NOT_FOLLOWED, message, about=kustomization.own)


def _is_home(state: _State, source: Identity) -> bool:
    """Whether a source is this repository: that of the cluster's root, or one of the same address."""
    root = next((each.source for each in state.found.values() if each.path == state.root and each.own), None)
    if source == root or (root is None and f"{source[2]}/{source[3]}" == ROOT):
        return True
    declared = state.known.get(source)
    address = declared.text("spec", "url") if declared else ""
    return bool(address) and _normal(address) in state.home


def _is_unknown(state: _State, source: Identity) -> bool:
    """Whether nothing tells that a source is another repository."""
    return not state.home or source not in state.known


def _addresses(state: _State, kustomization: Kustomization) -> set[str]:
    """Return the addresses of this repository that what a cluster's root applies gives away."""
    if kustomization.path != state.root:
        return set()
    declared = state.known.get(kustomization.source) if kustomization.source else None
    found = [declared.text("spec", "url")] if declared else []
    found += [item.text("spec", "sync", "url") for item in kustomization.objects if item.group == _OPERATOR]
    return {_normal(address) for address in found if address}


def _normal(address: str) -> str:
    """Return an address without scheme, user and suffix, so that one repository has one."""
    scheme = _SCHEME.match(address)
    place = scheme.end() if scheme else 0
    user = _USER.match(address, place)
    place = user.end() if user else place
    return address[place:].rstrip("/").removesuffix(".git").replace(":", "/").lower()


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
    found = [*chain.from_iterable(state.notices for state in states), *wrong]
    built = {id(build): build for state in states for build in state.built.values()}
    return Survey(
        tree,
        clusters,
        tuple(dict.fromkeys([*found, *(notice for build in built.values() for notice in build.notices)])),
        len(builds.done),
    )


def _within(state: _State, read: dict[tuple[str, bytes], Written]) -> Iterator[tuple[Written, Kustomization]]:
    """Yield the policies that stand in what a cluster builds, with the Kustomization that delivers each."""
    for key, build in state.built.items():
        for file, item in build.policies:
            known = (file, item.span)
            read[known] = read.get(known) or Written.of(file, item)
            yield read[known], state.found[key]


def _loose(
    tree: Checkout, states: Sequence[_State], within: Sequence[Sequence[tuple[Written, Kustomization]]]
) -> list[Written]:
    """Return the policies in files that lead to no cluster, neither as they stand nor rendered.

    One beside a kustomization is a part of that, and one in the directory of another cluster is that cluster's.
    """
    told = {each.name for own in within for each, _ in own}
    told |= {gate.policy for state in states for each in state.found.values() for gate in policies.rendered(each)}
    found = []
    others = {dirname(state.root) for state in states} - {""}
    for path in tree.manifests():
        content = tree.read(path) or b""
        if GROUP.encode() in content and not _is_taken(tree, path, others):
            found += [each for item in window_policies(content) if (each := Written.of(path, item)).name not in told]
    return found


def _is_taken(tree: Checkout, path: str, others: set[str]) -> bool:
    above = dirname(path)
    return kustomization_file(tree, above) is not None or any(above.startswith(f"{place}/") for place in others)


def _cluster(state: _State, own: Sequence[tuple[Written, Kustomization]], loose: Sequence[Written]) -> Cluster:
    rendered = [gate for each in state.found.values() for gate in policies.rendered(each)]
    told = {gate.policy for gate in rendered}
    gates: list[Gate | None] = [*rendered]
    for each, kustomization in own:
        if each.name not in told:
            told.add(each.name)
            gates.append(each.gate(each.loaded.build_for, kustomization.objects, kustomization.key))
    every = list(state.known.values())
    for each in loose:
        name = next((part for part in reversed(state.root.split("/")) if part in each.loaded.clusters), None)
        if name is not None or not each.loaded.clusters:
            gates.append(each.gate(name, every, None))
    return Cluster(state.name, state.root, state.found, tuple(gate for gate in gates if gate))

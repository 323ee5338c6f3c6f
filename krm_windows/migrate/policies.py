"""The policies that do what the CronJobs do.

There is one for each set of targets; what differs by cluster is in its `clusters`, as patches.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import cast

from krm_windows import rules
from krm_windows.flux.model import ObjectIdentity
from krm_windows.inventory import LOCAL_CONFIG
from krm_windows.krm import render
from krm_windows.migrate import naming
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating, Group, Key
from krm_windows.migrate.pairs import Pair, Pairing, pair
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Day
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.results import Result, fails

# The zone of a CronJob without one is that of its controller; almost everywhere this is UTC.
ASSUMED = "Etc/UTC"
Spec = dict[str, object]


@dataclass(frozen=True, slots=True)
class Windows:
    """What one policy is on one cluster."""

    targets: tuple[ObjectIdentity, ...]
    pairs: tuple[Pair, ...]

    root: str
    """The cluster's own directory."""

    beyond: frozenset[ObjectIdentity]
    """Those targets that it does not have."""

    @property
    def zone(self) -> str:
        """The time zone, the assumed one where none is given."""
        return self.pairs[0].opens.zone or ASSUMED

    @property
    def times(self) -> tuple[object, ...]:
        """When it is open: equal for policies that can be one."""
        written = sorted((pair.opening, pair.closes.schedule) for pair in self.pairs)
        return (self.zone, *written)


@dataclass(frozen=True, slots=True)
class Draft:
    """One policy before it is written: what it is on each cluster, by name.

    The name is None where the repository is for one cluster only.
    """

    clusters: Mapping[str | None, Windows]

    @property
    def namespace(self) -> str:
        """Where the CronJobs are, and so the policy."""
        first = next(iter(self.clusters.values()))
        return first.pairs[0].opens.namespace

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of the CronJobs that open and close, of all clusters."""
        every = chain.from_iterable(held.pairs for held in self.clusters.values())
        return sorted({each.jobs for each in every})

    @property
    def targets(self) -> list[ObjectIdentity]:
        """What it gates on any cluster."""
        return sorted(frozenset().union(*(held.targets for held in self.clusters.values())))

    @property
    def beyond(self) -> frozenset[ObjectIdentity]:
        """The targets that the own directory of one of the clusters does not have."""
        return frozenset().union(*(held.beyond for held in self.clusters.values()))


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is written."""

    name: str
    namespace: str
    file: str
    content: Mapping[str, object]
    draft: Draft

    @property
    def text(self) -> str:
        """The file."""
        return render(self.content)


def make(
    gatings: Sequence[Gating], adopt_until: Day, taken: Collection[str] = ()
) -> tuple[list[Policy], list[Result]]:
    """Return the policies of all clusters, and what was in the way of others.

    None is written over one of the files that are `taken`.
    """
    drafts, results = _drafts(gatings)
    made: list[Policy] = []
    claimed: set[tuple[str, str]] = set()
    # In the order of the CronJobs' names, so that the order of files changes no name.
    for draft in _joined(drafts):
        name = naming.policy(draft.pairs, draft.targets, made)
        file = f"{name}.yaml"
        while file in taken:
            file = f"windows-{file}"
        made.append(_policy(draft, name, file, adopt_until, claimed))
    return made, results


def with_target(policy: Policy, target: ObjectIdentity) -> Spec:
    """Return what a policy would be with one target alone, and none of its patches."""
    spec = cast("Spec", policy.content["spec"])
    left = {key: each for key, each in spec.items() if key != "clusters"}
    selectors = _selectors([target], policy.namespace, frozenset([target]))
    alone = {**left, "crossNamespaceTargets": "Allow", "targets": selectors}
    return {**policy.content, "spec": alone}


def _drafts(gatings: Sequence[Gating]) -> tuple[list[Draft], list[Result]]:
    """Return a draft for each set of CronJobs that gate something."""
    # Clusters share a policy where the same CronJobs act on its targets.
    held: dict[Key, dict[str | None, Windows]] = {}
    results: list[Result] = []
    for gating in gatings:
        # A CronJob that is not understood may open or close anything here.
        if fails(gating.results):
            continue
        for key, group in gating.groups.items():
            found = _paired(group)
            wrong = [*found.results, *_wrong_namespaces(group)]
            results += wrong
            if not found.pairs or fails(wrong):
                continue
            results += _without_zone(group)
            windows = Windows(group.targets, found.pairs, gating.root, gating.beyond)
            held.setdefault(key, {})[gating.cluster.name] = windows
    return [Draft(by_cluster) for by_cluster in held.values()], results


def _paired(group: Group) -> Pairing:
    """Return the windows of a group; one whose CronJobs are all suspended has none."""
    if not group.opens and not group.closes:
        return Pairing()
    about = ", ".join(map(str, group.targets))
    return pair(group.opens, group.closes, about)


def _wrong_namespaces(group: Group) -> Iterator[Result]:
    """Name CronJobs without a namespace, and those of one group with several."""
    edges = (*group.opens, *group.closes)
    for edge in edges:
        if not edge.namespace:
            message = f"{edge.job} has no namespace, so it is unknown where it runs"
            yield found_at(rules.MIGRATE_UNTRANSLATED, edge.location, message)
    if len({edge.namespace for edge in edges}) > 1:
        names = ", ".join(edge.job for edge in edges)
        message = f"{names} run in different namespaces, but a policy has only one"
        yield found_at(rules.MIGRATE_UNTRANSLATED, edges[0].location, message)


def _without_zone(group: Group) -> Iterator[Result]:
    """Name CronJobs whose time zone is that of the controller."""
    for edge in (*group.opens, *group.closes):
        if edge.zone is None:
            message = (
                f"{edge.job} has no timeZone, so it uses that of the controller, usually UTC; "
                f"{ASSUMED} is assumed"
            )
            yield found_at(rules.MIGRATE_TIME_ZONE, edge.home, message)


def _joined(drafts: Iterable[Draft]) -> list[Draft]:
    """Make one of policies that are open at the same times on the same clusters.

    They have to be of the same namespace, too.
    """
    same: dict[object, list[Draft]] = {}
    for draft in drafts:
        # As texts and values alone: what is equal here can be one policy.
        times = sorted((name or "", held.times) for name, held in draft.clusters.items())
        same.setdefault((draft.namespace, *times), []).append(draft)
    return sorted(map(_one, same.values()), key=attrgetter("pairs"))


def _one(group: Sequence[Draft]) -> Draft:
    """Make one draft of some with the same clusters, and the same times on each."""
    # Its CronJobs give the windows their names; those of the others open and close at the same
    # times.
    first = min(group, key=attrgetter("pairs"))
    joined = {}
    for name, held in first.clusters.items():
        every = [draft.clusters[name] for draft in group]
        targets = frozenset(held.targets).union(*(each.targets for each in every))
        beyond = held.beyond.union(*(each.beyond for each in every))
        joined[name] = replace(held, targets=tuple(sorted(targets)), beyond=beyond)
    return Draft(joined)


def _policy(
    draft: Draft,
    name: str,
    file: str,
    adopt_until: Day,
    claimed: set[tuple[str, str]],
) -> Policy:
    names = naming.windows(draft.pairs)
    adopted = _adopted(draft, names, claimed)
    specs = {}
    for cluster, held in draft.clusters.items():
        specs[cluster] = _spec(draft, held, names, adopted)
    base = _most_common(specs)
    # The base is what most clusters have, so that few of them need a patch.
    zone = clocks.named(base["timeZone"])
    spec = {**base, "adoptUntil": clocks.day_on(adopt_until, zone).isoformat()}
    clusters = _clusters(base, specs)
    if clusters:
        spec["clusters"] = clusters
    content = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": name,
            "namespace": draft.namespace,
            # Read by functions, and never applied (kustomize).
            "annotations": {LOCAL_CONFIG: "true"},
        },
        "spec": spec,
    }
    return Policy(name, draft.namespace, file, content, draft)


def _clusters(base: Spec, specs: Mapping[str | None, Spec]) -> Spec:
    """Return what is different on each cluster that has a name.

    One with nothing that differs is named all the same: that is how it gets the policy.
    """
    named = {cluster: spec for cluster, spec in specs.items() if cluster is not None}
    clusters: Spec = {}
    for cluster in sorted(named):
        patch = _difference(base, named[cluster])
        # An empty patch would say nothing; what it has anyhow names it.
        clusters[cluster] = patch or {"timeZone": base["timeZone"]}
    return clusters


def _adopted(
    draft: Draft,
    names: Mapping[tuple[str, str], str],
    claimed: set[tuple[str, str]],
) -> dict[str, Spec]:
    """Return `cronJobs` of each window.

    A CronJob that several edges would claim goes to the first.
    """
    found: dict[str, Spec] = {}
    for pair_names in draft.pairs:
        given: Spec = {}
        for edge, job in zip(("open", "close"), pair_names, strict=True):
            if (draft.namespace, job) in claimed:
                continue
            claimed.add((draft.namespace, job))
            given[edge] = job
        if given:
            found[names[pair_names]] = {"cronJobs": given}
    return found


def _spec(
    draft: Draft,
    held: Windows,
    names: Mapping[tuple[str, str], str],
    adopted: Mapping[str, Spec],
) -> Spec:
    """Return the spec of a policy as it is on one cluster."""
    windows = {}
    for each in held.pairs:
        name = names[each.jobs]
        window: Spec = {"opens": each.opening, "closes": each.closes.schedule}
        # Under their own names the CronJobs are taken over, and not made a second time.
        window.update(adopted.get(name, {}))
        windows[name] = window
    # What one cluster has elsewhere is named alike on all, so that the targets are no patch.
    targets = _selectors(held.targets, draft.namespace, draft.beyond)
    spec: Spec = {"timeZone": held.zone, "targets": targets, "windows": windows}
    # A policy gates objects of other namespaces only where it says so itself.
    if any("namespace" in selector for selector in targets):
        return {"crossNamespaceTargets": "Allow", **spec}
    return spec


def _selectors(
    targets: Iterable[ObjectIdentity],
    home: str,
    beyond: frozenset[ObjectIdentity],
) -> list[Spec]:
    """Return the entries of `targets`; what is `beyond` need not be seen by a build."""
    grouped: dict[tuple[str, str, bool], list[str]] = {}
    for target in targets:
        key = (target.kind, target.namespace, target in beyond)
        grouped.setdefault(key, []).append(target.name)
    selectors: list[Spec] = []
    for (kind, namespace, is_beyond), names in sorted(grouped.items()):
        selector: Spec = {"kind": kind, "names": names}
        if namespace != home:
            selector["namespace"] = namespace
        if is_beyond:
            selector["mustExist"] = False
        selectors.append(selector)
    return selectors


def _most_common(specs: Mapping[str | None, Spec]) -> Spec:
    """Return the spec that most clusters have, the first of several by the name of its cluster."""
    # As text, since a mapping cannot be counted; `max` takes the first of equal ones.
    counted = Counter(map(render, specs.values()))
    by_name = sorted(specs, key=lambda name: name or "")
    ordered = [specs[cluster] for cluster in by_name]
    return max(ordered, key=lambda spec: counted[render(spec)])


def _difference(base: Mapping[str, object], wanted: Mapping[str, object]) -> Spec:
    """Return the merge patch (RFC 7386) that makes one of the other."""
    gone = [key for key in base if key not in wanted]
    # Null takes a key out.
    patch: Spec = dict.fromkeys(gone)
    for key, entry in wanted.items():
        held = base.get(key)
        if held == entry:
            continue
        if isinstance(held, dict) and isinstance(entry, dict):
            patch[key] = _difference(held, entry)
        else:
            patch[key] = entry
    return patch

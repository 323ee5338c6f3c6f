"""The policies that do what the CronJobs do: one for each set of targets, with what differs by cluster as patches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_windows import rules
from krm_windows.krm import render
from krm_windows.migrate import naming
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gated, Gating, Group, Key
from krm_windows.migrate.pairs import Pair, Pairing, pair
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.results import Result, fails

# The zone of a CronJob without one is that of its controller; almost everywhere this is UTC.
ASSUMED = "Etc/UTC"
Spec = dict[str, object]


@dataclass(frozen=True, slots=True)
class Windows:
    """What one policy is on one cluster; `unseen` are those targets that nothing in the repository applies there."""

    targets: tuple[Gated, ...]
    pairs: tuple[Pair, ...]
    unseen: frozenset[Gated] = frozenset()

    @property
    def zone(self) -> str:
        """The time zone, the assumed one where none is given."""
        return self.pairs[0].opens.zone or ASSUMED

    @property
    def times(self) -> tuple[object, ...]:
        """When it is open: equal for policies that can be one."""
        return (self.zone, *sorted((pair.opening, pair.closes.schedule) for pair in self.pairs))


@dataclass(frozen=True, slots=True)
class Draft:
    """One policy before it is written: what it is on each cluster, by name (None: the repository is for one only)."""

    sites: Mapping[str | None, Windows]

    @property
    def namespace(self) -> str:
        """Where the CronJobs stand, and so the policy."""
        return next(iter(self.sites.values())).pairs[0].opens.namespace

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of the CronJobs that open and close, of all clusters."""
        return sorted(
            {
                (pair.opens.job, pair.closes.job)
                for held in self.sites.values()
                for pair in held.pairs
            }
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is written: its name, its namespace, the document, the names of its clusters."""

    name: str
    namespace: str
    content: Mapping[str, object]
    draft: Draft

    @property
    def text(self) -> str:
        """The file."""
        return render(self.content)


def make(gatings: Sequence[Gating], adopt_until: str) -> tuple[list[Policy], list[Result]]:
    """Return the policies of all clusters, and what stood in the way of others."""
    drafts, results = _drafts(gatings)
    made: list[Policy] = []
    claimed: set[tuple[str, str]] = set()
    for draft in _joined(drafts):
        name = naming.policy(
            draft.pairs, [target for held in draft.sites.values() for target in held.targets], made
        )
        made.append(_policy(draft, name, adopt_until, claimed))
    return made, results


def _drafts(gatings: Sequence[Gating]) -> tuple[list[Draft], list[Result]]:
    held: dict[Key, dict[str | None, Windows]] = {}
    results: list[Result] = []
    for gating in gatings:
        if fails(gating.results):
            continue  # a CronJob that is not understood may open or close anything here
        for key, group in gating.groups.items():
            found = _paired(group)
            wrong = (*found.results, *_homeless(group))
            results += wrong
            if found.pairs and not fails(wrong):
                results += _zoneless(group)
                held.setdefault(key, {})[gating.site.name] = Windows(
                    group.targets, found.pairs, gating.unseen
                )
    return [Draft(sites) for sites in held.values()], results


def _paired(group: Group) -> Pairing:
    return (
        pair(group.opens, group.closes, ", ".join(map(str, group.targets)))
        if group.opens or group.closes
        else Pairing()
    )


def _homeless(group: Group) -> Iterator[Result]:
    edges = (*group.opens, *group.closes)
    for edge in edges:
        if not edge.namespace:
            yield found_at(
                rules.MIGRATE_UNTRANSLATED,
                edge.place,
                f"{edge.job} has no namespace, so it is not known where it runs",
            )
    if len({edge.namespace for edge in edges}) > 1:
        message = f"{', '.join(edge.job for edge in edges)} run in different namespaces, and a policy has one"
        yield found_at(rules.MIGRATE_UNTRANSLATED, edges[0].place, message)


def _zoneless(group: Group) -> Iterator[Result]:
    for edge in (*group.opens, *group.closes):
        if edge.zone is None:
            message = f"{edge.job} has no timeZone: its clock is the controller's, mostly UTC; taken for {ASSUMED}"
            yield found_at(rules.MIGRATE_TIME_ZONE, edge.home, message)


def _joined(drafts: Iterable[Draft]) -> list[Draft]:
    """Make one of policies that are open at the same times on the same clusters, from the same namespace."""
    same: dict[object, list[Draft]] = {}
    for draft in drafts:
        times = tuple(sorted((name or "", held.times) for name, held in draft.sites.items()))
        same.setdefault((draft.namespace, times), []).append(draft)
    joined = [_one(group) for group in same.values()]
    return sorted(joined, key=lambda draft: draft.pairs)


def _one(group: list[Draft]) -> Draft:
    first = min(group, key=lambda draft: draft.pairs)
    every = {
        name: sorted({t for draft in group for t in draft.sites[name].targets})
        for name in first.sites
    }
    unseen = {
        name: frozenset().union(*(draft.sites[name].unseen for draft in group))
        for name in first.sites
    }
    sites = {
        name: Windows(tuple(every[name]), held.pairs, unseen[name])
        for name, held in first.sites.items()
    }
    return Draft(sites)


def _policy(draft: Draft, name: str, adopt_until: str, claimed: set[tuple[str, str]]) -> Policy:
    names = naming.windows(draft.pairs)
    adopted = _adopted(draft, names, claimed)
    specs = {site: _spec(draft, held, names, adopted) for site, held in draft.sites.items()}
    base = _most_common(specs)
    named = {site: spec for site, spec in specs.items() if site is not None}
    clusters = {
        site: _difference(base, named[site]) or {"timeZone": base["timeZone"]}
        for site in sorted(named)
    }
    spec = {**base, "adoptUntil": adopt_until, **({"clusters": clusters} if clusters else {})}
    metadata = {
        "name": name,
        "namespace": draft.namespace,
        "annotations": {"config.kubernetes.io/local-config": "true"},
    }
    content = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
    return Policy(name, draft.namespace, content, draft)


def _adopted(
    draft: Draft, names: Mapping[tuple[str, str], str], claimed: set[tuple[str, str]]
) -> dict[str, Spec]:
    """Return `cronJobs` of each window: a CronJob that several edges would claim goes to the first."""
    found: dict[str, Spec] = {}
    for pair_names in draft.pairs:
        given: Spec = {}
        for edge, job in zip(("open", "close"), pair_names, strict=True):
            if (draft.namespace, job) not in claimed:
                claimed.add((draft.namespace, job))
                given[edge] = job
        if given:
            found[names[pair_names]] = {"cronJobs": given}
    return found


def _spec(
    draft: Draft, held: Windows, names: Mapping[tuple[str, str], str], adopted: Mapping[str, Spec]
) -> Spec:
    windows = {}
    for each in held.pairs:
        name = names[each.opens.job, each.closes.job]
        windows[name] = {
            "opens": each.opening,
            "closes": each.closes.schedule,
            **adopted.get(name, {}),
        }
    # What one cluster creates by hand is named alike on all, so that the targets are no patch.
    unseen = frozenset(target for each in draft.sites.values() for target in each.unseen)
    targets = _selectors(held.targets, draft.namespace, unseen)
    reaches = any("namespace" in selector for selector in targets)
    allowed: Spec = {"crossNamespaceTargets": "Allow"} if reaches else {}
    return {**allowed, "timeZone": held.zone, "targets": targets, "windows": windows}


def _selectors(targets: Iterable[Gated], home: str, unseen: frozenset[Gated]) -> list[Spec]:
    """Return the entries of `targets`; what Git does not have need not be among the resources of a build."""
    grouped: dict[tuple[str, str, bool], list[str]] = {}
    for target in targets:
        grouped.setdefault((target.kind, target.namespace, target in unseen), []).append(
            target.name
        )
    selectors: list[Spec] = []
    for (kind, namespace, is_unseen), names in sorted(grouped.items()):
        selector: Spec = {"kind": kind, "names": names}
        if namespace != home:
            selector["namespace"] = namespace
        if is_unseen:
            selector["mustExist"] = False
        selectors.append(selector)
    return selectors


def _most_common(specs: Mapping[str | None, Spec]) -> Spec:
    counted = Counter(render(spec) for spec in specs.values())
    most = max(counted.values())
    return next(
        spec
        for _, spec in sorted(specs.items(), key=lambda item: item[0] or "")
        if counted[render(spec)] == most
    )


def _difference(base: Mapping[str, object], wanted: Mapping[str, object]) -> Spec:
    """Return the merge patch (RFC 7386) that makes one of the other."""
    patch: Spec = dict.fromkeys(key for key in base if key not in wanted)
    for key, entry in wanted.items():
        held = base.get(key)
        if isinstance(held, dict) and isinstance(entry, dict):
            below = _difference(held, entry)
            patch.update({key: below} if below else {})
        elif held != entry:
            patch[key] = entry
    return patch

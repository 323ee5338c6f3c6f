"""The policies that do what the CronJobs do.

There is one for each set of targets; what differs by cluster is in its `clusters`, as patches.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count

from krm_windows.flux.model import ObjectIdentity
from krm_windows.inventory import LOCAL_CONFIG
from krm_windows.krm import render
from krm_windows.migrate.windows import Key, Windows
from krm_windows.plan import clocks
from krm_windows.plan.clocks import Day
from krm_windows.policy.model import API_VERSION, KIND

Spec = dict[str, object]
# Kubernetes takes 253 characters, and the CronJobs of a policy need some of them.
_LONGEST = 40
_WINDOW = "window"
_POLICY = "reconciliation-window"


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy as it is written, and what it is on each cluster.

    The name of a cluster is None where the repository is for one only.
    """

    name: str
    file: str
    content: Mapping[str, object]
    clusters: Mapping[str | None, Windows]

    @property
    def namespace(self) -> str:
        """Where the CronJobs are, and so the policy."""
        return next(iter(self.clusters.values())).namespace

    @property
    def text(self) -> str:
        """The file."""
        return render(self.content)


def make(
    read: Mapping[str | None, Mapping[Key, Windows]],
    beyond: Collection[ObjectIdentity],
    adopt_until: Day,
    taken: Collection[str] = (),
) -> list[Policy]:
    """Return the policies of all clusters.

    What is `beyond` the own directory of a cluster need not be seen by a build. None is written
    over one of the files that are `taken`.
    """
    made: list[Policy] = []
    claimed: set[tuple[str, str]] = set()
    for clusters in _joined(read):
        pairs = _pairs(clusters)
        name = _policy_name(pairs, [each.name for each in made])
        file = f"{name}.yaml"
        while file in taken:
            file = f"windows-{file}"
        windows = _window_names(pairs)
        adopted = _adopted(clusters, windows, claimed)
        specs = {key: _spec(each, windows, adopted, beyond) for key, each in clusters.items()}
        first = next(iter(clusters.values()))
        metadata = {
            "name": name,
            "namespace": first.namespace,
            # Read by functions, and never applied (kustomize).
            "annotations": {LOCAL_CONFIG: "true"},
        }
        content = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": metadata,
            "spec": _together(specs, adopt_until),
        }
        made.append(Policy(name, file, content, clusters))
    return made


def _joined(
    read: Mapping[str | None, Mapping[Key, Windows]],
) -> list[Mapping[str | None, Windows]]:
    """Return what each policy is on each cluster.

    Clusters share a policy where the same CronJobs act on its targets, and targets where their
    windows are open at the same times on the same clusters.
    """
    by_jobs: dict[Key, dict[str | None, Windows]] = {}
    for name, held in read.items():
        for key, windows in held.items():
            by_jobs.setdefault(key, {})[name] = windows
    # In the order of the CronJobs' names, so that the order of files changes no name.
    same: dict[object, dict[str | None, Windows]] = {}
    for clusters in sorted(by_jobs.values(), key=_pairs):
        times = tuple((name, each.times) for name, each in clusters.items())
        joined = same.setdefault(times, clusters)
        # The CronJobs of the first one give the windows their names.
        for name, each in clusters.items():
            joined[name] = replace(joined[name], targets=joined[name].targets | each.targets)
    return list(same.values())


def _pairs(clusters: Mapping[str | None, Windows]) -> list[tuple[str, str]]:
    """Return the names of the CronJobs that open and close, of all clusters."""
    every = chain.from_iterable(each.windows for each in clusters.values())
    return sorted({each.jobs for each in every})


def _policy_name(pairs: Iterable[tuple[str, str]], taken: Collection[str]) -> str:
    """Name a policy after what the names of all its CronJobs share."""
    # `suspend-apps`, `resume-apps`: `apps`.
    stem = "-".join(_shared(chain.from_iterable(pairs)))[:_LONGEST].strip("-.")
    return _numbered(stem or _POLICY, taken)


def _window_names(pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
    """Name windows after the words of their own CronJobs that not all CronJobs have."""
    everywhere = _shared(chain.from_iterable(pairs))
    names: dict[tuple[str, str], str] = {}
    for pair in pairs:
        # `open-night`, `close-night` of several windows: `night`.
        own = "-".join(word for word in _shared(pair) if word not in everywhere)
        names[pair] = _numbered(own or _WINDOW, names.values())
    return names


def _shared(names: Iterable[str]) -> list[str]:
    """Return the words that all names have, in the order of the first."""
    # A name may have dots as well (RFC 1123, subdomain).
    split = [name.replace(".", "-").split("-") for name in names]
    everywhere = set(split[0]).intersection(*split)
    return [word for word in split[0] if word in everywhere]


def _numbered(name: str, taken: Collection[str]) -> str:
    """Return a name, with a number behind it where it is taken."""
    # From 2 on: the one without a number is the first.
    candidates = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(each for each in candidates if each not in taken)


def _adopted(
    clusters: Mapping[str | None, Windows],
    names: Mapping[tuple[str, str], str],
    claimed: set[tuple[str, str]],
) -> dict[str, Spec]:
    """Return `cronJobs` of each window: under their names the CronJobs are taken over.

    A CronJob that several windows would claim goes to the first.
    """
    namespace = next(iter(clusters.values())).namespace
    found: dict[str, Spec] = {}
    for pair, name in names.items():
        edges = zip(("open", "close"), pair, strict=True)
        free = {edge: job for edge, job in edges if (namespace, job) not in claimed}
        claimed.update((namespace, job) for job in pair)
        if free:
            found[name] = {"cronJobs": free}
    return found


def _spec(
    held: Windows,
    names: Mapping[tuple[str, str], str],
    adopted: Mapping[str, Spec],
    beyond: Collection[ObjectIdentity],
) -> Spec:
    """Return the spec of a policy as it is on one cluster."""
    windows = {}
    for each in held.windows:
        name = names[each.jobs]
        windows[name] = {"opens": each.opens, "closes": each.closes, **adopted.get(name, {})}
    targets = list(_selectors(held, beyond))
    spec: Spec = {"timeZone": held.zone, "targets": targets, "windows": windows}
    # A policy gates objects of other namespaces only where it says so itself.
    if any("namespace" in selector for selector in targets):
        return {"crossNamespaceTargets": "Allow", **spec}
    return spec


def _selectors(held: Windows, beyond: Collection[ObjectIdentity]) -> Iterator[Spec]:
    """Yield the entries of `targets`."""
    grouped: dict[tuple[str, str, bool], list[str]] = {}
    for target in sorted(held.targets):
        key = (target.kind, target.namespace, target in beyond)
        grouped.setdefault(key, []).append(target.name)
    for (kind, namespace, is_beyond), names in sorted(grouped.items()):
        selector: Spec = {"kind": kind, "names": names}
        if namespace != held.namespace:
            selector["namespace"] = namespace
        if is_beyond:
            selector["mustExist"] = False
        yield selector


def _together(specs: Mapping[str | None, Spec], adopt_until: Day) -> Spec:
    """Return one spec with what differs on each cluster that has a name.

    One with nothing that differs is named all the same: that is how it gets the policy.
    """
    every = list(specs.values())
    # What most clusters have, so that few of them need a patch; `max` takes the first of several.
    base = max(every, key=every.count)
    zone = clocks.named(str(base["timeZone"]))
    spec = {**base, "adoptUntil": clocks.day_on(adopt_until, zone).isoformat()}
    clusters = {name: _difference(base, own) for name, own in specs.items() if name is not None}
    return {**spec, "clusters": clusters} if clusters else spec


def _difference(base: Mapping[str, object], wanted: Mapping[str, object]) -> Spec:
    """Return the merge patch (RFC 7386) that makes one of the other."""
    # Null takes a key out.
    patch: Spec = {key: None for key in base if key not in wanted}
    for key, entry in wanted.items():
        held = base.get(key)
        if isinstance(held, dict) and isinstance(entry, dict):
            if inner := _difference(held, entry):
                patch[key] = inner
        elif held != entry:
            patch[key] = entry
    return patch

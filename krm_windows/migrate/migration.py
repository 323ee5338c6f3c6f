"""A migration: a repository in; policies, edited kustomizations and findings out. It reads no clock.

What each cluster has is what the one reader of Flux repositories says, as built by kustomize.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from krm_windows import rules
from krm_windows.flux import Hints, Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.krm import InputError, KubeObject
from krm_windows.migrate import (
    faults,
    findings,
    gating,
    jobs,
    policies,
    proof,
    roots,
    shapes,
    sites,
)
from krm_windows.migrate.applied import Applied
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.placing import Placing
from krm_windows.migrate.policies import Policy
from krm_windows.migrate.repository import Repository
from krm_windows.migrate.roots import Roots
from krm_windows.migrate.sites import Site
from krm_windows.policy.load import load
from krm_windows.results import Result, fails
from krm_windows.system.reading import contents


@dataclass(frozen=True, slots=True)
class Migration:
    """What a repository comes to: `files` to be written, by path, after which nothing refers to the `obsolete` ones."""

    policies: tuple[Policy, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    obsolete: tuple[str, ...] = ()
    results: tuple[Result, ...] = ()


def migrate(
    builds: Builds, adopt_until: str, clusters: str | None = None, hints: Hints | None = None
) -> Migration:
    """Migrate the repository that `builds` builds; until `adopt_until`, a date, suspensions are taken over.

    `clusters` is a glob pattern of the clusters' directories; without one they are looked for. `hints` say which
    sources are this repository, where nothing in it does. Kustomizations are written only where everything was
    translated: half a change would leave windows to nobody. Raises InputError where the pattern matches no directory.
    """
    tree = builds.tree
    repository = Repository(dict(contents(Path(tree.root))))
    if not any(map(shapes.may_turn, repository.contents.values())):
        return Migration(())
    chosen = roots.find(tree, repository) if clusters is None else _matching(builds, clusters)
    seen = survey(tree, [each or "." for each in chosen.directories], builds, hints)
    applied = Applied.of(builds)
    found, unnamed = _sites(seen, chosen, Placing(tree, repository))
    noticed = tuple(applied.notices(seen, repository))
    gatings = tuple(gating.read(site) for site in _barred(found, noticed))
    made, results = policies.make(gatings, adopt_until)
    names = frozenset(job.name for each in gatings for job in each.jobs)
    every = [*results, *noticed, *unnamed, *_findings(gatings), *_refusals(made)]
    if not unnamed:
        every += faults.unused(repository, applied.files, names)
    told = {result.file.path for result in noticed if result.file and fails([result])}
    every += [
        each for each in faults.unreadable(repository) if each.file and each.file.path not in told
    ]
    files = {f"{policy.name}.yaml": policy.text.encode() for policy in made}
    if fails(every) or not made:
        return Migration(tuple(made), files, (), tuple(findings.sort(every)))
    after = Cutover(repository, gatings)
    wrong = tuple(applied.strays(repository, after)) or tuple(
        proof.check(seen, applied, after, hints)
    )
    every += wrong or after.results
    if wrong:
        return Migration(tuple(made), files, (), tuple(findings.sort(every)))
    return Migration(
        tuple(made), {**after.files, **files}, after.obsolete, tuple(findings.sort(every))
    )


def _matching(builds: Builds, pattern: str) -> Roots:
    found = builds.tree.directories(pattern)
    if not found:
        raise InputError(f"no directory matches {pattern}; --clusters says where clusters lie")
    return Roots(tuple("" if each == "." else each for each in found), named=found != ["."])


def _sites(seen: Survey, chosen: Roots, placing: Placing) -> tuple[list[Site], list[Result]]:
    """Return the clusters with windows; where nothing names them, there may be one only."""
    named = roots.names(chosen.directories) if chosen.named else {}
    found = []
    for cluster in seen.clusters:
        site = sites.read(cluster, named.get("" if cluster.root == "." else cluster.root), placing)
        if _has_windows(site):
            found.append(site)
    if chosen.named or len(found) < 2:  # noqa: PLR2004 - two would be one too many
        return sorted(found, key=lambda site: site.name or ""), []
    return [], [result for site in found for result in _unnamed(site)]


def _has_windows(site: Site) -> bool:
    every = (
        result for part in site.parts for each in part.scripts for result in jobs.scripts(each)
    )
    return any(map(jobs.is_one, site.objects)) or fails((*every, *site.results))


def _unnamed(site: Site) -> Iterator[Result]:
    for each in site.objects:
        if jobs.is_one(each):
            message = f"{each} is one of several sets of windows, and nothing tells to which cluster each is applied"
            yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, each.place, f"{message}; {faults.ADVICE}")


def _barred(found: Iterable[Site], noticed: Sequence[Result]) -> Iterator[Site]:
    """Let no cluster have a policy of which something with windows in it could not be built."""
    wrong = tuple(result for result in noticed if fails([result]))
    for site in found:
        yield site if site.complete else replace(site, results=(*site.results, *wrong))


def _findings(gatings: Sequence[Gating]) -> Iterator[Result]:
    """Yield what is wrong with the clusters as they are."""
    for each in gatings:
        yield from (*each.results, *faults.check(each), *sites.idle(each.site))


def _refusals(made: Iterable[Policy]) -> Iterator[Result]:
    """Yield what the policies themselves are refused for, or doubted."""
    for policy in made:
        yield from load(KubeObject.from_value(policy.content).node).results

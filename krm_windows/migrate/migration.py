"""A migration: a repository in; policies, edited kustomizations and findings out.

It reads no clock. What each cluster has is what the one reader of Flux repositories says, as built
by kustomize.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from krm_windows import rules
from krm_windows.flux import Hints, Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.krm import InputError, KubeObject
from krm_windows.migrate import (
    clusters,
    discovery,
    faults,
    findings,
    gating,
    heuristics,
    jobs,
    policies,
    proof,
    refusals,
)
from krm_windows.migrate.clusters import ClusterObjects
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.discovery import ClusterDirectories
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.inputs import BuildInputs
from krm_windows.migrate.origins import Origins
from krm_windows.migrate.policies import Policy
from krm_windows.migrate.repository import Repository
from krm_windows.plan.clocks import Day
from krm_windows.policy.load import load
from krm_windows.results import Result, fails
from krm_windows.system.reading import contents


@dataclass(frozen=True, slots=True)
class Migration:
    """What a repository comes to."""

    policies: tuple[Policy, ...]

    files: Mapping[str, bytes] = field(default_factory=dict)
    """What is to be written, by path."""

    obsolete: tuple[str, ...] = ()
    """The files that nothing refers to after that."""

    results: tuple[Result, ...] = ()

    directories: Mapping[str | None, str] = field(default_factory=dict)
    """The directories of the clusters by their names; empty where the old windows stay."""


def migrate(
    builds: Builds,
    adopt_until: Day,
    pattern: str | None,
    hints: Hints | None,
) -> Migration:
    """Migrate the repository that `builds` builds.

    Until `adopt_until`, a day of each policy's clock, suspensions are taken over. `pattern` is a
    glob of the clusters' directories; without one they are searched for. `hints` say which sources
    are this repository, where nothing in it does. Kustomizations are written only where everything
    was translated: half a change would leave windows to nobody. Raises InputError where the pattern
    matches no directory.
    """
    tree = builds.tree
    repository = Repository(dict(contents(Path(tree.root))))
    # Most repositories have no such words: then nothing is built.
    if not any(map(heuristics.may_suspend, repository.contents.values())):
        return Migration(())
    directories = _directories(builds, repository, pattern)
    seen = survey(tree, directories.roots, builds, hints)
    inputs = BuildInputs.of(builds)
    noticed = tuple(inputs.notices(seen, repository))
    found = _clusters(seen, directories, Origins(tree, repository))
    unnamed: list[Result] = []
    # A policy names its clusters, and these have no names to distinguish them.
    if not directories.named and len(found) > 1:
        unnamed += _unnamed(found)
        found = []
    gatings = [gating.read(_barred(each, noticed)) for each in found]
    # Clusters of one repository are built together, as they share most directories.
    made, results = policies.make(gatings, adopt_until, repository.contents)
    results += [*noticed, *unnamed, *_findings(gatings), *_refusals(made)]
    # Where no cluster was taken, every CronJob would be named here again.
    if not unnamed:
        results += faults.unused(repository, inputs.files, _names(gatings))
    results += _unreadable(repository, noticed)
    # Half a change would leave windows to nobody.
    if fails(results) or not made:
        return _made(made, results)
    after = Cutover(repository, gatings)
    unapplied = list(inputs.unapplied(after.repository, after))
    # What follows builds everything again that changed; it is not needed to refuse.
    if unapplied:
        return _made(made, results + unapplied)
    later = proof.survey_after(seen, inputs, after, hints)
    results += proof.check(seen, later, after)
    if fails(results):
        return _made(made, results)
    built = {each.root: each for each in later.clusters}
    gatings, locked = refusals.without_locks(gatings, made, built)
    if locked:
        made, _ = policies.make(gatings, adopt_until, repository.contents)
    results += [*locked, *refusals.check(made, built)]
    # A policy that `render` refuses is worth nothing.
    if fails(results):
        return _made((), results)
    roots = {each.cluster.name: each.cluster.root for each in gatings}
    return replace(_made(made, [*results, *after.results], after), directories=roots)


def _made(
    made: Sequence[Policy],
    results: Iterable[Result],
    after: Cutover | None = None,
) -> Migration:
    """Return a migration; without `after` the repository stays as it is."""
    files = {}
    obsolete: tuple[str, ...] = ()
    if after:
        files.update(after.files)
        obsolete = after.obsolete
    # Beside the repository's own files, at its top.
    files.update((policy.file, policy.text.encode()) for policy in made)
    results = findings.sort(results)
    return Migration(tuple(made), files, obsolete, tuple(results))


def _directories(
    builds: Builds,
    repository: Repository,
    pattern: str | None,
) -> ClusterDirectories:
    """Return the directories of the clusters; raises InputError where none matches a pattern."""
    if pattern is None:
        return discovery.find(builds.tree, repository)
    found = builds.tree.directories(pattern)
    if not found:
        raise InputError(
            f"no directory matches {pattern}; use --clusters to say where the clusters are"
        )
    directories = tuple(map(discovery.relative, found))
    return ClusterDirectories(directories, named=found != ["."])


def _clusters(
    seen: Survey,
    directories: ClusterDirectories,
    origins: Origins,
) -> list[ClusterObjects]:
    """Return the clusters with windows, by name."""
    names = _names_of(directories)
    found = []
    for each in seen.clusters:
        name = names.get(discovery.relative(each.root))
        cluster = clusters.read(each, name, origins)
        # A cluster without windows needs no policy, and no name for one.
        if _has_windows(cluster):
            found.append(cluster)
    if not directories.named:
        return found
    return sorted(found, key=lambda cluster: cluster.name or "")


def _names_of(directories: ClusterDirectories) -> Mapping[str, str]:
    """Return the names of clusters by their directories; none where nothing distinguishes them."""
    return discovery.names(directories.directories) if directories.named else {}


def _has_windows(cluster: ClusterObjects) -> bool:
    """Whether a cluster has windows, or something that may make some and is not understood."""
    if any(cluster.jobs) or fails(cluster.results):
        return True
    for directory in cluster.directories:
        for each in directory.scripts:
            if fails(list(jobs.scripts(each))):
                return True
    return False


def _unnamed(found: Iterable[ClusterObjects]) -> Iterator[Result]:
    """Name the CronJobs of clusters where nothing distinguishes one from another."""
    for cluster in found:
        for each in cluster.jobs:
            message = (
                f"{each} is one of several sets of windows, and it is unknown to which cluster "
                f"each is applied; {faults.ADVICE}"
            )
            yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, each.location, message)


def _barred(cluster: ClusterObjects, noticed: Sequence[Result]) -> ClusterObjects:
    """Let no cluster have a policy of which something with windows in it could not be built."""
    if cluster.complete:
        return cluster
    # An error: a mere note about something else is no reason.
    wrong = tuple(result for result in noticed if fails([result]))
    return replace(cluster, results=cluster.results + wrong)


def _findings(gatings: Sequence[Gating]) -> Iterator[Result]:
    """Yield what is wrong with the clusters as they are."""
    for each in gatings:
        yield from each.results
        yield from faults.check(each)
        yield from clusters.all_suspended(each.cluster)


def _refusals(made: Iterable[Policy]) -> Iterator[Result]:
    """Yield what the policies themselves are refused for, or doubted."""
    for policy in made:
        # As `render` would, so that nobody finds it out only then.
        yield from load(KubeObject.from_value(policy.content).node).results


def _names(gatings: Sequence[Gating]) -> frozenset[str]:
    """Return the names of the CronJobs that were read."""
    found: set[str] = set()
    for each in gatings:
        found.update(job.name for job in each.jobs)
    return frozenset(found)


def _unreadable(repository: Repository, noticed: Sequence[Result]) -> Iterator[Result]:
    """Yield files that are no YAML, but for those that a failed build was about."""
    # The build says more, and says it better.
    reported = {result.file.path for result in noticed if result.file and fails([result])}
    for each in faults.unreadable(repository):
        if each.file and each.file.path not in reported:
            yield each

"""A migration: a repository in; policies, findings, and steps to remove the old windows out.

It reads no clock. What each cluster has is what the one reader of Flux repositories says, as built
by kustomize.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from posixpath import dirname

from krm_windows import rules
from krm_windows.flux import Finding, Hints, Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.flux.locations import Locator
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
    refusals,
)
from krm_windows.migrate.clusters import ClusterObjects
from krm_windows.migrate.discovery import ClusterDirectories
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.policies import Policy
from krm_windows.migrate.removal import Removal, Step
from krm_windows.migrate.repository import Location, Repository, has_job, parents
from krm_windows.plan.clocks import Day
from krm_windows.policy.load import load
from krm_windows.results import Result, fails
from krm_windows.system.reading import contents

# Something could not be built at all, so that nobody knows what is in it.
_UNBUILT = (rules.BUILD_FAILED, rules.CLUSTER_UNBUILT)


@dataclass(frozen=True, slots=True)
class Migration:
    """What a repository comes to."""

    policies: tuple[Policy, ...] = ()

    steps: tuple[Step, ...] = ()
    """How the old windows go."""

    results: tuple[Result, ...] = ()

    directories: Mapping[str | None, str] = field(default_factory=dict)
    """The directories of the clusters by their names; empty where the old windows stay."""

    @property
    def files(self) -> dict[str, bytes]:
        """What is to be written, by path: at the top of the repository."""
        return {policy.file: policy.text.encode() for policy in self.policies}


def migrate(
    builds: Builds, adopt_until: Day, pattern: str | None, hints: Hints | None
) -> Migration:
    """Migrate the repository that `builds` builds.

    Until `adopt_until`, a day of each policy's clock, suspensions are taken over. `pattern` is a
    glob of the clusters' directories; without one they are searched for. `hints` say which sources
    are this repository, where nothing in it does. Steps to remove the old windows are there only
    where everything was translated: else windows would be left to nobody. Raises InputError where
    the pattern matches no directory.
    """
    tree = builds.tree
    repository = Repository(tree, dict(contents(Path(tree.root))))
    # Most repositories have no such words: then nothing is built.
    if not any(map(heuristics.may_suspend, repository.contents.values())):
        return Migration()
    directories = _directories(builds, repository, pattern)
    seen = survey(tree, directories.roots, builds, hints)
    results = list(_noticed(seen, builds, repository))
    # An error: a mere note about something else is no reason.
    wrong = tuple(each for each in results if fails([each]))
    found = _clusters(seen, directories, repository)
    # A policy names its clusters, and these have no names to distinguish them.
    is_unnamed = not directories.named and len(found) > 1
    if is_unnamed:
        results += _unnamed(found)
        found = []
    gatings = [gating.read(each, () if each.cluster.complete else wrong) for each in found]
    # Clusters of one repository are built together, as they share most directories.
    made, of_policies = policies.make(gatings, adopt_until, repository.contents)
    results += of_policies
    names = set[str]()
    for each in gatings:
        names.update(job.name for job in each.jobs)
        results += [*each.results, *faults.check(each), *clusters.all_suspended(each.cluster)]
    for policy in made:
        # As `render` would, so that nobody finds it out only then.
        results += load(KubeObject.from_value(policy.content).node).results
    used = frozenset(chain.from_iterable(build.files for build in builds.done.values()))
    # Where no cluster was taken, every CronJob would be named here again.
    if not is_unnamed:
        results += faults.unused(repository, used, names)
    # The build says more, and says it better.
    results += faults.unreadable(repository, {each.file.path for each in wrong if each.file})
    removal = Removal(repository, gatings)
    unapplied = list(_unapplied(removal, used)) if made and not fails(results) else []
    if unapplied or not made or fails(results):
        return _made(made, results + unapplied)
    after = {each.root: clusters.without(each, removal.identities) for each in seen.clusters}
    gatings, locked = refusals.without_locks(gatings, made, after)
    if locked:
        made, _ = policies.make(gatings, adopt_until, repository.contents)
    results += [*locked, *refusals.check(made, after)]
    # A policy that `render` refuses is worth nothing.
    if fails(results):
        return _made((), results)
    roots = {each.cluster.name: each.root for each in gatings}
    return _made(made, results, removal.steps, roots)


def _made(
    made: Sequence[Policy],
    results: Iterable[Result],
    steps: Sequence[Step] = (),
    roots: Mapping[str | None, str] | None = None,
) -> Migration:
    return Migration(tuple(made), tuple(steps), tuple(findings.sort(results)), roots or {})


def _directories(builds: Builds, repository: Repository, pattern: str | None) -> ClusterDirectories:
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
    seen: Survey, directories: ClusterDirectories, repository: Repository
) -> list[ClusterObjects]:
    """Return the clusters with windows, by name."""
    names = discovery.names(directories.directories) if directories.named else {}
    found = []
    for each in seen.clusters:
        name = names.get(discovery.relative(each.root))
        cluster = clusters.read(each, name, repository)
        # A cluster without windows, or something that may make some and is not understood, needs
        # no policy, and no name for one.
        scripts = chain.from_iterable(map(jobs.scripts, cluster.scripts))
        if cluster.jobs or fails([*cluster.results, *scripts]):
            found.append(cluster)
    return sorted(found, key=lambda cluster: cluster.name or "")


def _unnamed(found: Iterable[ClusterObjects]) -> Iterator[Result]:
    """Name the CronJobs of clusters where nothing distinguishes one from another."""
    for cluster in found:
        for each in cluster.jobs:
            message = (
                f"{each} is one of several sets of windows, and it is unknown to which cluster "
                f"each is applied; {faults.ADVICE}"
            )
            yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, each.location, message)


def _noticed(seen: Survey, builds: Builds, repository: Repository) -> Iterator[Result]:
    """Yield what the survey left out: an error where windows may be in it, else a warning."""
    locator = Locator(builds.tree)
    for notice in seen.notices:
        where = Location(notice.file, notice.line)
        about = ""
        if notice.about is not None:
            about = f"{notice.about}: "
            if not notice.file:
                line = notice.about.lines_above + 1
                where = Location(locator.locate(notice.about).file, line)
        # That is only said: nothing was left out for it.
        if notice.rule is rules.SOURCE_ASSUMED:
            yield found_at(notice.rule, where, notice.message)
            continue
        rule = rules.MIGRATE_NOT_FOLLOWED
        # Windows that are not seen would be left without a policy, so that is an error.
        if notice.rule in _UNBUILT and _may_have_windows(notice, builds, repository):
            rule = rules.MIGRATE_UNTRANSLATED
        message = f"{about}{notice.message}; windows in it are not found"
        yield found_at(rule, where, message)


def _may_have_windows(notice: Finding, builds: Builds, repository: Repository) -> bool:
    """Whether files that a failed build read, or below its directory, have words of windows."""
    if not notice.file:
        return False
    above = dirname(notice.file)
    around = {path for path in repository.contents if above in parents(path)}
    for request, build in builds.done.items():
        # The directory of a kustomization at the top is empty here, and `.` there.
        if request.directory == (above or "."):
            around |= build.files
    return any(has_job(repository.contents.get(path, b"")) for path in around)


def _unapplied(removal: Removal, used: frozenset[str]) -> Iterator[Result]:
    """Name kustomizations with something of the old windows that no cluster applies."""
    for each in removal.unapplied(used):
        message = (
            f"{dirname(each.file)} has windows but is not applied to any cluster that was found, "
            f"so no policy has them; {faults.ADVICE}"
        )
        yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, each.at(), message)

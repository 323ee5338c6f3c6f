"""A migration: a repository in; policies, findings, and steps to remove the old windows out.

It reads no clock. What each cluster has is what the one reader of Flux repositories says, as built
by kustomize.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from posixpath import basename, dirname

from krm_windows import rules
from krm_windows.checks.report import Report
from krm_windows.checks.repository.report import compose
from krm_windows.flux import Cluster, Finding, Hints, Object, cluster_directories, survey
from krm_windows.flux.builds import Builds
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import ObjectIdentity
from krm_windows.flux.objects import parsed
from krm_windows.krm import InputError
from krm_windows.migrate import heuristics, jobs, policies, windows
from krm_windows.migrate.policies import Policy
from krm_windows.migrate.removal import Removal, Step
from krm_windows.migrate.windows import Key, Windows
from krm_windows.plan.clocks import Day
from krm_windows.results import Result, Severity
from krm_windows.system.checkout import Checkout
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES

# Directories whose subdirectories are clusters, by the habits of Flux repositories; each only where
# there is none of those before it, as overlays of an application look the same.
_HABITS = ("clusters", "cluster", "sites", "overlays", "environments", "envs")
# Beside the clusters, and no cluster: what they have in common.
_SHARED = frozenset({"base", "_base", "common", "default"})
# What no name of a cluster may have in it (RFC 1123).
_FOREIGN = re.compile(r"[^a-z0-9]+")
_ADVICE = "use `--clusters` to say where the clusters are"


@dataclass(frozen=True, slots=True)
class Migration:
    """What a repository comes to."""

    policies: tuple[Policy, ...] = ()

    steps: tuple[Step, ...] = ()
    """How the old windows go."""

    report: Report = field(default_factory=lambda: Report("", "", {}, ()))
    """What was found, as `check` says it."""

    directories: Mapping[str | None, str] = field(default_factory=dict)
    """The directories of the clusters by their names; empty where the old windows stay."""

    @property
    def results(self) -> tuple[Result, ...]:
        """What was found."""
        return self.report.results

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
    texts = dict(_texts(tree))
    # Most repositories have no such words: then nothing is built.
    if not any(map(heuristics.may_suspend, texts.values())):
        return Migration()
    seen = survey(tree, _directories(tree, pattern), builds, hints)
    found = list(_noticed(seen.notices))
    is_unbuilt = _fails(found)
    names = _names(seen.clusters, pattern)
    clusters = [jobs.read(each, names[each.root]) for each in seen.clusters]
    made_of: dict[str | None, Mapping[Key, Windows]] = {}
    for each in clusters:
        # A CronJob that is not understood may open or close anything there.
        if not _fails(each.findings) and not (is_unbuilt and not each.cluster.complete):
            made_of[each.name] = windows.read(each)
        if _fails(each.findings):
            made_of.pop(each.name, None)
        found += each.findings
    targets: set[ObjectIdentity] = set()
    beyond: set[ObjectIdentity] = set()
    for each in clusters:
        own = {item.identity for item in each.cluster.first.objects}
        for held in made_of.get(each.name, {}).values():
            targets |= held.targets
            beyond |= held.targets - own
    made = policies.make(made_of, beyond, adopt_until, texts)
    used = frozenset(chain.from_iterable(build.files for build in builds.done.values()))
    found += _unused(texts, used, {each.file for each in found})
    removal = Removal(Locator(tree), texts, clusters, targets)
    unapplied = list(_unapplied(removal, used)) if made else []
    found += unapplied
    directories = {}
    if made and not unapplied and not _fails(found):
        directories = {each.name: each.cluster.root for each in clusters}
    steps = removal.steps if directories else []
    return Migration(tuple(made), tuple(steps), compose(".", seen, found), directories)


def _texts(tree: Checkout) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of YAML, JSON and kustomizations; links are not followed."""
    for path in tree.files("", hidden=False):
        is_read = path.endswith((*SUFFIXES, ".json")) or basename(path) in KUSTOMIZATIONS
        if is_read and not Path(tree.root, path).is_symlink():
            yield path, tree.read(path) or b""


def _fails(found: Iterable[Finding]) -> bool:
    return any(each.rule.severity is Severity.ERROR for each in found)


def _directories(tree: Checkout, pattern: str | None) -> list[str]:
    """Return the directories of the clusters: what syncs them, or else the habits, say so."""
    if pattern is not None:
        found = tree.directories(pattern)
        if not found:
            raise InputError(f"no directory matches {pattern}; {_ADVICE}")
        return found
    synced = cluster_directories.find(tree)
    if any(each.file for each in synced):
        return [each.directory for each in synced]
    for habit in _HABITS:
        patterns = (f"{habit}/*", f"*/{habit}/*", f"*/*/{habit}/*")
        every = chain.from_iterable(map(tree.directories, patterns))
        found = sorted(each for each in every if basename(each) not in _SHARED)
        if found:
            return found
    return [each.directory for each in synced] or ["."]


def _names(clusters: Sequence[Cluster], pattern: str | None) -> dict[str, str | None]:
    """Name the clusters by their roots; the only one of a repository needs no name."""
    names: dict[str, str | None] = {}
    is_only = pattern is None and len(clusters) == 1
    if is_only and basename(dirname(clusters[0].root)) not in _HABITS:
        return {clusters[0].root: None}
    for each in clusters:
        name = _FOREIGN.sub("-", each.name.lower()).strip("-") or "root"
        if name in names.values():
            raise InputError(f"two clusters would be called {name}; {_ADVICE}, one at a time")
        names[each.root] = name
    return names


def _noticed(notices: Iterable[Finding]) -> Iterator[Finding]:
    """Yield what the survey left out: an error where it could not be built, else a warning."""
    for notice in notices:
        # That is only said: nothing was left out for it.
        if notice.rule is rules.SOURCE_ASSUMED:
            yield notice
            continue
        # Windows that are not seen would be left without a policy.
        is_unbuilt = notice.rule in (rules.BUILD_FAILED, rules.CLUSTER_UNBUILT)
        rule = rules.MIGRATE_UNTRANSLATED if is_unbuilt else rules.MIGRATE_NOT_FOLLOWED
        yield replace(notice, rule=rule, message=f"{notice.message}; windows in it are not found")


def _unused(
    texts: Mapping[str, bytes], used: Collection[str], reported: Collection[str]
) -> Iterator[Finding]:
    """Yield files that no cluster has, with a CronJob that opens or closes.

    And those that are no YAML and look as if they held one, but for those that are `reported`: the
    build says more.
    """
    for path, content in sorted(texts.items()):
        # JSON here is dashboards and the like, and no manifests.
        if path.endswith(".json") or not heuristics.has_job(content):
            continue
        try:
            items = [Object.in_file(each, path) for each in parsed(content)]
        except InputError as error:
            # Files of templates are no YAML, and there are many.
            if path not in reported and heuristics.mentions(content.decode(errors="replace")):
                message = f"is not valid YAML, so windows in it are not found: {error.message}"
                line = max(error.line, 1)
                yield Finding(rules.MIGRATE_UNSUPPORTED, message, file=path, line=line)
            continue
        for item in filter(jobs.is_one, () if path in used else items):
            message = (
                f"is not applied to any cluster that was found, so it is in no policy; {_ADVICE}"
            )
            yield Finding(rules.MIGRATE_CLUSTER_UNKNOWN, message, item)


def _unapplied(removal: Removal, used: frozenset[str]) -> Iterator[Finding]:
    """Name kustomizations with something of the old windows that no cluster applies."""
    for file in removal.unapplied(used):
        message = (
            f"{dirname(file)} has windows but is not applied to any cluster that was found, so no "
            f"policy has them; {_ADVICE}"
        )
        yield Finding(rules.MIGRATE_CLUSTER_UNKNOWN, message, file=file)

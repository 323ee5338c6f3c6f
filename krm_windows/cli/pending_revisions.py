"""What `pending` finds in a repository: between revisions of a cluster, or of two commits."""

import argparse
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path

from krm_windows.cli import builds, inputs, previews, report, repository, times
from krm_windows.exit_codes import ExitCode
from krm_windows.flux import Survey
from krm_windows.gate.timetable import Target
from krm_windows.krm import KubeObject
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.report import Opening, Pending, WaitingTarget
from krm_windows.pending.repository import Repository
from krm_windows.pending.revisions import Revision
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.schedule.timeline import decide
from krm_windows.system import git
from krm_windows.system.checkout import Checkout
from krm_windows.system.errors import WorkspaceError

# What these bring is in commits; a HelmRelease, say, may take a newer chart.
_OF_COMMITS = ("Kustomization", "GitRepository")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A repository in which revisions are looked up."""

    repository: Repository

    @classmethod
    def begun(cls, arguments: argparse.Namespace, stack: ExitStack) -> "Lookup":
        """Prepare to read a repository; what that takes is put away with the stack."""
        place = Path(arguments.repo)
        inputs.check_directory(place)
        tree = Checkout.at(place)
        builds.check_sources(tree, arguments.source)
        builder = builds.builder(Path(tree.root), arguments)

        # Several targets come from one commit.
        @cache
        def survey(commit: str) -> Survey:
            # It is read later, too: to compare objects, and for where a build went wrong.
            older = stack.enter_context(git.snapshot(place, commit))
            found = repository.survey_of(Checkout.at(older), builder, arguments)
            # A glob that matches nothing would otherwise be a repository without changes.
            if not found.clusters:
                raise builds.unmatched(f"{arguments.repo} at {commit[:12]}", arguments.clusters)
            return found

        return cls(Repository(place, survey, arguments.cluster))

    def look(self, target: Target, offer: Offer) -> Between | None:
        """Return what lies between what is applied and what is offered."""
        # To build two trees takes a while, and nothing would come of it.
        if offer.waits is Waits.NO or offer.offered is None:
            return None
        old = ""
        if offer.applied is not None:
            old = offer.applied.commit
        new = offer.offered.commit
        # Of an OCI artifact whose origin nobody noted, or of a chart, whose revision is a version.
        if not new or (offer.applied is not None and not old):
            return Between(gaps=("its revisions contain no commit",))
        # Another branch or tag of the same commit brings nothing.
        if old == new:
            return None
        try:
            return self.repository.between(target, old, new)
        except WorkspaceError as error:
            # Several targets may come from several repositories, and this is one of them.
            return Between(gaps=(str(error),))

    def head(self, branch: str, commit: str) -> str:
        """Return the commit of a branch, as it was fetched last; empty where it is not here."""
        # What was fetched comes first: a branch of one's own may be behind, or ahead.
        for ref in (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"):
            with suppress(WorkspaceError):
                # Another repository may have a branch of that name, too.
                self.name(commit)
                return self.name(ref)
        return ""

    def name(self, ref: str) -> str:
        """Return the name of a commit; raises WorkspaceError where there is none."""
        return git.name_of(self.repository.directory, ref)


def of_refs(
    looking: Lookup, arguments: argparse.Namespace
) -> tuple[Pending | None, datetime, ExitCode]:
    """Say what would wait between two commits, without a cluster."""
    head = "HEAD" if arguments.head is None else arguments.head
    refs = (arguments.base, head)
    old, new = (_revision(ref, looking.name(ref)) for ref in refs)
    items = [*previews.resources(arguments), *_items(looking.repository, new.commit)]
    source = PolicySource(inputs.policy(arguments.policy), lambda _: items)
    versions, results = source.versions(Choice(arguments.cluster))
    results = report.located(results, {arguments.policy: source.config}, arguments.resources)
    code = report.show(results, strict=arguments.strict)
    if not versions or code is not ExitCode.FINE:
        return None, times.now(), code
    timetable = versions[0].timetable
    at = times.instant(arguments.at, timetable.zone, times.now())
    decision = decide(timetable, at)
    # Nobody holds what is in no cluster: the windows alone decide.
    opening = Opening(is_open=decision.open, at=decision.until)
    entries = []
    for target in timetable.targets:
        between = looking.repository.between(target, old.commit, new.commit)
        # What comes from elsewhere no commit of this repository says.
        if target.kind not in _OF_COMMITS and _waits(between) is Waits.NO:
            gap = f"no commit changes it; what a {target.kind} takes from elsewhere was not asked"
            between = replace(between, gaps=(gap,))
        entries.append(
            WaitingTarget(target, Offer(_waits(between), "", old, new), opening, between)
        )
    return Pending(timetable, decision, tuple(entries)), at, code


def _items(among: Repository, commit: str) -> list[KubeObject]:
    """Return the objects that clusters have, which a policy may select by label."""
    found: list[KubeObject] = []
    for cluster in among.clusters(commit):
        found += (each.item for _, each in cluster.objects.values())
    return found


def _waits(between: Between) -> Waits:
    if between.commits or between.reverted or between.objects:
        return Waits.YES
    if between.gaps:
        return Waits.UNKNOWN
    return Waits.NO


def _revision(ref: str, commit: str) -> Revision:
    """Return a commit as Flux writes it: `main@sha1:…`, without a ref where its hash was given."""
    if commit.startswith(ref):
        return Revision(f"sha1:{commit}")
    return Revision(f"{ref}@sha1:{commit}")

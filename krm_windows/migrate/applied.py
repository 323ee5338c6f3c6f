"""What the builds of the clusters read: which files have an effect, and where that could not be told."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from posixpath import dirname

from krm_windows import rules
from krm_windows.flux import Notice, Survey
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.closure import Closure, close
from krm_windows.flux.places import place
from krm_windows.migrate import faults, shapes
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import RESOURCES, Repository, entries, parents, resolve
from krm_windows.migrate.trees import Place
from krm_windows.results import Result


@dataclass(frozen=True)
class Applied:
    """The files that were read for all builds, and what each directory's build reads."""

    builds: Builds
    closures: dict[Request, Closure]
    files: frozenset[str]
    kustomizations: frozenset[str]

    @classmethod
    def of(cls, builds: Builds) -> "Applied":
        """Look at what was built."""
        found = {
            each: close(builds.tree, each.directory, json.loads(each.changes))
            for each in builds.done
        }
        files = frozenset(path for each in found.values() for path in each.files)
        kustomizations = frozenset(path for each in found.values() for path in each.kustomizations)
        return cls(builds, found, files, kustomizations)

    def untouched(self, changed: Collection[str]) -> dict[Request, Build]:
        """Return the builds that read none of some files."""
        same = (
            request
            for request, closure in self.closures.items()
            if closure.files.keys().isdisjoint(changed)
        )
        return {request: self.builds.done[request] for request in same}

    def notices(self, survey: Survey, repository: Repository) -> Iterator[Result]:
        """Yield what the survey left out: an error where windows may be in it, a warning otherwise."""
        for notice in survey.notices:
            file = notice.file
            if not file and notice.about is not None:
                file, _ = place(self.builds.tree, notice.about)
            if notice.rule is rules.SOURCE_ASSUMED:
                yield found_at(notice.rule, Place(file, _line(notice)), notice.message)
                continue
            about = f"{notice.about}: " if notice.about else ""
            rule = rules.MIGRATE_NOT_FOLLOWED
            if notice.rule in (
                rules.BUILD_FAILED,
                rules.CLUSTER_UNBUILT,
            ) and self._may_have_windows(notice, repository):
                rule = rules.MIGRATE_UNTRANSLATED
            message = f"{about}{notice.message}; windows in it are not seen"
            yield found_at(rule, Place(file, _line(notice)), message)

    def _may_have_windows(self, notice: Notice, repository: Repository) -> bool:
        """Whether files that a failed build read, or that lie below its directory, have words of windows."""
        if not notice.file:
            return False
        above = dirname(notice.file)
        closures = (each for each in self.closures.values() if each.directory == (above or "."))
        read = [content for each in closures for content in each.files.values()]
        below = [content for path, content in repository.contents.items() if above in parents(path)]
        return any(
            shapes.may_turn(content) and b"CronJob" in content for content in (*read, *below)
        )

    def strays(self, repository: Repository, after: Cutover) -> Iterator[Result]:
        """Name kustomizations that have something of the old windows, and are applied to no cluster that was found."""
        touched = {*after.files, *after.obsolete}
        for directory in _including(repository, touched):
            document = repository.kustomizations[directory]
            if document.place.file not in self.kustomizations:
                message = f"{directory} has windows, and is applied to no cluster that was found, so no policy has them"
                yield found_at(
                    rules.MIGRATE_CLUSTER_UNKNOWN, document.place, f"{message}; {faults.ADVICE}"
                )


def _including(repository: Repository, touched: set[str]) -> set[str]:
    """Return the directories whose kustomizations lead to any of some files, through however many others."""
    entries_of = {
        directory: {resolve(directory, each.text) for each in entries(found.tree, *RESOURCES)}
        for directory, found in repository.kustomizations.items()
    }
    found: set[str] = set()
    while True:
        more = {
            directory
            for directory, named in entries_of.items()
            if directory not in found
            and (
                named & (touched | found)
                or repository.kustomizations[directory].place.file in touched
            )
        }
        if not more:
            return found
        found |= more


def _line(notice: Notice) -> int:
    if notice.file or notice.about is None:
        return notice.line
    return notice.about.first + 1

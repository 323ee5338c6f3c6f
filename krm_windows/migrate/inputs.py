"""What the builds of the clusters read: which files have an effect, and where that is unknown."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname

from krm_windows import rules
from krm_windows.flux import Notice, Survey
from krm_windows.flux.builds import Build, Builds, Request
from krm_windows.flux.closure import Closure
from krm_windows.flux.fields import bases, leading, read
from krm_windows.flux.locations import Locator
from krm_windows.migrate import faults, heuristics
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.findings import found_at
from krm_windows.migrate.repository import Repository, parents, resolve
from krm_windows.migrate.trees import Location
from krm_windows.results import Result
from krm_windows.rules import Rule

# Something could not be built at all, so that nobody knows what is in it.
_UNBUILT = (rules.BUILD_FAILED, rules.CLUSTER_UNBUILT)


@dataclass(frozen=True)
class BuildInputs:
    """The files that were read for all builds, and what each directory's build reads."""

    builds: Builds
    closures: dict[Request, Closure]
    files: frozenset[str]
    kustomizations: frozenset[str]

    @classmethod
    def of(cls, builds: Builds) -> "BuildInputs":
        """Look at what was built."""
        closures = {}
        files: set[str] = set()
        kustomizations: set[str] = set()
        for request in builds.done:
            # As it was built, with what Flux changed: the same directory may read other files then.
            closure = builds.closure(request)
            closures[request] = closure
            files.update(closure.files)
            kustomizations.update(closure.kustomizations)
        return cls(builds, closures, frozenset(files), frozenset(kustomizations))

    @cached_property
    def _locator(self) -> Locator:
        return Locator(self.builds.tree)

    def untouched(self, changed: Collection[str]) -> dict[Request, Build]:
        """Return the builds that read none of some files."""
        found = {}
        for request, closure in self.closures.items():
            # It would come out the same, so it is not built again.
            if closure.files.keys().isdisjoint(changed):
                found[request] = self.builds.done[request]
        return found

    def notices(
        self,
        survey: Survey,
        repository: Repository,
    ) -> Iterator[Result]:
        """Yield what the survey left out: an error where windows may be in it, else a warning."""
        for notice in survey.notices:
            where = Location(self._file(notice), _line(notice))
            # That is only said: nothing was left out for it.
            if notice.rule is rules.SOURCE_ASSUMED:
                yield found_at(notice.rule, where, notice.message)
                continue
            about = ""
            if notice.about:
                about = f"{notice.about}: "
            message = f"{about}{notice.message}; windows in it are not found"
            yield found_at(self._rule(notice, repository), where, message)

    def _file(self, notice: Notice) -> str:
        """Return the file that a notice is about."""
        if notice.file or notice.about is None:
            return notice.file
        return self._locator.locate(notice.about).file

    def _rule(self, notice: Notice, repository: Repository) -> Rule:
        if notice.rule in _UNBUILT and self._may_have_windows(notice, repository):
            # Windows that are not seen would be left without a policy, so that is an error.
            return rules.MIGRATE_UNTRANSLATED
        return rules.MIGRATE_NOT_FOLLOWED

    def _may_have_windows(
        self,
        notice: Notice,
        repository: Repository,
    ) -> bool:
        """Whether files that a failed build read, or below its directory, have words of windows."""
        if not notice.file:
            return False
        above = dirname(notice.file)
        return any(map(_has_job, self._around(above, repository)))

    def _around(
        self,
        above: str,
        repository: Repository,
    ) -> Iterator[bytes]:
        """Yield the contents that the builds of a directory read, and those below it."""
        # The directory of a kustomization at the top is empty here, and `.` there.
        for closure in self.closures.values():
            if closure.directory == (above or "."):
                yield from closure.files.values()
        for path, content in repository.contents.items():
            if above in parents(path):
                yield content

    def unapplied(
        self,
        repository: Repository,
        after: Cutover,
    ) -> Iterator[Result]:
        """Name kustomizations with something of the old windows that no cluster applies."""
        touched = {*after.files, *after.obsolete}
        for directory in _including(repository, touched):
            document = repository.kustomizations[directory]
            # A build reads it, so a cluster has it.
            if document.location.file in self.kustomizations:
                continue
            message = (
                f"{directory} has windows but is not applied to any cluster that was found, so "
                f"no policy has them; {faults.ADVICE}"
            )
            yield found_at(rules.MIGRATE_CLUSTER_UNKNOWN, document.location, message)


def _has_job(content: bytes) -> bool:
    """Whether a file may hold a CronJob that makes windows."""
    return heuristics.may_suspend(content) and b"CronJob" in content


def _including(repository: Repository, touched: set[str]) -> set[str]:
    """Return the directories whose kustomizations lead to some files, through others or not."""
    users: dict[str, list[str]] = {}
    for directory, kustomization in repository.kustomizations.items():
        file = kustomization.location.file
        # The kustomization's own file counts too: it may be what is written anew.
        users.setdefault(file, []).append(directory)
        for entry in bases(read(repository.contents[file])):
            users.setdefault(resolve(directory, entry), []).append(directory)
    return leading(touched, users) - touched


def _line(notice: Notice) -> int:
    if notice.file or notice.about is None:
        return notice.line
    # The line of the document, which the object counts from 0.
    return notice.about.lines_above + 1

"""What was rendered of a policy follows it, in the same commit.

Flux runs no function, so a cluster has what `krm-windows render` wrote into the repository. A
change of the policy alone would be in force nowhere.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from krm_windows import emit, render
from krm_windows.checks import readonly, succession, timetables, zone_release
from krm_windows.function import window_policy
from krm_windows.inventory import about
from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.policy import load
from krm_windows.results import Result, fails
from krm_windows.service.policies import NO_NAMESPACE, Stored
from krm_windows.service.problems import Problem, findings
from krm_windows.service.settings import Rendering
from krm_windows.system.git_branch import Branch, Edit, File
from krm_windows.system.reading import SUFFIXES

# A cluster's resources, which are read at each change: more than any repository of manifests has.
_MOST = 64 << 20


@dataclass(frozen=True, slots=True)
class Rendered:
    """What was rendered of a policy into a directory of a commit; `contents` are by path."""

    place: str
    resources: str | None
    contents: Mapping[str, bytes]

    @property
    def cluster(self) -> str | None:
        """The cluster that it was rendered for, as the timetable in it says."""
        for content in self.contents.values():
            found = timetables.read(KubeObject.parse(content))
            if found is not None:
                return found.cluster
        return None


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders again what was rendered before, and nothing else."""

    branch: Branch
    below: str
    rendering: Rendering

    def edits(self, commit: str, stored: Stored, new: KubeObject) -> list[Edit]:
        """Return the files that differ once a policy is `new`; raises Problem where it cannot be.

        A policy that was never rendered has none: to render it first, and to list what comes of it,
        is for a person.
        """
        found: list[Edit] = []
        for before in self.rendered(commit, stored):
            found += _differing(before, self._anew(commit, stored, new, before))
        return found

    def rendered(self, commit: str, stored: Stored) -> Iterator[Rendered]:
        """Yield what was rendered of a policy, one directory after the other."""
        # What `render` writes begins with the name of its policy: other files are not ours.
        heading = render.header(f"{stored.namespace}/{stored.name}").encode()
        for place, resources in self._places(stored):
            contents = {
                path: content
                for path, content in self._contents(commit, place)
                if posixpath.dirname(path) == place and content.startswith(heading)
            }
            if contents:
                yield Rendered(place, resources, contents)

    def resources(self, commit: str, stored: Stored) -> list[KubeObject]:
        """Return the resources that a policy's targets are among.

        None where each cluster has its own: an audit is of all of them at once.
        """
        if self.rendering.resources is None or "{cluster}" in self.rendering.resources:
            return []
        for place, resources in self._places(stored):
            return self._items(commit, stored, Rendered(place, resources, {}))
        return []

    def _places(self, stored: Stored) -> Iterator[tuple[str, str | None]]:
        """Yield each directory that may have it, with that of the resources."""
        # Without a cluster in the path all clusters share one directory.
        clusters: Iterable[str] = ("",)
        if "{cluster}" in self.rendering.directory:
            clusters = load.read(stored.config.as_read().node).patches
        for cluster in clusters:
            place = self._path(self.rendering.directory, stored, cluster)
            resources = None
            if self.rendering.resources is not None:
                resources = self._path(self.rendering.resources, stored, cluster)
            yield place, resources

    def _path(self, template: str, stored: Stored, cluster: str) -> str:
        """Return a directory from the top; raises Problem for one outside of what is served."""
        directory = posixpath.relpath(posixpath.dirname(stored.file) or ".", self.below or ".")
        filled = template.format(
            directory=directory,
            namespace=stored.namespace or NO_NAMESPACE,
            name=stored.name,
            cluster=cluster,
        )
        # A name is text of a file, and may be `../..`.
        path = posixpath.normpath(posixpath.join(self.below, filled))
        if path.startswith(("..", "/")):
            raise Problem(HTTPStatus.CONFLICT, f"{filled} is outside the repository")
        return path

    def _contents(self, commit: str, place: str) -> list[tuple[str, bytes]]:
        below = place
        if below == ".":
            below = ""
        files = [each for each in self.branch.files(commit, below) if _is_yaml(each)]
        size = sum(each.size for each in files)
        if size > _MOST:
            raise Problem(HTTPStatus.CONFLICT, f"the files in {place} have {size} bytes")
        # The same content in two files is one object, and read once.
        blobs = self.branch.contents(list({each.blob: None for each in files}), size)
        return [(each.path, blobs[each.blob]) for each in files]

    def _anew(
        self,
        commit: str,
        stored: Stored,
        new: KubeObject,
        before: Rendered,
    ) -> dict[str, bytes]:
        """Return what is rendered of the policy as it is to be, by path."""
        # What is applied now: zone data and targets are compared with it.
        older = [KubeObject.parse(content) for content in before.contents.values()]
        try:
            compiled = window_policy.compile_onto(
                KubeObject.parse(new.span), self._items(commit, stored, before), before.cluster
            )
            results = readonly.check(compiled.results, compiled.adopted)
        except InputError as error:
            raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        if compiled.application is None:
            raise _refused(before, results, new, stored)
        plan = compiled.application.plan
        # Where a newer release of the zone data moves nothing, the older one stays.
        plan = zone_release.kept(plan, zone_release.recorded(older, plan))
        # A target that is dropped while it is shut would stay suspended.
        forgotten = succession.forgotten(before.contents.values(), [plan.timetable])
        results = [*results, *about(new, forgotten)]
        if fails(results):
            raise _refused(before, results, new, stored)
        files = render.files(plan.policy, emit.objects(plan))
        return {f"{before.place}/{name}": content for name, content in files.items()}

    def _items(self, commit: str, stored: Stored, before: Rendered) -> list[KubeObject]:
        """Return the resources that targets are looked for among, without what was rendered."""
        if before.resources is None:
            return []
        items: list[KubeObject] = []
        for path, content in self._contents(commit, before.resources):
            # Neither the policy as it was nor what was rendered of it: both are about to change.
            if path != stored.file and not path.startswith(f"{before.place}/"):
                items += documents(content)
        return items


def _is_yaml(file: File) -> bool:
    return file.path.endswith(SUFFIXES)


def _differing(before: Rendered, files: dict[str, bytes]) -> Iterator[Edit]:
    for path, content in files.items():
        if before.contents.get(path) != content:
            yield Edit(path, content)
    for path in before.contents.keys() - files.keys():
        yield Edit(path, None)


def _refused(
    before: Rendered,
    results: Iterable[Result],
    new: KubeObject,
    stored: Stored,
) -> Problem:
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        f"the windows in {before.place} cannot be rendered: nothing was written",
        findings(list(results), new, stored.file),
    )

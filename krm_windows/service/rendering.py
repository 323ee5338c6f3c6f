"""What was rendered of a policy follows it, in the same commit.

Flux runs no function, so a cluster has what `krm-windows render` wrote into the repository. A
change of the policy alone would be in force nowhere.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import NamedTuple

from krm_windows import emit, render
from krm_windows.checks import policy_changes, readonly, zone_release
from krm_windows.emit import timetables
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


class ResourcePlace(NamedTuple):
    """Where the resources of a policy's targets are: a directory, what of it is not among them.

    That is the policy's own `file`, and the `place` of what was rendered of it.
    """

    directory: str
    file: str
    place: str


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
        policy = f"{stored.namespace}/{stored.name}"
        for place, resources in self._places(stored):
            contents = {
                path: content
                for path, content in self._contents(self._files(commit, place))
                if posixpath.dirname(path) == place and render.is_rendered_from(policy, content)
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

    def resource_place(self, stored: Stored, cluster: str | None) -> ResourcePlace | None:
        """Return where the resources of a policy's targets are on a cluster; None where nowhere.

        Raises Problem for a place outside of what is served.
        """
        rendering = self.rendering
        if rendering.resources is None:
            return None
        # For no cluster in particular there is no directory of one.
        if cluster is None and "{cluster}" in rendering.resources:
            return None
        place = self._path(rendering.directory, stored, cluster or "")
        resources = self._path(rendering.resources, stored, cluster or "")
        return ResourcePlace(resources, stored.file, place)

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

    def files(self, commit: str, where: ResourcePlace) -> list[File]:
        """Return the files that hold the resources of a policy's targets."""
        # Neither the policy as it was nor what was rendered of it: both are about to change.
        return [
            file
            for file in self._files(commit, where.directory)
            if file.path != where.file and not file.path.startswith(f"{where.place}/")
        ]

    def items(self, files: Sequence[File]) -> list[KubeObject]:
        """Read files of manifests; raises Problem where they are too large, else InputError."""
        items: list[KubeObject] = []
        for path, content in self._contents(files):
            try:
                # What has no kind is no resource, such as values of a chart; and what cannot be
                # read says so here, where its file is known.
                items += [item for item in documents(content) if item.kind]
            except InputError as error:
                raise error.in_file(path) from error
        return items

    def _files(self, commit: str, directory: str) -> list[File]:
        below = directory
        if below == ".":
            below = ""
        return [each for each in self.branch.files(commit, below) if _is_yaml(each)]

    def _contents(self, files: Sequence[File]) -> list[tuple[str, bytes]]:
        size = sum(each.size for each in files)
        if size > _MOST:
            where = posixpath.commonpath([each.path for each in files])
            raise Problem(HTTPStatus.CONFLICT, f"the files in {where} have {size} bytes")
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
        forgotten = policy_changes.forgotten(before.contents.values(), [plan.timetable])
        results = [*results, *about(new, forgotten)]
        if fails(results):
            raise _refused(before, results, new, stored)
        files = render.files(plan.policy, emit.objects(plan))
        return {f"{before.place}/{name}": content for name, content in files.items()}

    def _items(self, commit: str, stored: Stored, before: Rendered) -> list[KubeObject]:
        """Return the resources that targets are looked for among, without what was rendered."""
        if before.resources is None:
            return []
        where = ResourcePlace(before.resources, stored.file, before.place)
        return self.items(self.files(commit, where))


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

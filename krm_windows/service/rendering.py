"""What was rendered of a policy follows it, in the same commit.

Flux runs no function, so a cluster has what `krm-windows render` wrote into the repository. A
change of the policy alone would be in force nowhere. What a directory was rendered from is said in
it; it is rendered again in a temporary directory with the files of the commit.
"""

import posixpath
from collections.abc import Callable, Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from krm_windows.krm import InputError, KubeObject
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.render import KUSTOMIZATION, outputs
from krm_windows.render.command import CLUSTER
from krm_windows.render.outputs import Output, Renewal
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, findings
from krm_windows.system import temporary
from krm_windows.system.directories import Directory
from krm_windows.system.git_branch import Branch, Edit, File
from krm_windows.system.reading import SUFFIXES

Renew = Callable[[Path, Output], Renewal]
"""Renders again what is below a directory, without writing (`cli.rendered.renew`)."""
Read = Callable[[Path, str], list[KubeObject]]
"""Reads resources in a directory below another one (`cli.rendered.resources`)."""
# Manifests of a commit that are rendered from, and other files that a kustomization may name.
_MOST_OF_ALL = 256 << 20
_SMALL = 64 << 10
# A kustomization with the patches of some dozen policies.
_LARGEST = 1 << 20
# Commits whose outputs are kept, and policies of which is kept whether those are current.
_MOST_COMMITS = 8
_MOST_CHECKED = 1000
# By a file here the top of a repository is known (`system.tops`).
_GIT = ".git/HEAD"


class Renderer:
    """Renders again what says that it was rendered from a policy, and nothing else."""

    def __init__(self, branch: Branch, renew: Renew, read: Read) -> None:
        """Render what is on a branch."""
        self._branch = branch
        self._renew = renew
        self._read = read
        # Of each content, which never changes.
        self._lines: dict[str, bytes] = {}
        self.outputs = lru_cache(_MOST_COMMITS)(self._listed)
        self._checked = lru_cache(_MOST_CHECKED)(self._check)
        # Those that were read last, as they are large.
        self._resources = lru_cache(1)(self._read_resources)

    def renewals(self, commit: str, new: KubeObject, edit: Edit) -> list[Renewal]:
        """Return what to render again comes to once an edit has made a policy `new`.

        Raises Problem where it cannot be rendered: a change would be committed, and not be in
        force. A policy that was never rendered has no files: to render it first, and to list what
        comes of it, is for a person.
        """
        found = outputs.of_policy(self.outputs(commit), edit.path, f"{new.namespace}/{new.name}")
        if not found:
            return []
        renewals = self._renewed(commit, found, edit)
        for renewal in renewals:
            if not renewal.is_known:
                raise _refused(renewal, new, edit.path)
        return renewals

    def check(self, commit: str, stored: Stored) -> tuple[RenderedDirectory, ...]:
        """Return the directories that are rendered from a policy, and whether each is current.

        Of a large fleet that takes as long as to render it, once for each commit.
        """
        return self._checked(commit, stored.file, _name(stored))

    def _check(self, commit: str, file: str, name: str) -> tuple[RenderedDirectory, ...]:
        every = outputs.of_policy(self.outputs(commit), file, name)
        renewals = self._renewed(commit, every) if every else []
        return tuple(each.directory(in_git=True) for each in renewals)

    def _renewed(
        self, commit: str, every: Sequence[Output], edit: Edit | None = None
    ) -> list[Renewal]:
        """Render outputs again in a temporary directory with the manifests of a commit."""
        with temporary.directory("krm-windows-render-") as top:
            self._materialise(top, commit, edit)
            return [self._renew(top, each) for each in every]

    def rendered(self, commit: str, stored: Stored) -> list[Output]:
        """Return what was rendered from a policy."""
        return outputs.of_policy(self.outputs(commit), stored.file, _name(stored))

    def resources(self, commit: str, stored: Stored, cluster: str | None) -> list[KubeObject]:
        """Return the resources that a policy was rendered with for a cluster, or else for none.

        Raises Problem where they cannot be read.
        """
        place = None
        for each in self.rendered(commit, stored):
            if each.command is None or each.command.arguments.resources is None:
                continue
            arguments = each.command.arguments
            own = CLUSTER in arguments.resources
            if arguments.cluster in (None, cluster) and (cluster or not own):
                place = arguments.resources.replace(CLUSTER, cluster or "")
                if own or arguments.cluster is not None:
                    break
        return [] if place is None else self._resources(commit, place)

    def _read_resources(self, commit: str, place: str) -> list[KubeObject]:
        with temporary.directory("krm-windows-resources-") as top:
            self._materialise(top, commit)
            try:
                return self._read(top, place)
            except InputError as error:
                raise Problem(HTTPStatus.CONFLICT, str(error)) from error

    def _listed(self, commit: str) -> list[Output]:
        """Return all that was rendered into a commit."""
        return outputs.collect(
            (each.path, self._beginning(each))
            for each in self._branch.files(commit, "")
            if posixpath.basename(each.path) == KUSTOMIZATION and each.size <= _LARGEST
        )

    def _beginning(self, file: File) -> bytes:
        """Return the first two lines of a kustomization: one may have the patches of a fleet."""
        if file.blob not in self._lines:
            content = self._branch.objects.content(file.blob, most=file.size)
            self._lines[file.blob] = b"\n".join(content.split(b"\n", 2)[:2])
        return self._lines[file.blob]

    def _materialise(self, top: Path, commit: str, edit: Edit | None = None) -> None:
        """Write the manifests of a commit, and what a build may read beside them, with an edit.

        Links are left out: they may lead anywhere.
        """
        every = self._branch.files(commit, "")
        wanted = [each for each in every if _is_manifest(each) or each.size <= _SMALL]
        if sum(each.size for each in wanted) > _MOST_OF_ALL:
            wanted = list(filter(_is_manifest, every))
        root = Directory.at(top)
        root.put(_GIT, b"", lasting=False)
        size = sum(each.size for each in wanted)
        if size > _MOST_OF_ALL:
            raise Problem(HTTPStatus.CONFLICT, f"the manifests of the repository have {size} bytes")
        # The same content in two files is one object, and read once.
        blobs = self._branch.contents(list({each.blob: None for each in wanted}), size)
        for each in wanted:
            root.put(each.path, blobs[each.blob], lasting=False)
        if edit is not None:
            root.put(edit.path, edit.content or b"", lasting=False)


def _is_manifest(file: File) -> bool:
    return file.path.endswith((*SUFFIXES, ".json"))


def _name(stored: Stored) -> str:
    return f"{stored.namespace}/{stored.name}"


def _refused(renewal: Renewal, new: KubeObject, file: str) -> Problem:
    where = renewal.output.directory
    if renewal.output.command is None:
        return Problem(
            HTTPStatus.CONFLICT,
            f"nothing in {where} says how the windows of this policy were rendered, so they would "
            "not follow the change: nothing was written; render and commit them once with this "
            "version of `krm-windows render`",
        )
    detail = f"the windows in {where} cannot be rendered: nothing was written"
    if renewal.problem:
        detail += f" ({renewal.problem}); the command is `{renewal.output.command}`"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, findings(renewal.results, new, file))

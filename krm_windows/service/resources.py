"""The resources among which `closesEarly: auto` finds timeouts, as the tip of the branch has them.

They are read when hours depend on them, and once for what is in them: most commits change others.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

from krm_windows.krm import InputError, KubeObject
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.service.recent import Recent
from krm_windows.service.rendering import Renderer, ResourcePlace
from krm_windows.system.git_branch import File

# Files whose names are kept, of all directories and commits together.
_MOST_FILES = 500_000
# Bytes of manifests that are kept; each takes about ten times as much once it is parsed.
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class ResourceFiles:
    """The files with the resources of a policy; the digest is the same where their contents are."""

    digest: str
    files: tuple[File, ...]


NO_FILES = ResourceFiles("", ())
"""Where the hours depend on the policy alone, or nobody knows where the resources are."""


class Resources:
    """Finds and reads resources, for any number of threads."""

    def __init__(self, renderer: Renderer, tip: Callable[[], str]) -> None:
        """Look for them where they are for what is rendered, at a commit that moves."""
        self._renderer = renderer
        self._tip = tip
        self._files: Recent[ResourceFiles] = Recent(_MOST_FILES)
        self._items: Recent[list[KubeObject]] = Recent(_MOST_BYTES)

    def files(self, stored: Stored, cluster: str | None) -> ResourceFiles:
        """Return the files with the resources of a policy on a cluster."""
        if not stored.may_close_by_targets:
            return NO_FILES
        where = self._renderer.resource_place(self._tip(), stored, cluster)
        if where is None:
            return NO_FILES
        return self._files.get((self._tip(), where)) or self._listed(where)

    def read(self, files: ResourceFiles, stored: Stored) -> list[KubeObject]:
        """Read the resources of a policy; raises Problem where that cannot be."""
        if not files.files:
            return []
        found = self._items.get(files.digest)
        if found is None:
            try:
                found = self._renderer.items(files.files)
            except InputError as error:
                raise Problem(HTTPStatus.CONFLICT, f"{stored.title}: {error}") from error
            self._items.put(files.digest, found, sum(each.size for each in files.files))
        return found

    def _listed(self, where: ResourcePlace) -> ResourceFiles:
        commit = self._tip()
        files = tuple(self._renderer.files(commit, where))
        digest = hashlib.sha256()
        for file in files:
            # As Git has them, which are bytes, and never the one between them here.
            digest.update(f"{file.path}\0{file.blob}\0".encode(errors="surrogateescape"))
        found = ResourceFiles(digest.hexdigest(), files)
        self._files.put((commit, where), found, len(files) + 1)
        return found

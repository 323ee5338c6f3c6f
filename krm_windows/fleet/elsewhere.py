"""What other policies have in the files around an output.

They were rendered before, perhaps by another run, for one cluster.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from krm_windows import render, rules
from krm_windows.checks import overlap
from krm_windows.checks.overlap import Claim
from krm_windows.krm import InputError, KubeObject
from krm_windows.render.claims import claims
from krm_windows.results import Result
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import first_line
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES
from krm_windows.system.walk import walk

_GIT = ".git"
# Where there is no repository, what lies beside the output is looked at, if that is not half a
# machine.
_MOST_AROUND = 20_000
_MOST_IN_REPOSITORY = 500_000
_INCLUDED = ("resources", "bases", "components")


def _nothing(_: str) -> bool:
    return False


@dataclass(frozen=True)
class Elsewhere:
    """All that was rendered around a directory.

    In the repository that it lies in, or else right beside it. What is `without` (by its absolute
    path without links) is the output's own, and is rendered anew.
    """

    output: Path
    without: Callable[[str], bool] = _nothing

    @cached_property
    def _repository(self) -> Path | None:
        """The top of the repository that the output lies in."""
        here = Path(os.path.realpath(self.output))
        return next((above for above in (here, *here.parents) if (above / _GIT).exists()), None)

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The directories around, with the names of their files; none where there are too many."""
        here, top = Path(os.path.realpath(self.output)), self._repository
        most = _MOST_IN_REPOSITORY if top else _MOST_AROUND
        try:
            return dict(walk(top or here.parent, hidden=False, most=most))
        except WorkspaceError:
            return dict(walk(here, hidden=False, most=most)) if here.is_dir() else {}

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the policies claim that were rendered anywhere around.

        What is to be left out is not among it.
        """
        found: list[Claim] = []
        for folder, names in self._folders.items():
            files = [f"{folder}/{name}" for name in names if name.endswith(SUFFIXES)]
            contents = {
                _shown(file): _rendered(Path(file)) for file in files if not self.without(file)
            }
            found += claims(
                {path: content for path, content in contents.items() if content is not None}
            )
        return tuple(found)

    def check(self, own: Claim) -> list[Result]:
        """Return what a policy has in common with others around it.

        It is rendered into the output, for one cluster.
        """
        same = [other for other in self.claims if self._is_for_one_cluster(own, other)]
        unclear = [
            other for other in self.claims if other not in same and self._is_unclear(own, other)
        ]
        # What lies side by side in a repository and is in no build, Flux applies with whatever leads to the directory
        # above. Refused, it takes a word of the user; let through, the target is open only where both are.
        rule = rules.TWO_POLICIES if self._repository else rules.TWO_POLICIES_UNCLEAR
        apart = [other for other in unclear if self._has_builds_of_its_own(other)]
        together = [other for other in unclear if other not in apart]
        doubts = (
            *overlap.doubt(own, together, rule),
            *overlap.doubt(own, apart, rules.TWO_POLICIES_UNCLEAR),
        )
        return [*overlap.check(own, same), *doubts]

    def _is_for_one_cluster(self, own: Claim, other: Claim) -> bool:
        """Whether a policy is for the cluster of another.

        Both name it, or one build has them both.
        """
        if own.cluster is not None and other.cluster is not None:
            return own.cluster == other.cluster
        return bool(own.shares(other)) and self._is_built_with(Path(other.file).parent)

    def _is_unclear(self, own: Claim, other: Claim) -> bool:
        """Whether nothing tells if another policy is for the same cluster.

        It was rendered right beside the output, and neither of the two names a cluster.
        """
        beside = (
            Path(os.path.realpath(other.file)).parent.parent
            == Path(os.path.realpath(self.output)).parent
        )
        return beside and own.cluster is None and other.cluster is None

    def _has_builds_of_its_own(self, other: Claim) -> bool:
        """Whether kustomizations lead to the output and to another's directory, where none leads to both."""
        return all(
            len(self._above(folder)) > 1 for folder in (self.output, Path(other.file).parent)
        )

    def _is_built_with(self, folder: Path) -> bool:
        """Whether the output and another directory are built together.

        Some kustomization around has both, or they are one.
        """
        return bool(self._above(self.output) & self._above(folder))

    def _above(self, folder: Path) -> set[str]:
        """Return a directory and all whose kustomizations lead to it."""
        waiting, found = [os.path.realpath(folder)], set[str]()
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += self._users.get(place, ())
        return found

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        """The directories whose kustomizations name a directory, or a file in it."""
        found: dict[str, list[str]] = {}
        for folder, names in self._folders.items():
            for name in names:
                for entry in included(Path(folder, name)) if name in KUSTOMIZATIONS else ():
                    place = os.path.realpath(Path(folder, entry))
                    directory = str(Path(place).parent) if Path(place).is_file() else place
                    if directory != folder:
                        found.setdefault(directory, []).append(folder)
        return found


def included(file: Path) -> Iterator[str]:
    """Yield what a kustomization has of this machine's files.

    Of one that cannot be read there is nothing.
    """
    try:
        item = KubeObject.parse(file.read_bytes())
        entries = [item.get(field) for field in _INCLUDED]
    except (InputError, OSError):
        return
    for listed in entries:
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, str) and "://" not in entry and "\0" not in entry:
                yield entry


def _rendered(file: Path) -> bytes | None:
    """Return what a file holds that was rendered.

    It is None for any other, or for one that another run has just removed.
    """
    try:
        return file.read_bytes() if render.is_header(first_line(file) or "") else None
    except (FileNotFoundError, NotADirectoryError):
        return None


def _shown(file: str) -> str:
    """Return a path as a person would say it from here."""
    here = f"{Path.cwd()}/"
    return file.removeprefix(here)

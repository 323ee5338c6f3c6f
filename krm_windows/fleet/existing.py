"""What other policies have in the files around an output.

They were rendered before, perhaps by another run, for one cluster.
"""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path

from krm_windows import render, rules
from krm_windows.checks import overlap
from krm_windows.checks.overlap import Claim
from krm_windows.emit.delivery import FOLDERS
from krm_windows.gate.timetable import Target
from krm_windows.inventory import Resources, no_resources
from krm_windows.krm import InputError, KubeObject, opened
from krm_windows.plan.given import Given, gated
from krm_windows.policy.model import KIND
from krm_windows.render.claims import claims
from krm_windows.results import Result
from krm_windows.system import tops
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import first_line
from krm_windows.system.reading import SUFFIXES
from krm_windows.system.walk import walk

# Where there is no repository, what is beside the output is read, if that is not half a
# machine.
_MOST_AROUND = 20_000
_MOST_IN_REPOSITORY = 500_000


def _nothing(_: str) -> bool:
    return False


@dataclass(frozen=True)
class ExistingOutput:
    """All that was rendered around a directory.

    In the repository that it is in, or else right beside it. What is `without` (by its absolute
    path without links) is the output's own, and is rendered anew. `resources` gives those of a
    cluster, among which policies look for their targets.
    """

    output: Path
    without: Callable[[str], bool] = _nothing
    resources: Resources = no_resources

    @cached_property
    def repository(self) -> Path | None:
        """The top of the repository that the output is in."""
        return tops.top(Path(os.path.realpath(self.output)))

    @cached_property
    def _folders(self) -> dict[str, list[str]]:
        """The directories around, with the names of their files; none where there are too many."""
        here = Path(os.path.realpath(self.output))
        top = here.parent
        most = _MOST_AROUND
        if self.repository:
            top = self.repository
            most = _MOST_IN_REPOSITORY
        try:
            return dict(walk(top, hidden=False, most=most))
        except WorkspaceError:
            if not here.is_dir():
                return {}
        # Too much is around: the output itself is read all the same.
        return dict(walk(here, hidden=False, most=most))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the policies claim that were rendered anywhere around.

        What is to be left out is not among it.
        """
        # Those of one directory belong together, with those of it that are delivered by themselves:
        # a timetable says more than Roles.
        together: dict[str, dict[str, bytes]] = {}
        for folder, names in self._folders.items():
            home = folder
            if FOLDERS.fullmatch(os.path.basename(folder)):  # noqa: PTH119 - a hot path
                home = os.path.dirname(folder)  # noqa: PTH120 - likewise
            contents = together.setdefault(home, {})
            for name in names:
                file = f"{folder}/{name}"
                if not name.endswith(SUFFIXES) or self.without(file):
                    continue
                # Only what has our header is read in full: a repository has thousands of others.
                content = _rendered(Path(file))
                if content is not None:
                    contents[_shown(file)] = content
        return tuple(chain.from_iterable(map(claims, together.values())))

    @cached_property
    def policies(self) -> tuple[Given, ...]:
        """The policies whose files are around; a file that cannot be read has none."""
        files: list[str] = []
        for folder, names in self._folders.items():
            files += (f"{folder}/{name}" for name in names)
        given: list[Given] = []
        for file in dict.fromkeys(files):
            if file.endswith(SUFFIXES):
                given += map(Given.of, _policies(Path(file)))
        return tuple(given)

    def current(self, rendered: Claim) -> Claim:
        """Return what was rendered, without what the file of its policy no longer gates.

        That was moved, and goes with the next render of that policy.
        """
        given = [each for each in self.policies if rendered.policy in each.own_names]
        of_files = [
            each.timetable(rendered.cluster, self.resources(rendered.cluster)) for each in given
        ]
        if not of_files or None in of_files:  # nothing says that it is not so any more
            return rendered
        return rendered.only(filter(None, of_files))

    def gated(self, cluster: str | None, but: Collection[str]) -> Iterator[Target]:
        """Yield what policies gate in a cluster, but for those of some names.

        By their files, and by what was rendered from files that are elsewhere.
        """
        yield from gated(self.policies, cluster, self.resources(cluster), but)
        for rendered in self.claims:
            if rendered.cluster == cluster and rendered.policy not in but:
                yield from self.current(rendered).targets

    def check(self, own: Claim) -> list[Result]:
        """Return what a policy has in common with others around it.

        It is rendered into the output, for one cluster.
        """
        results: list[Result] = []
        home = os.path.realpath(self.output)
        for folder, rendered in self._places:
            # One directory is applied as one.
            is_one = folder == home or (own.cluster and own.cluster == rendered.cluster)
            # Nothing says whether both are for one cluster: `out/week` and `out/weekend`, say.
            is_unclear = None in (own.cluster, rendered.cluster) and (
                Path(folder).parent == Path(home).parent
            )
            if not (is_one or is_unclear) or not any(overlap.disputed(own, rendered)):
                continue
            unclear = None if is_one else rules.TWO_POLICIES_UNCLEAR
            # What is side by side in a repository Flux applies with whatever leads to the directory
            # above. Refused, it takes a word of the user; let through, the target is open only
            # where both are. For a cluster that is named there may be a directory beside those of
            # others.
            if unclear and self.repository and own.cluster == rendered.cluster:
                unclear = rules.TWO_POLICIES
            # Only now, as to read the files of policies takes a while.
            results += overlap.conflicts(own, [self.current(rendered)], unclear)
        return results

    @cached_property
    def _places(self) -> list[tuple[str, Claim]]:
        """The claims, each with the directory that it was rendered into."""
        return [(os.path.dirname(os.path.abspath(each.file)), each) for each in self.claims]  # noqa: PTH100, PTH120 - a hot path


def _policies(file: Path) -> Iterator[KubeObject]:
    """Yield the policies in a file; what is rendered, or no YAML, has none."""
    try:
        content = file.read_bytes()
        if KIND.encode() in content:
            yield from (item for item in opened(content) if item.kind == KIND)
    except (OSError, InputError):
        return


def _rendered(file: Path) -> bytes | None:
    """Return what a file holds that was rendered.

    It is None for any other, or for one that another run has just removed.
    """
    if not render.is_header(first_line(file)):
        return None
    return Directory.at(file.parent).read(file.name)


def _shown(file: str) -> str:
    """Return a path as a person would say it from here."""
    here = f"{Path.cwd()}/"
    return file.removeprefix(here)

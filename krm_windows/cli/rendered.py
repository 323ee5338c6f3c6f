"""What `render` wrote into a repository, and what it would write there now."""

import os
import posixpath
from collections.abc import Iterable
from pathlib import Path

from krm_windows.cli import cluster_resources, render
from krm_windows.emit.header import is_header
from krm_windows.krm import EditError, InputError, KubeObject
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.render import KUSTOMIZATION, outputs
from krm_windows.render.outputs import Edits, Output, Renewal
from krm_windows.results import Result
from krm_windows.system import tops
from krm_windows.system.checkout import Checkout
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import first_line


def top_of(file: Path) -> Path:
    """Return the top of the repository of a file.

    Without Git that is the working directory, if the file is below it, else its own directory.
    """
    place = Path(os.path.realpath(file))
    here = Path(os.path.realpath("."))
    around = here if place.is_relative_to(here) else place.parent
    return tops.top(place.parent) or around


def find(tree: Checkout) -> list[Output]:
    """Return all that was rendered into a repository."""
    # Behind a link, paths that are relative to the directory would lead elsewhere.
    listed = (
        path
        for path in tree.manifests()
        if posixpath.basename(path) == KUSTOMIZATION and tree.real(path) == path
    )
    return outputs.collect((path, tree.read(path) or b"") for path in listed)


def of_file(file: Path, config: KubeObject) -> tuple[Path, list[Output]]:
    """Return what was rendered from the policy of a file.

    With the top of the repository, from which all paths are.
    """
    top = top_of(file)
    path = os.path.relpath(os.path.realpath(file), top)
    every = find(Checkout.at(top))
    return top, outputs.of_policy(every, path, f"{config.namespace}/{config.name}")


def directories(top: Path, found: Iterable[Output]) -> list[RenderedDirectory]:
    """Return the directories of what was rendered, and whether each is current."""
    here = Path.cwd()
    return [renew(top, each, here).directory(os.path.relpath(top)) for each in found]


def renew(top: Path, output: Output, start: Path | None = None) -> Renewal:
    """Return what to render an output again comes to; nothing is written.

    What is found names files from the directory `start`, or else from the top.
    """
    if output.command is None:
        return Renewal(output, problem="nothing in it says how it was rendered")
    try:
        _check_inside(top, output.command.paths)
        where = os.path.relpath(top, start) if start else str(top)
        results, edits = render.renewal(output.command.below(where).arguments)
        below = {
            posixpath.normpath(posixpath.join(output.directory, path)): content
            for path, content in edits.items()
        }
        _check_ours(top, below)
    except (InputError, EditError, WorkspaceError) as error:
        return Renewal(output, problem=str(error).replace(f"{top}/", ""))
    except OSError as error:
        return Renewal(output, problem=f"{error.filename}: {error.strerror}".replace(f"{top}/", ""))
    return Renewal(output, tuple(_from(top, result) for result in results), below)


def resources(top: Path, directory: str) -> list[KubeObject]:
    """Return what `--resources` reads of a directory below the top; raises InputError."""
    try:
        _check_inside(top, [directory])
        return cluster_resources.read(str(top / directory))
    except (InputError, WorkspaceError) as error:
        raise InputError(str(error).replace(f"{top}/", "")) from error


def _from(top: Path, result: Result) -> Result:
    """Return a result with paths from the top in place of absolute ones."""
    found = result._replace(message=result.message.replace(f"{top}/", ""))
    if found.file is None:
        return found
    return found._replace(file=found.file._replace(path=found.file.path.removeprefix(f"{top}/")))


def write(top: Path, edits: Edits) -> None:
    """Make files what they are to be."""
    root = Directory.at(top)
    for path, content in edits.items():
        if content is not None:
            root.put(path, content)
        elif (top / path).exists():
            root.remove(path)


def contents(top: Path, edits: Edits) -> dict[str, bytes | None]:
    """Return the contents of the files of some edits as they are, None of those that are not."""
    return {path: _content(top / path) for path in edits}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _check_inside(top: Path, paths: Iterable[str]) -> None:
    """Raise WorkspaceError where a link leads out of the repository."""
    real = os.path.realpath(top)
    for path in paths:
        if not Path(os.path.realpath(top / path)).is_relative_to(real):
            raise WorkspaceError(f"{path}: leads out of the repository, so it is not rendered")


def _check_ours(top: Path, edits: Edits) -> None:
    """Raise WorkspaceError where something that was not rendered is in the way."""
    for path in edits:
        if os.path.lexists(top / path) and not is_header(first_line(top / path)):
            raise WorkspaceError(f"{path} is in the way: it was not rendered; move it away")

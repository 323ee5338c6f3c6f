"""kustomize, or kubectl in its place: on a directory as it stands, or on a copy of exactly what a build may read.

On a copy it has no network: what it prints depends on those files and the program's version, the key of the cache.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from krm_windows.workspace.errors import WorkspaceError
from krm_windows.workspace.files import replace
from krm_windows.workspace.reading import KUSTOMIZATIONS

# As Flux builds: files from anywhere in the repository, and no plugins.
_AS_FLUX = "--load-restrictor=LoadRestrictionsNone"
_FORMAT = "1"
_SECONDS = 300
_NO_DIRECTORY = "': must build at directory:"
# Nothing is fetched: there is no git to be found, and the proxy of every address is a port that nobody serves.
_NOWHERE = "http://127.0.0.1:9"
_OFFLINE = {"PATH": "", **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _NOWHERE)}
_COMMANDS = {"kustomize": (("build",), ("version",)), "kubectl": (("kustomize",), ("version", "--client"))}


class BuildError(Exception):
    """A build failed; the message is the program's own."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a build reads: contents by path, links by path (to a path), and the directory that is built."""

    directory: str
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)

    def digest(self, version: str) -> str:
        """Return a name for what a program of this version makes of them."""
        found = hashlib.sha256()
        parts = [_FORMAT, version, self.directory, *(part for link in sorted(self.links.items()) for part in link)]
        for part in (*map(os.fsencode, parts), *self._contents()):
            found.update(f"{len(part)} ".encode() + part)
        return found.hexdigest()

    def _contents(self) -> list[bytes]:
        return [part for path, content in sorted(self.files.items()) for part in (os.fsencode(path), content)]

    def write(self, folder: Path) -> None:
        """Put them below a directory."""
        for path, content in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        for path, target in sorted(self.links.items()):  # one may lie behind another, and is there already then
            place = folder / path
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(os.path.relpath(folder / target, place.parent))


@dataclass(frozen=True, slots=True)
class Builder:
    """The program that builds; `cache` is a directory for what it printed, None for none."""

    program: tuple[str, ...]
    version: str
    cache: Path | None = None

    @classmethod
    def find(cls, cache: Path | None = None) -> "Builder | None":
        """Return kustomize, or kubectl where it is not installed, or None."""
        for name, (build, version) in _COMMANDS.items():
            if place := shutil.which(name):
                found = _started([place, *version], None)
                return cls((place, *build), f"{name} {found.decode(errors='replace')}", cache)
        return None

    def build(self, inputs: Inputs) -> bytes:
        """Return what a build prints; raises BuildError where it fails."""
        kept = self.cache / inputs.digest(self.version) if self.cache else None
        if kept is not None and kept.is_file():
            return kept.read_bytes()
        output = self._built(inputs)
        if kept is not None:
            with suppress(OSError):  # a machine without a place to keep it builds again next time
                kept.parent.mkdir(parents=True, exist_ok=True)
                replace(kept, output)
        return output

    def _built(self, inputs: Inputs) -> bytes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(os.path.realpath(name))
            inputs.write(folder / "tree")
            place = os.path.normpath(folder / "tree" / inputs.directory)
            try:
                return _started([*self.program, place, _AS_FLUX], {**_OFFLINE, "HOME": name, "TMPDIR": name})
            except WorkspaceError as error:
                raise BuildError(str(error).replace(f"{folder}/tree/", "").replace(f"{folder}/tree", ".")) from error


def is_kustomization(path: Path) -> bool:
    """Whether a directory is to be built."""
    return any((path / name).is_file() for name in KUSTOMIZATIONS)


def kustomizations(path: Path) -> Iterator[Path]:
    """Yield the file of every kustomization in a directory or below it."""
    return (found for name in KUSTOMIZATIONS for found in path.rglob(name) if found.is_file())


def build(path: Path) -> bytes:
    """Return what a kustomization builds to; raises WorkspaceError where it does not, or nothing can build it."""
    builder = Builder.find()
    if builder is None:
        raise WorkspaceError(f"{path} is a kustomization: install {' or '.join(_COMMANDS)} to build it")
    try:
        return _started([*builder.program, str(path), _AS_FLUX], None)
    except WorkspaceError as error:
        raise WorkspaceError(f"{path} cannot be built: {error}") from error


def _started(command: list[str], environment: Mapping[str, str] | None) -> bytes:
    """Run a program, in the environment of this one where none is given."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(f"was not built within {_SECONDS} s") from error
    if done.returncode != 0:
        raise WorkspaceError(_last(done.stderr.decode(errors="replace")))
    return done.stdout


def _last(said: str) -> str:
    """Return what a program said last: of an error in an error, each behind a quoted path, the innermost.

    kustomize takes a file that it cannot read for a directory, and complains of that last.
    """
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["failed without a word"]
    return lines[-1].partition(_NO_DIRECTORY)[0].removeprefix("Error: ").removeprefix("error: ").rpartition("': ")[2]

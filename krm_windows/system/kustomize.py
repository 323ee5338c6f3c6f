"""kustomize, or kubectl in its place, on a copy of exactly what a build may read.

It runs in a sandbox: what it prints depends on those files and the program's version, which are the
key of the cache.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from krm_windows.system import programs, temporary
from krm_windows.system.cache import Cache
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.programs import Limits
from krm_windows.system.sandbox.confinement import Confinement, NotConfinedError

_MIB = 1 << 20
LIMITS = Limits(seconds=300, output=256 * _MIB, memory=2048 * _MIB, file=256 * _MIB, processor=120)
"""What one build may take."""

# Flux builds with files from anywhere in the repository; what is elsewhere the sandbox refuses.
_ANYWHERE = "--load-restrictor=LoadRestrictionsNone"
# Raised when what is kept in the cache changes its meaning: older entries are not found then.
_FORMAT = "5"
# As kustomize complains of a resource that it could take for neither a file nor a directory.
_NO_DIRECTORY = "': must build at directory:"
_COMMANDS = {
    "kustomize": (("build",), ("version",)),
    "kubectl": (("kustomize",), ("version", "--client")),
}
NAMES = " or ".join(_COMMANDS)
# Go collects garbage when there is four times as much of it as of what is in use: most builds end
# before that. By default it does so at once as much, which takes a tenth of a build. Near the limit
# of memory it does so more often. And kubectl looks for no cluster.
_GO = {"GOGC": "400", "GOMEMLIMIT": "1536MiB", "KUBECONFIG": "none"}
# What Go says when the kernel gives it no more.
_OUT_OF_MEMORY = ("runtime: out of memory", "runtime: cannot allocate")
# What glibc's loader looks up libraries in (ld.so(8)).
_LOADER_CACHE = "/etc/ld.so.cache"


class BuildError(Exception):
    """A build failed; the message is the program's own."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a build reads: contents and links by path, and the directory that is built."""

    directory: str
    files: Mapping[str, bytes]
    links: Mapping[str, str] = field(default_factory=dict)

    def digest(self, version: str) -> str:
        """Return a name for what a program of this version makes of them."""
        files, links = (sorted(each.items()) for each in (self.files, self.links))
        # No two of them are written alike.
        text = repr((_FORMAT, version, self.directory, links, files))
        return hashlib.sha256(text.encode()).hexdigest()

    def write(self, folder: Path) -> None:
        """Put them below a directory."""
        for path, content in self.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        for path, target in sorted(self.links.items()):
            place = folder / path
            # One may be behind another, and is there already then.
            if not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                # Relative, as the copy is elsewhere than the repository.
                place.symlink_to(os.path.relpath(folder / target, place.parent))


class Builder:
    """The program that builds, in a sandbox.

    Where the kernel confines nothing it is not made, unless told to `trust` what is built. Raises
    WorkspaceError.
    """

    def __init__(
        self,
        name: str,
        program: str,
        cache: Cache | None = None,
        limits: Limits = LIMITS,
        *,
        trust: bool = False,
    ) -> None:
        """Ask the program at a path for its version, in the sandbox."""
        self._build, self._version = _COMMANDS[name]
        # Landlock's rules are for files: a link in the path would be another one.
        self.program = os.path.realpath(program)
        self._cache = cache
        self._limits = limits
        # Without PATH kustomize finds no git to fetch a remote base with.
        self._environment = {**_GO, "PATH": ""}
        try:
            self.runs: tuple[str, ...] | None = (self.program, *self._loaded())
            said = self._asked()
        except (WorkspaceError, OSError) as error:
            if not trust:
                raise _not_begun(self.program, error) from error
            self.runs = None
            said = self._asked()
        self.version = f"{name} {said.decode(errors='replace')}"

    @classmethod
    def find(cls, cache: Cache | None = None, *, trust: bool = False) -> "Builder | None":
        """Return kustomize, or kubectl where it is not installed, or None."""
        # kustomize first: kubectl has an older one built in.
        for name in _COMMANDS:
            program = programs.find(name)
            if program is not None:
                return cls(name, program, cache, trust=trust)
        return None

    def build(self, inputs: Inputs) -> bytes:
        """Return what a build prints; raises BuildError where it fails."""
        if self._cache is None:
            return self._built(inputs)
        # The version is part of the name, so another kustomize never gets what this one has built.
        name = inputs.digest(self.version)
        output = self._cache.read(name)
        if output is None:
            output = self._built(inputs)
            self._cache.write(name, output)
        return output

    def _built(self, inputs: Inputs) -> bytes:
        """Build a copy, in which nothing else is."""
        with temporary.directory("krm-windows-") as folder:
            copy = folder / "copy"
            copy.mkdir()
            try:
                inputs.write(copy)
                # Given as an absolute path: the program's working directory is another one.
                place = os.path.normpath(copy / inputs.directory)
                return self._run(folder, *self._build, place, _ANYWHERE)
            except WorkspaceError as error:
                # Messages name files as they are in the repository, and not as in the copy.
                raise BuildError(
                    str(error).replace(f"{copy}/", "").replace(f"{copy}", ".")
                ) from error

    def _asked(self) -> bytes:
        """Return the version of the program.

        In the sandbox a broken or foreign one can do no harm, not even when asked for that.
        """
        with temporary.directory("krm-windows-") as folder:
            return self._run(folder, *self._version)

    def _run(self, folder: Path, *arguments: str) -> bytes:
        """Return what the program prints, which reads a folder, and writes into a part of it."""
        scratch = folder / "scratch"
        scratch.mkdir()
        confine = None
        if self.runs is not None:
            confine = Confinement(self.runs, (str(folder),), (str(scratch),)).enter
        ended = programs.run(
            [self.program, *arguments],
            # HOME first: the user's own comes in place of it where it is allowed.
            environment={"HOME": str(scratch), "TMPDIR": str(scratch), **self._environment},
            limits=self._limits,
            confine=confine,
        )
        if any(said in ended.complaint for said in _OUT_OF_MEMORY):
            raise WorkspaceError(f"needs more than {self._limits.memory} bytes of memory")
        if ended.code != 0:
            raise WorkspaceError(reason(ended.complaint, ended.code))
        return ended.output

    def _loaded(self) -> set[str]:
        """Return the files that the kernel and the loader open to start the program.

        As most programs of Go are, it may be linked statically, and need none.
        """
        # The loader of glibc lists what it would load, and starts nothing (ld.so(8)); a static
        # program says its version. `libc.so.6 => /lib/libc.so.6 (0x00007f…)`, one a line.
        listed = programs.run(
            [self.program, *self._version],
            environment={**self._environment, "LD_TRACE_LOADED_OBJECTS": "1"},
            limits=self._limits,
        )
        words = os.fsdecode(listed.output).split()
        # The loader of musl lists nothing, and is the library as well.
        musl = f"/lib/ld-musl-{os.uname().machine}.so.1"
        found = [word for word in (*words, _LOADER_CACHE, musl) if word.startswith("/")]
        return {os.path.realpath(path) for path in found if Path(path).exists()}


def _not_begun(path: str, error: Exception) -> WorkspaceError:
    """Say why a program cannot be used, and what to do."""
    if isinstance(error, NotConfinedError):
        return NotConfinedError(
            f"{path} is not used: {error}; build elsewhere and pipe the result in, or use "
            "--trust if you trust everyone who can change what is built"
        )
    return WorkspaceError(
        f"{path} does not print its version: {error}; put the program itself first in PATH, not "
        "a wrapper script"
    )


def reason(said: str, code: int) -> str:
    """Return what a program said last.

    Of an error in an error, each behind a quoted path, the innermost. kustomize takes a file that
    it cannot read for a directory, and complains of that last.
    """
    # kubectl puts several lines between `err=<` and ` >`. Some programs print nothing at all when
    # they are killed.
    lines = [line.strip() for line in said.splitlines() if line.strip(" >")] or [
        f"failed without an error message, with {code}"
    ]
    # kubectl prints `error: `, kustomize `Error: `, both before the same words.
    line = lines[-1].partition(_NO_DIRECTORY)[0].removeprefix("Error: ").removeprefix("error: ")
    return line.rpartition("': ")[2]

"""Which files of a repository a source leaves out of the artifact that Flux applies.

`.sourceignore` and `spec.ignore` are read as source-controller does (fluxcd/pkg, sourceignore,
which is the gitignore of go-git): a file is matched by its whole path, so that one in a directory
that is left out can be taken in again. What it leaves out without being told, such as `*.zip`, is
nothing that is applied.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from posixpath import dirname

from krm_windows.flux.closure import joined
from krm_windows.flux.model import Layer, Object
from krm_windows.flux.sources import below
from krm_windows.patterns import filename
from krm_windows.system.checkout import Checkout

FILE = ".sourceignore"
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class ArtifactFiles:
    """The files of a source, which is the directory `home` of a repository.

    `source` is the object that says so, None where that is not in Git.
    """

    tree: Checkout
    home: str
    source: Object | None

    def left_out_by(self, path: str) -> Layer | None:
        """Return what leaves a file out of the artifact, None where it is in it."""
        inside = self._inside(self.home, path)
        if inside is None:
            return None
        checked_out = self.source.entries("spec", "sparseCheckout") if self.source else ()
        if checked_out and not any(
            self._inside(below("", str(each)), inside) is not None for each in checked_out
        ):
            return Layer("spec.sparseCheckout", self.source)
        found = None
        for line, inner, layer in self._lines(path):
            # The last one that matches decides.
            if _matches(line.removeprefix("!"), inner):
                found = None if line.startswith("!") else layer
        return found

    def _lines(self, path: str) -> Iterator[tuple[str, str, Layer]]:
        """Yield the patterns that may be about a file, each with the path from where it counts."""
        above = [dirname(path) or "."]
        while above[-1] not in (self.home, "."):
            above.append(dirname(above[-1]) or ".")
        for directory in reversed(above):
            file = joined(directory, FILE)
            inner = self._inside(directory, path) or path
            text = (self.tree.read(file) or b"").decode(errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                if not line.startswith("#"):
                    yield line, inner, Layer("", file=file, line=number)
        if self.source is not None:
            inner = self._inside(self.home, path) or path
            for line in self.source.text("spec", "ignore").splitlines():
                if not line.startswith("#"):
                    yield line, inner, Layer("spec.ignore", self.source)

    @staticmethod
    def _inside(directory: str, path: str) -> str | None:
        if directory == ".":
            return path
        return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else None


def _matches(pattern: str, path: str) -> bool:
    """Whether a pattern of gitignore, without `!`, matches a file or a directory that it is in.

    See `Match` in fluxcd/pkg/sourceignore/gitignore/pattern.go.
    """
    names = path.split("/")
    pattern = pattern if pattern.endswith("\\ ") else pattern.rstrip(" ")
    is_directory = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if "/" in pattern:
        return _leads_to(pattern.split("/"), names, is_directory=is_directory)
    return any(_is_named(pattern, name) for name in (names[:-1] if is_directory else names))


def _leads_to(steps: Sequence[str], names: Sequence[str], *, is_directory: bool) -> bool:
    """Whether the steps of a pattern lead from the first of some names to one of them."""
    at = 0
    traverses = False
    for step in steps[:-1] if steps[-1] == "**" else steps:
        if step == "**":
            traverses = True
        elif "**" in step:
            return False
        elif step:
            end = len(names) if traverses else at + 1
            # The first that matches: like Go, it is never gone back to another.
            named = (n for n, name in enumerate(names[:end]) if n >= at and _is_named(step, name))
            found = next(named, None)
            if found is None:
                return False
            at = found + 1
            traverses = False
    return at > 0 and not (is_directory and at == len(names))


def _is_named(pattern: str, name: str) -> bool:
    # Go writes a class that excludes as `[^a]`, and has `\*` for a star (path/filepath, Match).
    return filename.matches(_ESCAPED.sub(r"[\1]", pattern).replace("[^", "[!"), name)

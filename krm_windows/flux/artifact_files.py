"""Which files of a repository are in the artifact of a source, which is all that Flux applies.

`.sourceignore` and `spec.ignore` are read as source-controller does (fluxcd/pkg, sourceignore,
which is the gitignore of go-git): a file is matched by its whole path, so that one in a directory
that is left out can be taken in again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from krm_windows import patterns
from krm_windows.flux.closure import joined
from krm_windows.flux.model import Object
from krm_windows.flux.sources import below, inside
from krm_windows.system import walk
from krm_windows.system.checkout import Checkout

FILE = ".sourceignore"
_ESCAPED = re.compile(r"\\(.)")
# What is left out in any case, and what is where no pattern says anything (fluxcd/pkg,
# sourceignore.go and artifact/storage/archive.go, SourceIgnoreFilter).
_OF_GIT = (".git/", ".gitignore", ".gitmodules", ".gitattributes")
_BY_DEFAULT = (
    *("*.jpg", "*.jpeg", "*.gif", "*.png", "*.wmv", "*.flv", "*.tar.gz", "*.zip"),
    *(".github/", ".circleci/", ".travis.yml", ".gitlab-ci.yml", "appveyor.yml", ".drone.yml"),
    *("cloudbuild.yaml", "codeship-services.yml", "codeship-steps.yml"),
    *("**/.goreleaser.yml", "**/.sops.yaml", "**/.flux.yaml"),
)


@dataclass(frozen=True, slots=True)
class Artifact:
    """What a source makes of a repository: the directory `home`, but for what fields leave out.

    The directories `included` are of other repositories.
    """

    home: str = "."
    ignore: str = ""
    checked_out: tuple[str, ...] = ()
    included: tuple[str, ...] = ()

    @classmethod
    def of(cls, home: str, source: Object | None) -> "Artifact":
        """Read the fields of a source; None where that is not in Git."""
        if source is None:
            return cls(home)
        checked_out = tuple(map(str, source.entries("spec", "sparseCheckout")))
        included = []
        for number, entry in enumerate(source.parts("spec", "include")):
            name = source.text("spec", "include", number, "repository", "name")
            # Without `toPath` it is the name (GitRepository API, spec.include).
            included.append(below(home, str(entry.get("toPath") or name)))
        return cls(home, source.text("spec", "ignore"), checked_out, tuple(included))


@dataclass(frozen=True)
class ArtifactFiles:
    """The files of an artifact."""

    tree: Checkout
    artifact: Artifact
    _known: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def checkout(self) -> Checkout:
        """The tree as Flux finds it in the artifact."""
        return replace(self.tree, left_out=self.leaves_out, elsewhere=self.artifact.included)

    def leaves_out(self, path: str) -> bool:
        """Whether a file is not in the artifact."""
        if path not in self._known:
            self._known[path] = self._decided(path)
        return self._known[path]

    def _decided(self, path: str) -> bool:
        own = inside(path, self.artifact.home)
        if own is None:
            return False
        checked_out = self.artifact.checked_out
        if checked_out and not any(inside(own, below("", each)) for each in checked_out):
            return True
        # The last one that matches decides.
        for pattern, directory in reversed(self._patterns):
            inner = inside(path, directory)
            if inner is not None and _matches(pattern.removeprefix("!"), inner):
                return not pattern.startswith("!")
        return False

    @cached_property
    def _patterns(self) -> list[tuple[str, str]]:
        """The patterns, each with the directory from which it counts, the last word last."""
        home = self.artifact.home
        root = Path(self.tree.root)
        own = []
        for folder, names in walk.walk(root / home, hidden=False):
            if FILE in names:
                directory = Path(folder).relative_to(root).as_posix()
                text = (self.tree.read(joined(directory, FILE)) or b"").decode(errors="replace")
                own += [(line, directory) for line in _lines(text)]
        own += [(line, home) for line in _lines(self.artifact.ignore)]
        # Whoever writes a pattern of their own no longer has the usual ones.
        usual = _OF_GIT if own else (*_OF_GIT, *_BY_DEFAULT)
        return [*((line, home) for line in usual), *own]


def _lines(text: str) -> list[str]:
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return [line for line in lines if line.strip() and not line.startswith("#")]


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
    return patterns.is_named(_ESCAPED.sub(r"[\1]", pattern).replace("[^", "[!"), name)

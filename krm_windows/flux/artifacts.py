"""Artifacts that source-watcher puts together (ArtifactGenerator).

Which directory of this repository is at a path. Copies are those of `cp -r` (fluxcd/source-watcher,
"Copy Operations"): `@repo/dir/**` is what is in a directory, `@repo/dir/` the directory itself. A
path that two copies fill, or that is copied in part, is no directory of a repository, so nothing is
said of it.
"""

from collections.abc import Iterable, Iterator
from posixpath import basename, join, normpath
from typing import NamedTuple

from krm_windows.flux.model import Object, ObjectIdentity, reference
from krm_windows.flux.sources import inside
from krm_windows.krm import Value

# The kinds of sources that Flux' own controllers fetch are in `sources`; this one is made of them.
KIND = "ExternalArtifact"
_GENERATOR = ("source.extensions.fluxcd.io", "ArtifactGenerator")
# The end of `from` that stands for what is in a directory.
_CONTENTS = "**"
# Signs of a pattern that takes a part of a directory only.
_GLOB = "*?[]{"
_ARTIFACT = "@artifact/"


class _Copy(NamedTuple):
    """A directory of a source, known by its alias, and where in the artifact it is copied to.

    `directory` is empty where it is copied in part.
    """

    alias: str
    directory: str
    target: str


def directories(
    source: ObjectIdentity,
    path: str,
    known: Iterable[Object],
) -> Iterator[tuple[ObjectIdentity, str]]:
    """Yield each source, with the directory in it that the artifact `source` has at `path`."""
    for item in known:
        if (item.group, item.kind) != _GENERATOR or item.namespace != source.namespace:
            continue
        # Its artifacts are templates of names, which are not filled in here.
        if item.get("spec", "pathPattern"):
            continue
        for artifact in item.parts("spec", "artifacts"):
            if artifact.get("name") == source.name:
                yield from _at(item, artifact.get("copy"), path)


def _at(
    item: Object,
    copies: Value,
    path: str,
) -> Iterator[tuple[ObjectIdentity, str]]:
    """Yield the source, and the directory in it, that a path of an artifact is copied from."""
    # Two copies at one path make a directory that no repository has.
    touching = [each for each in _copies(copies) if _touches(each, path)]
    if len(touching) != 1:
        return
    [copy] = touching
    source = _sources(item).get(copy.alias)
    below = inside(path, copy.target)
    if source is None or below is None or not copy.directory:
        return
    # `apps` of an artifact that has `@repo/deploy/**` at `.` is `deploy/apps` of that source.
    yield source, normpath(join(copy.directory, below))


def _sources(item: Object) -> dict[str, ObjectIdentity | None]:
    """Return the sources of a generator by their aliases."""
    found = {}
    for index, entry in enumerate(item.parts("spec", "sources")):
        # `alias: repo` is what `@repo/…` refers to.
        alias = str(entry.get("alias"))
        found[alias] = reference(item, item.namespace, "spec", "sources", index)
    return found


def _copies(copies: Value) -> Iterator[_Copy]:
    """Yield what is copied where."""
    if not isinstance(copies, list):
        return
    for copy in copies:
        if not isinstance(copy, dict):
            continue
        # `@repo/deploy/**`: the alias of a source, and what is copied from it.
        origin_text = str(copy.get("from", "")).removeprefix("@")
        alias, _, origin = origin_text.partition("/")
        directory, target = _copied(origin, str(copy.get("to", "")))
        if not _is_whole(copy, directory):
            directory = ""
        yield _Copy(alias, directory, target)


def _copied(origin: str, to: str) -> tuple[str, str]:
    """Return a directory of a source, and where it is copied to in the artifact."""
    target = to.removeprefix(_ARTIFACT.rstrip("/")).strip("/") or "."
    # `dir/**` is what is in it, and so replaces nothing but the target's own content.
    if origin == _CONTENTS or origin.endswith(f"/{_CONTENTS}"):
        inside = origin.removesuffix(_CONTENTS)
        return normpath(inside or "."), target
    directory = normpath(origin or ".")
    if directory == ".":
        return directory, normpath(target)
    # As with `cp -r`: the directory itself appears in the target, under its own name.
    return directory, normpath(join(target, basename(directory)))


def _is_whole(copy: dict[str, Value], directory: str) -> bool:
    """Whether a copy takes all that is in a directory, and puts nothing beside it."""
    # `Merge` and `Extract` make files that are in no repository.
    if copy.get("exclude") or copy.get("strategy") not in (None, "Overwrite"):
        return False
    return not any(sign in directory for sign in _GLOB)


def _touches(copy: _Copy, path: str) -> bool:
    """Whether a copy fills a path, or something in it."""
    return inside(path, copy.target) is not None or inside(copy.target, path) is not None

"""Artifacts that source-watcher puts together (ArtifactGenerator).

Which directory of this repository is at a path. Copies are those of `cp -r` (fluxcd/source-watcher,
"Copy Operations"): `@repo/dir/**` is what lies in a directory, `@repo/dir/` the directory itself. A
path that two copies fill, or that is copied in part, is no directory of a repository, so nothing is
said of it.
"""

from collections.abc import Iterable, Iterator
from posixpath import basename, join, normpath

from krm_windows.flux.model import Identity, Object, reference
from krm_windows.krm import Value

KIND = "ExternalArtifact"
_GENERATOR = ("source.extensions.fluxcd.io", "ArtifactGenerator")
_CONTENTS = "**"
_GLOB = "*?[]{"
_ARTIFACT = "@artifact/"

Copied = tuple[str, str, str]
"""An alias, a directory of that source, and where in the artifact it is."""


def directories(
    source: Identity,
    path: str,
    known: Iterable[Object],
) -> Iterator[tuple[Identity, str]]:
    """Yield each source, with the directory in it that the artifact `source` has at `path`."""
    for item in known:
        if (item.group, item.kind) != _GENERATOR or item.namespace != source[2]:
            continue
        if item.get(
            "spec", "pathPattern"
        ):  # its artifacts are templates of names, which are not filled in here
            continue
        for artifact in item.parts("spec", "artifacts"):
            if artifact.get("name") == source[3]:
                yield from _at(item, artifact.get("copy"), path)


def _at(
    item: Object,
    copies: Value,
    path: str,
) -> Iterator[tuple[Identity, str]]:
    """Yield the source, and the directory in it, that a path of an artifact is copied from."""
    # Two copies at one path make a directory that no repository has.
    touching = [each for each in _copies(copies) if _touches(each, path)]
    if len(touching) != 1:
        return
    [(alias, directory, target)] = touching
    source = _sources(item).get(alias)
    below = _below(path, target)
    if source is not None and below is not None and directory:
        yield source, normpath(join(directory, below))


def _sources(item: Object) -> dict[str, Identity | None]:
    """Return the sources of a generator by their aliases."""
    found = {}
    for index, entry in enumerate(item.parts("spec", "sources")):
        alias = str(entry.get("alias"))
        found[alias] = reference(item, item.namespace, "spec", "sources", index)
    return found


def _copies(copies: Value) -> Iterator[Copied]:
    """Yield what is copied where; an empty directory stands for one that is copied in part."""
    if not isinstance(copies, list):
        return
    for copy in copies:
        if isinstance(copy, dict):
            alias, _, origin = str(copy.get("from", "")).removeprefix("@").partition("/")
            directory, place = _copied(origin, str(copy.get("to", "")))
            if not _is_whole(copy, directory):
                directory = ""
            yield alias, directory, place


def _copied(origin: str, to: str) -> tuple[str, str]:
    """Return a directory of a source, and where it is copied to in the artifact."""
    target = to.removeprefix(_ARTIFACT.rstrip("/")).strip("/") or "."
    # `dir/**` is what is in it, and so replaces nothing but the target's own content.
    if origin == _CONTENTS or origin.endswith(f"/{_CONTENTS}"):
        return normpath(origin.removesuffix(_CONTENTS) or "."), target
    directory = normpath(origin or ".")
    if directory == ".":
        return directory, normpath(target)
    return directory, normpath(join(target, basename(directory)))


def _is_whole(copy: dict[str, Value], directory: str) -> bool:
    """Whether a copy takes all that is in a directory, and puts nothing beside it."""
    if copy.get("exclude") or copy.get("strategy") not in (None, "Overwrite"):
        return False
    return not any(sign in directory for sign in _GLOB)


def _touches(copied: Copied, path: str) -> bool:
    """Whether a copy fills a path, or something in it."""
    _, _, place = copied
    return _below(path, place) is not None or _below(place, path) is not None


def _below(path: str, directory: str) -> str | None:
    """Return a path as seen from a directory, None where it is not in there."""
    if directory == ".":
        return path
    if path == directory:
        return "."
    prefix = f"{directory}/"
    if path.startswith(prefix):
        return path.removeprefix(prefix)
    return None

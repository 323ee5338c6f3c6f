"""Artifacts that source-watcher puts together (ArtifactGenerator): which directory of this repository is at a path.

Copies are those of `cp -r` (fluxcd/source-watcher, "Copy Operations"): `@repo/dir/**` is what lies in a directory,
`@repo/dir/` the directory itself. A path that two copies fill, or that is copied in part, is no directory of a
repository, so nothing is said of it.
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
    source: Identity, path: str, known: Iterable[Object]
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


def _at(item: Object, copies: Value, path: str) -> Iterator[tuple[Identity, str]]:
    sources = {
        str(entry.get("alias")): reference(item, item.namespace, "spec", "sources", index)
        for index, entry in enumerate(item.parts("spec", "sources"))
    }
    touching = [each for each in _copies(copies) if _touches(each, path)]
    for alias, directory, target in touching:
        source, below = sources.get(alias), _below(path, target)
        if len(touching) == 1 and source is not None and below is not None and directory:
            yield source, normpath(join(directory, below))


def _copies(copies: Value) -> Iterator[Copied]:
    """Yield what is copied where; an empty directory stands for one that is copied in part."""
    for copy in copies if isinstance(copies, list) else ():
        if not isinstance(copy, dict):
            continue
        alias, _, origin = str(copy.get("from", "")).removeprefix("@").partition("/")
        target = str(copy.get("to", "")).removeprefix(_ARTIFACT.rstrip("/")).strip("/") or "."
        is_whole = not copy.get("exclude") and copy.get("strategy") in (None, "Overwrite")
        if origin == _CONTENTS or origin.endswith(f"/{_CONTENTS}"):
            directory, place = normpath(origin.removesuffix(_CONTENTS) or "."), target
        else:
            directory = normpath(origin or ".")
            place = normpath(join(target, "" if directory == "." else basename(directory)))
        if not is_whole or any(sign in directory for sign in _GLOB):
            directory = ""
        yield alias, directory, place


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
    return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else None

"""Artifacts that source-watcher puts together (ArtifactGenerator): which directory of this repository is at a path."""

from collections.abc import Iterable, Iterator
from posixpath import normpath

from krm_windows.krm import Value
from krm_windows.repository.model import Identity, Object, reference

KIND = "ExternalArtifact"
_GENERATOR = ("source.extensions.fluxcd.io", "ArtifactGenerator")


def directories(source: Identity, path: str, known: Iterable[Object]) -> Iterator[tuple[Identity, str]]:
    """Yield each source, with the directory in it that the artifact `source` has at `path`."""
    for item in known:
        if (item.group, item.kind) != _GENERATOR or item.namespace != source[2]:
            continue
        for artifact in item.parts("spec", "artifacts"):
            if artifact.get("name") == source[3]:
                yield from _copied(item, artifact.get("copy"), path)


def _copied(item: Object, copies: Value, path: str) -> Iterator[tuple[Identity, str]]:
    sources = {
        str(entry.get("alias")): reference(item, item.namespace, "spec", "sources", index)
        for index, entry in enumerate(item.parts("spec", "sources"))
    }
    for copy in copies if isinstance(copies, list) else ():
        if not isinstance(copy, dict):
            continue
        alias, _, origin = str(copy.get("from", "")).removeprefix("@").partition("/")
        target = str(copy.get("to", "")).removeprefix("@artifact").strip("/")
        source, below = sources.get(alias), _below(path, target)
        if source is not None and below is not None and origin.endswith("**"):
            yield source, normpath(f"{origin.removesuffix('**') or '.'}/{below}")


def _below(path: str, directory: str) -> str | None:
    """Return a path as seen from a directory, None where it is not in there."""
    if not directory or path == directory:
        return path if not directory else "."
    return path.removeprefix(f"{directory}/") if path.startswith(f"{directory}/") else None

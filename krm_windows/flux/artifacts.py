"""Artifacts that source-watcher puts together (ArtifactGenerator).

Which directory of this repository is at a path. Read are copies of what is in a directory,
`@repo/dir/**` (fluxcd/source-watcher, "Copy Operations"), where a path has one alone. Of any other
nothing is said.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from posixpath import join, normpath

from krm_windows.flux.model import Object, ObjectIdentity, reference
from krm_windows.flux.sources import inside
from krm_windows.krm import Value

# The kinds of sources that Flux' own controllers fetch are in `sources`; this one is made of them.
KIND = "ExternalArtifact"
_GENERATOR = ("source.extensions.fluxcd.io", "ArtifactGenerator")
# What a whole directory is copied by: alias and directory.
_WHOLE = re.compile(r"@([^/]+)/([^*?\[\]{]*)\*\*")


def directories(
    source: ObjectIdentity,
    path: str,
    known: Iterable[Object],
) -> Iterator[tuple[ObjectIdentity, str]]:
    """Yield each source, with the directory in it that the artifact `source` has at `path`."""
    for item in known:
        if (item.group, item.kind) != _GENERATOR or item.namespace != source.namespace:
            continue
        sources: dict[object, ObjectIdentity | None] = {}
        for number, entry in enumerate(item.parts("spec", "sources")):
            sources[entry.get("alias")] = reference(item, item.namespace, "spec", "sources", number)
        for number, artifact in enumerate(item.parts("spec", "artifacts")):
            # With a `pathPattern` artifacts have other names than these.
            if artifact.get("name") != source.name or item.get("spec", "pathPattern"):
                continue
            alias, directory = _copied(item.parts("spec", "artifacts", number, "copy"), path)
            found = sources.get(alias)
            if found is not None:
                yield found, directory


def _copied(copies: Iterable[Mapping[str, Value]], path: str) -> tuple[str, str]:
    """Return the alias of a source, and the directory in it that a path is copied from.

    Both are empty where no whole directory is.
    """
    touching = []
    for copy in copies:
        target = normpath(str(copy.get("to", "")).removeprefix("@artifact").strip("/") or ".")
        if inside(path, target) is not None or inside(target, path) is not None:
            touching.append((copy, target))
    # Two copies at one path make a directory that no repository has.
    if len(touching) != 1:
        return "", ""
    [(copy, target)] = touching
    whole = _WHOLE.fullmatch(str(copy.get("from", "")))
    below = inside(path, target)
    # `exclude` leaves files out; `Merge` and `Extract` make others.
    if below is None or whole is None or {"exclude", "strategy"} & copy.keys():
        return "", ""
    # `apps` of an artifact that has `@repo/deploy/**` at `.` is `deploy/apps` of that source.
    return whole[1], normpath(join(whole[2], below))

"""What a new kustomization would hide from Flux.

Without one, Flux applies every manifest in a directory and below it. With one, it applies what that
lists, and deletes the rest (Kustomization API, spec.prune). So none is written beside manifests
that are somebody else's.
"""

import posixpath
from collections.abc import Callable
from pathlib import Path

from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, documents
from krm_windows.krm.nodes import value
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES
from krm_windows.system.walk import walk


def check(root: Directory, path: str, is_ours: Callable[[str], bool]) -> None:
    """Refuse a file that is not there yet, if it is a kustomization that would hide others.

    `is_ours` says of a first line whether the file is ours. Raises WorkspaceError.
    """
    if posixpath.basename(path) not in KUSTOMIZATIONS:
        return
    place = (root.path / path).parent
    for folder, names in walk(place):
        for name in names:
            file = Path(folder, name)
            below = file.relative_to(root.path).as_posix()
            # What is no plain file is not followed, and so hides nothing that is known.
            content = root.read(below)
            if content is None or is_ours(root.first_line(below)):
                continue
            if name in KUSTOMIZATIONS or (name.endswith(SUFFIXES) and _is_manifest(content)):
                raise WorkspaceError(
                    f"{root.path / path} would hide {file} from Flux, which would delete what it "
                    "has applied of it; name a directory that has no other manifests, such as "
                    f"{place / 'windows'}"
                )


def _is_manifest(content: bytes) -> bool:
    """Whether a cluster applies something of a file, however its YAML is written."""
    # Most files that are no manifest, such as values, need not be parsed.
    if b"apiVersion" not in content:
        return False
    try:
        every = [value(item.node) for item in documents(content)]
    except InputError:
        # What cannot be read here may be what Flux can.
        return True
    versions = [
        each["apiVersion"] for each in every if isinstance(each, dict) and "apiVersion" in each
    ]
    # No cluster applies what is of our group: a policy may lie beside what is rendered of it.
    return any(group_of(str(version)) != GROUP for version in versions)

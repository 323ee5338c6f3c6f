"""What a new kustomization would hide from Flux.

Without one, Flux applies every manifest in a directory and below it. With one, it applies what that
lists, and deletes the rest (Kustomization API, spec.prune). So none is written beside manifests
that are somebody else's.
"""

from collections.abc import Callable

from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, documents
from krm_windows.krm.nodes import value
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES


def check(folder: Directory, name: str, is_ours: Callable[[str], bool]) -> None:
    """Refuse a file that is not there yet, if it is a kustomization that would hide others.

    `is_ours` says of a first line whether the file is ours. Raises WorkspaceError.
    """
    if name not in KUSTOMIZATIONS:
        return
    for _, inner, other in folder.files():
        line = inner.first_line(other)
        # What is no plain file is not followed, and so hides nothing that is known.
        if line is None or is_ours(line):
            continue
        if other in KUSTOMIZATIONS or _is_manifest(inner, other):
            raise WorkspaceError(
                f"{folder.path / name} would hide {inner.path / other} from Flux, which would "
                "delete what it has applied of it; name a directory that has no other manifests, "
                f"such as {folder.path / 'windows'}"
            )


def _is_manifest(folder: Directory, name: str) -> bool:
    if not name.endswith(SUFFIXES):
        return False
    content = folder.read(name) or b""
    # Most files that are no manifest, such as values, need not be parsed.
    if b"apiVersion" not in content:
        return False
    try:
        return any(_is_applied(value(item.node)) for item in documents(content))
    except InputError:
        # What cannot be read here may be what Flux can.
        return True


def _is_applied(fields: object) -> bool:
    """Whether a cluster applies a document, however its YAML is written."""
    if not isinstance(fields, dict) or "apiVersion" not in fields:
        return False
    # No cluster applies what is of our group: a policy may lie beside what is rendered of it.
    return group_of(str(fields["apiVersion"])) != GROUP

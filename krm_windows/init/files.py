"""The files of a first policy, and the kustomization that has to name what is rendered of it."""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import dirname, join, normpath, relpath

from krm_windows.flux.closure import kustomization_file
from krm_windows.init.targets import RedundantField
from krm_windows.krm import EditError, Entry, InputError, KubeObject
from krm_windows.krm.edits import remove, set_value
from krm_windows.system.checkout import Checkout

# At the top of the repository, where every policy of it finds the schema.
SCHEMA = ".krm-windows/windowpolicy.json"
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a policy goes: `directory` is the cluster's, relative to the repository, or `.`.

    `delivery` is the file of the Flux Kustomization that applies it, where that is not in it.
    """

    directory: str
    name: str
    delivery: str = ""

    @property
    def policy(self) -> str:
        """The path of the policy."""
        return normpath(join(self.directory, f"{self.name}.yaml"))

    @property
    def rendered(self) -> str:
        """The directory of what is rendered."""
        return normpath(join(self.directory, self.name))

    @property
    def schema(self) -> str:
        """The path of the schema as seen from the policy."""
        return relpath(SCHEMA, dirname(self.policy) or ".")

    def render(self) -> str:
        """Return the command that renders it, to be run at the top of the repository."""
        # With the targets at hand a name that is wrong is found before it is merged.
        words = ["krm-windows", "render", self.policy, "--output-dir", self.rendered]
        words += ["--resources", self.directory]
        if self.delivery:
            words += ["--flux-kustomizations", self.delivery]
        return shlex.join(words)


def listed(tree: Checkout, place: Place) -> Mapping[str, bytes]:
    """Return the kustomization of a cluster's directory with what is rendered in its `resources`.

    Empty where the directory has none: Flux makes one of everything in it. Raises InputError where
    it cannot be edited.
    """
    path = kustomization_file(tree, place.directory)
    # kustomize-controller adds every manifest below, and the directory of what is rendered.
    if path is None:
        return {}
    content = tree.read(path) or b""
    try:
        text = content.decode()
        found = KubeObject.parse(content).get("resources")
    except InputError as error:
        raise error.in_file(path) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    entries = []
    if isinstance(found, list):
        entries = found
    if place.name in entries:
        return {}
    # A byte order mark stays what it is, and is none of the first key's letters.
    bare = text.removeprefix(_MARK)
    mark = text[: len(text) - len(bare)]
    # An index right behind the last entry adds one; a kustomization may have none so far.
    try:
        if found is None:
            edited = set_value(bare, ("resources",), [place.name])
        else:
            edited = set_value(bare, ("resources", len(entries)), place.name)
    except EditError as error:
        raise InputError(f"{path}: {error}; add `- {place.name}` to its `resources`") from error
    return {path: (mark + edited).encode()}


def without_suspension(found: Iterable[RedundantField]) -> Mapping[str, bytes]:
    """Return files without the lines that would undo every close; all else stays as it is.

    Raises InputError where one cannot be edited.
    """
    edited: dict[str, bytes] = {}
    ends: dict[tuple[str, int], int] = {}
    # From the last document of a file to its first: what is before one keeps its place. Those of
    # one list are in one document, whose end moves with each edit.
    for each in sorted(found, key=lambda one: one.document.start, reverse=True):
        document = each.document
        content = edited.get(each.file, document.source)
        end = ends.get((each.file, document.start), document.end)
        within = document.within if isinstance(document, Entry) else ()
        try:
            text = content[document.start : end].decode()
            changed = remove(text, (*within, *each.path)).encode()
        except (InputError, EditError, UnicodeDecodeError) as error:
            field = ".".join(each.path)
            raise InputError(f"{each.file}: {error}; remove `{field}` there by hand") from error
        edited[each.file] = content[: document.start] + changed + content[end:]
        ends[each.file, document.start] = document.start + len(changed)
    return edited

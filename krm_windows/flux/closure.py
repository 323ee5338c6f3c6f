"""What a build reads.

Every file that a text of a kustomization names, in whatever field: which ones kustomize opens is
its own business, and the sandbox refuses what was not found here. What cannot be read here is left
out of its lists of bases and plugins, and named: remote bases, and what leads out of the
repository. So are the policies of this program among the plugins, which are read instead of run.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname, join, normpath

from krm_windows import rules
from krm_windows.flux.fields import BASES, PLUGINS
from krm_windows.flux.model import Finding
from krm_windows.flux.objects import parsed, readable
from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, KubeObject, Value, render
from krm_windows.krm.nodes import value
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Inputs
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES
from krm_windows.system.walk import DEEPEST

# The name that Flux gives to a kustomization it makes: the first that kustomize looks for.
GENERATED = KUSTOMIZATIONS[0]
# What kustomize takes for a kustomization (api/types/kustomization.go).
_NAMED = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
# No path is longer; a text that is no path may be.
_LONGEST = 1024
# An address of this very machine: never to be fetched.
_LOCAL = re.compile(r"(?:git::)?file:", re.IGNORECASE)
# What kustomize takes for the address of a repository or a file (api/internal/git,
# api/internal/loader).
_REMOTE = re.compile(
    r"(?:git::|gh:|ssh://|https?:|file:|github\.com[/:]|[a-z][a-z0-9-]*@)", re.IGNORECASE
)

# So many bases of bases no repository of a person has.
_MOST_BASES = 100

Fields = dict[str, Value]


@dataclass(slots=True)
class Closure:
    """What was found from one directory of a tree on.

    `files` and `links` are what a build is to find. `resources` are the files of objects in their
    order; it is not `plain` where a build does more than to put these together. `policies` are the
    WindowPolicies by their file, `run` the files by which a build elsewhere would run them;
    `changed` are the directories that change some before. `notices` are what was left out and why.
    `remote`: what is missing would have to be fetched. `broken`: a kustomization cannot be read.
    `missing` are the texts at whose path nothing is read, most of which are no paths, each with
    that path. `kustomizations` are all by their files, as they are built; the first is that of the
    directory itself.
    """

    tree: Checkout
    directory: str
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)
    plain: bool = True
    policies: list[tuple[str, KubeObject]] = field(default_factory=list)
    notices: list[Finding] = field(default_factory=list)
    run: set[str] = field(default_factory=set)
    changed: list[str] = field(default_factory=list)
    remote: bool = False
    broken: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    kustomizations: dict[str, Fields] = field(default_factory=dict)

    @property
    def inputs(self) -> Inputs:
        """What the builder is given."""
        return Inputs(self.directory, self.files, self.links)


def joined(directory: str, name: str) -> str:
    """Return the path of a name in a directory."""
    return normpath(join(directory, name))


def kustomization_file(tree: Checkout, directory: str) -> str | None:
    """Return the path of a directory's kustomization file, None where it has none."""
    found = (joined(directory, name) for name in KUSTOMIZATIONS)
    return next((path for path in found if tree.read(path) is not None), None)


def close(
    tree: Checkout,
    directory: str,
    changes: Mapping[str, Value],
    above: frozenset[str] = frozenset(),
) -> Closure:
    """Return what a build of a directory reads, as Flux builds it.

    `changes` are put into its kustomization. A directory without a kustomization gets the one that
    Flux generates (fluxcd/pkg/kustomize). `above` are those whose plugins led here.
    """
    closure = Closure(tree, directory)
    walk = _Walk(tree, closure, above | {directory})
    path = kustomization_file(tree, directory)
    if path is not None:
        walk.directory(directory, changes)
    else:
        generated = _generated(tree, closure)
        walk.kustomization(joined(directory, GENERATED), generated, changes)
    return closure


def _generated(tree: Checkout, closure: Closure) -> Fields:
    """Return the kustomization that Flux makes for a plain directory.

    It has all its manifests, and the directories in it with a kustomization.
    """
    for each in tree.elsewhere:
        if closure.directory == "." or each.startswith(f"{closure.directory}/"):
            message = tree.refusal(each) or ""
            closure.notices.append(Finding(rules.NOT_FOLLOWED, message, file=each))
    resources: list[Value] = list(_scanned(tree, closure, closure.directory, ""))
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    }


def _scanned(
    tree: Checkout,
    closure: Closure,
    directory: str,
    below: str,
) -> Iterator[str]:
    """Yield the manifests of a directory, and those directories in it that have a kustomization.

    Both are spelt as seen from the first directory, which `below` leads down from.
    """
    for name in tree.names(directory):
        path = joined(directory, name)
        entry = f"{below}{name}"
        refusal = tree.refusal(path)
        if refusal is not None:
            if _is_worth_naming(path):
                closure.notices.append(Finding(rules.NOT_FOLLOWED, refusal, file=path))
        # A directory that is a link is not walked into, as Flux does not.
        elif tree.is_directory(path) and tree.real(path) == path:
            # With a kustomization it is one entry, without it all that is in it is.
            if kustomization_file(tree, path) is not None:
                yield entry
            else:
                yield from _scanned(tree, closure, path, f"{entry}/")
        elif name.endswith(SUFFIXES) and _is_manifest(tree, closure, path):
            yield entry


def _is_worth_naming(path: str) -> bool:
    """Whether a path that is not read may hold manifests, or is too deep to be known."""
    name = basename(path)
    return name.endswith(SUFFIXES) or name.startswith(".") or path.count("/") > DEEPEST


def _is_manifest(tree: Checkout, closure: Closure, path: str) -> bool:
    """Whether Flux can read a file.

    One that it cannot read is named: it stops the whole Kustomization.
    """
    content = tree.read(path)
    if content is None:
        return False
    try:
        items = parsed(content)
    except InputError as error:
        closure.notices.append(_unread(error, path))
        return False
    # kustomize-controller decodes every document, and refuses one without a kind.
    if not all(item.kind and item.api_version for item in items):
        message = "cannot be applied: it contains an object without kind or apiVersion"
        closure.notices.append(Finding(rules.BUILD_FAILED, message, file=path))
        return False
    return True


def _unread(error: InputError, path: str) -> Finding:
    """Say why a file cannot be read, and where."""
    message = f"cannot be read: {error.message}"
    line, column = error.line or 1, error.column or 1
    return Finding(rules.BUILD_FAILED, message, file=path, line=line, column=column)


class _Walk:
    """Goes from kustomization to kustomization, and notes in a closure what it meets."""

    def __init__(
        self,
        tree: Checkout,
        closure: Closure,
        above: frozenset[str],
    ) -> None:
        self.tree = tree
        self.closure = closure
        self.above = above
        self.seen: set[str] = set()
        self.depth = 0

    def directory(self, path: str, changes: Mapping[str, Value]) -> None:
        """Take in a directory, without the links that led to it.

        kustomize refuses one that leads to itself.
        """
        real = self.tree.real(path) or path
        if real != path:
            self.closure.links[path] = real
        places = [joined(real, name) for name in KUSTOMIZATIONS]
        found = {file: text for file in places if (text := self.tree.read(file)) is not None}
        if len(found) != 1 or real in self.seen:
            # A base that is reached twice, leads to itself, or is none, or has two files:
            # kustomize has something to say.
            self.closure.plain = False
        if not found or real in self.seen:
            return
        self.seen.add(real)
        self.closure.files.update(found)
        file, content = next(iter(found.items()))
        try:
            fields = _first(content)
        except InputError as error:
            self.closure.notices.append(_unread(error, file))
            self.closure.broken = True
            return
        if self.depth >= _MOST_BASES:
            message = f"is not built: its bases are nested more than {_MOST_BASES} levels deep"
            self._break(message, file)
            return
        self.depth += 1
        self.kustomization(file, fields, changes)
        # Reached only without an exception, which ends the whole walk.
        self.depth -= 1

    def _break(self, message: str, file: str) -> None:
        """Name a kustomization because of which nothing can be built."""
        self.closure.notices.append(Finding(rules.BUILD_FAILED, message, file=file))
        self.closure.broken = True

    def kustomization(self, file: str, written: Fields, changes: Mapping[str, Value]) -> None:
        """Take in what a kustomization leads to, and the kustomization as it is to be built."""
        fields = {**written, **_merged(written, changes)}
        if _is_empty(fields):
            self._break(f"cannot be built: {basename(file)} is empty", file)
            return
        # Here, so that it stands before those that it leads to.
        self.closure.kustomizations[file] = fields
        place = dirname(file) or "."
        for key in (*BASES, *PLUGINS):
            entries = fields.get(key)
            if not isinstance(entries, list):
                continue
            take = self._plugin if key in PLUGINS else self._base
            # What is no text kustomize refuses, in its own words.
            fields[key] = [x for x in entries if not isinstance(x, str) or take(file, x)]
            if not fields[key] and key != "resources":
                del fields[key]
        self._name_files(
            place, [part for key, part in fields.items() if key not in (*BASES, *PLUGINS)]
        )
        if not _is_plain(fields):
            self.closure.plain = False
        # The bytes stay as they are where nothing was taken out or put in.
        if fields != written or file not in self.closure.files:
            self.closure.files[file] = render(fields).encode()

    def _base(self, file: str, entry: str) -> bool:
        """Take in a resource or a component; say whether it stays in the list."""
        place = dirname(file) or "."
        if self._leaves_out(file, place, entry):
            return False
        path = joined(place, entry)
        content = self.tree.read(path)
        if content is not None:
            self.closure.resources.append(self._file(path, content))
            self.closure.policies += [(path, item) for item in window_policies(content)]
        elif self.tree.is_directory(path):
            self.directory(path, {})
        else:
            # It is to be fetched, or not there: kustomize says so.
            self.closure.plain = False
            self.closure.missing[entry] = path
        return True

    def _file(self, path: str, content: bytes) -> str:
        """Take in a file where it really is, with the link that leads to its directory.

        Return its path.
        """
        above = dirname(path) or "."
        real = self.tree.real(above) or above
        if real != above:
            self.closure.links[above] = real
        place = joined(real, basename(path))
        self.closure.files.setdefault(place, content)
        return place

    def _plugin(self, file: str, entry: str) -> bool:
        """Take in a plugin's configuration; say whether it stays in the list.

        It does not if it is one of ours.
        """
        place, path = dirname(file) or ".", file
        content: bytes | None = entry.encode()
        # A plugin may be written down right in the list, as YAML or JSON.
        if "\n" not in entry and not entry.lstrip().startswith("{"):
            if self._leaves_out(file, place, entry):
                return False
            path = joined(place, entry)
            content = self.tree.read(path)
        if content is None:
            return self._plugin_directory(path)
        found = window_policies(content)
        if found:
            self.closure.policies += [(path, item) for item in found]
            self.closure.run.add(path)
            return False
        if path != file:
            self._file(path, content)
        self._name_files(place, [value(item.node) for item in readable(content)])
        return True

    def _plugin_directory(self, path: str) -> bool:
        """Take in a directory that makes plugins' configurations, unless ours are among them."""
        if self.tree.is_directory(path) and path not in self.above:
            below = close(self.tree, path, {}, self.above)
            # A policy in it is read and not run, so the builder must not be given it.
            if any(GROUP.encode() in text for text in below.files.values()):
                self.closure.run.update(below.files)
                if below.plain:
                    self.closure.policies += below.policies
                    self.closure.notices += below.notices
                else:
                    self.closure.changed.append(path)
                return False
        self.directory(path, {})
        return True

    def _leaves_out(self, file: str, place: str, entry: str) -> bool:
        """Whether an entry is remote, leads outside or is not to be read; then it is named."""
        is_remote, reason = refusal(self.tree, entry, joined(place, entry))
        if reason is None:
            return False
        self.closure.remote |= is_remote
        text = (self.tree.read(file) or b"").decode(errors="replace")
        notice = Finding(
            rules.NOT_FOLLOWED, f"{entry} {reason}", file=file, line=_line_of(text, entry)
        )
        self.closure.notices.append(notice)
        return True

    def _name_files(self, place: str, parts: list[Value]) -> None:
        """Take in each file that a text names, which may be behind a key (`key=path`)."""
        for text in _leaves(parts):
            _, _, behind = text.partition("=")
            for entry in {text, behind} - {"", "."}:
                if "\n" in entry or len(entry) > _LONGEST:
                    continue
                path = joined(place, entry)
                content = None
                # None that leads to a place above the repository.
                if not entry.startswith("/") and not path.startswith("../"):
                    content = self.tree.read(path)
                if content is not None:
                    self._file(path, content)
                else:
                    self.closure.missing[entry] = path


def refusal(tree: Checkout, entry: str, path: str) -> tuple[bool, str | None]:
    """Return whether an entry of a kustomization is remote, and why it is not read.

    If it is a path it is that one in the tree. The reason is None where it may be read, or nothing
    is there.
    """
    if _REMOTE.match(entry):
        where = "an address of this machine" if _LOCAL.match(entry) else "remote"
        return True, f"is {where}: nothing is fetched, so its content is not checked"
    # An absolute path means this machine, so it is refused as it is written.
    return False, tree.refusal(entry if entry.startswith("/") else path)


def _line_of(text: str, entry: str) -> int:
    """Return the first line that names an entry; of several any is good enough to go to."""
    for number, content in enumerate(text.splitlines(), 1):
        if entry in content:
            return number
    # An entry over several lines, or in quotes that escape it.
    return 1


def _is_empty(fields: Fields) -> bool:
    """Whether a kustomization says nothing: kustomize refuses it (types.Kustomization.CheckEmpty).

    The builder does not see that, as it is given a field more.
    """
    return all(part is None for key, part in fields.items() if key not in _NAMED)


def _is_plain(fields: Fields) -> bool:
    """Whether a kustomization has only a list of resources, so that it puts files together.

    Of one that is odd in any way the builder says what it makes of it.
    """
    entries = fields.get("resources")
    if not isinstance(entries, list) or not all(each and isinstance(each, str) for each in entries):
        return False
    others = {key: part for key, part in fields.items() if key != "resources"}
    # A Component changes what others have put together.
    return all(part in (None, "", _NAMED.get(key)) for key, part in others.items())


def _merged(fields: Fields, changes: Mapping[str, Value]) -> Fields:
    """Return the changed fields: lists grow, everything else is replaced."""
    merged = dict(changes)
    for key, more in changes.items():
        known = fields.get(key)
        # As Flux' generator does with `patches` and `components` (fluxcd/pkg/kustomize).
        if isinstance(more, list) and isinstance(known, list):
            merged[key] = known + more
    return merged


def _leaves(part: Value) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, list):
        for entry in part:
            yield from _leaves(entry)
    elif isinstance(part, dict):
        for entry in part.values():
            yield from _leaves(entry)


def window_policies(content: bytes) -> list[KubeObject]:
    """Return the WindowPolicies of a file."""
    # Most files have none, and are not read for it.
    if GROUP.encode() not in content:
        return []
    return [
        item
        for item in readable(content)
        if item.kind == "WindowPolicy" and group_of(item.api_version) == GROUP
    ]


def _first(content: bytes) -> Fields:
    """Return what the first document of a kustomization means, which kustomize reads alone."""
    items = parsed(content)
    if not items:
        raise InputError("the kustomization is empty")
    found = value(items[0].node)
    if isinstance(found, dict):
        return found
    return {}

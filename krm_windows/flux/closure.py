"""What a build reads.

Every file that a kustomization leads to, with what a build here must not touch left out. Left out
are remote bases and paths that lead out of the repository, each named, and the policies of this
program among the plugins, which are read instead of run. Everything else is as kustomize finds it
(api/internal/loader).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename, dirname, join, normpath
from urllib.parse import parse_qsl

from krm_windows import rules
from krm_windows.flux import dropped
from krm_windows.flux.fields import (
    BASES,
    CHARTS,
    PLUGIN,
    PLUGINS,
    bases,
    is_part,
    is_path,
    paths,
    spellings,
    unknown,
)
from krm_windows.flux.model import Notice
from krm_windows.flux.objects import parsed, readable
from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, KubeObject, Value, render
from krm_windows.krm.nodes import value
from krm_windows.system.checkout import DEEPEST, Checkout
from krm_windows.system.kustomize import Inputs
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES

# The name that Flux gives to a kustomization it makes: the first that kustomize looks for.
GENERATED = KUSTOMIZATIONS[0]
# What kustomize takes for a kustomization (api/types/kustomization.go).
_NAMED = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
# Fields of its metadata that are texts, and those that are maps of texts.
_TEXTS = frozenset({"name", "namespace"})
_MAPS = frozenset({"labels", "annotations"})
# The fields of which each entry leads to more files.
_LEADING = (*BASES, *PLUGINS)
# No path is longer; a text that is no path may be.
_LONGEST = 1024
# What kustomize takes for the address of a repository or a file (api/internal/git,
# api/internal/loader).
_FETCHED = re.compile(r"https?:", re.IGNORECASE)
# An address all the same, but of this very machine: never to be fetched.
_LOCAL = re.compile(r"(?:git::)?file:", re.IGNORECASE)
_REMOTE = re.compile(
    r"(?:git::|gh:|ssh://|https?:|file:|github\.com[/:]|[a-z][a-z0-9-]*@)", re.IGNORECASE
)

# So many bases of bases no repository of a person has.
_MOST_BASES = 100

Fields = dict[str, Value]


@dataclass(slots=True)
class Closure:
    """What was found from one directory on.

    `files` and `links` are what a build is to find. `resources` are the plain files in their order,
    None where a build does more than to put files together. `policies` are the WindowPolicies by
    their file, `plugins` the directories that yield some, `unrun` says that one was among the
    plugins; `notices` are what was left out and why. `remote`: what is missing would have to be
    fetched. `broken`: a kustomization cannot be read. `anywhere`: one names a file that is not
    below it. `absent` are the paths that the artifact lacks. `kustomizations` are all by their
    files, as they are built; `root` is the first.
    """

    directory: str
    files: dict[str, bytes] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    resources: list[str] | None = field(default_factory=list)
    policies: list[tuple[str, KubeObject]] = field(default_factory=list)
    plugins: list[str] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    unrun: bool = False
    remote: bool = False
    broken: bool = False
    anywhere: bool = False
    absent: list[str] = field(default_factory=list)
    kustomizations: dict[str, Fields] = field(default_factory=dict)
    root: Fields = field(default_factory=dict)

    @property
    def inputs(self) -> Inputs:
        """What the builder is given."""
        return Inputs(self.directory, self.files, self.links, self.anywhere)


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
    *,
    fetches: bool = False,
) -> Closure:
    """Return what a build of a directory reads, as Flux builds it.

    `changes` are put into its kustomization. A directory without a kustomization gets the one that
    Flux generates (fluxcd/pkg/kustomize). `above` are those whose plugins led here. Where the build
    `fetches`, remote parts stay in.
    """
    closure = Closure(directory)
    walk = _Walk(tree, closure, above | {directory}, fetches=fetches)
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
            closure.notices.append(Notice(rules.NOT_FOLLOWED, message, each))
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
                closure.notices.append(Notice(rules.NOT_FOLLOWED, refusal, path))
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
        closure.notices.append(Notice(rules.BUILD_FAILED, message, path))
        return False
    return True


def _unread(error: InputError, path: str) -> Notice:
    """Say why a file cannot be read, and where."""
    message = f"cannot be read: {error.message}"
    line, column = error.line or 1, error.column or 1
    return Notice(rules.BUILD_FAILED, message, path, line, column=column)


class _Walk:
    """Goes from kustomization to kustomization, and notes in a closure what it meets."""

    def __init__(
        self,
        tree: Checkout,
        closure: Closure,
        above: frozenset[str],
        *,
        fetches: bool,
    ) -> None:
        self.tree = tree
        self.closure = closure
        self.above = above
        self.fetches = fetches
        self.seen: set[str] = set()
        self.depth = 0

    def directory(
        self,
        path: str,
        changes: Mapping[str, Value],
    ) -> None:
        """Take in a directory, without the links that led to it.

        kustomize refuses one that leads to itself.
        """
        real = self.tree.real(path) or path
        if real != path:
            self.closure.links[path] = real
        file = kustomization_file(self.tree, real)
        if file is None or real in self.seen:
            # A base that is reached twice, leads to itself, or is none: kustomize has something to
            # say.
            self.closure.resources = None
            return
        self.seen.add(real)
        content = self.tree.read(file) or b""
        self.closure.files[file] = content
        try:
            fields = _first(content)
        except InputError as error:
            self.closure.notices.append(_unread(error, file))
            self.closure.broken = True
            return
        if self.depth >= _MOST_BASES:
            self._break(
                f"is not built: its bases are nested more than {_MOST_BASES} levels deep", file
            )
            return
        several = [
            name for name in KUSTOMIZATIONS if self.tree.read(joined(real, name)) is not None
        ]
        if len(several) > 1:
            self._break(
                f"cannot be built: kustomize takes one of {', '.join(several)} in a directory", file
            )
            return
        self.closure.notices += dropped.check(self.tree, file, content)
        self.depth += 1
        self.kustomization(file, fields, changes)
        # Reached only without an exception, which ends the whole walk.
        self.depth -= 1

    def _break(self, message: str, file: str) -> None:
        """Name a kustomization because of which nothing can be built."""
        self.closure.notices.append(Notice(rules.BUILD_FAILED, message, file))
        self.closure.broken = True

    def kustomization(
        self,
        file: str,
        fields: Fields,
        changes: Mapping[str, Value],
    ) -> None:
        """Take in what a kustomization leads to, and the kustomization as it is to be built."""
        if _is_empty({**fields, **changes}):
            self._break(f"cannot be built: {basename(file)} is empty", file)
            return
        place = dirname(file) or "."
        wanted = self._wanted(file, place, fields, changes)
        if not _is_plain(wanted):
            self.closure.resources = None
        if place == self.closure.directory:
            self.closure.root = wanted
        self.closure.kustomizations[file] = wanted
        # The bytes stay as they are where nothing was taken out or put in.
        if wanted != fields or file not in self.closure.files:
            self.closure.files[file] = render(wanted).encode()

    def _wanted(
        self,
        file: str,
        place: str,
        written: Fields,
        changes: Mapping[str, Value],
    ) -> Fields:
        """Return a kustomization as it is to be built, and take in what it leads to."""
        fields: Fields = {}
        for key, part in written.items():
            if not self._is_chart(file, key):
                fields[key] = part
        fields = {**fields, **_merged(fields, changes)}
        # Patches and generators may name files as well, some of which are not to be read.
        fields = self._local(file, place, fields)
        wanted = dict(fields)
        for key in _LEADING:
            if fields.get(key):
                wanted[key] = self._entries(file, place, key, fields[key])
        others = [part for key, part in fields.items() if key not in _LEADING]
        self._named(place, others)
        return wanted

    def _entries(
        self,
        file: str,
        place: str,
        key: str,
        entries: Value,
    ) -> Value:
        """Return those entries of a list of bases or plugins that can be built here."""
        if not isinstance(entries, list):
            return entries
        take = self._base
        if key in PLUGINS:
            take = self._plugin
        # What is no text kustomize refuses, in its own words.
        return [
            entry for entry in entries if not isinstance(entry, str) or take(file, place, entry)
        ]

    def _base(self, file: str, place: str, entry: str) -> bool:
        """Take in a resource or a component; say whether it stays in the list."""
        if self._is_to_be_fetched(entry):
            # More than files are put together: the builder has to fetch something.
            self.closure.resources = None
            return True
        path = self._inside(file, place, entry)
        if path is None:
            return False
        content = self.tree.read(path)
        if content is not None:
            self._resource(place, path, content)
        elif self.tree.is_directory(path):
            self.directory(path, {})
        else:
            # It is not there: kustomize says so.
            self.closure.resources = None
            self._note_absent(path)
        return True

    def _resource(self, home: str, path: str, content: bytes) -> None:
        place = self._file(home, path, content)
        if self.closure.resources is not None:
            self.closure.resources.append(place)
        self.closure.policies += [(path, item) for item in window_policies(content)]

    def _file(self, home: str, path: str, content: bytes) -> str:
        """Take in a file where it really is, with the link that leads to its directory.

        Return its path. `home` is the directory of the kustomization that names it.
        """
        above = dirname(path) or "."
        real = self.tree.real(above) or above
        if real != above:
            self.closure.links[above] = real
        place = joined(real, basename(path))
        self.closure.files.setdefault(place, content)
        # Above or beside it: kustomize's load restrictor would refuse that, and Flux does not.
        if home != "." and not place.startswith(f"{home}/"):
            self.closure.anywhere = True
        return place

    def _plugin(self, file: str, place: str, entry: str) -> bool:
        """Take in a plugin's configuration; say whether it stays in the list.

        It does not if it is one of ours, or names a file that is not read.
        """
        # A plugin may be written down right in the list, as YAML or JSON.
        if "\n" in entry or entry.lstrip().startswith("{"):
            return self._configuration(file, file, place, entry.encode())
        if self._is_to_be_fetched(entry):
            return True
        path = self._inside(file, place, entry)
        if path is None:
            return False
        content = self.tree.read(path)
        if content is None:
            return self._plugin_directory(path)
        is_kept = self._configuration(path, file, place, content)
        if is_kept:
            self._file(place, path, content)
        return is_kept

    def _plugin_directory(self, path: str) -> bool:
        """Take in a directory that makes plugins' configurations, unless ours are among them."""
        if self.tree.is_directory(path) and path not in self.above:
            below = close(self.tree, path, {}, self.above).files.values()
            # A policy in it is read and not run, so the builder must not be given it.
            if any(GROUP.encode() in text for text in below):
                self.closure.plugins.append(path)
                self.closure.unrun = True
                return False
        self.directory(path, {})
        return True

    def _configuration(
        self,
        written: str,
        file: str,
        place: str,
        content: bytes,
    ) -> bool:
        """Take in what the configurations of plugins name.

        Say whether they may stay in the kustomization `file`.
        """
        found = window_policies(content)
        self.closure.policies += [(written, item) for item in found]
        if found:
            self.closure.unrun = True
            return False
        for item in readable(content):
            fields = value(item.node)
            # A plugin without a part of its files would do something else.
            if self._kept(written, place, fields, PLUGIN, "") != fields:
                message = "a plugin is skipped, because it refers to something that is not read"
                self._leave(file, basename(written), message)
                return False
            self._named(place, [fields])
        return True

    def _is_to_be_fetched(self, entry: str) -> bool:
        """Whether an address is one that this build may fetch.

        It is of no file here, and has no option for git in it.
        """
        if not self.fetches or not _REMOTE.match(entry) or _LOCAL.match(entry):
            return False
        # `?ref=--upload-pack=…`: git would take such a text for an option.
        _, _, query = entry.partition("?")
        given = parse_qsl(query, keep_blank_values=True)
        return not any(text.startswith("-") for _, text in given)

    def _inside(self, file: str, place: str, entry: str) -> str | None:
        """Return the path of an entry.

        One that is remote, leads outside or is not to be read is named, and None.
        """
        if _REMOTE.match(entry):
            where = "remote"
            if _LOCAL.match(entry):
                where = "an address of this machine"
            self._leave_remote(file, entry, where)
            return None
        path = joined(place, entry)
        # An absolute path means this machine, so it is refused as it is written.
        named = path
        if entry.startswith("/"):
            named = entry
        refused = self.tree.refusal(named)
        if refused is not None:
            self._leave(file, entry, f"{entry} {refused}")
            return None
        return path

    def _leave_remote(self, file: str, entry: str, where: str) -> None:
        """Name what would have to be fetched."""
        message = f"{entry} is {where}: nothing is fetched, so its content is not checked"
        self._leave(file, entry, message)
        self.closure.remote = True

    def _leave(self, file: str, entry: str, message: str) -> None:
        text = (self.tree.read(file) or b"").decode(errors="replace")
        line = _line_of(text, entry)
        self.closure.notices.append(Notice(rules.NOT_FOLLOWED, message, file, line))

    def _is_chart(self, file: str, key: str) -> bool:
        """Whether a field has kustomize render a chart, which Flux does not let it, nor do we."""
        if key not in CHARTS:
            return False
        message = f"{key} are rendered neither here nor by Flux, so they are not checked"
        self._leave(file, key, message)
        return True

    def _local(self, file: str, place: str, fields: Fields) -> Fields:
        """Return a kustomization without the files that are not read.

        They would have to be fetched, or are where nothing is read.
        """
        kept = self._kept(file, place, fields, "", "")
        if isinstance(kept, dict):
            return kept
        return {}

    def _kept(
        self,
        file: str,
        place: str,
        part: Value,
        name: str,
        above: str,
    ) -> Value:
        """Return what is kept of the part under `name`, which is itself under `above`.

        It is None where nothing is kept.
        """
        if isinstance(part, list):
            return self._kept_entries(file, place, part, name, above)
        if isinstance(part, dict):
            return self._kept_fields(file, place, part, name)
        if not isinstance(part, str) or not is_path(name, above):
            return part
        # `files` may mean the path as a whole or what is behind its key, and either may be read.
        if all(self._is_read(file, place, path) for path in spellings(name, part)):
            return part
        return None

    def _kept_entries(
        self,
        file: str,
        place: str,
        entries: list[Value],
        name: str,
        above: str,
    ) -> list[Value]:
        found: list[Value] = []
        for entry in entries:
            kept = self._kept(file, place, entry, name, above)
            # A null was no path before, and stays; what became None is left out.
            if kept is not None or entry is None:
                found.append(kept)
        return found

    def _kept_fields(
        self,
        file: str,
        place: str,
        fields: Fields,
        name: str,
    ) -> Value:
        found: Fields = {}
        for key, entry in fields.items():
            kept = self._kept(file, place, entry, key, name)
            if kept is not None or entry is None:
                found[key] = kept
        # A patch without its path is none.
        if is_part(name) and fields.get("path") is not None and "path" not in found:
            return None
        return found

    def _is_read(self, file: str, place: str, path: str) -> bool:
        """Whether a path may be read; name it where it may not."""
        if _FETCHED.match(path):
            if not self.fetches:
                self._leave_remote(file, path, "remote")
            return self.fetches
        named = joined(place, path)
        if path.startswith("/"):
            named = path
        refusal = self.tree.refusal(named)
        if refusal is None:
            return True
        self._leave(file, path, f"{path} {refusal}")
        return False

    def _named(self, place: str, parts: list[Value]) -> None:
        """Take in each file that a field names.

        It may be behind the key of a generator (`key=path`).
        """
        # Which texts are paths is not asked: one that names a file of the repository may be read.
        for text in _leaves(parts):
            _, _, behind = text.partition("=")
            for entry in {text, behind} - {"", "."}:
                path = joined(place, entry[:_LONGEST])
                if "\n" in entry or len(entry) > _LONGEST or not _is_inside(entry, path):
                    continue
                content = self.tree.read(path)
                if content is not None:
                    self._file(place, path, content)
                else:
                    self._note_absent(path)

    def _note_absent(self, path: str) -> None:
        """Note a path that is in the repository, and not in the artifact."""
        if self.tree.is_absent(path):
            self.closure.absent.append(path)


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


def _is_plain(wanted: Fields) -> bool:
    """Whether a kustomization has only a list of resources, so that it puts files together.

    Of one that is odd in any way the builder says what it makes of it.
    """
    if any(not _is_plain_field(key, part) for key, part in wanted.items()):
        return False
    # Without any list kustomize calls it empty, and refuses it.
    return any(isinstance(wanted.get(key), list) for key in _LEADING)


def _is_plain_field(key: str, part: Value) -> bool:
    """Whether a field is one that kustomize surely takes, and that changes no object."""
    # A null is a field that is not there.
    if part is None:
        return True
    if key in _NAMED:
        # A Component changes what others have put together.
        return part in ("", _NAMED[key])
    if key == "resources":
        return isinstance(part, list) and all(isinstance(entry, str) and entry for entry in part)
    # What is left of a list that had remote bases, or our policies.
    if key in _LEADING:
        return part == []
    return key == "metadata" and _is_plain_metadata(part)


def _is_plain_metadata(part: Value) -> bool:
    """Whether it is the metadata of an object, as far as people write it in a kustomization."""
    if not isinstance(part, dict):
        return False
    for key, entry in part.items():
        texts: list[Value] = []
        if key in _MAPS and isinstance(entry, dict):
            texts += entry.values()
        elif key in _TEXTS:
            texts.append(entry)
        elif entry is not None:
            return False
        if not all(text is None or isinstance(text, str) for text in texts):
            return False
    return True


def _is_inside(entry: str, path: str) -> bool:
    """Whether an entry, whose path that is, leads to no place above the repository."""
    return not entry.startswith("/") and not path.startswith("../")


def unchecked(
    closure: Closure,
    file: str,
    fields: Fields,
) -> Iterator[str]:
    """Yield what a kustomization has that was not checked to be harmless.

    It is a field, or a path of no file in the copy.
    """
    for name in unknown(fields):
        yield f"the field {name}"
    place = dirname(file) or "."
    # What is in the copy that a build is given; all else it might read from this machine.
    directories = (dirname(each) or "." for each in closure.kustomizations)
    known = {*closure.files, *directories}
    for path in (*paths(fields), *bases(fields)):
        if path.startswith("/") or joined(place, path) not in known:
            yield path


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

"""What a build reads: every file that a kustomization leads to, with what a build here must not touch left out.

Left out are remote bases and paths that lead out of the repository, each named, and the policies of this program among
the plugins, which are read instead of run. Everything else is as kustomize finds it (api/internal/loader).
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
    PLUGIN,
    PLUGINS,
    is_part,
    is_path,
    paths,
    spellings,
    unknown,
)
from krm_windows.flux.model import Notice
from krm_windows.flux.objects import parsed
from krm_windows.krm import InputError, KubeObject, Value, render
from krm_windows.krm.nodes import value
from krm_windows.system.checkout import DEEPEST, Checkout
from krm_windows.system.kustomize import Inputs
from krm_windows.system.reading import KUSTOMIZATIONS, SUFFIXES

GENERATED = KUSTOMIZATIONS[0]
GROUP = "krm-windows.dev/"
_PLAIN = {"apiVersion", "kind", "metadata", "resources"}
# What kustomize takes for the address of a repository or a file (api/internal/git, api/internal/loader).
_FETCHED = re.compile(r"https?:", re.IGNORECASE)
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

    `files` and `links` are what a build is to find. `resources` are the plain files in their order, None where a build
    does more than to put files together. `policies` are the WindowPolicies by their file, `plugins` the directories
    that yield some, `unrun` says that one stood among the plugins; `notices` are what was left out and why. `remote`:
    what is missing would have to be fetched. `broken`: a kustomization cannot be read. `anywhere`: one names a file
    that does not lie below it. `kustomizations` are all by their files, as they are built; `root` is the first.
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
    """Return what a build of a directory reads, as Flux builds it: `changes` are put into its kustomization.

    A directory without a kustomization gets the one that Flux generates (fluxcd/pkg/kustomize). `above` are those whose
    plugins led here. Where the build `fetches`, remote parts stay in.
    """
    closure = Closure(directory)
    walk = _Walk(tree, closure, above | {directory}, fetches=fetches)
    path = kustomization_file(tree, directory)
    if path is not None:
        walk.directory(directory, changes)
    else:
        walk.kustomization(joined(directory, GENERATED), _generated(tree, closure), changes)
    return closure


def _generated(tree: Checkout, closure: Closure) -> Fields:
    """Return the kustomization that Flux makes for a plain directory: all its manifests, and its kustomizations."""
    head: Fields = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return {**head, "resources": list(_scanned(tree, closure, closure.directory, ""))}


def _scanned(tree: Checkout, closure: Closure, directory: str, below: str) -> Iterator[str]:
    for name in tree.names(directory):
        path, entry = normpath(join(directory, name)), f"{below}{name}"
        if name in _IGNORED:
            continue
        refusal = tree.refusal(path)
        if refusal is not None:
            if name.endswith(SUFFIXES) or name.startswith(".") or path.count("/") > DEEPEST:
                closure.notices.append(Notice(rules.NOT_FOLLOWED, refusal, path))
        elif tree.is_directory(path) and tree.real(path) == path:
            if kustomization_file(tree, path) is not None:
                yield entry
            else:
                yield from _scanned(tree, closure, path, f"{entry}/")
        elif name.endswith(SUFFIXES) and _is_manifest(tree, closure, path):
            yield entry


# What source-controller leaves out of an artifact, as far as it could be a manifest (sourceignore.go).
_IGNORED = frozenset(
    {
        ".git",
        ".github",
        ".circleci",
        ".travis.yml",
        ".gitlab-ci.yml",
        "appveyor.yml",
        ".drone.yml",
        "cloudbuild.yaml",
    }
    | {
        "codeship-services.yml",
        "codeship-steps.yml",
        ".goreleaser.yml",
        ".goreleaser.yaml",
        ".sops.yaml",
        ".flux.yaml",
    }
)


def _is_manifest(tree: Checkout, closure: Closure, path: str) -> bool:
    """Whether Flux can read a file; one that it cannot is named, as it stops the whole Kustomization there."""
    content = tree.read(path)
    if content is None:
        return False
    try:
        items = parsed(content)
    except InputError as error:
        closure.notices.append(
            Notice(rules.BUILD_FAILED, f"cannot be read: {error.message}", path, error.line or 1)
        )
        return False
    if not all(item.kind and item.api_version for item in items):
        message = "cannot be applied: it holds something without kind or apiVersion"
        closure.notices.append(Notice(rules.BUILD_FAILED, message, path))
        return False
    return True


class _Walk:
    """Goes from kustomization to kustomization, and notes in a closure what it meets."""

    def __init__(
        self, tree: Checkout, closure: Closure, above: frozenset[str], *, fetches: bool
    ) -> None:
        self.tree = tree
        self.closure = closure
        self.above = above
        self.fetches = fetches
        self.seen: set[str] = set()
        self.depth = 0

    def directory(self, path: str, changes: Mapping[str, Value]) -> None:
        """Take in a directory, without the links that led to it; one that leads to itself kustomize refuses."""
        real = self.tree.real(path) or path
        if real != path:
            self.closure.links[path] = real
        file = kustomization_file(self.tree, real)
        if file is None or real in self.seen:
            # A base that is met twice, leads to itself, or is none: kustomize has something to say.
            self.closure.resources = None
            return
        self.seen.add(real)
        content = self.tree.read(file) or b""
        self.closure.files[file] = content
        try:
            fields = _one(content)
        except InputError as error:
            said = f"cannot be read: {error.message}"
            self.closure.notices.append(Notice(rules.BUILD_FAILED, said, file, error.line or 1))
            self.closure.broken = True
            return
        if self.depth >= _MOST_BASES:
            message = f"is not built: its bases have bases, more than {_MOST_BASES} deep"
            self.closure.notices.append(Notice(rules.BUILD_FAILED, message, file))
            self.closure.broken = True
            return
        self.closure.notices += dropped.check(self.tree, file, content)
        self.depth += 1
        self.kustomization(file, fields, changes)
        self.depth -= 1

    def kustomization(self, file: str, fields: Fields, changes: Mapping[str, Value]) -> None:
        """Take in what a kustomization leads to, and the kustomization as it is to be built."""
        place = normpath(join(file, ".."))
        read = fields
        fields = {key: part for key, part in fields.items() if not self._is_chart(file, key)}
        fields = {**fields, **_merged(fields, changes)}
        fields = self._local(file, place, fields)
        wanted = dict(fields)
        for key in (*BASES, *PLUGINS):
            if fields.get(key):
                wanted[key] = self._entries(file, place, key, fields[key])
        left = {key for key, entries in wanted.items() if entries not in (None, [], {})}
        if not left <= _PLAIN or fields.get("kind") == "Component":
            self.closure.resources = None
        self._named(
            place, [entry for key, entry in fields.items() if key not in (*BASES, *PLUGINS)]
        )
        if place == self.closure.directory:
            self.closure.root = wanted
        self.closure.kustomizations[file] = wanted
        if wanted != read or file not in self.closure.files:
            self.closure.files[file] = render(wanted).encode()

    def _entries(self, file: str, place: str, key: str, entries: Value) -> Value:
        """Return those entries of a list of bases or plugins that can be built here."""
        if not isinstance(entries, list):
            return entries
        take = self._plugin if key in PLUGINS else self._base
        return [
            entry for entry in entries if not isinstance(entry, str) or take(file, place, entry)
        ]

    def _base(self, file: str, place: str, entry: str) -> bool:
        """Take in a resource or a component; say whether it stays in the list."""
        if self._is_to_be_fetched(entry):
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
            self.closure.resources = None
        return True

    def _resource(self, home: str, path: str, content: bytes) -> None:
        place = self._file(home, path, content)
        if self.closure.resources is not None:
            self.closure.resources.append(place)
        self.closure.policies += [(path, item) for item in window_policies(content)]

    def _file(self, home: str, path: str, content: bytes) -> str:
        """Take in a file where it really lies, with the link that leads to its directory; return its path.

        `home` is the directory of the kustomization that names it.
        """
        above = dirname(path) or "."
        real = self.tree.real(above) or above
        if real != above:
            self.closure.links[above] = real
        place = joined(real, basename(path))
        self.closure.files.setdefault(place, content)
        if home != "." and not place.startswith(f"{home}/"):
            self.closure.anywhere = True
        return place

    def _plugin(self, file: str, place: str, entry: str) -> bool:
        """Take in a plugin's configuration, unless it is one of ours, or names a file that is not read."""
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
            if any(GROUP.encode() in text for text in below):
                self.closure.plugins.append(path)
                self.closure.unrun = True
                return False
        self.directory(path, {})
        return True

    def _configuration(self, written: str, file: str, place: str, content: bytes) -> bool:
        """Take in what the configurations of plugins name; say whether they may stay in the kustomization `file`."""
        found = window_policies(content)
        self.closure.policies += [(written, item) for item in found]
        if found:
            self.closure.unrun = True
            return False
        for item in _documents(content):
            fields = value(item.node)
            if self._kept(written, place, fields, PLUGIN, "") != fields:
                self._leave(
                    file, basename(written), "a plugin is left out, as it names what is not read"
                )
                return False
            self._named(place, [fields])
        return True

    def _is_to_be_fetched(self, entry: str) -> bool:
        """Whether an address is one that this build may fetch: of no file here, and with no option for git in it."""
        if not self.fetches or not _REMOTE.match(entry) or _LOCAL.match(entry):
            return False
        given = parse_qsl(entry.partition("?")[2], keep_blank_values=True)
        return not any(text.startswith("-") for _, text in given)

    def _inside(self, file: str, place: str, entry: str) -> str | None:
        """Return the path of an entry; of one that is remote, leads outside or is not to be read None, and name it."""
        path = normpath(join(place, entry))
        if _REMOTE.match(entry):
            where = "an address of this machine" if _LOCAL.match(entry) else "remote"
            self._leave(
                file,
                entry,
                f"{entry} is {where}: nothing is fetched, so what it brings is not looked at",
            )
            self.closure.remote = True
            return None
        refusal = self.tree.refusal(entry if entry.startswith("/") else path)
        if refusal is not None:
            self._leave(file, entry, f"{entry} {refusal}")
            return None
        return path

    def _leave(self, file: str, entry: str, message: str) -> None:
        lines = (self.tree.read(file) or b"").decode(errors="replace").splitlines()
        line = next((number for number, text in enumerate(lines, 1) if entry in text), 1)
        self.closure.notices.append(Notice(rules.NOT_FOLLOWED, message, file, line))

    def _is_chart(self, file: str, key: str) -> bool:
        """Whether a field has kustomize render a chart, which Flux does not let it, nor do we."""
        if key.startswith("helmChart"):
            self._leave(
                file, key, f"{key} are rendered neither here nor by Flux, so they are not looked at"
            )
        return key.startswith("helmChart")

    def _local(self, file: str, place: str, fields: Fields) -> Fields:
        """Return a kustomization without the files that would have to be fetched, or lie where nothing is read."""
        kept = self._kept(file, place, fields, "", "")
        return kept if isinstance(kept, dict) else {}

    def _kept(self, file: str, place: str, part: Value, name: str, above: str) -> Value:
        """Return what is kept of the part under `name`, itself in what stands under `above`; None for nothing."""
        if isinstance(part, list):
            found = [self._kept(file, place, entry, name, above) for entry in part]
            return [
                kept
                for kept, entry in zip(found, part, strict=True)
                if kept is not None or entry is None
            ]
        if isinstance(part, dict):
            by_key = {key: self._kept(file, place, entry, key, name) for key, entry in part.items()}
            if is_part(name) and by_key.get("path", "") is None and part["path"] is not None:
                return None
            return {
                key: kept for key, kept in by_key.items() if kept is not None or part[key] is None
            }
        if isinstance(part, str) and is_path(name, above):
            return (
                part
                if all(self._is_read(file, place, path) for path in spellings(name, part))
                else None
            )
        return part

    def _is_read(self, file: str, place: str, path: str) -> bool:
        """Whether a path may be read; name it where it may not."""
        if _FETCHED.match(path) and self.fetches:
            return True
        if _FETCHED.match(path):
            self._leave(
                file,
                path,
                f"{path} is remote: nothing is fetched, so what it brings is not looked at",
            )
            self.closure.remote = True
            return False
        refusal = self.tree.refusal(path if path.startswith("/") else normpath(join(place, path)))
        if refusal is not None:
            self._leave(file, path, f"{path} {refusal}")
        return refusal is None

    def _named(self, place: str, parts: list[Value]) -> None:
        """Take in each file that a field names: alone, or behind the key of a generator (`key=path`)."""
        for text in _leaves(parts):
            for entry in {text, text.partition("=")[2]} - {"", "."}:
                if "\n" in entry or len(entry) > _LONGEST:
                    continue
                path = normpath(join(place, entry))
                content = (
                    None
                    if path.startswith("../") or entry.startswith("/")
                    else self.tree.read(path)
                )
                if content is not None:
                    self._file(place, path, content)


_LONGEST = 1024


def unchecked(closure: Closure, file: str, fields: Fields) -> Iterator[str]:
    """Yield what a kustomization has that was not checked to be harmless: a field, or a path of no file in the copy."""
    yield from (f"the field {name}" for name in unknown(fields))
    place = dirname(file) or "."
    known = {*closure.files, *(dirname(each) or "." for each in closure.kustomizations)}
    named = list(paths(fields))
    for key in BASES:
        entries = fields.get(key)
        named += (
            [entry for entry in entries if isinstance(entry, str)]
            if isinstance(entries, list)
            else []
        )
    for path in named:
        if path.startswith("/") or joined(place, path) not in known:
            yield path


def _merged(fields: Fields, changes: Mapping[str, Value]) -> Fields:
    """Return the changed fields: lists grow, everything else is replaced."""
    grown = {
        key: [*known, *more]
        for key, more in changes.items()
        if isinstance(more, list) and isinstance(known := fields.get(key), list)
    }
    return {**changes, **grown}


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
    if GROUP.encode() not in content:
        return []
    return [
        item
        for item in _documents(content)
        if item.kind == "WindowPolicy" and item.api_version.startswith(GROUP)
    ]


def _documents(content: bytes) -> tuple[KubeObject, ...]:
    """Return the objects of a file; of one that cannot be read none, as kustomize will say what is wrong."""
    try:
        return parsed(content)
    except InputError:
        return ()


def _one(content: bytes) -> Fields:
    """Return what the one document of a file means."""
    items = parsed(content)
    if len(items) != 1:
        raise InputError("a kustomization must be one document")
    found = value(items[0].node)
    return found if isinstance(found, dict) else {}

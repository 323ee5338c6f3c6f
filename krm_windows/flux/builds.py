"""Builds: each directory once for each way in which it is built, however many clusters share it."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from posixpath import basename, dirname

from krm_windows import rules
from krm_windows.emit.header import is_rendered
from krm_windows.emit.labels import POLICY
from krm_windows.flux import locations, objects
from krm_windows.flux.artifact_files import Artifact, ArtifactFiles
from krm_windows.flux.closure import Closure, close, joined, kustomization_file, refusal
from krm_windows.flux.fields import bases
from krm_windows.flux.model import Finding, Object
from krm_windows.krm import InputError, KubeObject, Value, render
from krm_windows.system.checkout import Checkout
from krm_windows.system.kustomize import Builder, BuildError

ORIGINS = "originAnnotations"
# What kustomize says where an object, a field or the only content of a kustomization is not there
# (kustomize api).
_LACKING = re.compile(
    r"no matches for|no resource matches|nothing selected by|failed to find unique target"
    r"|unable to find|is empty|missing (?:path|value|key)|cannot be mapped to a field|not found in",
)
# What it says of a file that is not in the copy, or would have to be fetched.
_UNOPENED = re.compile(r"no such file|permission denied|dial tcp")
_LEFT_OUT = (
    "is not in the artifact: a `.sourceignore`, or `ignore` or `sparseCheckout` of the source, "
    "leaves it out"
)
"""Called after each build with how many are done, of how many that are known of."""


@dataclass(frozen=True, slots=True)
class Request:
    """A directory, and what Flux puts into its kustomization.

    The `changes` are JSON, so that equal ones are one. It is built as it is in an artifact, or, if
    that is None, in the repository.
    """

    directory: str
    changes: str = "{}"
    artifact: Artifact | None = None

    @classmethod
    def of(
        cls,
        directory: str,
        changes: Mapping[str, Value],
        artifact: Artifact | None = None,
    ) -> "Request":
        """Take a directory with the fields that are changed."""
        # With sorted keys, as the same fields may come in any order.
        return cls(directory, json.dumps(changes, sort_keys=True), artifact)


@dataclass(frozen=True, slots=True)
class Build:
    """What came of a request.

    `complete` unless something was left out or failed; `policies` by their files. `files` are the
    paths that were read for it, in the tree; `rendered` are those of them that hold what was
    rendered from policies, or list it.
    """

    objects: tuple[Object, ...] = ()
    notices: tuple[Finding, ...] = ()
    policies: tuple[tuple[str, KubeObject], ...] = ()
    complete: bool = True
    files: frozenset[str] = frozenset()
    rendered: frozenset[str] = frozenset()


# A build leaves out what is annotated `config.kubernetes.io/local-config: "true"`, at its end: the
# plugins of a directory run whatever they say (kustomize, api/krusty).
_KEEP_LOCAL: Mapping[str, Value] = {
    "patches": [
        {
            "target": {"group": "krm-windows.dev", "kind": "WindowPolicy"},
            # The patch of a target needs a name, and takes none from it.
            "patch": json.dumps(
                {
                    "apiVersion": "krm-windows.dev/v1alpha1",
                    "kind": "WindowPolicy",
                    "metadata": {"name": "any", "annotations": {objects.LOCAL: "false"}},
                }
            ),
        }
    ]
}


@dataclass
class Builds:
    """The builds of one tree; `jobs` run at a time. Whatever was built is kept."""

    tree: Checkout
    builder: Builder | None
    jobs: int
    done: dict[Request, Build] = field(default_factory=dict)
    artifacts: dict[Artifact, ArtifactFiles] = field(default_factory=dict)

    def build(self, requests: Iterable[Request]) -> None:
        """Do what is asked for, unless it was done."""
        # In the order in which they are asked for, each once.
        missing = [request for request in dict.fromkeys(requests) if request not in self.done]
        with ThreadPoolExecutor(self.jobs) as pool:
            # Threads are enough: each waits for a process of its own.
            built = pool.map(self._one, missing)
            try:
                for request, build in zip(missing, built, strict=True):
                    self.done[request] = build
            except BaseException:
                # Whoever ends the command does not wait for builds that have not begun.
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _one(self, request: Request) -> Build:
        closure = self.closure(request)
        if closure.tree.is_absent(request.directory):
            message = f"{request.directory}, the path of a Kustomization, {_LEFT_OUT}"
            file = next(self.tree.files(request.directory), request.directory)
            absent = Finding(rules.BUILD_FAILED, message, file=file)
            return Build(notices=(absent,), complete=False)
        notices = list(closure.notices)
        policies = list(closure.policies)
        for directory in closure.changed:
            made, wrong = self._built(self.closure(Request.of(directory, _KEEP_LOCAL)))
            notices += [wrong] if wrong else []
            locator = locations.Locator(self.tree)
            policies += ((locator.locate(each).file, each.item) for each in made)
        found, failure = self._built(closure)
        complete = not closure.notices and failure is None
        if failure is not None:
            notices.append(failure)
        return Build(
            objects=found,
            notices=tuple(dict.fromkeys(notices)),
            policies=tuple(policies),
            complete=complete,
            files=frozenset(closure.files),
            rendered=frozenset(self._rendered(closure)),
        )

    def closure(self, request: Request) -> Closure:
        """Return what a request reads."""
        tree = self.tree
        if request.artifact is not None:
            files = ArtifactFiles(tree, request.artifact)
            tree = self.artifacts.setdefault(request.artifact, files).checkout
        return close(tree, request.directory, json.loads(request.changes))

    def _rendered(self, closure: Closure) -> Iterator[str]:
        """Yield the files of a build that were rendered from policies.

        They have the header, or, where a build with the function was committed, objects with our
        label.
        """
        resources: set[str] = set()
        for file, wanted in closure.kustomizations.items():
            # As it is written: what is put into it on the way to the build has no header.
            if is_rendered(self.tree.read(file) or b""):
                yield file
            resources.update(joined(dirname(file), entry) for entry in bases(wanted))
        # A patch may name our label, too, and is no object.
        for file in resources.intersection(closure.files):
            if POLICY.encode() in closure.files[file]:
                yield file

    def _built(self, closure: Closure) -> tuple[tuple[Object, ...], Finding | None]:
        """Put plain files together, or have kustomize do what is more than that."""
        # What is wrong with it is among its notices already.
        if closure.broken:
            return (), None
        # Most directories only list files: a build of those takes no process.
        plain = _plain(closure)
        if plain is not None:
            return plain, None
        place = kustomization_file(self.tree, closure.directory) or closure.directory
        if self.builder is None:
            message = "needs kustomize or kubectl, and neither is installed"
            return (), Finding(rules.BUILD_FAILED, message, file=place)
        # Whoever speaks of an object wants to say in which file it is.
        _note_origins(closure)
        try:
            output = self.builder.build(closure.inputs)
            return tuple(objects.built(output, closure.directory)), None
        except (BuildError, InputError) as error:
            return (), self._failed(closure, place, str(error))

    def _failed(self, closure: Closure, place: str, said: str) -> Finding:
        """Name a failure: one that comes of what is not read here says nothing of the repository.

        It can come of a remote base only where the builder lacks something.
        """
        if closure.remote and _LACKING.search(said):
            message = f"cannot be built without its remote parts: {said}"
            return Finding(rules.NOT_FOLLOWED, message, file=place)
        for entry, path in _missed(closure, said):
            _, reason = refusal(self.tree, entry, path)
            if reason is not None:
                message = f"cannot be built: {said}: {entry} {reason}"
                return Finding(rules.NOT_FOLLOWED, message, file=place)
            if not path.startswith("../") and closure.tree.is_absent(path):
                message = f"cannot be built: {path} {_LEFT_OUT}"
                return Finding(rules.BUILD_FAILED, message, file=place)
        return Finding(rules.BUILD_FAILED, f"cannot be built: {said}", file=place)


def _plain(closure: Closure) -> tuple[Object, ...] | None:
    """Return the objects of plain files.

    It is None where kustomize has more to do, or something to say.
    """
    if not closure.plain:
        return None
    found: list[Object] = []
    try:
        for path in closure.resources:
            every = objects.written(closure.files[path], path)
            # What is marked as local is for functions and no object of a cluster (kustomize).
            found += (item for item in every if item.note(objects.LOCAL) != "true")
    except InputError:
        # kustomize says better what is wrong with it, and where.
        return None
    # kustomize refuses what is no object, and two objects of one identity.
    if not all(map(_is_single, found)):
        return None
    identities = {item.identity for item in found}
    if len(identities) < len(found):
        return None
    return tuple(found)


def _is_single(item: Object) -> bool:
    """Whether an object has a kind and a name, and is no list that could not be opened."""
    is_list = item.kind.endswith("List") and item.get("items") is not None
    return bool(item.kind) and bool(item.name) and not is_list


class LeftOutError(InputError):
    """A part of what was to be built as a whole cannot be."""


def whole(tree: Checkout, directory: str, builder: Builder) -> bytes:
    """Return what a directory builds to.

    Raises LeftOutError where something of it would have to be left out.
    """
    closure = close(tree, directory, {})
    found = list(closure.notices)
    if closure.run:
        message = "a WindowPolicy among the transformers or generators is not run here"
        found.append(Finding(rules.NOT_FOLLOWED, message, file=directory))
    if found:
        said = []
        for each in found:
            place = each.file or directory
            said.append(f"{place}:{each.line}: {each.message}")
        raise LeftOutError("; ".join(said))
    try:
        return builder.build(closure.inputs)
    except BuildError as error:
        raise InputError(f"{directory}: cannot be built: {error}") from error


def _note_origins(closure: Closure) -> None:
    """Have kustomize note on each object where it came from."""
    # The first directory has a kustomization in any case: its own, or the one that Flux generates.
    file, fields = next(iter(closure.kustomizations.items()))
    # Notes that the kustomization itself asks for stay.
    known = fields.get("buildMetadata")
    metadata: list[Value] = [*(known if isinstance(known, list) else ()), ORIGINS]
    closure.files[file] = render({**fields, "buildMetadata": metadata}).encode()


def _missed(closure: Closure, said: str) -> Iterator[tuple[str, str]]:
    """Yield what a kustomization names and a builder could not open, with the path of each."""
    if _UNOPENED.search(said):
        for entry, path in closure.missing.items():
            # A text such as `/` is in any message, and no path.
            if basename(path) and (entry in said or path in said):
                yield entry, path

"""The policies of a commit: each file parsed once for its content, and kept for the next commit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.service.problems import Problem
from krm_windows.system.git_branch import Branch, File
from krm_windows.system.reading import SUFFIXES

MOST = 4 << 20
"""No policy has more bytes; what has is not read."""
NO_NAMESPACE = "-"
"""Stands in a path for a policy whose file names no namespace: kustomize sets it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A policy as a file of the repository has it.

    `file` is the path from the top of the repository, `blob` the object of its content: another
    content is another object.
    """

    namespace: str
    name: str
    file: str
    mode: str
    blob: str
    config: KubeObject

    @property
    def title(self) -> str:
        """What it is called: `flux-system/week`."""
        return title(self.namespace, self.name)

    @property
    def is_alone(self) -> bool:
        """Whether nothing else is in the file."""
        return len(documents(self.config.source)) == 1


def title(namespace: str, name: str) -> str:
    """Return what a policy is called: `flux-system/week`."""
    return f"{namespace or NO_NAMESPACE}/{name}"


@dataclass(frozen=True, slots=True)
class Place:
    """Which policy is meant; `file` is needed where several have one of this name."""

    namespace: str
    name: str
    file: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """By what a commit has its policies."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """What it is called."""
        return title(self.namespace, self.name)


# What a content holds: policies with namespace and name, or why it cannot be read.
Parsed = tuple[tuple[str, str, KubeObject], ...] | str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that may hold policies and cannot be read."""

    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The policies of a commit, by namespace and name; several files may have one of a name.

    `parsed` is what each content holds, by its object.
    """

    commit: str
    policies: Mapping[tuple[str, str], tuple[Stored, ...]]
    unreadable: tuple[Unreadable, ...]
    parsed: Mapping[str, Parsed]

    def every(self) -> Iterator[Stored]:
        """Yield all policies, by namespace and name."""
        for key in sorted(self.policies):
            yield from self.policies[key]

    def label(self, stored: Stored) -> str:
        """Return what a policy is called: its name, with what tells it from others of that name."""
        same = [key for key in self.policies if key[1] == stored.name]
        called = stored.name if len(same) == 1 else stored.title
        file = self.selector(stored)
        return f"{called} in {file}" if file else called

    def selector(self, stored: Stored) -> str | None:
        """Return the file of a policy where several have one of its name."""
        several = len(self.policies.get((stored.namespace, stored.name), ())) > 1
        return stored.file if several else None

    def one(self, place: Place) -> Stored:
        """Return a policy; raises Problem where there is none, or where several files have it."""
        found = [
            stored
            for stored in self.policies.get(place.key, ())
            if place.file in (None, stored.file)
        ]
        if not found:
            raise Problem(HTTPStatus.NOT_FOUND, f"policy {place.title} not found")
        if len(found) > 1:
            files = ", ".join(stored.file for stored in found)
            raise Problem(
                HTTPStatus.CONFLICT,
                f"{place.title} is in several files: select one with ?file= ({files})",
            )
        return found[0]


def read(branch: Branch, commit: str, below: str, before: Snapshot | None) -> Snapshot:
    """Read the policies of a commit below a directory; what `before` has read is taken from it."""
    files = [file for file in branch.files(commit, below) if _may_hold_one(file)]
    # By object: a file that was moved is not parsed again, and of what is gone, nothing is kept.
    known = before.parsed if before is not None else {}
    parsed: dict[str, Parsed] = {}
    policies: dict[tuple[str, str], tuple[Stored, ...]] = {}
    unreadable: list[Unreadable] = []
    for file in files:
        found = known.get(file.blob)
        if found is None:
            found = parse(branch.objects.content(file.blob, most=file.size))
        parsed[file.blob] = found
        # It is listed, so that somebody sees it; the other files are served.
        if isinstance(found, str):
            unreadable.append(Unreadable(file.path, found))
            continue
        for namespace, name, config in found:
            stored = Stored(namespace, name, file.path, file.mode, file.blob, config)
            policies[namespace, name] = (*policies.get((namespace, name), ()), stored)
    return Snapshot(commit, policies, tuple(unreadable), parsed)


def _may_hold_one(file: File) -> bool:
    # A name that is not UTF-8 could be in no address and no answer.
    return file.path.endswith(tuple(SUFFIXES)) and file.size <= MOST and file.path.isprintable()


def parse(content: bytes) -> Parsed:
    """Return what a content holds."""
    # Most manifests are of other kinds: they are not parsed at all.
    if KIND.encode() not in content or API_VERSION.encode() not in content:
        return ()
    try:
        return tuple(_policies(documents(content)))
    except InputError as error:
        return str(error)


def _policies(items: Iterable[KubeObject]) -> Iterator[tuple[str, str, KubeObject]]:
    for item in items:
        # Read apart: the nodes take most of the memory, and are not kept.
        head = item.as_read()
        if head.kind == KIND and head.api_version == API_VERSION:
            yield head.namespace, head.name, item

"""The policies of a commit: each file parsed once for its content, and kept for the next commit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from krm_windows.krm import InputError, KubeObject, documents
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Branch, Edit, File
from krm_windows.system.git_layout import blob_name
from krm_windows.system.reading import SUFFIXES

# No policy is larger; what is, is not read. All contents together are read in parts of 64 MiB.
_MOST = 4 << 20
_BATCH = 64 << 20
NO_NAMESPACE = "-"
"""Stands in a path for a policy whose file names no namespace: kustomize sets it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A policy as a file of the repository has it.

    `file` is the path from the top of the repository, `blob` the object of its content: another
    content is another object. Where it `may_close_by_targets`, its hours depend on their timeouts,
    too.
    """

    namespace: str
    name: str
    file: str
    mode: str
    blob: str
    config: KubeObject
    may_close_by_targets: bool = False

    @property
    def title(self) -> str:
        """What it is called: `flux-system/week`."""
        return title(self.namespace, self.name)

    @property
    def identity(self) -> tuple[str, int]:
        """Its text by the content of the file and where it begins: another text differs in one."""
        return self.blob, self.config.start

    @property
    def is_alone(self) -> bool:
        """Whether nothing else is in the file."""
        return len(documents(self.config.source)) == 1


def title(namespace: str, name: str) -> str:
    """Return what a policy is called: `flux-system/week`."""
    return f"{namespace or NO_NAMESPACE}/{name}"


def may_close_by_targets(config: KubeObject) -> bool:
    """Say whether a policy may have `closesEarly: auto`, for itself or for a cluster.

    It is cheap, and never wrongly False.
    """
    return config.mentions("auto")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that may hold policies and cannot be read."""

    file: str
    detail: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The policies of a commit, by namespace and name; several files may have one of a name.

    `files` are those that may hold one, by path.
    """

    commit: str
    files: Mapping[str, File]
    policies: Mapping[tuple[str, str], tuple[Stored, ...]]
    unreadable: tuple[Unreadable, ...]
    parsed: Mapping[str, "Parsed"]

    def every(self) -> Iterator[Stored]:
        """Yield all policies, by namespace and name."""
        for key in sorted(self.policies):
            yield from self.policies[key]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a content holds: its policies, or why it cannot be read."""

    policies: tuple["Found", ...] = ()
    detail: str = ""


class Found(NamedTuple):
    """A policy in a content."""

    namespace: str
    name: str
    config: KubeObject
    may_close_by_targets: bool


_NOTHING = Parsed()


@dataclass(slots=True)
class _Gathered:
    policies: dict[tuple[str, str], tuple[Stored, ...]] = field(default_factory=dict)
    unreadable: list[Unreadable] = field(default_factory=list)


def read(branch: Branch, commit: str, below: str, before: Snapshot | None) -> Snapshot:
    """Read the policies of a commit below a directory; what `before` has read is taken from it."""
    files = _changed(branch, commit, below, before)
    if files is None:
        files = {file.path: file for file in branch.files(commit, below) if _may_hold_one(file)}
    parsed = _kept(before, files)
    _parse(branch, [file for file in files.values() if file.blob not in parsed], parsed)
    return _snapshot(commit, files, parsed)


def edited(before: Snapshot, commit: str, edits: Iterable[Edit], below: str) -> Snapshot:
    """Return what a commit on top of that of a snapshot has, which differs in nothing but edits."""
    files = dict(before.files)
    parsed = dict(before.parsed)
    for edit in edits:
        gone = files.pop(edit.path, None)
        if gone is not None:
            parsed.pop(gone.blob, None)
        if edit.content is None or not _is_below(edit.path, below):
            continue
        blob = blob_name(edit.content)
        file = File(edit.path, edit.mode, blob, len(edit.content))
        if _may_hold_one(file):
            files[edit.path] = file
            parsed[blob] = _parsed(edit.content)
    # Another file may have had the content that is gone from this one.
    for file in files.values():
        if file.blob not in parsed:
            parsed[file.blob] = before.parsed[file.blob]
    return _snapshot(commit, files, parsed)


def _snapshot(commit: str, files: Mapping[str, File], parsed: Mapping[str, Parsed]) -> Snapshot:
    found = _Gathered()
    for path in sorted(files):
        _add(found, files[path], parsed[files[path].blob])
    return Snapshot(commit, files, found.policies, tuple(found.unreadable), parsed)


def _kept(before: Snapshot | None, files: Mapping[str, File]) -> dict[str, Parsed]:
    """Return what was parsed before and is still there: of what is gone, nothing is kept."""
    if before is None:
        return {}
    wanted = {file.blob for file in files.values()}
    # By object, so that a file that was moved is not parsed again.
    return {blob: parsed for blob, parsed in before.parsed.items() if blob in wanted}


def _changed(
    branch: Branch,
    commit: str,
    below: str,
    before: Snapshot | None,
) -> dict[str, File] | None:
    """Return the files by what differs from an earlier commit; None where all have to be listed."""
    if before is None:
        return None
    try:
        paths = [path for path in _differing(branch, before, commit) if _is_below(path, below)]
    except WorkspaceError:
        # A commit that no branch has any more may be gone.
        return None
    files = dict(before.files)
    # A path may have been removed, or be a link or a submodule now.
    for path in paths:
        files.pop(path, None)
        file = branch.file(commit, path)
        if file is not None and _may_hold_one(file):
            files[path] = file
    return files


def _differing(branch: Branch, before: Snapshot, commit: str) -> Iterator[str]:
    """Yield the paths of files that were added, changed or removed."""
    for was, now in branch.differences(before.commit, commit):
        known = was or now
        if known is not None:
            yield known.path


def _is_below(path: str, directory: str) -> bool:
    return not directory or path.startswith(f"{directory}/")


def _parse(branch: Branch, files: list[File], parsed: dict[str, Parsed]) -> None:
    """Parse the contents of some files, each once."""
    for batch in _batches(files):
        sizes = {file.blob: file.size for file in batch}
        contents = branch.contents(list(sizes), sum(sizes.values()))
        for blob, content in contents.items():
            # By object: files of the same content share it.
            parsed[blob] = _parsed(content)


def _may_hold_one(file: File) -> bool:
    # A name that is not UTF-8 could be in no address and no answer.
    return file.path.endswith(tuple(SUFFIXES)) and file.size <= _MOST and _is_text(file.path)


def _is_text(path: str) -> bool:
    return path.isprintable() and not any("\ud800" <= sign <= "\udfff" for sign in path)


def _batches(files: list[File]) -> Iterator[list[File]]:
    batch: list[File] = []
    size = 0
    for file in files:
        # Never an empty batch: a file alone may be larger than one.
        if batch and size + file.size > _BATCH:
            yield batch
            batch = []
            size = 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def _parsed(content: bytes) -> Parsed:
    # Most manifests are of other kinds: they are not parsed at all.
    if KIND.encode() not in content or API_VERSION.encode() not in content:
        return _NOTHING
    try:
        policies = tuple(_policies(documents(content)))
    except InputError as error:
        return Parsed(detail=str(error))
    return Parsed(policies)


def _policies(items: Iterable[KubeObject]) -> Iterator[Found]:
    for item in items:
        # Read apart: the nodes take most of the memory, and are not kept.
        head = item.as_read()
        if head.kind == KIND and head.api_version == API_VERSION:
            by_targets = may_close_by_targets(item)
            yield Found(head.namespace, head.name, item, by_targets)


def _add(found: _Gathered, file: File, parsed: Parsed) -> None:
    # It is listed, so that somebody sees it; the other files are served.
    if parsed.detail:
        found.unreadable.append(Unreadable(file.path, parsed.detail))
    for each in parsed.policies:
        key = (each.namespace, each.name)
        stored = Stored(
            *key,
            file.path,
            file.mode,
            file.blob,
            each.config,
            each.may_close_by_targets,
        )
        found.policies[key] = (*found.policies.get(key, ()), stored)

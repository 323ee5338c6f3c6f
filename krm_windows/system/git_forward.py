"""A branch moved to a new commit, and the working tree that has it brought forward, crash or not.

A journal says which move is under way before anything of it can be seen. Whoever starts next
finishes it, or forgets it: a move that the branch has not made never happened. A file of the
working tree is replaced in one step, and only where it is as either commit has it, so that no
change of a person is lost.
"""

import errno
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.files import LEFTOVER
from krm_windows.system.git_branch import Branch, File
from krm_windows.system.git_layout import blob_name
from krm_windows.system.git_trees import is_dot_git

# Below Git's own directory of the working tree, where nothing counts as part of the tree.
_FOLDER = "krm-windows"
_JOURNAL = "journal.json"
_INDEX = "index"
# Not `index.lock`: that is how Git itself locks the copy of the index.
_LOCK = "hold"
# What is written here before it goes into the tree, or takes the place of the index.
_COPY = re.compile(r"new-\d+|index")
# Git refuses `.git` before a backslash as well, which Windows takes for a slash (path.c,
# is_ntfs_dotgit).
_SEPARATOR = re.compile(r"[/\\]")
# Git holds its lock for milliseconds; an editor's plug-in may ask for the status all the time.
_PATIENCE = 3.0
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Move:
    """A branch that goes from one commit to another."""

    branch: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Forward:
    """What moves a branch, and the working tree that has it checked out."""

    branch: Branch

    @property
    def folder(self) -> Path:
        """Where the journal is."""
        return self.branch.layout.own / _FOLDER

    def begin(self, old: str, new: str) -> None:
        """Write down, before anybody can see it, that the branch is about to move."""
        try:
            self.folder.mkdir(exist_ok=True)
        except FileExistsError:
            raise WorkspaceError(
                f"{self.folder} is in the way: it is not a directory; move it away"
            ) from None
        content = json.dumps({"branch": self.branch.name, "old": old, "new": new})
        with Directory.at(self.folder) as folder:
            folder.replace(_JOURNAL, content.encode())

    def forget(self) -> None:
        """Take it back: the branch did not move."""
        with suppress(FileNotFoundError):
            (self.folder / _JOURNAL).unlink()

    def clean(self) -> None:
        """Remove what a run that was killed has left half written; keep every other run out."""
        with Directory.at(self.folder) as folder:
            for name, is_directory in folder.entries():
                if not is_directory and (LEFTOVER.fullmatch(name) or _COPY.fullmatch(name)):
                    folder.remove(name)

    def move(self, old: str, new: str, contents: Sequence[bytes] = ()) -> None:
        """Move the branch, then the tree; raises MovedError where the branch is not at `old`.

        Once the branch has moved, the change is in force: a tree that cannot be brought forward
        now is brought forward later, by `finish`. Of files whose `contents` are given, none has
        to be looked up.
        """
        self.branch.move(new, old)
        with suppress(WorkspaceError, OSError):
            known = {blob_name(content): content for content in contents}
            self._finish(Move(self.branch.name, old, new), new, known)

    def touched(self, paths: Sequence[str]) -> list[str]:
        """Return those of some files that somebody has changed in the tree, or staged a change of.

        Without those of a branch that is not checked out.
        """
        # Another branch, or none, is checked out: then the tree has nothing to do with this one.
        if self.branch.objects.head() != self.branch.name:
            return []
        arguments = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
        ended = self.branch.git.run(*arguments, "--", *paths)
        if ended.code != 0:
            raise WorkspaceError(f"git status failed: {ended.last_line}")
        # ` M clusters/week.yaml`, with a NUL behind it (git-status(1)).
        lines = ended.output.decode(errors="surrogateescape").split("\0")
        return [line[3:] for line in lines if line]

    def pending(self) -> Move | None:
        """Return the move that was begun and not ended; None where there is none."""
        try:
            found = json.loads((self.folder / _JOURNAL).read_bytes())
            return Move(found["branch"], found["old"], found["new"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            # It is replaced in one step, so this is not ours.
            raise WorkspaceError(f"{self.folder / _JOURNAL} cannot be read: remove it") from None

    def finish(self) -> bool:
        """End the move that was begun: bring the tree forward, or forget it.

        Returns False where the tree has to wait, as somebody else is changing it.
        """
        move = self.pending()
        if move is None:
            return True
        return self._finish(move, self.branch.tip(), {})

    def _finish(self, move: Move, tip: str | None, known: Mapping[str, bytes]) -> bool:
        # A move that the branch has not made never happened; one that was followed by others is
        # part of theirs.
        if move.branch == self.branch.name and tip is not None and self._reached(move.new, tip):
            with self._index() as index:
                if index is None:
                    return False
                self._bring(move.old, tip, index, known)
        self.forget()
        return True

    def _reached(self, new: str, tip: str) -> bool:
        return new == tip or self.branch.is_ancestor(new, tip)

    def _bring(
        self,
        old: str,
        new: str,
        index: "_Index",
        known: Mapping[str, bytes],
    ) -> None:
        """Bring the files that differ between two commits into the tree and its index."""
        # Another branch, or none, is checked out: then the tree has nothing to do with this one.
        if self.branch.objects.head() != self.branch.name:
            return
        with Directory.at(self.branch.layout.top) as top:
            differences = list(self.branch.differences(old, new))
            # What goes is first: a file may take the place of a directory.
            differences.sort(key=lambda sides: sides[1] is not None)
            for was, now in differences:
                if self._put(top, was, now, known):
                    index.set(was, now)
        index.write()

    def _put(
        self,
        top: Directory,
        was: File | None,
        now: File | None,
        contents: Mapping[str, bytes],
    ) -> bool:
        """Put one file into the tree.

        Returns False where a person has changed it, or where Git itself would refuse it.
        """
        known = now or was
        if known is None or _is_submodule(known):
            return known is not None
        if _is_of_git(known.path):
            return False
        *steps, name = known.path.split("/")
        try:
            with top.below(steps, make=now is not None) as folder:
                if not self._is_as_known(folder, name, was, now):
                    return False
                if now is None:
                    with suppress(FileNotFoundError):
                        folder.remove(name)
                else:
                    self._replace(folder, name, now, contents)
        except FileNotFoundError:
            # A directory that is not there has no file to be removed.
            return True
        except WorkspaceError:
            # A link, or a file, where the commit has a directory: a person's.
            return False
        if now is None:
            top.prune(steps)
        return True

    def _is_as_known(
        self,
        folder: Directory,
        name: str,
        was: File | None,
        now: File | None,
    ) -> bool:
        """Say whether what is in the tree is what one of the two commits has there."""
        kind = folder.kind(name)
        if kind is None:
            # There is nothing to lose.
            return True
        found = _found(folder, name, kind)
        if found is None:
            return False
        known = {side.blob for side in (was, now) if side is not None}
        return blob_name(found) in known

    def _replace(
        self,
        folder: Directory,
        name: str,
        now: File,
        contents: Mapping[str, bytes],
    ) -> None:
        content = contents.get(now.blob)
        if content is None:
            content = self.branch.contents([now.blob], _MOST)[now.blob]
        # Beside the journal and not beside the file: what a crash leaves is no part of the tree.
        with Directory.at(self.folder) as own:
            temporary = f"new-{os.getpid()}"
            with suppress(FileNotFoundError):
                own.remove(temporary)
            if stat.S_ISLNK(int(now.mode, 8)):
                own.link(temporary, os.fsdecode(content))
            else:
                own.create(temporary, content, lasting=True, mode=int(now.mode, 8) & 0o777)
            try:
                os.rename(temporary, name, src_dir_fd=own.descriptor, dst_dir_fd=folder.descriptor)
            except OSError as error:
                # Git's directory may be on another filesystem than the tree.
                if error.errno != errno.EXDEV:
                    raise
                folder.replace(name, content, mode=int(now.mode, 8) & 0o777)

    @contextmanager
    def _index(self) -> Iterator["_Index | None"]:
        """Give the index of the working tree, locked as Git itself locks it; None if it is busy."""
        own, lock = self.folder / _LOCK, self.branch.layout.own / "index.lock"
        # The same file under two names: a lock that a crash left is known to be ours by that.
        with suppress(FileNotFoundError):  # Git may let go of its lock at any moment
            if own.samefile(lock):
                lock.unlink()
        own.touch()
        if not _patiently(lambda: _linked(own, lock)):
            yield None
            return
        try:
            yield _Index(self.branch, self.folder / _INDEX, [])
        finally:
            lock.unlink(missing_ok=True)


# A file of a working tree; a larger one is no policy, and is not compared.
_MOST = 256 << 20


@dataclass(frozen=True, slots=True)
class _Index:
    """A copy of the index, in which entries are set, and which then takes its place."""

    branch: Branch
    copy: Path
    lines: list[str]

    def set(self, was: File | None, now: File | None) -> None:
        """Let the index have a file as the newer commit has it."""
        if now is not None:
            self.lines.append(f"{now.mode} {now.blob}\t{now.path}\0")
        elif was is not None:
            self.lines.append(f"0 {'0' * len(was.blob)}\t{was.path}\0")

    def write(self) -> None:
        """Let the copy take the place of the index, in one step."""
        if not self.lines:
            return
        index = self.branch.layout.own / "index"
        extra = {"GIT_INDEX_FILE": str(self.copy)}
        try:
            shutil.copyfile(index, self.copy)
        except FileNotFoundError:
            # With an empty one, every other file would count as removed.
            self.copy.unlink(missing_ok=True)
            self._run("read-tree", self.branch.ref, extra=extra)
        entries = "".join(self.lines).encode(errors="surrogateescape")
        self._run("update-index", "-z", "--index-info", stdin=entries, extra=extra)
        self.copy.replace(index)

    def _run(self, *arguments: str, extra: Mapping[str, str], stdin: bytes = b"") -> None:
        ended = self.branch.git.run(*arguments, stdin=stdin, extra=extra)
        if ended.code != 0:
            raise WorkspaceError(f"git {arguments[0]} failed: {ended.last_line}")


def _is_submodule(file: File) -> bool:
    return file.mode == "160000"


def _is_of_git(path: str) -> bool:
    """Say whether a path leads into a directory of Git's own, such as `.git/hooks/post-checkout`.

    A commit that was fetched may have such an entry, as Git looks at paths only when it checks them
    out (git-config(1), fetch.fsckObjects). Written, a hook is a program that Git starts.
    """
    return any(is_dot_git(name) for name in _SEPARATOR.split(path))


def _found(folder: Directory, name: str, kind: int) -> bytes | None:
    """Return what a name holds: of a link, its text; None for neither a file nor a link."""
    if kind == stat.S_IFLNK:
        return os.fsencode(os.readlink(name, dir_fd=folder.descriptor))
    if kind != stat.S_IFREG:
        return None
    # O_NONBLOCK: a pipe put there meanwhile must not hold the run up.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder.descriptor)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST)


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    return True


def _patiently(attempt: Callable[[], bool]) -> bool:
    """Try until it succeeds, for as long as Git may hold its lock."""
    ends = time.monotonic() + _PATIENCE
    while not attempt():
        if time.monotonic() > ends:
            return False
        time.sleep(_PAUSE)
    return True

"""The entries of a tree of Git, judged before any is written.

A tree is made of bytes that anybody may choose. Git itself refuses many of these when it checks a
tree out; `git ls-tree` prints them as they are.
"""

import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_windows.system.errors import WorkspaceError

_MODES = {stat.S_IFREG, stat.S_IFLNK}
_NAME = 255  # bytes of a name, as filesystems have it
# Shorter than what one system call takes (PATH_MAX, 4096).
_PATH = 2000
# Nobody nests that deep, and each level is a descriptor that stays open.
_DEPTH = 100
# Enough for any path that stays inside.
_TARGET = 1000
_FOLLOWED = 40  # links on the way to one file, as Linux has it (path_resolution(7))
# Code points that HFS+ ignores in names, so that `.g<U+200C>it` is `.git` there (Git's utf8.c,
# next_hfs_char).
_IGNORED = frozenset(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


@dataclass(frozen=True, slots=True)
class Most:
    """What a tree may have at most.

    Entries, bytes in one file, bytes in all files, and steps along its links.
    """

    entries: int = 500_000
    file: int = 128 << 20
    total: int = 2 << 30
    steps: int = 5_000_000

    @property
    def listing(self) -> int:
        """How many bytes a listing of the entries may have."""
        # A line has some 70 bytes before its path (git-ls-tree(1)), so 512 are far above the mean.
        return self.entries * 512


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a link: its place in the tree, the object of its content, and its size in bytes."""

    path: str
    blob: str
    size: int
    is_link: bool


def entries(listed: bytes, most: Most) -> list[Entry]:
    """Read what `git ls-tree -r -l -z` prints.

    Raises WorkspaceError for an entry that may lead elsewhere. Submodules are left out: their
    content is not in this repository.
    """
    found = list(_files(listed))
    if len(found) > most.entries:
        raise WorkspaceError(
            f"the commit has more than {most.entries} files; give a directory with fewer"
        )
    # A path once as a file and once as a directory could lead a write through a link.
    taken = _paths(found)
    total = 0
    for entry in found:
        for above in directories_above(entry.path):
            if above in taken:
                raise _refused(entry.path, f"is below {above!r}, which is a file or a link")
        if entry.size > most.file:
            raise _refused(entry.path, f"has {entry.size} bytes; at most {most.file} are read")
        total += entry.size
        if total > most.total:
            raise WorkspaceError(
                f"the commit has more than {most.total} bytes of files; give a directory with fewer"
            )
    return found


def _files(listed: bytes) -> Iterator[Entry]:
    for line in listed.decode(errors="surrogateescape").split("\0")[:-1]:
        head, _, path = line.partition("\t")
        # `100644 blob 8baef1b…      12`: as `git ls-tree -l` prints it (git-ls-tree(1)).
        mode, kind, blob, size = head.split()
        _check(path)
        # A submodule is a commit of another repository.
        if kind == "commit":
            continue
        form = stat.S_IFMT(int(mode, 8))
        if kind != "blob" or form not in _MODES:
            raise _refused(path, f"is neither a file nor a link (mode {mode})")
        # Git prints `BAD` for a size that it does not know, as in a partial clone.
        if not size.isdecimal():
            raise _refused(
                path,
                "has no content in this clone, and nothing is fetched: clone the repository "
                "without --filter, or fetch the rest (git fetch --refetch --no-filter)",
            )
        is_link = form == stat.S_IFLNK
        if is_link and int(size) > _TARGET:
            raise _refused(
                path, f"is a link to a path of {size} bytes; at most {_TARGET} are followed"
            )
        yield Entry(path, blob, int(size), is_link)


def _paths(found: Sequence[Entry]) -> set[str]:
    taken: set[str] = set()
    for entry in found:
        if entry.path in taken:
            raise _refused(entry.path, "occurs twice")
        taken.add(entry.path)
    return taken


def _check(path: str) -> None:
    """Refuse a path that is none below a directory on any system."""
    names = path.split("/")
    if path.startswith("/"):
        raise _refused(path, "is an absolute path")
    if len(names) > _DEPTH:
        raise _refused(path, f"lies more than {_DEPTH} directories deep")
    if len(path.encode(errors="surrogateescape")) > _PATH:
        raise _refused(path, f"has more than {_PATH} bytes in its path")
    for name in names:
        reason = _reason(name)
        if reason:
            raise _refused(path, reason)


def _reason(name: str) -> str:
    """Return why a name of an entry is refused, empty where it is not."""
    # `..` would be written above the directory; Git refuses all three as well (verify_path).
    if name in ("", ".", ".."):
        return "leads out of the tree" if name else "has an empty name in its path"
    if "\\" in name:
        return "has a backslash in its path, which some systems treat as a slash"
    if is_dot_git(name):
        return "has .git in its path"
    if len(name.encode(errors="surrogateescape")) > _NAME:
        return f"has a name of more than {_NAME} bytes"
    return ""


def is_dot_git(name: str) -> bool:
    """Whether a name is `.git` on some filesystem.

    Windows ignores case, and spaces, dots and a stream's name at the end, and has a short name for
    it; macOS ignores some code points (CVE-2014-9390; Git's path.c, is_ntfs_dotgit, and utf8.c,
    is_hfs_dotgit).
    """
    # `git~1` is the short name that NTFS gives `.git`; `.git::$INDEX_ALLOCATION` is the directory.
    seen = "".join(sign for sign in name if ord(sign) not in _IGNORED).casefold()
    return seen.partition(":")[0].rstrip(" .") in (".git", "git~1")


def directories_above(path: str) -> Iterator[str]:
    """Yield the directories above a path, top down."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _refused(path: str, reason: str) -> WorkspaceError:
    shown = path if len(path) <= _NAME else f"{path[:_NAME]}…"
    return WorkspaceError(f"the entry {shown!r} of the commit {reason}")


class Links:
    """The links of a tree, resolved by their texts alone.

    None is followed on a disk to learn where it leads.
    """

    def __init__(self, targets: Mapping[str, str], steps: int) -> None:
        self._targets = targets
        self._steps = steps

    def stays(self, path: str) -> bool:
        """Whether a link leads to something inside, through other links of the tree, too.

        Raises WorkspaceError where following all links takes too long.
        """
        # The directory that the link is in: what its text says begins there.
        place: list[str] = path.split("/")[:-1]
        ahead = [path.rpartition("/")[2]]
        followed = 0
        while ahead:
            self._count()
            name = ahead.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if not place:
                    return False
                place.pop()
                continue
            place.append(name)
            target = self._targets.get("/".join(place))
            if target is None:
                continue
            # Linux counts every link on the way, also those in the middle of a path.
            followed += 1
            if followed > _FOLLOWED or not _is_relative(target):
                return False
            # The link is replaced by what its text says, name by name (path_resolution(7)).
            place.pop()
            ahead += reversed(target.split("/"))
        return True

    def _count(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise WorkspaceError("the commit has links that lead through too many other links")


def _is_relative(target: str) -> bool:
    """Whether the text of a link is a path that begins where the link is."""
    return target != "" and not target.startswith("/") and "\0" not in target

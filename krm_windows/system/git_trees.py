"""The entries of a tree of Git, judged before any is written.

A tree is made of bytes that anybody may choose. Git itself refuses many of these when it checks a
tree out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from krm_windows.system.errors import WorkspaceError

_NAME = 255  # bytes of a name, as filesystems have it
# Shorter than what one system call takes (PATH_MAX, 4096).
_PATH = 2000
# Nobody nests that deep.
_DEPTH = 100
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


def check(path: str) -> None:
    """Refuse a path that is none below a directory on any system; raises WorkspaceError."""
    names = path.split("/")
    if len(names) > _DEPTH:
        raise refused(path, f"lies more than {_DEPTH} directories deep")
    if len(path.encode(errors="surrogateescape")) > _PATH:
        raise refused(path, f"has more than {_PATH} bytes in its path")
    for name in names:
        # `..` would be written above the directory; Git refuses all of these (verify_path).
        if name in (".", ".."):
            raise refused(path, "leads out of the tree")
        if "\\" in name:
            raise refused(path, "has a backslash in its path, which some systems treat as a slash")
        if is_dot_git(name):
            raise refused(path, "has .git in its path")
        if len(name.encode(errors="surrogateescape")) > _NAME:
            raise refused(path, f"has a name of more than {_NAME} bytes")


def is_dot_git(name: str) -> bool:
    """Whether a name is `.git` on some filesystem.

    Windows ignores case, and spaces, dots and a stream's name at the end, and has a short name for
    it; macOS ignores some code points (CVE-2014-9390; Git's path.c, is_ntfs_dotgit, and utf8.c,
    is_hfs_dotgit).
    """
    # `git~1` is the short name that NTFS gives `.git`; `.git::$INDEX_ALLOCATION` is the directory.
    seen = "".join(sign for sign in name if ord(sign) not in _IGNORED).casefold()
    return seen.partition(":")[0].rstrip(" .") in (".git", "git~1")


def refused(path: str, reason: str) -> WorkspaceError:
    """Return the error that refuses an entry."""
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

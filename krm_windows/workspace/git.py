"""Git, to read what a repository was: no hook, no filter and no attribute of it has a part in that."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from krm_windows.workspace.errors import WorkspaceError

_LINK = "120000"


@contextmanager
def snapshot(directory: Path, ref: str) -> Iterator[Path]:
    """Give a temporary directory with what stood below `directory` at a commit; raises WorkspaceError without one."""
    listed = _git(directory, "ls-tree", "-r", "-z", "--end-of-options", ref)
    with tempfile.TemporaryDirectory() as folder:
        entries = [entry.split("\t", 1) for entry in listed.decode(errors="surrogateescape").split("\0") if entry]
        blobs = [(head.split(), path) for head, path in entries if head.split()[1] == "blob"]
        contents = _contents(directory, [head[2] for head, _ in blobs])
        for (head, path), content in zip(blobs, contents, strict=True):
            _put(Path(folder, path), content, link=head[0] == _LINK)
        yield Path(folder)


def _contents(directory: Path, names: list[str]) -> Iterator[bytes]:
    """Yield the contents of objects, which `git cat-file` prints one after the other behind a line with their sizes."""
    printed = _git(directory, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode())
    place = 0
    for _ in names:
        begins = printed.index(b"\n", place) + 1
        size = int(printed[place:begins].split()[2])
        yield printed[begins : begins + size]
        place = begins + size + 1


def _put(path: Path, content: bytes, *, link: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if link:
        path.symlink_to(content.decode(errors="surrogateescape"))
    else:
        path.write_bytes(content)


def _git(directory: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    try:
        command = ["git", "-C", str(directory), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)  # noqa: S603 - no shell
    except FileNotFoundError as error:
        raise WorkspaceError("git is not installed: --since needs it") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["git failed"]
        raise WorkspaceError(f"{directory}: {said[-1]}")
    return done.stdout

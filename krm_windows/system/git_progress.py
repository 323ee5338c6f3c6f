"""Whether Git has files as they are here.

Nothing of the repository is in force for that (`git_program`).
"""

import os
from pathlib import Path

from krm_windows.system import git_layout, git_program
from krm_windows.system.errors import WorkspaceError

# Names of the files below a directory that was rendered for a large fleet.
_LARGEST = 16 << 20


def is_committed(*files: str | Path) -> bool | None:
    """Whether the newest commit has all of these files of one repository as they are.

    A file that is not here must not be there either. None outside a repository, without Git, and of
    a repository that is not read.
    """
    paths = [Path(os.path.realpath(file)) for file in files]
    try:
        layout = git_layout.find(paths[0].parent)
        names = [path.relative_to(layout.top) for path in paths]
        # A line end in a name would begin another request.
        asked = "".join(f"HEAD:{name}\n" for name in names if "\n" not in str(name))
        with git_program.opened(layout) as git:
            ended = git.run("cat-file", "--batch-check=%(objectname)", stdin=os.fsencode(asked))
        found = ended.output.decode(errors="replace").splitlines()
        return all(_is_same(*pair) for pair in zip(paths, found, strict=True))
    except (WorkspaceError, OSError, ValueError):
        return None


def listed(directory: Path) -> list[Path]:
    """Return the files that the newest commit has below a directory; none where it is not read."""
    place = Path(os.path.realpath(directory))
    try:
        layout = git_layout.find(place)
        # The top itself has no name in a commit.
        below = [f"{place.relative_to(layout.top)}/"] if place != layout.top else []
        with git_program.opened(layout) as git:
            asked = ("ls-tree", "-r", "-z", "--name-only", "HEAD", *below)
            names = os.fsdecode(git.run(*asked, output=_LARGEST).output).split("\0")
    except (WorkspaceError, OSError, ValueError):
        return []
    return [layout.top / name for name in names if name]


def _is_same(path: Path, blob: str) -> bool:
    """Whether a file is a blob of Git, whose name is none where Git has no such file."""
    if not path.exists():
        return not git_layout.is_object_name(blob)
    return git_layout.is_object_name(blob) and git_layout.blob_name(path.read_bytes(), blob) == blob

"""How far a policy has come on its way to the cluster, by what is known on this machine."""

from pathlib import Path

from krm_windows.cli import inputs, output
from krm_windows.cli import rendered as outputs
from krm_windows.krm import InputError
from krm_windows.preview import stages
from krm_windows.preview.stages import RenderedDirectory
from krm_windows.system import git_progress
from krm_windows.system.errors import WorkspaceError


def stage(file: str) -> str:
    """Return where a policy's state is known from, in words: `in Git`, or `in policy.yaml`."""
    if file == inputs.STDIN:
        return stages.in_file("standard input")
    in_git = git_progress.is_committed(file)
    if in_git:
        return stages.IN_GIT
    return stages.in_file(file, uncommitted=in_git is False)


def in_git(file: str) -> bool | None:
    """Return whether Git has a policy's file as it is, None where that is not known."""
    return None if file == inputs.STDIN else git_progress.is_committed(file)


def rendered(file: str) -> list[RenderedDirectory] | None:
    """Return what was rendered from the policy of a file; None where nobody can look for it."""
    if file == inputs.STDIN:
        return None

    try:
        return outputs.directories(*outputs.of_file(Path(file), inputs.policy(file)))
    except (InputError, WorkspaceError, OSError) as error:
        output.log(str(error))
        return None

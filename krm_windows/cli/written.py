"""How far a file has come on its way to the cluster, by what Git knows on this machine."""

from krm_windows.cli import inputs
from krm_windows.preview import stages
from krm_windows.system import git_progress
from krm_windows.system.git_progress import Progress


def stage(file: str) -> str:
    """Return where a policy's state is known from, in words: `in Git`, or `in policy.yaml`."""
    progress = _progress(file)
    if file == inputs.STDIN:
        return stages.in_file("standard input")
    if progress is Progress.UNKNOWN:
        return stages.in_file(file)
    if progress is Progress.WRITTEN:
        return stages.in_file(file, uncommitted=True)
    return stages.IN_GIT


def record(file: str) -> dict[str, object]:
    """Return the same for JSON; null is what is not known, or was not asked."""
    progress = _progress(file)
    known = progress is not Progress.UNKNOWN
    return {
        "inGit": progress is not Progress.WRITTEN if known else None,
        "inCluster": None,
    }


def _progress(file: str) -> Progress:
    return Progress.UNKNOWN if file == inputs.STDIN else git_progress.of(file)

"""kubectl, asked for objects: it knows the user's clusters and how to sign in to them."""

import re
import subprocess
from dataclasses import dataclass

from krm_windows.workspace.errors import WorkspaceError

_PATIENCE = "20s"
# What kubectl complains of, and what a person can do about it.
_ADVICE = {
    r"doesn't have a resource type": "the kind is not installed in this cluster; is it the right one (--context)?",
    r"\(Forbidden\)": "reading the targets takes `get` on them, and reading the last look `list` on Jobs and CronJobs",
    r"(?i)unauthorized|must be logged in": "the cluster does not know you; is it the right one (--context)?",
    r"context .* (does not|doesn't) exist": "`kubectl config get-contexts` lists those that there are",
    r"refused|[Uu]nable to connect|no such host|timeout|deadline": "no API server answers; is it the right one "
    "(--kubeconfig, --context)?",
}


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The cluster that is asked, named by kubectl's own options; None is what kubectl takes without them."""

    kubeconfig: str | None = None
    context: str | None = None

    def get(self, *arguments: str) -> str:
        """Return the JSON that `kubectl get` prints, empty where of the names given none exists.

        Raises `WorkspaceError` where there is no kubectl, or where it fails, with its reason and some advice.
        """
        chosen = {"--kubeconfig": self.kubeconfig, "--context": self.context}
        options = [f"{name}={value}" for name, value in chosen.items() if value is not None]
        command = ["kubectl", *options, f"--request-timeout={_PATIENCE}", "get", *arguments]
        try:
            done = subprocess.run(  # noqa: S603 - an argument vector, no shell
                [*command, "--ignore-not-found", "--output=json", "--show-managed-fields"],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except FileNotFoundError as error:
            advice = "install it, or pipe what it prints elsewhere (-f -)"
            raise WorkspaceError(f"there is no kubectl on the PATH: {advice}") from error
        if done.returncode != 0:
            raise WorkspaceError(_words(done.stderr))
        return done.stdout


def _words(complaint: str) -> str:
    """Return why kubectl failed, from the last line that it printed, and what to do."""
    last = complaint.strip().rpartition("\n")[2] or "it did not say why"
    advice = next((f"; {advice}" for pattern, advice in _ADVICE.items() if re.search(pattern, last)), "")
    return f"kubectl: {last.removeprefix('error: ')}{advice}"

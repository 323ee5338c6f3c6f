"""Files, written whole or not at all and never outside the directory that was named; and programs that are started."""

from krm_windows.workspace.builds import build, is_kustomization, kustomizations
from krm_windows.workspace.creation import contents, create
from krm_windows.workspace.errors import WorkspaceError
from krm_windows.workspace.files import Folder, first_lines, manifests
from krm_windows.workspace.kubectl import Kubectl

__all__ = [
    "Folder",
    "Kubectl",
    "WorkspaceError",
    "build",
    "contents",
    "create",
    "first_lines",
    "is_kustomization",
    "kustomizations",
    "manifests",
]

"""Files, read as objects, written whole or not at all, never outside the directory that was named; and kubectl."""

from krm_windows.workspace.creation import contents, create
from krm_windows.workspace.errors import WorkspaceError
from krm_windows.workspace.files import Folder, first_lines, manifests
from krm_windows.workspace.kubectl import Kubectl

__all__ = ["Folder", "Kubectl", "WorkspaceError", "contents", "create", "first_lines", "manifests"]

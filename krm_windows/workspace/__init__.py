"""Files: read as objects, written whole or not at all, never outside the directory that was named."""

from krm_windows.workspace.files import Folder, WorkspaceError, manifests

__all__ = ["Folder", "WorkspaceError", "manifests"]

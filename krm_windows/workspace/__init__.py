"""Files: read as objects, written whole or not at all, never outside the directory that was named."""

from krm_windows.workspace.files import Folder, WorkspaceError, first_lines, manifests

__all__ = ["Folder", "WorkspaceError", "first_lines", "manifests"]

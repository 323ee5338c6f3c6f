"""Plans to files: what is committed where no plugin may run."""

from krm_windows.tree.flat import KUSTOMIZATION, files, header, is_header

__all__ = ["KUSTOMIZATION", "files", "header", "is_header"]

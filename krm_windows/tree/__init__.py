"""Plans to files: what is committed where no plugin may run."""

from krm_windows.tree.flat import files, header, is_header

__all__ = ["files", "header", "is_header"]

"""Plans to files: what is committed where no plugin may run."""

from krm_windows.render.flat import KUSTOMIZATION, files, header, is_header

__all__ = ["KUSTOMIZATION", "files", "header", "is_header"]

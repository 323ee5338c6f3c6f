"""Plans to files: what is committed where no plugin may run."""

from krm_windows.emit.header import header, is_header
from krm_windows.render.flat import KUSTOMIZATION, rendered

__all__ = ["KUSTOMIZATION", "header", "is_header", "rendered"]

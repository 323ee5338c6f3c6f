"""Reconciliation windows for GitOps, as pure build-time output of a KRM function."""

__version__ = "0.1.0"
SOURCE = "https://github.com/krm-windows/krm-windows"
"""Where the source and its documentation lie."""

"""Reconciliation windows for GitOps, as pure build-time output of a KRM function."""

__version__ = "0.1.0"

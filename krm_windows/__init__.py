"""Reconciliation windows for GitOps, as pure build-time output of a KRM function."""

# Of the next release, or of this one where `make dist` found its tag.
__version__ = "0.1.0"
# The hash of the commit, where `git archive` made the file (gitattributes(5), export-subst).
COMMIT = "$Format:%H$"
SOURCE = "https://github.com/krm-windows/krm-windows"
"""Where the source and its documentation are."""

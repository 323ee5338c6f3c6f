"""Files, written whole or not at all and never outside the directory that was named; and programs that are started."""

from krm_windows.workspace.checkout import Checkout
from krm_windows.workspace.creation import contents, create
from krm_windows.workspace.errors import WorkspaceError
from krm_windows.workspace.files import SUFFIXES, Folder, first_lines, folders, manifests
from krm_windows.workspace.git import snapshot
from krm_windows.workspace.kubectl import Kubectl
from krm_windows.workspace.kustomize import Builder, BuildError, Inputs, build, is_kustomization, kustomizations
from krm_windows.workspace.processes import spread
from krm_windows.workspace.trees import Tree

__all__ = [
    "SUFFIXES",
    "BuildError",
    "Builder",
    "Checkout",
    "Folder",
    "Inputs",
    "Kubectl",
    "Tree",
    "WorkspaceError",
    "build",
    "contents",
    "create",
    "first_lines",
    "folders",
    "is_kustomization",
    "kustomizations",
    "manifests",
    "snapshot",
    "spread",
]

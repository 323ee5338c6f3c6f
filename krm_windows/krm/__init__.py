"""The wire: ResourceList in, ResourceList out, every byte that nobody edited as it came.

The names are those of the kpt function SDKs: a function is a `process(resource_list)` handed to `run`.
"""

from krm_windows.krm.errors import ConfigurationError, EditError, InputError
from krm_windows.krm.kube_object import KubeObject
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, Value, node_of, value
from krm_windows.krm.protocols import ExitCode, run
from krm_windows.krm.resource_list import ResourceList
from krm_windows.krm.stream import documents
from krm_windows.krm.writer import render

__all__ = [
    "ConfigurationError",
    "EditError",
    "ExitCode",
    "InputError",
    "KubeObject",
    "Mapping",
    "Node",
    "ResourceList",
    "Scalar",
    "Sequence",
    "Value",
    "documents",
    "node_of",
    "render",
    "run",
    "value",
]

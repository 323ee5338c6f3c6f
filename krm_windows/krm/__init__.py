"""The wire: ResourceList in, ResourceList out, every byte that nobody edited as it came.

The names are those of the kpt function SDKs: a function is a `process(resource_list)` handed to
`run`.
"""

from krm_windows.exit_codes import ExitCode
from krm_windows.krm.errors import ConfigurationError, EditError, InputError
from krm_windows.krm.kube_object import KubeObject, mentioning
from krm_windows.krm.layout import read as parse
from krm_windows.krm.nodes import Mapping, Node, Scalar, Sequence, Value, value
from krm_windows.krm.protocols import Process, run
from krm_windows.krm.resource_list import ResourceList
from krm_windows.krm.stream import Entry, documents, opened
from krm_windows.krm.writer import render
from krm_windows.results import Result, Severity

__all__ = [
    "ConfigurationError",
    "EditError",
    "Entry",
    "ExitCode",
    "InputError",
    "KubeObject",
    "Mapping",
    "Node",
    "Process",
    "ResourceList",
    "Result",
    "Scalar",
    "Sequence",
    "Severity",
    "Value",
    "documents",
    "mentioning",
    "opened",
    "parse",
    "render",
    "run",
    "value",
]

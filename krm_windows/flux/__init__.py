"""A Flux repository, followed from its clusters to what each Kustomization applies.

Facts, judged by `checks`. Files are read and builds asked for through `system`; nothing is
fetched, and nothing is decided here.
"""

from krm_windows.flux.clusters import Survey, survey
from krm_windows.flux.follow import names
from krm_windows.flux.model import Cluster, Finding, Gate, Kustomization, Object
from krm_windows.flux.sources import Given, Hints

__all__ = [
    "Cluster",
    "Finding",
    "Gate",
    "Given",
    "Hints",
    "Kustomization",
    "Object",
    "Survey",
    "names",
    "survey",
]

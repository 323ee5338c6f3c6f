"""The Flux Kustomization that applies what must not hold up the windows.

kustomize-controller tries every object by a dry run before it applies any. One whose namespace, or
whose definition, does not exist yet would keep all else from being applied.
"""

import re
from collections.abc import Mapping

from krm_windows.emit.labels import metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.gateable import KUSTOMIZE
from krm_windows.plan.model import Plan

FOLDERS = re.compile(r"namespace-[a-z0-9-]+|prometheusrule")
"""The names of the directories of what is delivered by itself, beside the windows."""

# What its namespace needs appears with a commit of somebody else, which nothing tells of.
_RETRY = "30s"
_INTERVAL = "10m"


def kustomization(
    plan: Plan, name: str, namespace: str, path: str, reached: Mapping[str, object]
) -> Manifest:
    """Return the Flux Kustomization of a directory; `reached` are the fields that say by what.

    The source, and the account and the cluster if they are given.
    """
    return {
        "apiVersion": f"{KUSTOMIZE}/v1",
        "kind": "Kustomization",
        "metadata": metadata(plan, name, namespace),
        "spec": {
            **reached,
            "interval": _INTERVAL,
            "path": path,
            "prune": True,
            "retryInterval": _RETRY,
            "wait": False,
        },
    }

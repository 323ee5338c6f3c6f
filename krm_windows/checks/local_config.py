"""A policy among what is applied: no cluster knows its kind, so the whole Kustomization fails.

kustomize leaves out what has the annotation `config.kubernetes.io/local-config`, and Flux builds
with kustomize.
"""

from krm_windows.inventory import LOCAL_CONFIG
from krm_windows.krm import KubeObject

GROUP = "krm-windows.dev/"
PATH = "metadata.annotations"
MESSAGE = (
    f'must have the annotation `{LOCAL_CONFIG}: "true"`: the policy is among the applied '
    "resources, no cluster has a CRD for its kind, and the whole Kustomization would fail to "
    "apply"
)


def lacks(policy: KubeObject) -> bool:
    """Whether an object of ours is applied wherever it is among resources."""
    # Any group that begins so is ours: a later release may have another version.
    if not policy.api_version.startswith(GROUP):
        return False
    return policy.annotations.get(LOCAL_CONFIG) != "true"

"""A policy among what is applied: no cluster knows its kind, so the whole Kustomization fails.

kustomize leaves out what has the annotation `config.kubernetes.io/local-config`, and Flux builds
with kustomize.
"""

from krm_windows.gateable import GROUP, group_of
from krm_windows.inventory import LOCAL_CONFIG
from krm_windows.krm import KubeObject

PATH = "metadata.annotations"
MESSAGE = (
    f'must have the annotation `{LOCAL_CONFIG}: "true"`: the policy is among the applied '
    "resources, no cluster has a CRD for its kind, and the whole Kustomization would fail to "
    "apply"
)


def lacks(policy: KubeObject) -> bool:
    """Whether an object of ours is applied wherever it is among resources."""
    # In any version: a later release may have another one.
    if group_of(policy.api_version) != GROUP:
        return False
    return policy.annotations.get(LOCAL_CONFIG) != "true"

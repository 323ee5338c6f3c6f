"""The NetworkPolicy: the gate's Pods reach the API server alone, and nothing reaches them.

They need no DNS, as Kubernetes gives every Pod the address of its API server. A NetworkPolicy
cannot name the API server, so any address at its usual ports may be reached; who knows its
addresses adds them by a patch.
"""

from krm_windows.emit import names
from krm_windows.emit.labels import COMPONENT, GATE, POLICY, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.emit.template import fill, read
from krm_windows.plan.model import Plan

_NETWORK_POLICY = read("""
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: $metadata
spec:
  podSelector: {matchLabels: $pods}
  policyTypes: [Ingress, Egress]
  ingress: []
  # Of the Service `kubernetes`, and of most API servers behind it: which one a network plugin sees,
  # differs.
  egress:
  - ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
""")


def objects(plan: Plan) -> list[Manifest]:
    """Return the NetworkPolicy of the Pods in the policy's namespace.

    Those of hooks run elsewhere.
    """
    return [
        fill(
            _NETWORK_POLICY,
            metadata=metadata(plan, names.gate(plan), plan.namespace),
            pods={COMPONENT: GATE, POLICY: names.policy_label(plan)},
        )
    ]

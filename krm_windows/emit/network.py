"""The NetworkPolicy: the gate's Pods reach the API server alone, and nothing reaches them.

They need no DNS, as Kubernetes gives every Pod the address of its API server. A NetworkPolicy
cannot name the API server, so the policy gives its addresses; without them any address at its usual
ports may be reached.
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
  egress: $egress
""")
_GIVEN = read("""
to: [{ipBlock: {cidr: $cidr}}]
ports: [{protocol: TCP, port: $port}]
""")
# Of the Service `kubernetes`, and of most API servers behind it: some network plugins see the one,
# some the other.
_USUAL = read("""
- ports: [{protocol: TCP, port: 443}, {protocol: TCP, port: 6443}]
""")


def objects(plan: Plan) -> list[Manifest]:
    """Return the NetworkPolicy of the Pods in the policy's namespace.

    Those of hooks run elsewhere.
    """
    given = [fill(_GIVEN, cidr=each.cidr, port=each.port) for each in plan.api_servers]
    return [
        fill(
            _NETWORK_POLICY,
            metadata=metadata(plan, names.gate(plan), plan.namespace),
            pods={COMPONENT: GATE, POLICY: names.policy_label(plan)},
            egress=given or _USUAL,
        )
    ]

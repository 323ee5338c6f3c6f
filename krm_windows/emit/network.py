"""The NetworkPolicy: the gate's Pods reach the API server alone, and nothing reaches them.

They need no DNS, as Kubernetes gives every Pod the address of its API server. A NetworkPolicy
cannot name the API server, so the policy gives its addresses; without them any address at its usual
ports may be reached.
"""

from krm_windows.emit import names
from krm_windows.emit.labels import COMPONENT, GATE, POLICY, metadata
from krm_windows.emit.manifest import Manifest
from krm_windows.plan.model import Plan

# Of the Service `kubernetes`, and of most API servers behind it: some network plugins see the one,
# some the other.
_USUAL_PORTS = (443, 6443)


def objects(plan: Plan) -> list[Manifest]:
    """Return the NetworkPolicy of the Pods in the policy's namespace.

    Those of hooks run elsewhere.
    """
    selector = {"matchLabels": {COMPONENT: GATE, POLICY: names.policy_label(plan)}}
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": metadata(plan, names.gate(plan), plan.namespace),
            "spec": {
                "podSelector": selector,
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [],
                "egress": _egress(plan),
            },
        }
    ]


def _egress(plan: Plan) -> list[dict[str, object]]:
    if not plan.api_servers:
        return [{"ports": [_port(port) for port in _USUAL_PORTS]}]
    found: list[dict[str, object]] = []
    for each in plan.api_servers:
        block = {"ipBlock": {"cidr": each.cidr}}
        found.append({"to": [block], "ports": [_port(each.port)]})
    return found


def _port(port: int) -> dict[str, object]:
    return {"protocol": "TCP", "port": port}

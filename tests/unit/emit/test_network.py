"""The NetworkPolicy: which Pods, and where they may connect to."""

import pytest
from calls import call, emitted, spec, wire


def test_nothing_reaches_them_and_they_reach_the_api_server() -> None:
    servers = "{apiServer: [{cidr: 10.0.0.1/32, port: '6443'}, {cidr: '2001:db8::1/128'}]}"
    [policy] = emitted(spec(extras="[NetworkPolicy]", networkPolicy=servers), "NetworkPolicy")
    found = policy["spec"]
    assert (found["policyTypes"], found["ingress"]) == (["Ingress", "Egress"], [])
    assert found["egress"] == [
        {
            "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
            "ports": [{"protocol": "TCP", "port": 6443}],
        },
        {
            "to": [{"ipBlock": {"cidr": "2001:db8::1/128"}}],
            "ports": [{"protocol": "TCP", "port": 443}],
        },
    ]


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ("{cidr: 10.0.0.1/8}", "cidr"),
        ("{cidr: api.example.com}", "cidr"),
        ("{cidr: '10.0.0.1/32', port: '0'}", "port"),
        ("{cidr: '10.0.0.1/32', port: '65536'}", "port"),
        ("{port: '443'}", "cidr"),
    ],
)
def test_wrong_addresses(server: str, path: str) -> None:
    answer = call(
        wire(config=spec(extras="[NetworkPolicy]", networkPolicy=f"{{apiServer: [{server}]}}"))
    )
    assert answer.code == 1
    assert f"spec.networkPolicy.apiServer[0].{path}" in answer.err

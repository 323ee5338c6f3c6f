"""The NetworkPolicy: which Pods, and where they may connect to."""

import pytest
from calls import POLICY, call, spec, wire


def network(config: str) -> dict:
    """Return the NetworkPolicy that a policy yields."""
    [found] = [
        item for item in call(wire(config=config)).objects if item["kind"] == "NetworkPolicy"
    ]
    return found


def test_it_selects_the_pods_of_the_policy() -> None:
    """By labels that all of them carry."""
    config = spec(extras="[NetworkPolicy]")
    labels = network(config)["spec"]["podSelector"]["matchLabels"]
    items = call(wire(config=config)).objects
    pods = [item["spec"]["template"] for item in items if item["kind"] == "Job"]
    pods += [
        item["spec"]["jobTemplate"]["spec"]["template"]
        for item in items
        if item["kind"] == "CronJob"
    ]
    assert pods
    assert all(labels.items() <= pod["metadata"]["labels"].items() for pod in pods)


def test_nothing_reaches_them_and_they_reach_the_api_server() -> None:
    """At the addresses that the policy gives, and no DNS."""
    servers = "{apiServer: [{cidr: 10.0.0.1/32, port: '6443'}, {cidr: '2001:db8::1/128'}]}"
    found = network(spec(extras="[NetworkPolicy]", networkPolicy=servers))["spec"]
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


def test_without_addresses_the_usual_ports() -> None:
    """Of any address."""
    [rule] = network(spec(extras="[NetworkPolicy]"))["spec"]["egress"]
    assert rule == {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]}


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ("{cidr: 10.0.0.1/8}", "cidr"),
        ("{cidr: api.example.com}", "cidr"),
        ("{cidr: '10.0.0.1/32', port: '0'}", "port"),
        ("{cidr: '10.0.0.1/32', port: '65536'}", "port"),
        ("{cidr: '10.0.0.1/32', port: https}", "port"),
        ("{port: '443'}", "cidr"),
    ],
)
def test_wrong_addresses(server: str, path: str) -> None:
    """A name, bits behind the length, no port."""
    answer = call(
        wire(config=spec(extras="[NetworkPolicy]", networkPolicy=f"{{apiServer: [{server}]}}"))
    )
    assert answer.code == 1
    assert f"spec.networkPolicy.apiServer[0].{path}" in answer.err


def test_it_is_not_the_default() -> None:
    """It needs what only the cluster knows."""
    assert "NetworkPolicy" not in {item["kind"] for item in call(wire(config=POLICY)).objects}

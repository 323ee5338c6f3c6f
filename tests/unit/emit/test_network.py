"""The NetworkPolicy: which Pods, and where they may connect to."""

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
    """At its usual ports of any address, and no DNS."""
    found = network(spec(extras="[NetworkPolicy]"))["spec"]
    assert (found["policyTypes"], found["ingress"]) == (["Ingress", "Egress"], [])
    [rule] = found["egress"]
    assert rule == {"ports": [{"protocol": "TCP", "port": 443}, {"protocol": "TCP", "port": 6443}]}


def test_it_is_not_the_default() -> None:
    """Another port would cut the gate off."""
    assert "NetworkPolicy" not in {item["kind"] for item in call(wire(config=POLICY)).objects}

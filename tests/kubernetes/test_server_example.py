"""The deployment of the service is what Kubernetes takes, and no more than it needs."""

import argparse
from pathlib import Path

from restricted import ROOT, Object, breaches

from krm_windows.cli import serve
from krm_windows.service import settings

FOLDER = ROOT / "examples/server"


def pod_of(server: list[Object]) -> Object:
    [deployment] = [each for each in server if each["kind"] == "Deployment"]
    found: Object = deployment["spec"]["template"]["spec"]
    return found


def test_its_pod_is_restricted(server: list[Object]) -> None:
    pod = pod_of(server)
    assert list(breaches(pod)) == []
    assert pod["automountServiceAccountToken"] is False
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["limits"]["memory"]
        writable = {each["name"] for each in container["volumeMounts"] if not each.get("readOnly")}
        assert writable == {"data"}
    [namespace] = [each for each in server if each["kind"] == "Namespace"]
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_it_holds_no_secret(server: list[Object]) -> None:
    assert "Secret" not in {each["kind"] for each in server}
    volumes = pod_of(server)["volumes"]
    named = {each["secret"]["secretName"] for each in volumes if "secret" in each}
    assert named == {"krm-windows-git", "krm-windows-tokens"}


def test_the_command_takes_its_arguments(server: list[Object]) -> None:
    [container] = pod_of(server)["containers"]
    parser = argparse.ArgumentParser()
    serve.options(parser)
    parsed = parser.parse_args(container["args"])
    assert parsed.config == Path("/configuration/serve.yaml")
    found = settings.read(FOLDER / "serve.yaml", {"repo": parsed.repo})
    assert found.remote == "origin"
    probes = {container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert probes == {"/healthz", "/readyz"}


def test_what_calls_reach_is_what_is_exposed(server: list[Object]) -> None:
    by_kind = {each["kind"]: each for each in server}
    labels = by_kind["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert by_kind["Service"]["spec"]["selector"] == labels
    policy = by_kind["NetworkPolicy"]["spec"]
    assert policy["podSelector"]["matchLabels"] == labels
    [port] = by_kind["Service"]["spec"]["ports"]
    [[container_port]] = [each["ports"] for each in pod_of(server)["containers"]]
    assert port["targetPort"] == container_port["name"]
    assert policy["ingress"][0]["ports"][0]["port"] == container_port["name"]

"""The releases that are supported, and what the Pod Security Standards restrict a Pod to."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubernetes_validate.utils import all_versions
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
OLDEST = Version(tomllib.loads((ROOT / "versions.toml").read_text())["kubernetes"]["oldest"])
RELEASES = [version for version in all_versions() if Version(version) >= OLDEST]
Object = dict[str, Any]

VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "name",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def breaches(pod: Object) -> Iterator[str]:
    context = pod.get("securityContext", {})
    yield from (name for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name))
    yield from (
        f"volume {key}" for volume in pod.get("volumes", []) for key in volume if key not in VOLUMES
    )
    yield from (
        name for name in ("sysctls", "seLinuxOptions", "windowsOptions") if context.get(name)
    )
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        yield from breaches_of_container(
            {**context, **container.get("securityContext", {})}, container
        )


def breaches_of_container(context: Object, container: Object) -> Iterator[str]:
    if context.get("privileged") or context.get("allowPrivilegeEscalation") is not False:
        yield "privilege escalation"
    if context.get("runAsNonRoot") is not True or context.get("runAsUser") == 0:
        yield "may run as root"
    if context.get("seccompProfile", {}).get("type") not in {"RuntimeDefault", "Localhost"}:
        yield "seccomp profile"
    capabilities = context.get("capabilities", {})
    if capabilities.get("drop") != ["ALL"] or set(capabilities.get("add", [])) - {
        "NET_BIND_SERVICE"
    }:
        yield "capabilities"
    if context.get("procMount", "Default") != "Default" or context.get("seLinuxOptions"):
        yield "procMount or SELinux options"
    if any("hostPort" in port for port in container.get("ports", [])):
        yield "host port"

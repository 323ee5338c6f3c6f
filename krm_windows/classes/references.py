"""References: the objects that an object names, by the fields that hold such names.

What an object selects by labels (a Service its Pods, a PodDisruptionBudget likewise) is no
reference.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from krm_windows.gateable import group_of
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject, Mapping, Node, Scalar, Sequence

# Where a Pod is described, whatever the kind: in a Pod, a workload, a CronJob.
_PODS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# The kind that a field names. A field holds a name, or a map with a name that may say kind, group
# and namespace too.
_OF_PODS: tuple[tuple[str, str], ...] = (
    ("volumes.*.configMap.name", "ConfigMap"),
    ("volumes.*.projected.sources.*.configMap.name", "ConfigMap"),
    ("volumes.*.secret.secretName", "Secret"),
    ("volumes.*.projected.sources.*.secret.name", "Secret"),
    ("volumes.*.csi.nodePublishSecretRef", "Secret"),
    ("volumes.*.persistentVolumeClaim.claimName", "PersistentVolumeClaim"),
    ("imagePullSecrets.*", "Secret"),
    ("serviceAccountName", "ServiceAccount"),
    ("priorityClassName", "PriorityClass"),
    ("runtimeClassName", "RuntimeClass"),
)
# Those of each container, whichever of the three lists it is in.
_OF_CONTAINERS = (
    ("envFrom.*.configMapRef", "ConfigMap"),
    ("envFrom.*.secretRef", "Secret"),
    ("env.*.valueFrom.configMapKeyRef", "ConfigMap"),
    ("env.*.valueFrom.secretKeyRef", "Secret"),
)
for _field, _kind in _OF_CONTAINERS:
    for _containers in _CONTAINERS:
        _OF_PODS += ((f"{_containers}.*.{_field}", _kind),)
# The kind that the Gateway API means where a reference says none.
_ROUTE = (("spec.parentRefs.*", "Gateway"), ("spec.rules.*.backendRefs.*", "Service"))
# Their maps say the kind, so this is only what a map without one means.
_BINDING = (("roleRef", "Role"), ("subjects.*", "ServiceAccount"))
_WEBHOOKS = (("webhooks.*.clientConfig.service", "Service"),)
_SOURCE = (("spec.secretRef", "Secret"),)
_OF_KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "APIService": (("spec.service", "Service"),),
    "Bucket": _SOURCE,
    "ClusterRoleBinding": _BINDING,
    "CustomResourceDefinition": (("spec.conversion.webhook.clientConfig.service", "Service"),),
    "Gateway": (
        ("spec.gatewayClassName", "GatewayClass"),
        ("spec.listeners.*.tls.certificateRefs.*", "Secret"),
    ),
    "GitRepository": _SOURCE,
    "GRPCRoute": _ROUTE,
    "HelmRelease": (
        ("spec.valuesFrom.*", "ConfigMap"),
        ("spec.chart.spec.sourceRef", "HelmRepository"),
        ("spec.chartRef", "HelmChart"),
    ),
    "HelmRepository": _SOURCE,
    "HorizontalPodAutoscaler": (("spec.scaleTargetRef", "Deployment"),),
    "HTTPRoute": _ROUTE,
    "Ingress": (
        ("spec.defaultBackend.service.name", "Service"),
        ("spec.rules.*.http.paths.*.backend.service.name", "Service"),
        ("spec.tls.*.secretName", "Secret"),
        ("spec.ingressClassName", "IngressClass"),
    ),
    "Kustomization": (
        ("spec.sourceRef", "GitRepository"),
        ("spec.postBuild.substituteFrom.*", "ConfigMap"),
        ("spec.decryption.secretRef", "Secret"),
    ),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "OCIRepository": _SOURCE,
    "PersistentVolumeClaim": (
        ("spec.storageClassName", "StorageClass"),
        ("spec.volumeName", "PersistentVolume"),
    ),
    "RoleBinding": _BINDING,
    "ServiceAccount": (("secrets.*", "Secret"), ("imagePullSecrets.*", "Secret")),
    "StatefulSet": (("spec.serviceName", "Service"),),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "VerticalPodAutoscaler": (("spec.targetRef", "Deployment"),),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A name of another object: its kind and, where they are said, group and namespace.

    `path` is the field.
    """

    path: str
    kind: str
    name: str
    group: str | None
    namespace: str

    def means(self, resource: Resource) -> bool:
        """Whether a resource is the one that is named, now or before kustomize renamed it.

        One whose namespace is not said yet may be in any.
        """
        if self.kind != resource.kind:
            return False
        if self.group not in (None, resource.group):
            return False
        # A reference has the old name until kustomize has renamed it too.
        if self.name not in (resource.name, *resource.previous_names):
            return False
        # What refers has no namespace, or none is said yet.
        if not self.namespace:
            return True
        return resource.namespace in ("", self.namespace)


def of(item: KubeObject, namespace: str) -> Iterator[Reference]:
    """Yield what an object refers to, in its own order.

    Names without a namespace are of its own.
    """
    fields = dict(_OF_KINDS.get(item.kind, ()))
    # A custom resource may have Pods too, wherever it says so.
    for pod in _PODS:
        if isinstance(item.node_at(*pod.split("."), "containers"), Sequence):
            fields |= {f"{pod}.{field}": kind for field, kind in _OF_PODS}
    for path, field, node in _nodes(item.node):
        if field in fields:
            reference = _reference(path, node, fields[field], namespace)
            if reference.name:
                yield reference


def occurrences(node: Node, text: str) -> Iterator[str]:
    """Yield the path of every value below a node that is a text."""
    for path, _, below in _nodes(node):
        if isinstance(below, Scalar) and below.text == text:
            yield path


def _nodes(node: Node, path: str = "", field: str = "") -> Iterator[tuple[str, str, Node]]:
    """Yield a node and all below it, each with its path, and with `*` for the number in a list."""
    yield path, field, node
    if isinstance(node, Sequence):
        for i, item in enumerate(node.items):
            yield from _nodes(item, f"{path}[{i}]", f"{field}.*")
    elif isinstance(node, Mapping):
        for key, value in node.entries:
            below = f"{path}.{key.text}".removeprefix(".")
            yield from _nodes(value, below, f"{field}.{key.text}".removeprefix("."))


def _reference(
    path: str,
    node: Node,
    kind: str,
    namespace: str,
) -> Reference:
    """Read a name, or a map with a name that may say kind, group and namespace too."""
    if isinstance(node, Scalar):
        return Reference(path, kind, node.text, None, namespace)
    # Flux says `apiVersion`, RBAC `apiGroup`, the Gateway API `group`.
    api_version = _text(node, "apiVersion")
    group: str | None = _text(node, "apiGroup") or _text(node, "group") or None
    if api_version:
        group = group_of(api_version)
    return Reference(
        f"{path}.name",
        _text(node, "kind") or kind,
        _text(node, "name"),
        group,
        _text(node, "namespace") or namespace,
    )


def _text(node: Node, key: str) -> str:
    if not isinstance(node, Mapping):
        return ""
    found = node.find(key)
    if isinstance(found, Scalar):
        return found.text
    return ""

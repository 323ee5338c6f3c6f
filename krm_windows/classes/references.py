"""References: the objects that an object names, by the fields in which Kubernetes and Flux have such names.

What an object selects by labels (a Service its Pods, a PodDisruptionBudget likewise) is no reference.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from krm_windows.gateable import group_of
from krm_windows.inventory import Resource
from krm_windows.krm import KubeObject, Mapping, Node, Scalar, Sequence

# Where a Pod is described, whatever the kind: in a Pod, a workload, a CronJob.
_PODS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
# The kind that a field names. A field holds a name, or a map with a name that may say kind, group and namespace too.
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
    *((f"{containers}.*.envFrom.*.configMapRef", "ConfigMap") for containers in _CONTAINERS),
    *((f"{containers}.*.envFrom.*.secretRef", "Secret") for containers in _CONTAINERS),
    *(
        (f"{containers}.*.env.*.valueFrom.configMapKeyRef", "ConfigMap")
        for containers in _CONTAINERS
    ),
    *((f"{containers}.*.env.*.valueFrom.secretKeyRef", "Secret") for containers in _CONTAINERS),
)
_ROUTE = (("spec.parentRefs.*", "Gateway"), ("spec.rules.*.backendRefs.*", "Service"))
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
    """A name of another object: its kind and, where they are said, group and namespace; `path` is the field."""

    path: str
    kind: str
    name: str
    group: str | None
    namespace: str

    def means(self, resource: Resource) -> bool:
        """Whether a resource is the one that is named, now or before kustomize renamed it.

        One whose namespace is not said yet may be in any.
        """
        return (
            self.kind == resource.kind
            and self.name in (resource.name, *resource.previous_names)
            and self.group in (None, resource.group)
            and (not self.namespace or resource.namespace in ("", self.namespace))
        )


def of(item: KubeObject, namespace: str) -> Iterator[Reference]:
    """Yield what an object refers to, in the order of the tables above; names without a namespace are of its own."""
    fields = list(_OF_KINDS.get(item.kind, ()))
    for pod in _PODS:
        if isinstance(item.node_at(*pod.split("."), "containers"), Sequence):
            fields += [(f"{pod}.{field}", kind) for field, kind in _OF_PODS]
    for field, kind in fields:
        for path, node in _walk(item.node, field.split("."), ""):
            reference = _reference(path, node, kind, namespace)
            if reference.name:
                yield reference


def occurrences(node: Node, text: str, path: str = "") -> Iterator[str]:
    """Yield the path of every value below a node that is a text."""
    if isinstance(node, Scalar):
        if node.text == text:
            yield path
    elif isinstance(node, Sequence):
        for i, item in enumerate(node.items):
            yield from occurrences(item, text, f"{path}[{i}]")
    else:
        for key, value in node.entries:
            yield from occurrences(value, text, f"{path}.{key.text}".removeprefix("."))


def _walk(node: Node | None, steps: list[str], path: str) -> Iterator[tuple[str, Node]]:
    """Yield the nodes at a path in which `*` is every entry of a list."""
    if node is None:
        return
    if not steps:
        yield path, node
    elif steps[0] == "*":
        for i, item in enumerate(node.items if isinstance(node, Sequence) else ()):
            yield from _walk(item, steps[1:], f"{path}[{i}]")
    elif isinstance(node, Mapping):
        yield from _walk(node.find(steps[0]), steps[1:], f"{path}.{steps[0]}".removeprefix("."))


def _reference(path: str, node: Node, kind: str, namespace: str) -> Reference:
    if isinstance(node, Scalar):
        return Reference(path, kind, node.text, None, namespace)
    said = {
        key: _text(node, key)
        for key in ("apiVersion", "apiGroup", "group", "kind", "name", "namespace")
    }
    group = (
        group_of(said["apiVersion"])
        if said["apiVersion"]
        else said["apiGroup"] or said["group"] or None
    )
    return Reference(
        f"{path}.name", said["kind"] or kind, said["name"], group, said["namespace"] or namespace
    )


def _text(node: Node, key: str) -> str:
    found = node.find(key) if isinstance(node, Mapping) else None
    return found.text if isinstance(found, Scalar) else ""

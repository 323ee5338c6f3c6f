"""References are found where Kubernetes and Flux have names of other objects."""

import pytest

from krm_windows.classes import references
from krm_windows.inventory import resource_of
from krm_windows.krm import KubeObject

POD = """\
      imagePullSecrets: [{name: registry}]
      serviceAccountName: web
      priorityClassName: high
      initContainers:
      - envFrom: [{secretRef: {name: start}}]
      containers:
      - env:
        - {name: A, value: plain}
        - {name: B, valueFrom: {configMapKeyRef: {name: env, key: b}}}
        - {name: C, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        envFrom: [{configMapRef: {name: all}}]
      volumes:
      - configMap: {name: config}
      - secret: {secretName: tls}
      - persistentVolumeClaim: {claimName: data}
      - projected: {sources: [{secret: {name: token}}, {configMap: {name: ca}}, {downwardAPI: {}}]}
      - emptyDir: {}
"""
ROLE_BINDING = """\
kind: RoleBinding
metadata: {namespace: n}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}
subjects: [{kind: ServiceAccount, name: b, namespace: other}, {kind: User, name: c}]
"""
INGRESS = """\
kind: Ingress
spec:
  tls: [{secretName: a}]
  defaultBackend: {service: {name: b}}
  rules: [{http: {paths: [{backend: {service: {name: c}}}]}}]
"""
OF_POD = {f"ConfigMap {name}" for name in ("env", "all", "config", "ca")}
OF_POD |= {f"Secret {name}" for name in ("registry", "start", "tls", "token")}
OF_POD |= {"ServiceAccount web", "PriorityClass high", "PersistentVolumeClaim data"}


def found(text: str) -> list[references.Reference]:
    head = "" if text.startswith("apiVersion") else "apiVersion: example.com/v1\n"
    return list(references.of(KubeObject.parse(f"{head}{text}".encode()), "n"))


NAMED = "metadata: {name: a, namespace: n}\nspec:\n"


@pytest.mark.parametrize(
    "text",
    [
        f"kind: Deployment\n{NAMED}  template:\n    spec:\n{POD}",
        f"kind: Rollout\n{NAMED}  template:\n    spec:\n{POD}",
        f"kind: CronJob\n{NAMED}  jobTemplate:\n   spec:\n    template:\n     spec:\n{POD}",
        f"kind: Pod\n{NAMED}{POD}",
    ],
    ids=["workload", "custom workload", "CronJob", "Pod"],
)
def test_a_pod_wherever_it_is_described(text: str) -> None:
    assert {f"{reference.kind} {reference.name}" for reference in found(text)} == OF_POD
    assert {reference.namespace for reference in found(text)} == {"n"}


def test_the_path_is_that_of_the_name() -> None:
    paths = [reference.path for reference in found(f"kind: Pod\n{NAMED}{POD}")]
    assert "spec.containers[0].env[1].valueFrom.configMapKeyRef.name" in paths
    assert "spec.volumes[3].projected.sources[0].secret.name" in paths


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "kind: ServiceAccount\nimagePullSecrets: [{name: a}]\nsecrets: [{name: b}]\n",
            ["Secret b", "Secret a"],
        ),
        (ROLE_BINDING, ["ClusterRole a", "ServiceAccount b", "User c"]),
        (INGRESS, ["Service b", "Service c", "Secret a"]),
        (
            "kind: HorizontalPodAutoscaler\nspec: {scaleTargetRef: {kind: StatefulSet, name: a}}\n",
            ["StatefulSet a"],
        ),
        ("kind: HelmRelease\nspec: {valuesFrom: [{kind: Secret, name: a}]}\n", ["Secret a"]),
        (
            "kind: Kustomization\nspec: {sourceRef: {kind: OCIRepository, name: a}}\n",
            ["OCIRepository a"],
        ),
        ("kind: HTTPRoute\nspec: {rules: [{backendRefs: [{name: a}]}]}\n", ["Service a"]),
        ("kind: StatefulSet\nspec: {serviceName: a}\n", ["Service a"]),
        ("kind: PersistentVolumeClaim\nspec: {storageClassName: ''}\n", []),
        ("kind: Service\nspec: {selector: {app: a}}\n", []),
        ("kind: Ingress\nspec: odd\n", []),
    ],
)
def test_other_kinds(text: str, named: list[str]) -> None:
    assert {f"{reference.kind} {reference.name}" for reference in found(text)} == set(named)


def test_another_namespace_or_group_is_another_object() -> None:
    [_, reference, _] = found(ROLE_BINDING)

    def meant(namespace: str) -> bool:
        metadata = f"metadata: {{name: b, namespace: {namespace!r}}}\n"
        text = f"apiVersion: v1\nkind: ServiceAccount\n{metadata}"
        return reference.means(resource_of(KubeObject.parse(text.encode())))

    assert [meant("other"), meant(""), meant("n")] == [True, True, False]

"""A build that merges patches of Flux' objects, or without lists, reads no schema.

It yields what it yields with one.
"""

import pytest
from flux_texts import Write, config_map

from krm_windows.flux import schemas
from krm_windows.flux.builds import Builds, Request
from krm_windows.flux.closure import close
from krm_windows.system.kustomize import Builder

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  valuesFrom: [{kind: ConfigMap, name: a}, {kind: ConfigMap, name: b}]
  values: {list: [{name: a, x: 1}, {name: b}], keep: true}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
---
"""
MERGED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  valuesFrom: [{kind: Secret, name: b}]
  values: {list: [{name: b, y: 2}], keep: null}
"""
DEPLOYMENT = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
CONTAINER = DEPLOYMENT + "spec: {template: {spec: {containers: [{name: web, image: a:2}]}}}\n"
REPLICAS = DEPLOYMENT + "spec: {replicas: 3}\n"
JSON = "- {op: add, path: /spec/suspend, value: true}\n"


def patched(patch: str, kind: str | None = "HelmRelease") -> dict[str, object]:
    """Return what Flux puts into a kustomization."""
    target = {"target": {"kind": kind}} if kind else {}
    return {"patches": [{**target, "patch": patch}], "namespace": "other", "namePrefix": "x-"}


FILES = {
    "apps/kustomization.yaml": "resources: [../base]\nnameSuffix: -y\n",
    "base/kustomization.yaml": (
        "resources: [a.yaml]\nlabels: [{pairs: {a: b}, includeSelectors: true}]\n"
    ),
    "base/a.yaml": RELEASE + config_map(),
}


@pytest.mark.parametrize(
    ("changes", "spares"),
    [
        (patched(MERGED), True),
        (patched(JSON), True),
        (patched(MERGED, "Kustomization"), True),
        (patched(JSON, "Deployment"), True),
        (patched(MERGED, ".*"), False),
        (patched(CONTAINER, "Deployment"), False),
        (patched(CONTAINER, None), False),
        (patched(REPLICAS, "Deployment"), True),
        (patched(REPLICAS, ".*"), True),
        (patched(REPLICAS, None), True),
        # What follows takes something away, or says itself how it is merged.
        (patched(f"{DEPLOYMENT}spec: null\n", None), False),
        (
            patched(f"{DEPLOYMENT}spec: {{strategy: {{$retainKeys: type, type: Recreate}}}}\n"),
            False,
        ),
        (patched(f"{DEPLOYMENT}$patch: delete\n", None), False),
        (patched(f"{REPLICAS}---\n{CONTAINER}", None), False),
        (patched(JSON, None), False),
        ({**patched(MERGED), "replacements": [{"source": {"kind": "ConfigMap"}}]}, False),
        ({"namespace": "other"}, False),
    ],
)
def test_only_patches_that_need_no_keys_of_lists_are_spared_the_schema(
    changes: dict[str, object],
    spares: bool,  # noqa: FBT001
    write: Write,
) -> None:
    """Whatever Kubernetes has may need to be merged by its keys."""
    closure = close(write(FILES), "apps", changes)  # type: ignore[arg-type]
    assert (schemas.empty_document(closure) is not None) is spares


@pytest.mark.parametrize("patch", [MERGED, JSON])
def test_what_is_built_is_the_same(
    patch: str, write: Write, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists are replaced, names and namespaces changed, and a ClusterRole is in none."""
    request = Request.of("apps", patched(patch))  # type: ignore[arg-type]
    outputs = []
    for spared in (schemas.empty_document, lambda _: None):
        monkeypatch.setattr(schemas, "empty_document", spared)
        builds = Builds(write(FILES), builder, 1, lambda _, __: None)
        builds.build([request])
        assert not builds.done[request].notices
        outputs.append([item.item.span for item in builds.done[request].objects])
    assert outputs[0] == outputs[1]
    assert any(b"x-web-y" in text for text in outputs[0])


OWN_KINDS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, finalizers: [b, a], labels: {a: b}}
spec:
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    spec:
      containers:
      - name: web
        ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]
        env: [{name: b, value: c}, {name: a, value: ""}]
        args: [b, a]
      - {name: second, resources: {limits: {memory: 1Gi}}}
      volumes: [{name: v, emptyDir: {}}]
      tolerations: [{key: b}, {key: a}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80, name: a}, {port: 443, name: b}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: web}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
"""


@pytest.mark.parametrize(
    "patch",
    [
        "metadata: {name: web}\nspec: {replicas: 3}",
        "metadata: {name: web, labels: {c: d}, annotations: {e: '1'}}",
        "metadata: {name: web}\nspec: {strategy: {type: Recreate}}",
        "metadata: {name: web}\nspec: {strategy: {rollingUpdate: {maxSurge: 50%}}, paused: true}",
        "metadata: {name: web}\nspec: {template: {spec: {nodeSelector: {k: v}, hostIPC: yes}}}",
        "metadata: {name: web}\nspec: {template: {metadata: {labels: {x: y}}, spec: {}}}",
    ],
)
@pytest.mark.parametrize("kind", ["Deployment", "Service", "ClusterRole", ".*"])
def test_patches_without_lists_merge_alike(
    kind: str, patch: str, write: Write, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists of the object itself stay as they are, whatever kind it is and the patch says it is."""
    text = f"apiVersion: apps/v1\nkind: Deployment\n{patch}\n"
    request = Request.of("apps", patched(text, kind))  # type: ignore[arg-type]
    files = {**FILES, "base/a.yaml": OWN_KINDS + config_map()}
    outputs = []
    for spared in (schemas.empty_document, lambda _: None):
        monkeypatch.setattr(schemas, "empty_document", spared)
        builds = Builds(write(files), builder, 1, lambda _, __: None)
        builds.build([request])
        assert not builds.done[request].notices
        outputs.append([item.item.span for item in builds.done[request].objects])
    assert outputs[0] == outputs[1]

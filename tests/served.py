"""A small API server for a real kubectl: discovery, objects, lists by label, merge patches."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from listening import answering

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
Object = dict


KINDS = {
    "Kustomization": (KUSTOMIZE, "kustomizations"),
    "CronJob": ("batch", "cronjobs"),
    "Job": ("batch", "jobs"),
}


def _discovery() -> dict[str, Object]:
    found: dict[str, Object] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
        "/apis": {"kind": "APIGroupList", "groups": []},
    }
    for kind, (group, plural) in KINDS.items():
        path, verbs = f"{group}/v1", ["get", "list", "patch"]
        if f"/apis/{path}" not in found:
            found[f"/apis/{path}"] = {"kind": "APIResourceList", "groupVersion": path}
            version = {"groupVersion": path, "version": "v1"}
            one = {"name": group, "versions": [version], "preferredVersion": version}
            found["/apis"]["groups"].append(one)
        resource = {"name": plural, "singularName": "", "namespaced": True, "kind": kind}
        found[f"/apis/{path}"].setdefault("resources", []).append({**resource, "verbs": verbs})
    return found


DISCOVERY = _discovery()


@dataclass
class Cluster:
    """What is there by path, which managers wrote, and what is refused, by the end of a path."""

    objects: dict[str, Object]
    managers: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    address: str = ""

    def add(self, thing: Object) -> None:
        group, plural = KINDS[thing["kind"]]
        namespace, name = thing["metadata"]["namespace"], thing["metadata"]["name"]
        self.objects[f"/apis/{group}/v1/namespaces/{namespace}/{plural}/{name}"] = thing

    def suspended(self) -> dict[str, object]:
        return {
            path.rpartition("/")[2]: found["spec"].get("suspend")
            for path, found in self.objects.items()
        }

    def _refusal(self, path: str) -> tuple[int, Object] | None:
        ended = (message for end, message in self.refused.items() if path.endswith(end))
        message = next(ended, None)
        return None if message is None else (403, _status(403, "Forbidden", message))

    def patch(self, path: str, change: Object) -> tuple[int, Object]:
        if refusal := self._refusal(path):
            return refusal
        found = self.objects[path]
        notes = found["metadata"].get("annotations", {})
        changed = notes | change.get("metadata", {}).get("annotations", {})
        kept = {key: text for key, text in changed.items() if text is not None}
        found["metadata"]["annotations"] = kept
        found["spec"] |= change.get("spec", {})
        return 200, found

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Object]:
        found = {**DISCOVERY, **self.objects}.get(path)
        plural = path.rpartition("/")[2]
        if refusal := self._refusal(path):
            return refusal
        if found is None and plural in {name for _, name in KINDS.values()}:
            items = self._items(path, query)
            return 200, {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}
        return (200, found) if found else (404, _status(404, "NotFound", f'"{plural}" not found'))

    def _items(self, path: str, query: dict[str, list[str]]) -> list[Object]:
        selector = query.get("labelSelector", [""])[0]
        wanted = dict(pair.split("=") for pair in selector.split(",") if pair).items()
        below = [found for place, found in self.objects.items() if place.startswith(f"{path}/")]
        return [each for each in below if wanted <= each["metadata"].get("labels", {}).items()]


def _status(code: int, reason: str, message: str) -> Object:
    said = {"status": "Failure", "reason": reason, "code": code, "message": message}
    return {"kind": "Status", "apiVersion": "v1", **said}


@contextmanager
def serving(*things: Object) -> Iterator[Cluster]:
    cluster = Cluster({})
    for thing in things:
        cluster.add(thing)

    def answer(
        asked: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        method, url = asked.split(maxsplit=1)[0], urlsplit(asked.split()[1])
        query = parse_qs(url.query)
        if method == "PATCH":
            assert headers["Content-Type"] == "application/merge-patch+json"
            cluster.managers += query["fieldManager"]
            status, found = cluster.patch(url.path, json.loads(body))
        else:
            status, found = cluster.answer(url.path, query)
        return status, {"Content-Type": "application/json"}, json.dumps(found).encode()

    with answering(answer) as cluster.address:
        yield cluster


def kustomization(name: str) -> Object:
    head = {"apiVersion": f"{KUSTOMIZE}/v1", "kind": "Kustomization"}
    return {**head, "metadata": {"name": name, "namespace": "flux-system"}, "spec": {}}

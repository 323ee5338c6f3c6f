"""A small API server for a real kubectl.

Discovery, objects by path, lists by label, merge patches, refusals.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
Object = dict


def _resource(plural: str, kind: str) -> Object:
    return {
        "name": plural,
        "singularName": "",
        "namespaced": True,
        "kind": kind,
        "verbs": ["get", "list", "patch"],
    }


GROUPS = {
    KUSTOMIZE: [_resource("kustomizations", "Kustomization")],
    "batch": [_resource("cronjobs", "CronJob"), _resource("jobs", "Job")],
}
PLURALS = {
    found["kind"]: (group, found["name"]) for group, every in GROUPS.items() for found in every
}


def _group(name: str) -> Object:
    version = {"groupVersion": f"{name}/v1", "version": "v1"}
    return {"name": name, "versions": [version], "preferredVersion": version}


DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis": {"kind": "APIGroupList", "groups": [_group(name) for name in GROUPS]},
    **{
        f"/apis/{name}/v1": {
            "kind": "APIResourceList",
            "groupVersion": f"{name}/v1",
            "resources": resources,
        }
        for name, resources in GROUPS.items()
    },
}


@dataclass
class Cluster:
    """What is in the cluster, by path, and which field managers wrote.

    And what is refused, by the end of a path.
    """

    objects: dict[str, Object]
    managers: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    address: str = ""

    def add(self, thing: Object) -> None:
        group, plural = PLURALS[thing["kind"]]
        namespace, name = thing["metadata"]["namespace"], thing["metadata"]["name"]
        self.objects[f"/apis/{group}/v1/namespaces/{namespace}/{plural}/{name}"] = thing

    def suspended(self) -> dict[str, object]:
        """Return `spec.suspend` of every object by its name."""
        return {
            path.rpartition("/")[2]: found["spec"].get("suspend")
            for path, found in self.objects.items()
        }

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, Object]:
        found = {**DISCOVERY, **self.objects}.get(path)
        plural = path.rpartition("/")[2]
        for end, message in self.refused.items():
            if path.endswith(end):
                return 403, _status(403, "Forbidden", message)
        if found is None and plural in {name for _, name in PLURALS.values()}:
            return 200, {
                "apiVersion": "v1",
                "kind": "List",
                "metadata": {},
                "items": self._items(path, query),
            }
        return (200, found) if found else (404, _status(404, "NotFound", f'"{plural}" not found'))

    def _items(self, path: str, query: dict[str, list[str]]) -> list[Object]:
        wanted = dict(
            pair.split("=") for pair in query.get("labelSelector", [""])[0].split(",") if pair
        )
        below = [found for place, found in self.objects.items() if place.startswith(f"{path}/")]
        return [
            found
            for found in below
            if wanted.items() <= found["metadata"].get("labels", {}).items()
        ]


def _status(code: int, reason: str, message: str) -> Object:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": reason,
        "code": code,
        "message": message,
    }


@contextmanager
def serving(*things: Object) -> Iterator[Cluster]:
    cluster = Cluster({})
    for thing in things:
        cluster.add(thing)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cluster))
    cluster.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def kustomization(name: str) -> Object:
    metadata = {"name": name, "namespace": "flux-system"}
    return {
        "apiVersion": f"{KUSTOMIZE}/v1",
        "kind": "Kustomization",
        "metadata": metadata,
        "spec": {},
    }


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            self.reply(*cluster.answer(url.path, parse_qs(url.query)))

        def do_PATCH(self) -> None:
            url = urlsplit(self.path)
            change = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.headers["Content-Type"] == "application/merge-patch+json"
            cluster.managers += parse_qs(url.query)["fieldManager"]
            for end, message in cluster.refused.items():
                if url.path.endswith(end):
                    return self.reply(403, _status(403, "Forbidden", message))
            found = cluster.objects[url.path]
            notes = found["metadata"].setdefault("annotations", {})
            changed = notes | change.get("metadata", {}).get("annotations", {})
            found["metadata"]["annotations"] = {
                key: text for key, text in changed.items() if text is not None
            }
            found["spec"] |= change.get("spec", {})
            return self.reply(200, found)

        def reply(self, status: int, found: Object) -> None:
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    return Handler

"""A small API server over TLS, with faults on demand.

It answers GET, PATCH, POST and discovery as Kubernetes does.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, RLock, Thread
from typing import TypeVar

from krm_windows.gate.kubernetes import ApiError
from krm_windows.gate.objects import dig
from krm_windows.gate.timetable import Target

TLS = Path(__file__).parent / "tls"
TOKEN = "a-service-account-token"  # noqa: S105 - of the server below
GROUP = "kustomize.toolkit.fluxcd.io"

Json = dict[str, object]
T = TypeVar("T")
Fault = Callable[["Handler"], bool]
"""Called before a request is answered; True if it answered itself."""


@dataclass
class Api:
    objects: dict[str, Json] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)
    faults: dict[tuple[str, str], list[Fault]] = field(default_factory=dict)
    version: int = 100
    over: Event = field(default_factory=Event)
    """Set when the test is over, so that nothing drips on."""
    connections: int = 0
    ahead: timedelta = timedelta(0)
    """How far the server's clock is ahead of the machine's."""
    ends: dict[str, str] = field(default_factory=dict)
    """How a Job ends as soon as it is created, by a part of its name.

    `Failed`, empty for not; else `Complete`.
    """

    gone: set[str] = field(default_factory=set)
    """The policies whose accounts may patch nothing any more, by the names of these accounts."""
    writer: str | None = None
    """Who is recorded as the writer of what is added, if nobody is named."""
    lock: RLock = field(default_factory=RLock)
    """Held for a write, as etcd compares and writes in one step."""

    def add(
        self,
        name: str,
        spec: Json,
        *,
        annotations: Json | None = None,
        by: str | None = None,
        **more: object,
    ) -> None:
        metadata: Json = {"name": name, "namespace": "flux-system", "uid": f"uid-of-{name}"}
        metadata["creationTimestamp"] = "2020-01-01T00:00:00Z"
        by = by or self.writer
        if by is not None:
            metadata["managedFields"] = [
                managed(by, {"metadata": {"annotations": annotations or {}}, "spec": spec})
            ]
        if annotations is not None:
            metadata["annotations"] = annotations
        self.store(
            path_of(name), {"kind": "Kustomization", "metadata": metadata, "spec": spec, **more}
        )

    def object(self, name: str) -> Json:
        return self.objects[path_of(name)]

    def store(self, path: str, live: Json) -> Json:
        self.version += 1
        metadata = live["metadata"]
        assert isinstance(metadata, dict)
        self.objects[path] = {
            **live,
            "metadata": {**metadata, "resourceVersion": str(self.version)},
        }
        return self.objects[path]

    def merge(self, path: str, patch: Json, by: str = "krm-windows") -> Json:
        """Merge a patch of a manager; only an object that has a generation gets another one."""
        old = self.objects[path]
        new = _owned(old, patch, by)
        generation = dig(old, "metadata", "generation")
        if isinstance(generation, int) and new["spec"] != old["spec"]:
            new["metadata"] = dig_dict(new, "metadata") | {"generation": generation + 1}
        return self.store(path, new)

    def fault(self, method: str, name: str, *faults: Fault) -> None:
        """Let the next such requests, one after the other, meet these faults."""
        self.faults.setdefault((method, name), []).extend(faults)

    def jobs(self) -> list[str]:
        return [path.rpartition("/")[2] for path in self.objects if "/jobs/" in path]

    def end(self, name: str, kind: str) -> None:
        path = next(path for path in self.objects if path.endswith(f"/jobs/{name}"))
        said = {
            "type": kind,
            "status": "True",
            "reason": "BackoffLimitExceeded",
            "message": "it said no",
        }
        self.store(path, {**self.objects[path], "status": {"conditions": [said]}})

    def writes(self) -> list[str]:
        return [
            line.partition("?")[0].rpartition("/")[2]
            for line in self.asked
            if line.startswith("PATCH")
        ]


class Memory:
    skew = timedelta(0)
    clocks_are_apart = False

    def __init__(self, api: Api) -> None:
        self.api = api

    def renew(self, targets: int) -> None:
        """Time is no matter here."""

    def each(
        self, targets: Sequence[Target], work: Callable[["Memory", Target], T]
    ) -> Iterator[tuple[Target, T]]:
        for target in targets:
            yield target, work(self, target)

    def get(self, target: Target) -> Json:
        if str(target) not in self.api.objects:
            raise ApiError("not found", 404)
        return deepcopy(self.api.objects[str(target)])

    def patch(self, target: Target, body: Json) -> Json:
        version = dig(self.api.objects[str(target)], "metadata", "resourceVersion")
        assert dig(body, "metadata", "resourceVersion") == version
        return deepcopy(self.api.merge(str(target), body))


def kustomization(name: str, version: str | None = None) -> Target:
    return Target(
        group=GROUP,
        version=version,
        resource="kustomizations",
        kind="Kustomization",
        namespace="flux-system",
        name=name,
        applied=("lastAppliedRevision",),
    )


def closed_by(policy: str, **more: object) -> str:
    return json.dumps(
        {"policy": policy, "reason": "a freeze", "since": None, "until": None, **more}
    )


def path_of(name: str) -> str:
    return f"/apis/{GROUP}/v1/namespaces/flux-system/kustomizations/{name}"


class Handler(BaseHTTPRequestHandler):
    """Answers as the API server does; `do_GET` and `do_PATCH` are what http.server calls."""

    api: Api
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece: no waiting for acknowledgements

    def setup(self) -> None:
        super().setup()
        self.api.connections += 1

    def date_time_string(self, _: float | None = None) -> str:
        return format_datetime(datetime.now(UTC) + self.api.ahead, usegmt=True)

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_PATCH(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def reply(self, status: int, answer: Json) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, status: int, message: str) -> None:
        self.reply(
            status, {"kind": "Status", "status": "Failure", "message": message, "code": status}
        )

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def _answer(self, patch: Json | None) -> None:
        path, _, query = self.path.partition("?")
        self.api.asked.append(f"{self.command} {self.path}")
        faults = self.api.faults.get((self.command, path.rpartition("/")[2]))
        if faults and faults.pop(0)(self):
            return
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.refuse(401, "Unauthorized")
        elif path == f"/apis/{GROUP}":
            self.reply(
                200,
                {
                    "kind": "APIGroup",
                    "preferredVersion": {"groupVersion": f"{GROUP}/v1", "version": "v1"},
                },
            )
        elif path.endswith("/localsubjectaccessreviews"):
            allowed = dig(patch, "spec", "user") not in self.api.gone
            self.reply(201, {**(patch or {}), "status": {"allowed": allowed}})
        elif self.command == "POST":
            with self.api.lock:
                self._create(path, patch or {})
        elif path not in self.api.objects:
            self.refuse(404, f"{path.rpartition('/')[2]!r} not found")
        elif patch is None:
            self.reply(200, self.api.objects[path])
        else:
            with self.api.lock:
                self._patch(path, query, patch)

    def _create(self, path: str, live: Json) -> None:
        metadata = live["metadata"]
        assert isinstance(metadata, dict)
        name = metadata["name"]
        if self.headers["Content-Type"] != "application/json":
            self.refuse(415, "not the object that was agreed on")
        elif f"{path}/{name}" in self.api.objects:
            self.refuse(409, f"{name!r} already exists")
        else:
            self.reply(201, self.api.store(f"{path}/{name}", live))
            ends = next((end for part, end in self.api.ends.items() if part in name), "Complete")
            if live["kind"] == "Job" and ends:
                self.api.end(name, ends)

    def _patch(self, path: str, query: str, patch: Json) -> None:
        self.api.bodies.append(patch)
        if (
            self.headers["Content-Type"] != "application/merge-patch+json"
            or query != "fieldManager=krm-windows"
        ):
            self.refuse(415, "not the patch that was agreed on")
        elif _version(patch) != _version(self.api.objects[path]):
            self.refuse(
                409, "the object has been modified; please apply your changes to the latest version"
            )
        else:
            self.reply(200, self.api.merge(path, patch))


def managed(manager: str, fields: Json, operation: str = "Update") -> Json:
    return {
        "manager": manager,
        "operation": operation,
        "fieldsType": "FieldsV1",
        "fieldsV1": _keys(fields),
    }


def _keys(fields: Json) -> Json:
    return {
        f"f:{key}": _keys(value) if isinstance(value, dict) else {} for key, value in fields.items()
    }


def _owned(live: Json, patch: Json, by: str) -> Json:
    """Merge a patch, and hand what it changes to who wrote it, where the object says who did."""
    merged = _merged(live, patch)
    entries = dig(live, "metadata", "managedFields")
    if not isinstance(entries, list):
        return merged
    changed = _changed(patch, live)
    dig_dict(changed, "metadata").pop("resourceVersion", None)
    old = [entry for entry in entries if entry["manager"] == by]
    taken = _keys(changed)
    others = [
        entry | {"fieldsV1": _without(entry["fieldsV1"], taken)}
        for entry in entries
        if entry not in old
    ]
    mine = _merged(old[0]["fieldsV1"] if old else {}, taken)
    gone = _keys(_changed({"metadata": {"annotations": _nulls(patch)}}, merged))
    entry = managed(by, {}) | {"fieldsV1": _without(mine, gone)}
    metadata = merged["metadata"]
    assert isinstance(metadata, dict)
    return merged | {"metadata": metadata | {"managedFields": [*others, entry]}}


def dig_dict(live: Json, key: str) -> Json:
    found = live.get(key)
    return found if isinstance(found, dict) else {}


def _nulls(patch: Json) -> Json:
    annotations = dig_dict(dig_dict(patch, "metadata"), "annotations")
    return {key: "removed" for key, value in annotations.items() if value is None}


def _changed(patch: Json, live: Json) -> Json:
    changed: Json = {}
    for key, value in patch.items():
        if isinstance(value, dict):
            changed[key] = _changed(value, dig_dict(live, key))
        elif live.get(key) != value:
            changed[key] = value
    return changed


def _without(fields: Json, gone: Json) -> Json:
    left: Json = {}
    for key, inner in fields.items():
        assert isinstance(inner, dict)
        if key not in gone:
            left[key] = inner
        elif inner:
            left[key] = _without(inner, dig_dict(gone, key))
    return left


def _version(live: Json) -> object:
    metadata = live["metadata"]
    assert isinstance(metadata, dict)
    return metadata["resourceVersion"]


def _merged(live: Json, patch: Json) -> Json:
    merged = dict(live)
    for key, value in patch.items():
        old = merged.get(key)
        if isinstance(value, dict):
            merged[key] = _merged(old if isinstance(old, dict) else {}, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def status(code: int, message: str = "refused") -> Fault:
    def answer(handler: Handler) -> bool:
        handler.refuse(code, message)
        return True

    return answer


def busy(retry_after: str, code: int = 429) -> Fault:
    def answer(handler: Handler) -> bool:
        handler.send_response(code)
        handler.send_header("Retry-After", retry_after)
        handler.send_header("Content-Length", "2")
        handler.end_headers()
        handler.wfile.write(b"{}")
        return True

    return answer


def written(code: int) -> Fault:
    """Do what is asked, and answer with a failure: a proxy has given up."""

    def answer(handler: Handler) -> bool:
        reply = handler.reply

        def once(_: int, live: Json) -> None:
            handler.reply = reply  # type: ignore[method-assign]
            reply(code, live)

        handler.reply = once  # type: ignore[method-assign]
        return False

    return answer


def followed(answer: Json) -> Fault:
    """Answer as it is, and once more at once, with something else that nobody asked for."""

    def reply(handler: Handler) -> bool:
        handler.reply(200, handler.api.objects[handler.path])
        handler.reply(200, answer)
        return True

    return reply


def left(handler: Handler) -> bool:
    handler.reply(200, handler.api.objects[handler.path])
    handler.close_connection = True
    return True


def edited(name: str, change: Json) -> Fault:
    def edit(handler: Handler) -> bool:
        handler.api.store(path_of(name), _merged(handler.api.object(name), change))
        return False

    return edit


def slow(seconds: float) -> Fault:
    def wait(_: Handler) -> bool:
        time.sleep(seconds)
        return False

    return wait


def dropped(handler: Handler) -> bool:
    handler.close_connection = True
    return True


def said(answer: object) -> Fault:
    return body(json.dumps(answer).encode())


def body(content: bytes, content_type: str = "application/json", code: int = 200) -> Fault:
    def answer(handler: Handler) -> bool:
        handler.send_response(code)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        return True

    return answer


def raw(*pieces: bytes, endless: bytes = b"", pause: float = 0) -> Fault:
    def answer(handler: Handler) -> bool:
        handler.close_connection = True
        with suppress(OSError):
            for piece in pieces:
                handler.wfile.write(piece)
            handler.wfile.flush()
            while endless and not handler.api.over.wait(pause):
                handler.wfile.write(endless)
                handler.wfile.flush()
        return True

    return answer


def ended(content: bytes) -> Fault:
    def answer(handler: Handler) -> bool:
        handler.close_connection = True
        handler.wfile.write(content)
        handler.wfile.flush()
        with suppress(OSError, ValueError):
            handler.connection.unwrap()
        return True

    return answer


def ignored(handler: Handler) -> bool:
    """Say yes and change nothing, as a webhook or a pruned field does."""
    path = handler.path.partition("?")[0]
    handler.reply(200, handler.api.store(path, handler.api.objects[path]))
    return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def serving(api: Api, certificate: str = "server.crt") -> Iterator[int]:
    server = _Server(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"api": api}))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(TLS / certificate, TLS / "server.key")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.server_port
    finally:
        api.over.set()
        server.shutdown()
        thread.join()
        with suppress(OSError):
            server.server_close()

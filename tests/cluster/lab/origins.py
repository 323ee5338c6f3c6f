"""Where Flux fetches from beside Git: an OCI registry, and an S3 server."""

import hashlib
import io
import json
import tarfile
import urllib.request
from collections.abc import Mapping

import yaml

from lab.processes import answers, start, until
from lab.settings import BIN, REGISTRY_PORT, RUN, S3_PORT

REGISTRY, S3 = f"127.0.0.1:{REGISTRY_PORT}", f"127.0.0.1:{S3_PORT}"
CHART = "charted"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
# The media types of `flux push artifact`.
_CONFIG, _CONTENT = (
    "application/vnd.cncf.flux.config.v1+json",
    "application/vnd.cncf.flux.content.v1.tar+gzip",
)
Files = Mapping[str, str]


def up() -> None:
    settings = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(RUN / "registry")}},
        "http": {"addr": REGISTRY},
    }
    (RUN / "registry.yaml").write_text(json.dumps(settings))
    start("registry", ["docker-registry", "serve", RUN / "registry.yaml"])
    start("s3", [BIN / "s3", S3])
    until("the registry", answers("curl", "-fsS", f"http://{REGISTRY}/v2/"))
    until("the S3 server", answers("curl", "-fsS", f"http://{S3}/"))


def push(repository: str, tag: str, files: Files) -> None:
    config, layer = b"{}", _archive(files)
    parts = [(_CONFIG, config), (_CONTENT, layer)]
    described = [
        {"mediaType": kind, "digest": _digest(blob), "size": len(blob)} for kind, blob in parts
    ]
    for (_, blob), description in zip(parts, described, strict=True):
        _upload(repository, blob, str(description["digest"]))
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": described[0],
        "layers": described[1:],
        "annotations": {"org.opencontainers.image.revision": f"{tag}@sha1:{_digest(layer)[7:47]}"},
    }
    address = f"http://{REGISTRY}/v2/{repository}/manifests/{tag}"
    _send("PUT", address, json.dumps(manifest).encode(), _MANIFEST)


def put(bucket: str, files: Mapping[str, bytes]) -> None:
    if bucket not in _buckets():
        _send("PUT", f"http://{S3}/{bucket}")
    for name, content in files.items():
        _send("PUT", f"http://{S3}/{bucket}/{name}", content)


def publish_chart(bucket: str, *versions: str) -> None:
    """The bucket is the repository. Each version installs a ConfigMap with its number."""
    archives = {version: _archive(_chart(version)) for version in versions}
    entries = [
        {
            **_metadata(version),
            "urls": [f"{CHART}-{version}.tgz"],
            "digest": _digest(archive).partition(":")[2],
        }
        for version, archive in archives.items()
    ]
    index = yaml.safe_dump({"apiVersion": "v1", "entries": {CHART: entries}}).encode()
    # The index comes last: what it names is there.
    put(bucket, {f"{CHART}-{version}.tgz": archive for version, archive in archives.items()})
    put(bucket, {"index.yaml": index})


def _metadata(version: str) -> dict[str, str]:
    return {"apiVersion": "v2", "name": CHART, "version": version}


def _chart(version: str) -> Files:
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CHART},
        "data": {"version": version},
    }
    return {
        f"{CHART}/Chart.yaml": yaml.safe_dump(_metadata(version)),
        f"{CHART}/templates/app.yaml": yaml.safe_dump(config_map),
    }


def _archive(files: Files) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return content.getvalue()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _upload(repository: str, blob: bytes, digest: str) -> None:
    place = _send("POST", f"http://{REGISTRY}/v2/{repository}/blobs/uploads/")["Location"]
    _send("PUT", f"{place}&digest={digest}", blob, "application/octet-stream")


def _buckets() -> list[str]:
    with urllib.request.urlopen(f"http://{S3}/", timeout=60) as answer:
        listing: bytes = answer.read()
    return [part.partition("</Name>")[0] for part in listing.decode().split("<Name>")[1:]]


def _send(
    method: str, address: str, body: bytes = b"", kind: str = "application/octet-stream"
) -> Mapping[str, str]:
    headers = {"Content-Type": kind}
    # Both are asked on the loopback.
    request = urllib.request.Request(address, body, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - likewise
        return dict(answer.headers)

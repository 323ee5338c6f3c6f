"""A real registry on loopback, and images of no content to put into it."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = """\
version: 0.1
log: {{accesslog: {{disabled: true}}, level: error}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@contextmanager
def running(program: Path, folder: Path, port: int, more: str = "") -> Iterator[str]:
    """Run a registry, with more settings in its file, and yield its host and port."""
    settings = CONFIG.format(folder=folder / "blobs", port=port) + more
    (folder / "registry.yml").write_text(settings)
    with (folder / "registry.log").open("w") as log:
        process = subprocess.Popen(
            [program, "serve", folder / "registry.yml"], stdout=log, stderr=log
        )
        try:
            _await(f"http://127.0.0.1:{port}/v2/")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)


def _await(address: str) -> None:
    deadline = monotonic() + 60
    while True:
        try:
            urlopen(address, timeout=5).close()  # noqa: S310 - loopback
        except HTTPError:
            # It is there, and wants a password.
            return
        except URLError:
            assert monotonic() < deadline, "the registry does not answer"
        else:
            return


def push_manifest(registry: str, repository: str, config: bytes, tag: str) -> None:
    start = _send("POST", f"http://{registry}/v2/{repository}/blobs/uploads/", b"", "")
    _send("PUT", f"{start}&digest={digest(config)}", config, "application/octet-stream")
    described = {
        "mediaType": "application/vnd.oci.image.config.v1+json",
        "digest": digest(config),
        "size": len(config),
    }
    manifest = _text({"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": []})
    _send("PUT", f"http://{registry}/v2/{repository}/manifests/{tag}", manifest, MANIFEST)


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _text(value: object) -> bytes:
    return json.dumps(value).encode()


def _send(method: str, address: str, content: bytes, kind: str) -> str:
    headers = {"Content-Type": kind}
    request = Request(address, content, headers, method=method)  # noqa: S310 - loopback
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        return str(answer.headers["Location"] or "")

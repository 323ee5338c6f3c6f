"""Stands in for Flux's source-controller, GitRepository only: `source_controller PORT FOLDER`.

It honours `url`, `ref.branch`, `interval`, `suspend` and `reconcile.fluxcd.io/requestedAt`; it serves artifacts, and
writes the status that kustomize-controller reads. What belongs to a shard is left alone. Flux's own cannot be built
from published modules alone.
"""

import gzip
import hashlib
import json
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from lab.api import Api, ApiError, Object

PORT, FOLDER = int(sys.argv[1]), Path(sys.argv[2])
UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
REQUESTED = "reconcile.fluxcd.io/requestedAt"


class Files(SimpleHTTPRequestHandler):
    """Serves the artifacts, and keeps no log of it."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def seconds(duration: str) -> float:
    """Read a Go duration."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|h|m|s)", duration))


def git(*arguments: str | Path) -> bytes:
    """Run git and return what it printed."""
    return subprocess.run(["git", *arguments], check=True, capture_output=True).stdout


def artifact(source: Object) -> Object:
    """Fetch the branch and return the artifact of its head, stored unless it is there already."""
    meta, spec = source["metadata"], source["spec"]
    branch, clone = spec.get("ref", {}).get("branch", "master"), FOLDER / f".git-{meta['uid']}"
    if not clone.is_dir():
        git("init", "--quiet", "--bare", clone)
    git("-C", clone, "fetch", "--quiet", "--depth=1", spec["url"], f"refs/heads/{branch}")
    head = git("-C", clone, "rev-parse", "FETCH_HEAD^{commit}").decode().strip()
    place = f"gitrepository/{meta['namespace']}/{meta['name']}/{head}.tar.gz"
    held = source.get("status", {}).get("artifact")
    if held and held["path"] == place and (FOLDER / place).exists():
        return dict(held)
    content = gzip.compress(git("-C", clone, "archive", "--format=tar", head), mtime=0)
    (FOLDER / place).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / place).write_bytes(content)
    return {
        "url": f"http://127.0.0.1:{PORT}/{place}",
        "path": place,
        "revision": f"{branch}@sha1:{head}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "size": len(content),
        "lastUpdateTime": now(),
    }


def status(source: Object) -> Object:
    """Return the status that says what became of a fetch."""
    meta, old = source["metadata"], source.get("status", {})
    try:
        found = artifact(source)
        state, reason, words = "True", "Succeeded", f"stored artifact for revision '{found['revision']}'"
    except subprocess.CalledProcessError as error:
        found, state, reason, words = old.get("artifact"), "False", "GitOperationFailed", error.stderr.decode()[-300:]
    before = next((each for each in old.get("conditions", []) if each["type"] == "Ready"), {})
    since = before["lastTransitionTime"] if before.get("status") == state else now()
    ready = {"type": "Ready", "status": state, "reason": reason, "message": words, "lastTransitionTime": since}
    handled = meta.get("annotations", {}).get(REQUESTED)
    return {
        "observedGeneration": meta["generation"],
        "artifact": found,
        "conditions": [{**ready, "observedGeneration": meta["generation"]}],
        **({"lastHandledReconcileAt": handled} if handled else {}),
    }


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def reconcile(api: Api, due: dict[str, tuple[object, float]]) -> None:
    """Fetch every source whose turn it is: changed, asked for, or its interval over."""
    for source in api.items("gitrepositories", labelSelector="!sharding.fluxcd.io/key"):
        meta, spec = source["metadata"], source["spec"]
        wanted = (meta["generation"], meta.get("annotations", {}).get(REQUESTED))
        seen, until = due.get(meta["uid"], (None, 0.0))
        if spec.get("suspend") or meta.get("deletionTimestamp"):
            due.pop(meta["uid"], None)
        elif (seen != wanted or time.monotonic() >= until) and not is_suspended(api, source):
            found = status(source)
            if any(source.get("status", {}).get(key) != value for key, value in found.items()):
                api.patch("gitrepositories", meta["namespace"], f"{meta['name']}/status", {"status": found}, "source")
            due[meta["uid"]] = wanted, time.monotonic() + seconds(spec["interval"])


def is_suspended(api: Api, source: Object) -> bool:
    """Say whether a source has been suspended since it was listed."""
    found = api.find("gitrepositories", source["metadata"]["namespace"], source["metadata"]["name"])
    return found is None or found["spec"].get("suspend", False)


def main() -> None:
    """Serve artifacts, and reconcile once a second."""
    serve = ThreadingHTTPServer(("127.0.0.1", PORT), partial(Files, directory=FOLDER)).serve_forever
    Thread(target=serve, daemon=True).start()
    api, due = Api(), dict[str, tuple[object, float]]()
    while True:
        try:
            reconcile(api, due)
        except (ApiError, OSError, json.JSONDecodeError) as error:
            print(error, flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()

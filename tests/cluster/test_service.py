"""The service in the cluster: what is changed over HTTP is in force, with no other hand.

It runs as `examples/server` has it, from the image of the service, on a clone of the repository
that Flux delivers. A change is a commit of the policy and of what is rendered of it.
"""

import base64
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest
import yaml
from environment import FUNCTION, Environment, condition, eventually, note
from lab.api import Object
from lab.processes import run
from lab.settings import ADMIN, BIN, GIT, GIT_PORT, NEIGHBOUR, ROOT

NAME = "krm-windows-server"
FOR_EVER = {"opens": "daily 00:00", "closes": "24:00"}
FORM = "application/x-www-form-urlencoded"
MERGE = "application/merge-patch+json"


@dataclass
class Service:
    """Asks the service's Pod, as the cluster's neighbour: the one whom Pods answer."""

    address: str
    token: str
    policy: str
    cookie: str = ""
    tag: str = ""

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        connection = HTTPConnection(self.address, 8080, 60, source_address=(NEIGHBOUR, 0))
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, path, body, sent)
        found = connection.getresponse()
        text = found.read().decode()
        self.cookie = (found.headers["set-cookie"] or self.cookie).partition(";")[0]
        self.tag = found.headers["etag"]
        connection.close()
        return found.status, text

    def rest(self, method: str, path: str = "", body: object = None, **headers: str) -> Object:
        sent = b"" if body is None else json.dumps(body).encode()
        kind = {"content_type": "application/json", **headers}
        status, text = self.ask(
            method, self.policy + path, sent, authorization=f"Bearer {self.token}", **kind
        )
        assert status in (200, 201), text
        found: Object = json.loads(text)
        return found

    def page(self, path: str, **fields: str) -> None:
        """Send the form of a page as a browser does."""
        sent, origin = urlencode(fields).encode(), f"http://{self.address}:8080"
        own = {"cookie": self.cookie, "content_type": FORM, "origin": origin}
        status, text = self.ask("POST", f"/ui{self.policy}{path}", sent, **own)
        assert status in (200, 303), text


@pytest.fixture
def service(env: Environment) -> Service:
    """The example, in the test's namespace, on a clone of its repository."""
    env.begin()
    env.write("cluster/windows.yaml", env.policy_text())
    env.render("cluster/windows.yaml", "cluster/windows", "--resources", "cluster")
    env.include("windows")
    env.commit("Set windows")
    bare = GIT / f"{env.name}.git"
    run("git", "-C", bare, "config", "http.receivepack", "true")
    making = [FUNCTION, "serve", "--new-token", "ada", "--scopes", "read,write,override"]
    made = subprocess.run(making, capture_output=True, text=True, check=True)
    secret = {"tokens": base64.b64encode(made.stdout.encode()).decode()}
    meta = {"name": "krm-windows-tokens", "namespace": env.name}
    env.api.create("secrets", env.name, {"metadata": meta, "data": secret})
    for document in example(env):
        command = (BIN / "kubectl", "--kubeconfig", ADMIN, "apply", "--server-side", "-f", "-")
        run(*command, input=yaml.safe_dump(document))
    eventually("the service is ready", lambda: pod(env) is not None)
    running = pod(env)
    assert running is not None
    token = made.stderr.rpartition(" ")[2].strip()
    return Service(running["status"]["podIP"], token, f"/policies/{env.name}/windows")


def example(env: Environment) -> Iterator[Object]:
    values = {
        "repository": f"http://{NEIGHBOUR}:{GIT_PORT}/{env.name}.git",
        "branch": "main",
        "directory": "cluster",
    }
    built = run(BIN / "kubectl", "kustomize", ROOT / "examples/server")
    for document in yaml.safe_load_all(built):
        if document["kind"] == "Namespace":
            continue
        document["metadata"]["namespace"] = env.name
        if document["kind"] == "ConfigMap":
            document["data"] |= values
        yield document


def pod(env: Environment) -> Object | None:
    for found in env.api.items("pods", env.name):
        is_ours = found["metadata"]["name"].startswith(NAME)
        if is_ours and condition(found)["status"] == "True":
            return found
    return None


def history(env: Environment) -> list[str]:
    log = ("log", "--format=%an: %s", "main")
    return run("git", "-C", GIT / f"{env.name}.git", *log).splitlines()


@pytest.mark.long
def test_a_change_over_http_is_in_force_with_no_other_hand(
    env: Environment, service: Service
) -> None:
    """A window set over REST opens; an override from the page closes again, and is ended there."""
    env.eventually_closed()
    env.release("2")
    service.rest("GET")
    tag = service.tag
    patch, reason = {"spec": {"windows": {"now": FOR_EVER}}}, "?reason=Open%20for%20the%20visit"
    done = service.rest("PATCH", reason, patch, content_type=MERGE, if_match=tag)
    assert done["written"]
    note("from a change over REST to its effect", env.eventually_open())
    env.eventually_applied("2")
    assert history(env)[0] == "ada: Open for the visit"
    sign_in = urlencode({"token": service.token}).encode()
    status, _ = service.ask("POST", "/ui/login", sign_in, content_type=FORM)
    assert status == 303
    service.page("/override", state="closed", scope="all", **{"for": "2h"}, reason="Line down")
    note("from an override on the page to its effect", env.eventually_closed())
    assert history(env)[0] == "ada: Line down"
    [override] = service.rest("GET", "/overrides")["overrides"]
    reason, name = "End override: line repaired", override["name"]
    service.page("/override", scope="all", override=name, reason=reason, end="End now")
    env.eventually_open()
    assert "End override" in history(env)[0]
    check(env)


def check(env: Environment) -> None:
    run("git", "fetch", "--quiet", cwd=env.tree)
    run("git", "reset", "--quiet", "--hard", "origin/main", cwd=env.tree)
    options = ["--output-dir", "cluster/windows", "--resources", "cluster", "--check"]
    env.krm_windows("render", "cluster/windows.yaml", *options)

"""The environment of an end-to-end test."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from lab.api import Api, ApiError, Object
from lab.processes import HANG, run
from lab.settings import ADMIN, API, API_PORT, BIN, GIT, GIT_PORT, LOGS, PKI
from when import ZONE, Spec, Window, far_window, sleep_until

from krm_windows.gate.annotations import HOLD, annotation

CLI = Path(__file__).with_name("cli")
FUNCTION = Path(sys.executable).with_name("krm-windows")
PARENT, APPS = "fleet", "apps"
INTERVAL = 15  # seconds between two reconciles of every Kustomization
SOURCE_INTERVAL = 4
PAUSE = 0.7  # seconds between two requests of a test to the cluster
AUTHOR = {
    f"GIT_{role}_{key}": "test" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")
}
CLOSED: Spec = {"windows": {"later": far_window().spec}}
OPEN: Spec = {**CLOSED, "state": "Open"}


def kubectl_policy(window: Window) -> Spec:
    """The window has to be in STEADY_ZONE."""
    return {
        "actuator": {"type": "Kubectl"},
        "interval": None,
        "timeZone": str(window.zone),
        "windows": {"next": window.spec},
    }


def eventually(what: str, holds: Callable[[], bool]) -> float:
    """Return after how many seconds it held."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < HANG, f"not within {HANG:.0f} s: {what}"
        time.sleep(PAUSE)
    return time.monotonic() - began


def note(figure: str, seconds: float) -> None:
    """Keep a figure for the end of the run, and for docs/explanation/guarantees.md."""
    with (LOGS / "figures.txt").open("a") as figures:
        figures.write(f"{seconds:6.1f} s  {figure}\n")


def throughout(seconds: float, what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert holds(), f"no longer: {what}"
        time.sleep(PAUSE)


def condition(found: Object, kind: str = "Ready") -> Object:
    """Return a condition of an object; its words are empty where there is none."""
    conditions = found.get("status", {}).get("conditions", [])
    none = {"status": "", "reason": "", "message": ""}
    return next((each for each in conditions if each["type"] == kind), none)


@dataclass(frozen=True)
class Environment:
    """One test's part of the cluster: its namespace, and what Flux delivers into it.

    `cluster/` of the repository is delivered by the Kustomization `fleet`, live. It holds the
    Kustomization `apps`, which delivers `apps/`, a ConfigMap with a version; and the windows,
    rendered from `windows.yaml`.
    """

    api: Api
    name: str
    tree: Path
    listed: list[str] = field(default_factory=list)

    # What is in Git

    def write(self, path: str, content: object) -> None:
        target = self.tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        target.write_text(yaml.safe_dump_all(content) if isinstance(content, list) else text)

    def include(self, *names: str) -> None:
        self.listed.extend(name for name in names if name not in self.listed)
        self.write("cluster/kustomization.yaml", {"resources": self.listed})

    def leave_out(self, name: str) -> None:
        self.listed.remove(name)
        self.include()

    def commit(self, message: str) -> None:
        for command in (
            ["add", "--all"],
            ["commit", "--quiet", "--message", message],
            ["push", "--quiet", "origin", "main"],
        ):
            run("git", *command, cwd=self.tree, env={**os.environ, **AUTHOR})

    def release(self, version: str) -> None:
        self.write_version(version)
        self.commit(f"Release {version}")

    def write_version(self, version: str) -> None:
        self.write("apps/app.yaml", config_map("app", version))

    def policy(
        self, spec: Spec = CLOSED, *options: str, name: str = "windows", commit: bool = True
    ) -> None:
        self.write(f"{name}.yaml", self.policy_text(spec, name))
        self.render(f"{name}.yaml", f"cluster/{name}", *options)
        self.include(name)
        if commit:
            self.commit(f"Set {name}")

    def policy_text(self, spec: Spec = CLOSED, name: str = "windows") -> str:
        """Its targets are the Kustomization `apps` unless the spec says otherwise."""
        whole: Spec = {
            "timeZone": str(ZONE),
            "interval": "12h",  # so that only the runs at the edges do what a test waits for
            "targets": [{"kind": "Kustomization", "names": [APPS]}],
        }
        policy = self.object(
            "krm-windows.dev/v1alpha1", "WindowPolicy", name, spec={**whole, **spec}
        )
        return yaml.safe_dump(policy)

    def render(self, policy: str, output: str, *options: str) -> None:
        self.krm_windows("render", policy, "--output-dir", output, *options)

    def krm_windows(self, *arguments: str | Path) -> str:
        """Run the command in the repository, beside a kubectl, and return what it printed."""
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        return run(FUNCTION, *arguments, cwd=self.tree, env={**os.environ, "PATH": path})

    def built(self, folder: str) -> str:
        """Return what `kubectl kustomize` builds of a folder, with the function as a plugin."""
        plugins = self.tree.parent / "plugins"
        self.krm_windows("install", "--plugin-home", plugins)
        own = {"KUSTOMIZE_PLUGIN_HOME": str(plugins), "HOME": str(self.tree.parent)}
        command = [BIN / "kubectl", "kustomize", "--enable-alpha-plugins", folder]
        return run(*command, cwd=self.tree, env={"PATH": "/usr/bin:/bin", **own})

    # What is in the cluster

    def begin(self, *, apply: bool = True, **apps: object) -> None:
        self.write_version("1")
        self.add("apps.yaml", self.kustomization(APPS, "./apps", **apps))
        self.commit("Begin")
        self.api.create("gitrepositories", self.name, self.source(PARENT))
        fleet = self.kustomization(PARENT, "./cluster", targetNamespace=None)
        self.api.create("kustomizations", self.name, fleet)
        if apply:
            self.eventually_applied("1")

    def begin_closed(self, spec: Spec = CLOSED, **apps: object) -> None:
        self.begin(**apps)
        self.closes(spec)

    def closes(self, spec: Spec = CLOSED) -> None:
        self.policy(spec)
        self.eventually_closed()

    def opens(self, spec: Spec = OPEN, version: str = "") -> None:
        """Wait until a version that waited is applied, where one is named."""
        self.policy(spec)
        if version:
            self.eventually_applied(version)
        else:
            self.eventually_open()

    def opens_with(self, window: Window) -> None:
        sleep_until(window.opens)
        self.eventually_open()

    def closes_with(self, window: Window) -> None:
        sleep_until(window.closes)
        self.eventually_closed()

    def delivers(self, spec: Spec = CLOSED) -> None:
        self.policy(spec)
        self.eventually_delivered()

    def account(self, name: str = "windows-gate") -> Api:
        """Return the API as an account of the namespace may use it."""
        return Api(self.token(name))

    def token(self, account: str) -> str:
        where = f"api/v1/namespaces/{self.name}/serviceaccounts/{account}/token"
        found: str = self.api.ask("POST", where, {"spec": {}})["status"]["token"]
        return found

    def grant(self, account: str, kind: str, role: str, name: str = "too-wide") -> None:
        """Bind an account of the namespace to a role in it."""
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": self.name}],
        }
        self.api.create("rolebindings", self.name, binding)

    def add(self, name: str, content: object) -> None:
        """Write a resource of `cluster/`, and list it."""
        self.write(f"cluster/{name}", content)
        self.include(name)

    def job(self, name: str, cron_job: str = "windows-resync", *, wait: bool = False) -> None:
        """Start a Job of a CronJob."""
        self.kubectl("create", "job", name, f"--from=cronjob/{cron_job}")
        if wait:
            self.kubectl("wait", "--for=condition=Complete", f"job/{name}", "--timeout=15m")

    def ready(self, name: str = APPS, plural: str = "kustomizations") -> str:
        """Return the status of the condition Ready; it is unknown during a reconcile."""
        return str(condition(self.target(name, plural))["status"])

    def source(self, name: str) -> Object:
        spec = {
            "interval": f"{SOURCE_INTERVAL}s",
            "url": f"http://127.0.0.1:{GIT_PORT}/{self.name}.git",
            "ref": {"branch": "main"},
        }
        return self.object("source.toolkit.fluxcd.io/v1", "GitRepository", name, spec=spec)

    def kustomization(self, name: str, path: str, **more: object) -> Object:
        spec = {
            "interval": f"{INTERVAL}s",
            "retryInterval": "5s",
            "path": path,
            "prune": True,
            "targetNamespace": self.name,
            "sourceRef": {"kind": "GitRepository", "name": PARENT},
            **more,
        }
        given = {key: value for key, value in spec.items() if value is not None}
        return self.object("kustomize.toolkit.fluxcd.io/v1", "Kustomization", name, spec=given)

    def object(self, api_version: str, kind: str, name: str, **rest: object) -> Object:
        meta = {"name": name, "namespace": self.name}
        return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}

    def target(self, name: str = APPS, plural: str = "kustomizations") -> Object:
        return self.api.get(plural, self.name, name)

    def suspended(self, name: str = APPS, plural: str = "kustomizations") -> bool:
        return self.target(name, plural)["spec"].get("suspend", False) is True

    def annotated(
        self, policy: str = "windows", name: str = APPS, plural: str = "kustomizations"
    ) -> bool:
        found = self.target(name, plural)["metadata"].get("annotations", {})
        return annotation(f"{self.name}/{policy}") in found

    def closed(self, policy: str = "windows") -> bool:
        return self._state(policy) == (True, True)

    def open(self, policy: str = "windows") -> bool:
        return self._state(policy) == (False, False)

    def _state(self, policy: str) -> tuple[bool, bool]:
        """Both are of one moment."""
        found = self.target()
        annotated = annotation(f"{self.name}/{policy}") in found["metadata"].get("annotations", {})
        return found["spec"].get("suspend", False) is True, annotated

    def version(self, name: str = "app") -> str | None:
        found = self.api.find("configmaps", self.name, name)
        return found["data"].get("version") if found else None

    def eventually_applied(self, version: str, name: str = "app") -> float:
        return eventually(f"version {version} is applied", lambda: self.version(name) == version)

    def revision(self, name: str = PARENT, plural: str = "gitrepositories") -> str:
        """Return what source-controller has fetched."""
        found: str = self.target(name, plural)["status"]["artifact"]["revision"]
        return found

    def eventually_closed(self) -> float:
        return eventually("apps is closed", self.closed)

    def eventually_open(self) -> float:
        return eventually("apps is open", self.open)

    def eventually_suspended(self, name: str, plural: str, seconds: float = 0) -> None:
        """Wait until it is closed, and see that it stays so: a fetch that had begun goes on."""
        eventually(f"{name} is closed", lambda: self.suspended(name, plural))
        throughout(seconds, f"{name} stays closed", lambda: self.suspended(name, plural))

    def head(self) -> str:
        return run("git", "rev-parse", "HEAD", cwd=self.tree).strip()

    def suspend_delivery(self, *, suspend: bool = True) -> None:
        change = {"spec": {"suspend": suspend}}
        self.api.patch("kustomizations", self.name, PARENT, change, manager="flux")

    def pod_of_gate(self, policy: str = "windows") -> Object:
        cron_job = self.api.get("cronjobs", self.name, f"{policy}-resync")
        found: Object = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        return found

    def run_as_look(self, name: str, program: str) -> None:
        """Run lines of Python in a Pod that is the gate's but for its command."""
        found = self.pod_of_gate()
        found["containers"][0]["command"] = ["python3", "-c", program]
        self.api.create("pods", self.name, {"metadata": {"name": name}, "spec": found})

    @contextmanager
    def run_beside(self, policy: str = "windows") -> Iterator[Callable[..., subprocess.Popen[str]]]:
        """The clock of a node cannot be turned here, that of one process can, by `faketime`."""
        volume = self.api.get("configmaps", self.name, f"{policy}-gate")["data"]
        with TemporaryDirectory() as folder:
            for item in self.pod_of_gate(policy)["volumes"][0]["configMap"]["items"]:
                path = Path(folder, item["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(volume[item["key"]])
            Path(folder, "token").write_text(self.token(f"{policy}-gate"))
            Path(folder, "ca.crt").write_bytes((PKI / "ca.crt").read_bytes())
            server = {"KUBERNETES_SERVICE_HOST": API, "KUBERNETES_SERVICE_PORT": str(API_PORT)}
            command = [sys.executable, "-I", folder, "--account", folder]
            yield lambda *starter: subprocess.Popen(
                [*starter, *command],
                env={**os.environ, **server},
                stdout=subprocess.PIPE,
                text=True,
            )

    def delivered(self) -> bool:
        return self.head() in self.target(PARENT).get("status", {}).get("lastAppliedRevision", "")

    def eventually_delivered(self) -> float:
        return eventually("the commit is delivered", self.delivered)

    def waits(self, version: str, intervals: float = 2.2, name: str = "app") -> None:
        stays = f"version {version} stays"
        throughout(intervals * INTERVAL, stays, lambda: self.version(name) == version)

    def kubectl(self, *arguments: str) -> str:
        own = ("--kubeconfig", ADMIN, "--namespace", self.name)
        return run(BIN / "kubectl", *own, *arguments)

    def shell(self, command: str) -> str:
        """`flux-system` is the test's namespace, and `flux` a stand-in (tests/cluster/cli/flux)."""
        path = os.pathsep.join([str(CLI), str(BIN), str(FUNCTION.parent), os.environ["PATH"]])
        here = {**os.environ, "PATH": path, "KUBECONFIG": str(ADMIN)}
        words = command.replace("flux-system", self.name)
        return run("bash", "-e", "-o", "pipefail", "-c", words, cwd=self.tree, env=here)

    def hold(self, name: str = APPS, plural: str = "kustomizations") -> str | None:
        return self.target(name, plural)["metadata"].get("annotations", {}).get(HOLD)

    def reconcile_delivery(self, times: int = 2) -> None:
        """Have `fleet` reconcile, as `flux reconcile` does, and wait until it has."""
        for _ in range(times):
            asked = self.ask_for_delivery()
            eventually("fleet has reconciled", partial(self.has_reconciled, asked, PARENT))

    def ask_for_delivery(self) -> str:
        asked = str(time.time_ns())
        patch = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": asked}}}
        self.api.patch("kustomizations", self.name, PARENT, patch, manager="flux")
        return asked

    def has_reconciled(self, asked: str, name: str = APPS) -> bool:
        return self.target(name).get("status", {}).get("lastHandledReconcileAt") == asked

    def ask(
        self, command: str, *options: str | Path, config: Path = ADMIN
    ) -> tuple[int, Object, str]:
        """Return the exit code, what was printed as JSON, and what was said."""
        arguments = ["windows.yaml", "-o", "json", "--kubeconfig", config, *options]
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [FUNCTION, command, *arguments],
            cwd=self.tree,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    def log(self, pods: str = "*") -> list[Object]:
        """Lines of Jobs are kept though their Pods are gone."""
        found = []
        for path in sorted((LOGS / "jobs").glob(f"{self.name}_{pods}_*")):
            for line in path.read_text().splitlines():
                text = line.partition(" F ")[2]
                found += [json.loads(text)] if text.startswith("{") and text.endswith("}") else []
        return found

    def says(self, words: str) -> bool:
        keys = ("message", "error")
        return any(words in str(line.get(key)) for line in self.log() for key in keys)

    def eventually_says(self, words: str) -> float:
        """What a Job does is seen a moment before its log."""
        return eventually(f"a Job says: {words}", lambda: self.says(words))


def forget(env: Environment) -> None:
    """Its admission policies lie outside of its namespace. Nothing waits for the end."""
    try:
        for kind in ("kustomizations", "gitrepositories", "cronjobs", "jobs"):
            for found in env.api.items(kind, env.name):
                env.api.delete(kind, env.name, found["metadata"]["name"])
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            for found in env.api.items(kind):
                if found["metadata"]["name"].startswith(f"{env.name}."):
                    env.api.delete(kind, None, found["metadata"]["name"])
        env.api.delete("namespaces", None, env.name)
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
            raise


def repository(name: str, tree: Path) -> None:
    bare = GIT / f"{name}.git"
    run("git", "init", "--quiet", "--bare", "--initial-branch=main", bare)
    run("git", "init", "--quiet", "--initial-branch=main", tree)
    run("git", "-C", tree, "remote", "add", "origin", bare)


def config_map(name: str, version: str) -> Object:
    metadata, data = {"name": name}, {"version": version}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

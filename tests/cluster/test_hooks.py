"""Hooks: an external system is in maintenance while changes may reach the cluster.

That holds whatever fails or comes late.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from environment import (
    APPS,
    Environment,
    Spec,
    bind,
    eventually,
    far_window,
    sleep_until,
    window,
)
from external_system import ExternalSystem
from lab.api import Api, ApiError, Object
from test_rights import KUSTOMIZE, granted

CLOSED: Spec = {"windows": {"later": far_window().spec}}
OPEN: Spec = {**CLOSED, "state": "Open"}


@dataclass(frozen=True)
class Plant:
    """An environment with a system, and the namespace in which it is put into maintenance."""

    env: Environment
    system: ExternalSystem
    namespace: str

    def policy(self, spec: Spec, **hooks: object) -> None:
        """Set the policy with these hooks; the gate runs as soon as Flux has applied it."""
        self.env.policy({**spec, "hooks": {"namespace": self.namespace, **hooks}})

    def closed(self, **hooks: object) -> None:
        """Begin closed, with a second version of the application waiting."""
        self.env.begin()
        self.policy(CLOSED, **hooks)
        self.env.eventually_closed()
        self.env.release("2")

    def jobs(self) -> list[Object]:
        """Return the Jobs of hooks, the first created first."""
        return sorted(
            self.env.api.items("jobs", self.namespace),
            key=lambda job: job["metadata"]["creationTimestamp"],
        )

    def run(self, name: str) -> None:
        """Start a run, as the CronJob does."""
        self.env.kubectl("create", "job", name, "--from=cronjob/windows-resync")

    def ended(self, name: str) -> str | None:
        """Return how a run ended, None while it goes on."""
        conditions = (
            self.env.api.get("jobs", self.env.name, name).get("status", {}).get("conditions", [])
        )
        return next(
            (each["type"] for each in conditions if each["type"] in ("Complete", "Failed")), None
        )


@pytest.fixture
def plant(env: Environment, neighbour: Environment) -> Iterator[Plant]:
    """A test's environment with an external system, and a second namespace for its hooks.

    Both enforce Pod Security *restricted*.
    """
    system = ExternalSystem()
    server = system.serve()
    yield Plant(env, system, neighbour.name)
    system.released.set()
    server.shutdown()
    server.server_close()


@pytest.mark.long
def test_maintenance_around_a_window(plant: Plant) -> None:
    """In maintenance before the first change is applied.

    Out of it when it is closed and nothing reconciles.
    """
    env, system = plant.env, plant.system
    plant.closed(beforeOpen=system.hook("on"), afterClose=system.hook("off"))
    night = window(after=45, length=2)
    plant.policy(
        {"windows": {"night": night.spec}},
        beforeOpen=system.hook("on"),
        afterClose=system.hook("off"),
    )
    env.eventually_delivered()
    opened = Event()
    watch = Thread(target=watched, args=(plant, opened))
    watch.start()
    sleep_until(night.opens)
    env.eventually_applied("2")
    opened.set()
    watch.join()
    assert night.opens < system.at("on") + timedelta(seconds=2) < last_applied(env)
    sleep_until(night.closes)
    env.eventually_closed()
    assert system.maintenance
    eventually("out of maintenance", lambda: not system.maintenance)
    assert env.closed()
    assert [word for word, _ in system.calls] == ["on", "off"]
    assert not env.says("denied request")
    assert [job["metadata"]["name"].rsplit("-", 2)[0] for job in plant.jobs()] == [
        "windows-before-open",
        "windows-after-close",
    ]


def watched(plant: Plant, opened: Event) -> None:
    """Note it as a call if the target is open while the system is not in maintenance."""
    api = Api()
    while not opened.wait(0.1):
        found = api.get("kustomizations", plant.env.name, APPS)
        if not found["spec"].get("suspend") and not plant.system.maintenance:
            plant.system.calls.append(("opened early", datetime.now(UTC)))
    api.close()


def last_applied(env: Environment) -> datetime:
    """Return when the application was written last."""
    fields = env.api.get("configmaps", env.name, "app")["metadata"]["managedFields"]
    return max(datetime.fromisoformat(entry["time"]) for entry in fields) + timedelta(
        seconds=1
    )  # whole seconds


@pytest.mark.long
def test_nothing_is_taken_out_while_something_reconciles(plant: Plant) -> None:
    """A change still being applied at the close keeps the system in maintenance until it ends."""
    env, system = plant.env, plant.system
    hooks = {"afterClose": system.hook("off", timeout="3m")}
    env.begin(timeout="75s", wait=True)
    env.write("apps/slow.yaml", never_ready())
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml"]})
    plant.policy(OPEN, **hooks)
    eventually(
        "the opening is noted",
        lambda: "MayOpen" in str(env.api.get("configmaps", env.name, "windows-hooks")),
    )
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml", "slow.yaml"]})
    env.release("2")
    eventually("it waits for what is never ready", lambda: reconciles(env))
    plant.policy(CLOSED, **hooks)
    env.eventually_closed()
    eventually(
        "it reconciles no more, and nothing ran before",
        lambda: bool(system.calls) or not reconciles(env),
    )
    assert not system.calls
    eventually("the hook has run", lambda: system.called("off") == 1)


def never_ready() -> Object:
    """Return a Pod that no node takes, for which a Kustomization waits in vain."""
    container = {
        "name": "a",
        "image": "a:1",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "nodeSelector": {"no": "such-node"},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "slow"}, "spec": spec}


def reconciles(env: Environment) -> bool:
    """Say whether Flux is at work on the target."""
    conditions = env.target().get("status", {}).get("conditions", [])
    return any(
        each["type"] == "Reconciling" and each["reason"] == "Progressing" for each in conditions
    )


def test_a_failure_keeps_it_closed(plant: Plant) -> None:
    """It says so; the next run starts nothing; the rollback has run once."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("fail", rollback=system.hook("off"))}
    plant.closed(**hooks)
    plant.policy(OPEN, **hooks)
    eventually("it is rolled back", lambda: system.called("off") == 1)
    eventually(
        "the target says so",
        lambda: "hooks.beforeOpen failed" in str(env.target()["metadata"]["annotations"]),
    )
    plant.run("again")
    eventually("the run fails", lambda: plant.ended("again") == "Failed")
    assert env.suspended()
    assert env.version() == "1"
    assert (system.called("fail"), system.called("off"), len(plant.jobs())) == (1, 1, 2)


DENIED, INVALID = "denied", "invalid"
SAID = "may create only the Jobs of the policy's hooks here"
VOLUME: Object = {"name": "host", "hostPath": {"path": "/"}}
GONE = object()
EXTRA = {"name": "tried", "image": "docker.io/library/python:3.13-slim-trixie"}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "tried", "uid": "1"}
# Where a Job, its Pod or its container is changed, and to what; a list gets one more at `+`.
OTHER_JOBS: dict[str, dict[str, object]] = {
    "another name": {"job metadata name": "tried"},
    "a name to be made up": {"job metadata name": GONE, "job metadata generateName": "windows-"},
    "another label": {"job metadata labels tried": "yes"},
    "no labels": {"job metadata labels": GONE},
    "an annotation": {"job metadata annotations": {"tried": "yes"}},
    "a finalizer": {"job metadata finalizers": ["tried.example.com/yes"]},
    "an owner": {"job metadata ownerReferences": [OWNER]},
    "more Pods": {"job spec parallelism": 5, "job spec completions": 5},
    "more tries": {"job spec backoffLimit": 6},
    "more time": {"job spec activeDeadlineSeconds": 99999},
    "no end": {"job spec ttlSecondsAfterFinished": GONE},
    "suspended": {"job spec suspend": True},
    "another controller": {"job spec managedBy": "example.com/tried"},
    "no failure policy": {"job spec podFailurePolicy": GONE},
    "a label on its Pod": {"job spec template metadata labels tried": "yes"},
    "no label on its Pod": {"job spec template metadata labels krm-windows.dev/policy": GONE},
    "an annotation on its Pod": {"job spec template metadata annotations": {"a": "b"}},
    "another account": {"pod serviceAccountName": "admin"},
    "another account by its old name": {"pod serviceAccount": "admin"},
    "an account's token": {"pod automountServiceAccountToken": True},
    "a volume": {"pod volumes +": VOLUME},
    "another volume": {"pod volumes": [{**VOLUME, "name": "tmp"}]},
    "a Secret": {"pod volumes": [{"name": "tmp", "secret": {"secretName": "a"}}]},
    "the host's network": {"pod hostNetwork": True},
    "the host's processes": {"pod hostPID": True},
    "a node": {"pod nodeName": "node"},
    "a node by its labels": {"pod nodeSelector": {"a": "b"}},
    "a place by tolerations": {"pod tolerations": [{"operator": "Exists"}]},
    "a priority": {"pod priorityClassName": "system-node-critical"},
    "other names of hosts": {"pod hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]},
    "another DNS": {"pod dnsPolicy": "None", "pod dnsConfig": {"nameservers": ["10.0.0.1"]}},
    "another user": {"pod securityContext runAsUser": 1000},
    "a Secret to pull with": {"pod imagePullSecrets": [{"name": "a"}]},
    "a container before": {"pod initContainers": [EXTRA]},
    "a container besides": {"pod containers +": EXTRA},
    "another image": {"container image": "docker.io/library/evil:1"},
    "another pull": {"container imagePullPolicy": "Always"},
    "another command": {"container command": ["sh", "-c", "id"]},
    "other arguments": {"container args": ["id"]},
    "no arguments": {"container command": GONE},
    "a variable": {"container env": [{"name": "A", "value": "b"}]},
    "a Secret's variables": {"container envFrom": [{"secretRef": {"name": "a"}}]},
    "a port": {"container ports": [{"containerPort": 80, "hostPort": 80}]},
    "a step at its end": {"container lifecycle": {"preStop": {"exec": {"command": ["id"]}}}},
    "a probe": {"container livenessProbe": {"exec": {"command": ["id"]}}},
    "another folder": {"container workingDir": "/proc"},
    "root": {
        "container securityContext runAsUser": 0,
        "container securityContext runAsNonRoot": False,
    },
    "all that is the kernel's": {"container securityContext": {"privileged": True}},
    "no limits": {"container resources": GONE},
    "another mount": {"container volumeMounts": [{"name": "tmp", "mountPath": "/etc"}]},
}


def changed(job: Object, changes: dict[str, object]) -> Object:
    """Return another Job than the one that is given."""
    made = deepcopy(job)
    for where, value in changes.items():
        first, *above, last = where.split()
        part = {"job": made, "pod": pod(made), "container": container(made)}[first]
        for step in above:
            part = part[step]
        if last == "+":
            part.append(value)
        elif value is GONE:
            del part[last]
        else:
            part[last] = value
    return made


# What a hook has not, and the old name of a field that counts only where the new one is absent.
SAME_AS_BEFORE = {
    ("no arguments", "rollback"),
    ("no arguments", "afterClose"),
    ("another account by its old name", "rollback"),
    ("an account's token", "rollback"),
}


def pod(job: Object) -> Object:
    """Return the Pod of a Job."""
    found: Object = job["spec"]["template"]["spec"]
    return found


def container(job: Object) -> Object:
    """Return the one container of a Job."""
    found: Object = pod(job)["containers"][0]
    return found


def test_no_other_job_is_created(plant: Plant) -> None:
    """The account creates the Jobs of the policy's hooks, and fifty others it does not.

    Whatever is in the texts of the hooks.
    """
    env, where = plant.env, f"apis/batch/v1/namespaces/{plant.namespace}/jobs?dryRun=All"
    hook = {
        "image": "docker.io/library/python:3.13-slim-trixie",
        "command": ["python3", "-c", "print('it's \"quoted\"')\n# \\ ü \U0001f600 ${HOME} $(id)"],
        "args": [],
        "env": [
            {"name": "TEXT", "value": "a: 'b'\n"},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "line", "key": "token"}}},
        ],
    }
    rollback = {"image": hook["image"], "serviceAccountName": "line"}
    plant.closed(
        beforeOpen={**hook, "rollback": rollback},
        afterClose={"image": hook["image"], "args": ["off"]},
    )
    tables = env.api.get("configmaps", env.name, "windows-gate")["data"]
    hooks: dict[str, Object] = json.loads(tables["hooks.json"])["hooks"]
    account = token(env)
    jobs = {kind: job_of(found) for kind, found in hooks.items()}
    assert set(jobs) == {"beforeOpen", "rollback", "afterClose"}
    other = changed(jobs["afterClose"], OTHER_JOBS["another name"])
    eventually("the policy is in force", lambda: answer(account, where, other) == DENIED)
    for job in jobs.values():
        account.ask("POST", where, job)
    for words, changes in OTHER_JOBS.items():
        for kind, job in jobs.items():
            if (words, kind) not in SAME_AS_BEFORE:
                said = answer(account, where, changed(job, changes))
                assert said in (DENIED, INVALID), (words, kind)
    bind(env, "too-wide", "ClusterRole", "cluster-admin", "windows-gate")
    elsewhere = f"apis/batch/v1/namespaces/{env.name}/jobs?dryRun=All"
    eventually(
        "too wide a right is held", lambda: answer(account, elsewhere, jobs["afterClose"]) == DENIED
    )
    account.close()


def job_of(hook: Object) -> Object:
    """Return the Job that the gate creates for a hook."""
    metadata = {**hook["metadata"], "name": f"{hook['name']}-203001010000-0123456789abcdef"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": hook["spec"]}


def answer(account: Api, where: str, job: Object) -> str:
    """Say what the API server makes of a Job.

    It may find it wrong before the admission policy is asked.
    """
    try:
        account.ask("POST", where, job)
    except ApiError as error:
        if error.status == 403 and SAID in str(error):
            return DENIED
        return INVALID if error.status == 422 else f"otherwise: {error}"
    return "created"


def test_the_rights_of_hooks(plant: Plant) -> None:
    """In their namespace Jobs may be created and read, and nothing else.

    Without hooks there is no right at all.
    """
    env = plant.env
    plant.closed(afterClose=plant.system.hook("off"))
    account = token(env)
    target = ([KUSTOMIZE], ["kustomizations"], [APPS], ["get", "patch"])
    expected = {
        env.name: [target],
        plant.namespace: [(["batch"], ["jobs"], [], ["create", "get"])],
    }
    for found in env.api.items("namespaces"):
        name = found["metadata"]["name"]
        assert granted(account, name) == expected.get(name, []), name
    for deed in (
        lambda: account.items("jobs", plant.namespace),
        lambda: account.delete("jobs", plant.namespace, "any"),
        lambda: account.patch("jobs", plant.namespace, "any", {}),
        lambda: account.items("secrets", plant.namespace),
        lambda: account.create("pods", plant.namespace, {"metadata": {"name": "any"}, "spec": {}}),
        lambda: account.create("jobs", env.name, {"metadata": {"name": "any"}, "spec": {}}),
    ):
        with pytest.raises(ApiError) as refusal:
            deed()
        assert refusal.value.status == 403
    env.policy(CLOSED)
    eventually("its rights are gone", lambda: granted(account, plant.namespace) == [])
    account.close()


def token(env: Environment) -> Api:
    """Return the API as the policy's account may use it."""
    request: Object = {"spec": {"expirationSeconds": 3600}}
    answer = env.api.ask(
        "POST", f"api/v1/namespaces/{env.name}/serviceaccounts/windows-gate/token", request
    )
    return Api(answer["status"]["token"])

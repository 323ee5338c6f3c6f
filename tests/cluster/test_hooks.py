"""Hooks: an external system is in maintenance while changes may reach the cluster."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from environment import APPS, CLOSED, OPEN, Environment, condition, eventually, throughout
from external_system import ExternalSystem
from lab.api import Api, ApiError, Object, path
from lab.processes import LabError, pace
from test_rights import KUSTOMIZE, granted
from when import Spec, sleep_until, soon, wall, window

from krm_windows.gate.objects import dig

# By which the gate notes how far the hooks are.
NOTE = ([""], ["configmaps"], ["windows-hooks"], ["get", "patch"])


@dataclass(frozen=True)
class Plant:
    env: Environment
    system: ExternalSystem
    namespace: str

    def policy(self, spec: Spec, **hooks: object) -> None:
        """Set the policy with these hooks; the gate runs as soon as Flux has applied it."""
        self.env.policy({**spec, "hooks": {"namespace": self.namespace, **hooks}})

    def closed(self, **hooks: object) -> None:
        self.env.begin()
        self.closes(**hooks)
        self.env.release("2")

    def closes(self, **hooks: object) -> None:
        self.policy(CLOSED, **hooks)
        self.env.eventually_closed()

    def opens(self, version: str = "", **hooks: object) -> None:
        """Wait until a version that waited is applied, where one is named."""
        self.policy(OPEN, **hooks)
        if version:
            self.env.eventually_applied(version)
        else:
            self.env.eventually_open()

    @property
    def calls(self) -> list[str]:
        """What the external system was told, in order."""
        return [word for word, _ in self.system.calls]

    def jobs(self) -> list[Object]:
        """Return the Jobs of hooks, the first created first."""
        return sorted(
            self.env.api.items("jobs", self.namespace),
            key=lambda job: job["metadata"]["creationTimestamp"],
        )

    def ended(self, name: str) -> str | None:
        conditions = self.env.target(name, "jobs").get("status", {}).get("conditions", [])
        types = (each["type"] for each in conditions)
        return next((each for each in types if each in ("Complete", "Failed")), None)

    def eventually_may_open(self) -> None:
        noted = self.env.name
        eventually("it is noted", lambda: "MayOpen" in str(self.env.api.items("configmaps", noted)))

    def eventually_says(self, words: str) -> None:
        """Wait until the target's annotations say so."""
        annotated = "metadata", "annotations"
        eventually("the target says so", lambda: words in str(dig(self.env.target(), *annotated)))


@pytest.fixture
def plant(env: Environment, neighbour: Environment) -> Iterator[Plant]:
    system = ExternalSystem()
    server = system.serve()
    yield Plant(env, system, neighbour.name)
    system.released.set()
    server.shutdown()
    server.server_close()


@pytest.mark.long
def test_maintenance_around_a_window(plant: Plant) -> None:
    """In maintenance before the first change is applied."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("on"), "afterClose": system.hook("off")}
    plant.closed(**hooks)
    night = window(after=45, length=2)
    plant.policy({"windows": {"night": night.spec}}, **hooks)
    env.eventually_delivered()
    opened = Event()
    watch = Thread(target=watched, args=(plant, opened))
    watch.start()
    sleep_until(night.opens)
    env.eventually_applied("2")
    opened.set()
    watch.join()
    assert night.opens < system.at("on") + timedelta(seconds=2) < last_applied(env)
    env.closes_with(night)
    assert system.maintenance
    eventually("out of maintenance", lambda: not system.maintenance)
    assert env.closed()
    assert plant.calls == ["on", "off"]
    names = [job["metadata"]["name"].rsplit("-", 2)[0] for job in plant.jobs()]
    assert names == ["windows-before-open", "windows-after-close"]


def watched(plant: Plant, opened: Event) -> None:
    """Note it as a call if the target is open while the system is not in maintenance."""
    api = Api()
    while not opened.wait(0.1):
        found = api.get("kustomizations", plant.env.name, APPS)
        if not found["spec"].get("suspend") and not plant.system.maintenance:
            plant.system.calls.append(("opened early", datetime.now(UTC)))
    api.close()


def last_applied(env: Environment) -> datetime:
    """Return when the application was written last, in whole seconds."""
    fields = env.target("app", "configmaps")["metadata"]["managedFields"]
    latest = max(datetime.fromisoformat(entry["time"]) for entry in fields)
    return latest + timedelta(seconds=1)


@pytest.mark.long
def test_nothing_is_taken_out_while_something_reconciles(plant: Plant) -> None:
    """A change still being applied at the close keeps the system in maintenance until it ends."""
    env, system = plant.env, plant.system
    hooks = {"afterClose": system.hook("off", timeout="3m")}
    env.begin(timeout="75s", wait=True)
    env.write("apps/slow.yaml", never_ready())
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml"]})
    plant.policy(OPEN, **hooks)
    plant.eventually_may_open()
    env.write("apps/kustomization.yaml", {"resources": ["app.yaml", "slow.yaml"]})
    env.release("2")
    eventually("it waits for what is never ready", lambda: reconciles(env))
    plant.closes(**hooks)
    eventually("it reconciles no more", lambda: bool(system.calls) or not reconciles(env))
    assert not system.calls
    eventually("the hook has run", lambda: system.called("off") == 1)


def never_ready() -> Object:
    """Return a Pod that no node takes, for which a Kustomization waits in vain."""
    own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    profile = {"seccompProfile": {"type": "RuntimeDefault"}}
    spec = {
        "nodeSelector": {"no": "such-node"},
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, **profile},
        "containers": [{"name": "a", "image": "a:1", "securityContext": own}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "slow"}, "spec": spec}


def reconciles(env: Environment) -> bool:
    return bool(condition(env.target(), "Reconciling")["reason"] == "Progressing")


def test_a_failure_keeps_it_closed(plant: Plant) -> None:
    """It says so; the next run starts nothing; the rollback has run once."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("fail", rollback=system.hook("off"))}
    plant.closed(**hooks)
    plant.policy(OPEN, **hooks)
    eventually("it is rolled back", lambda: system.called("off") == 1)
    plant.eventually_says("hooks.beforeOpen failed")
    env.job("again")
    eventually("the run fails", lambda: plant.ended("again") == "Failed")
    assert env.suspended()
    assert env.version() == "1"
    assert (system.called("fail"), system.called("off"), len(plant.jobs())) == (1, 1, 2)


def test_a_failure_is_passed_over(plant: Plant) -> None:
    """With `Continue` the target is opened, after the failure."""
    system = plant.system
    hooks = {"beforeOpen": system.hook("fail", onFailure="Continue")}
    plant.closed(**hooks)
    plant.opens("2", **hooks)
    assert system.called("fail") == 1
    [job] = plant.jobs()
    assert job["status"]["failed"] == 1


@pytest.mark.long
def test_a_hook_that_hangs(plant: Plant) -> None:
    """It is ended by its timeout, and the target stays closed."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("hang", timeout=f"{pace()}m")}
    plant.closed(**hooks)
    plant.policy(OPEN, **hooks)
    eventually("it is called", lambda: system.called("hang") == 1)
    eventually("it is ended", lambda: "DeadlineExceeded" in str(plant.jobs()[0].get("status")))
    plant.eventually_says("hooks.beforeOpen failed")
    assert env.suspended()
    assert env.version() == "1"


@pytest.mark.long
def test_a_hook_that_still_runs_at_the_close(plant: Plant) -> None:
    """The gate goes on; when the hook ends, nothing is opened, and it is rolled back."""
    env, system = plant.env, plant.system
    hooks = {
        "beforeOpen": system.hook("hang", timeout=f"{5 * pace()}m", rollback=system.hook("off"))
    }
    plant.closed(**hooks)
    ends = soon(after=90)
    override = {"now": {"state": "Open", "ends": wall(ends), "reason": "a test"}}
    plant.policy({**CLOSED, "overrides": override}, **hooks)
    eventually("it is called", lambda: system.called("hang") == 1)
    sleep_until(ends + timedelta(seconds=10))
    assert env.suspended()
    system.released.set()
    eventually("it is rolled back", lambda: system.called("off") == 1)
    throughout(10, "apps stays closed", env.suspended)
    assert env.version() == "1"
    assert not env.says("opened")


def test_runs_that_overlap(plant: Plant) -> None:
    """They wait for one and the same Job, and none opens before it has ended."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("hang")}
    plant.closed(**hooks)
    plant.policy(OPEN, **hooks)
    for name in ("one", "two"):
        env.job(name)
    eventually("it is called", lambda: system.called("hang") == 1)
    throughout(15, "apps stays closed", env.suspended)
    system.released.set()
    env.eventually_applied("2")
    eventually("they all end well", lambda: all(well(env, name) for name in ("one", "two")))
    assert (system.called("hang"), len(plant.jobs())) == (1, 1)


def well(env: Environment, name: str) -> bool:
    """Of a CronJob's runs only the last is kept, so the log says it."""
    return any(line.get("failed") == [] for line in env.log(f"{name}-*"))


def test_hooks_under_the_admission_policy(plant: Plant) -> None:
    """Held to its field, the account still notes its hooks on the target."""
    env, system = plant.env, plant.system
    hooks = {"beforeOpen": system.hook("on"), "afterClose": system.hook("off")}
    plant.closed(**hooks)
    plant.opens("2", **hooks)
    assert system.maintenance
    plant.closes(**hooks)
    eventually("out of maintenance", lambda: not system.maintenance)
    assert plant.calls == ["on", "off"]
    assert not env.says("denied request")


DENIED, INVALID = "denied", "invalid"
SAID = "may create only the Jobs of the policy's hooks here"
VOLUME: Object = {"name": "host", "hostPath": {"path": "/"}}
META, LABELS, SPEC = ("metadata",), ("metadata", "labels"), ("spec",)
TEMPLATE, POD = ("spec", "template", "metadata"), ("spec", "template", "spec")
ONE = (*POD, "containers", 0)


def put(where: tuple[str | int, ...], *gone: str, **new: object) -> Callable[[Object], None]:
    """Return what changes a part of a Job."""

    def change(job: Object) -> None:
        for key in where:
            job = job[key]  # type: ignore[index]
        for name in gone:
            del job[name]
        job.update(new)

    return change


OTHER_JOBS: dict[str, Callable[[Object], object]] = {
    "another name": put(META, name="tried"),
    "a name to be made up": lambda job: job["metadata"].update(
        generateName=job["metadata"].pop("name")
    ),
    "another label": put(LABELS, tried="yes"),
    "no labels": put(META, "labels"),
    "an annotation": put(META, annotations={"tried": "yes"}),
    "a finalizer": put(META, finalizers=["tried.example.com/yes"]),
    "an owner": put(
        META, ownerReferences=[{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1"}]
    ),
    "more Pods": put(SPEC, parallelism=5, completions=5),
    "more tries": put(SPEC, backoffLimit=6),
    "more time": put(SPEC, activeDeadlineSeconds=99999),
    "no end": put(SPEC, "ttlSecondsAfterFinished"),
    "suspended": put(SPEC, suspend=True),
    "another controller": put(SPEC, managedBy="example.com/tried"),
    "no failure policy": put(SPEC, "podFailurePolicy"),
    "a label on its Pod": put((*TEMPLATE, "labels"), tried="yes"),
    "no label on its Pod": put((*TEMPLATE, "labels"), "krm-windows.dev/policy"),
    "an annotation on its Pod": put(TEMPLATE, annotations={"a": "b"}),
    "another account": put(POD, serviceAccountName="admin"),
    "another account by its old name": put(POD, serviceAccount="admin"),
    "an account's token": put(POD, automountServiceAccountToken=True),
    "a volume": lambda job: pod(job)["volumes"].append(VOLUME),
    "another volume": put(POD, volumes=[{**VOLUME, "name": "tmp"}]),
    "a Secret": put(POD, volumes=[{"name": "tmp", "secret": {"secretName": "a"}}]),
    "the host's network": put(POD, hostNetwork=True),
    "the host's processes": put(POD, hostPID=True),
    "a node": put(POD, nodeName="node"),
    "a node by its labels": put(POD, nodeSelector={"a": "b"}),
    "a place by tolerations": put(POD, tolerations=[{"operator": "Exists"}]),
    "a priority": put(POD, priorityClassName="system-node-critical"),
    "other names of hosts": put(POD, hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a"]}]),
    "another DNS": put(POD, dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.1"]}),
    "another user": put((*POD, "securityContext"), runAsUser=1000),
    "a Secret to pull with": put(POD, imagePullSecrets=[{"name": "a"}]),
    "a container before": lambda job: pod(job).update(
        initContainers=[{**container(job), "name": "tried"}]
    ),
    "a container besides": lambda job: pod(job)["containers"].append(
        {**container(job), "name": "tried"}
    ),
    "another image": put(ONE, image="docker.io/library/evil:1"),
    "another pull": put(ONE, imagePullPolicy="Always"),
    "another command": put(ONE, command=["sh", "-c", "id"]),
    "other arguments": put(ONE, args=["id"]),
    "no arguments": put(ONE, "command"),
    "a variable": put(ONE, env=[{"name": "A", "value": "b"}]),
    "a Secret's variables": put(ONE, envFrom=[{"secretRef": {"name": "a"}}]),
    "a port": put(ONE, ports=[{"containerPort": 80, "hostPort": 80}]),
    "a step at its end": put(ONE, lifecycle={"preStop": {"exec": {"command": ["id"]}}}),
    "a probe": put(ONE, livenessProbe={"exec": {"command": ["id"]}}),
    "another folder": put(ONE, workingDir="/proc"),
    "root": put((*ONE, "securityContext"), runAsUser=0, runAsNonRoot=False),
    "all that is the kernel's": put(ONE, securityContext={"privileged": True}),
    "no limits": put(ONE, "resources"),
    "another mount": put(ONE, volumeMounts=[{"name": "tmp", "mountPath": "/etc"}]),
}


# What a hook has not, and the old name of a field that counts only where the new one is absent.
SAME_AS_BEFORE = {
    ("no arguments", "rollback"),
    ("no arguments", "afterClose"),
    ("another account by its old name", "rollback"),
    ("an account's token", "rollback"),
}


def pod(job: Object) -> Object:
    found: Object = job["spec"]["template"]["spec"]
    return found


def container(job: Object) -> Object:
    found: Object = pod(job)["containers"][0]
    return found


def test_no_other_job_is_created(plant: Plant) -> None:
    """The Jobs of the policy's hooks, whatever is in their texts, and fifty others not."""
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
    account = env.account()
    jobs = {kind: job_of(found) for kind, found in hooks.items()}
    assert set(jobs) == {"beforeOpen", "rollback", "afterClose"}
    other = deepcopy(jobs["afterClose"])
    other["metadata"]["name"] = "tried"
    eventually("the policy is in force", lambda: answer(account, where, other) == DENIED)
    for job in jobs.values():
        account.ask("POST", where, job)
    for words, change in OTHER_JOBS.items():
        for kind, job in jobs.items():
            changed = deepcopy(job)
            if (words, kind) in SAME_AS_BEFORE:
                continue
            change(changed)
            assert answer(account, where, changed) in (DENIED, INVALID), (words, kind)
    env.grant("windows-gate", "ClusterRole", "cluster-admin")
    elsewhere = f"{path('jobs', env.name)}?dryRun=All"
    other = jobs["afterClose"]
    eventually("too wide a right is held", lambda: answer(account, elsewhere, other) == DENIED)
    account.close()


def job_of(hook: Object) -> Object:
    metadata = {**hook["metadata"], "name": f"{hook['name']}-203001010000-0123456789abcdef"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": hook["spec"]}


def answer(account: Api, where: str, job: Object) -> str:
    """The API server may find a Job wrong before the admission policy is asked."""
    try:
        account.ask("POST", where, job)
    except ApiError as error:
        if error.status == 403 and SAID in str(error):
            return DENIED
        return INVALID if error.status == 422 else f"otherwise: {error}"
    return "created"


def test_the_rights_of_hooks(plant: Plant) -> None:
    """In their namespace to create and get Jobs; without hooks there is no right at all."""
    env = plant.env
    plant.closed(afterClose=plant.system.hook("off"))
    account = env.account()
    target = ([KUSTOMIZE], ["kustomizations"], [APPS], ["get", "patch"])
    expected = {
        env.name: [target, NOTE],
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


def test_refused_namespaces(env: Environment) -> None:
    """With Jobs there, the accounts of these namespaces could be used."""
    targets = [{"kind": "Kustomization", "names": [APPS], "namespace": "tenants"}]
    for namespace in (env.name, "tenants", "flux-system", "kube-system"):
        hooks = {"namespace": namespace, "afterClose": {"image": "line:1"}}
        env.write("windows.yaml", env.policy_text({**CLOSED, "targets": targets, "hooks": hooks}))
        with pytest.raises(LabError, match="hook-namespace"):
            env.render("windows.yaml", "cluster/windows")

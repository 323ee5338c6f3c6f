"""The admission policies on the real API server."""

import time
from collections.abc import Callable, Iterator

import pytest
from environment import APPS, CLOSED, PARENT, Environment, eventually, kubectl_policy
from lab.api import Api, ApiError, Object, path
from when import STEADY_ZONE, sleep_until, window

from krm_windows.gate.annotations import HOLD, annotation

FIELD = "may change only spec.suspend and its own annotations here"
CLOSED_BY = "may write its closed-by annotation"
GATE = "krm-windows"
IDENTITY = {
    "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
    "kind": "Kustomization",
    "metadata": {"name": APPS},
}
Deed = Callable[[Api, str], object]


@pytest.fixture
def account(env: Environment) -> Iterator[Api]:
    env.begin_closed(timeout="90s")
    as_account = env.account()
    # The API server takes up one admission policy after the other.
    eventually("the policy is in force", lambda: refused(as_account, env, annotate) == FIELD)
    own = rehearse(annotation(f"{env.name}/windows"))
    eventually("that of annotations, too", lambda: refused(env.api, env, own) == CLOSED_BY)
    yield as_account
    as_account.close()


def refused(api: Api, env: Environment, deed: Deed) -> str:
    try:
        deed(api, env.name)
    except ApiError as error:
        said = [words for words in (FIELD, CLOSED_BY) if words in str(error)]
        return said[0] if error.status == 403 and said else f"otherwise: {error}"
    return ""


def rehearse(key: str) -> Deed:
    """Return the deed of asking whether an annotation of the target could be written; none is."""
    body = {"metadata": {"annotations": {key: "{}"}}}

    def deed(api: Api, namespace: str) -> object:
        where = f"{path('kustomizations', namespace, APPS)}?fieldManager=anna&dryRun=All"
        return api.ask("PATCH", where, body)

    return deed


def annotate(api: Api, namespace: str) -> object:
    return write("tried", str(time.time_ns()))(api, namespace)


def write(key: str, value: str | None, manager: str = GATE) -> Deed:
    """Return the deed of writing an annotation of the target, of removing it for None."""
    return patch(manager, metadata={"annotations": {key: value}})


def patch(manager: str = GATE, **change: object) -> Deed:
    return lambda api, namespace: api.patch("kustomizations", namespace, APPS, change, manager)


def apply_path(api: Api, namespace: str) -> object:
    """Apply another path of the target, on the server, by force."""
    found = api.get("kustomizations", namespace, APPS)["spec"]
    wanted = {key: found[key] for key in ("interval", "prune", "sourceRef", "timeout")}
    body: Object = {**IDENTITY, "spec": {**wanted, "path": "./elsewhere"}}
    return api.apply("kustomizations", namespace, body, GATE)


REFUSED: dict[str, Deed] = {
    "change the path": patch(spec={"path": "./elsewhere"}),
    "change the path beside what it may": patch(spec={"path": "./elsewhere", "suspend": False}),
    "change the account": patch(spec={"serviceAccountName": "admin"}),
    "change the source": patch(spec={"sourceRef": {"name": "other"}}),
    "remove a field": patch(spec={"targetNamespace": None}),
    "add a field": patch(spec={"force": True}),
    "label it": patch(metadata={"labels": {"tried": "yes"}}),
    "annotate it": annotate,
    "lift a hold": write(HOLD, None),
    "keep it from going": patch(metadata={"finalizers": ["tried.example.com/yes"]}),
    "write the annotation of another policy": write(annotation("other/windows"), "{}"),
    "apply another path": apply_path,
}


def test_everything_but_its_field_is_refused(env: Environment, account: Api) -> None:
    """RBAC allows each of these patches, and the admission policy refuses it with 403."""
    write(HOLD, "anna", "test")(env.api, env.name)
    for words, deed in REFUSED.items():
        assert refused(account, env, deed), words
    target = env.target()
    assert (target["spec"]["path"], target["spec"]["suspend"]) == ("./apps", True)


def test_rights_that_are_too_wide_are_held_too(env: Environment, account: Api) -> None:
    """Made an administrator of its namespace, it still creates and deletes no target."""
    env.grant("windows-gate", "ClusterRole", "cluster-admin")
    eventually("the rights are there", lambda: may_list(account, env.name))
    another = env.kustomization("another", "./elsewhere")
    status: Object = {"status": {"lastAppliedRevision": "main@sha1:0"}}
    deeds: dict[str, Deed] = {
        "delete": lambda api, space: api.delete("kustomizations", space, APPS),
        "create": lambda api, space: api.create("kustomizations", space, another),
        "status": lambda api, space: api.patch("kustomizations", space, f"{APPS}/status", status),
    }
    for words, deed in deeds.items():
        assert refused(account, env, deed), words


def test_it_turns_its_field_and_nobody_else_is_held(env: Environment, account: Api) -> None:
    """It takes field and annotation from whoever wrote them last; others write the rest."""
    own = annotation(f"{env.name}/windows")
    # The cost of an expression is limited.
    many = {f"note-{number}": "here" for number in range(1000)}
    patch("test", metadata={"annotations": many})(env.api, env.name)
    for suspend in (False, True):
        patch("anna", spec={"suspend": not suspend})(env.api, env.name)
        annotations = {own: "{}" if suspend else None}
        patch(spec={"suspend": suspend}, metadata={"annotations": annotations})(account, env.name)
        assert env.suspended() is suspend
    patch("env", metadata={"labels": {"tried": "yes"}})(env.api, env.name)
    entries = env.target()["metadata"]["managedFields"]
    assert all(each["manager"] != "anna" for each in entries)


@pytest.mark.usefixtures("account")
def test_nobody_else_writes_the_annotations(env: Environment) -> None:
    """Not even the administrator, in no way; and Flux brings none from Git."""
    own = annotation(f"{env.name}/windows")
    values = ("{}", env.target()["metadata"]["annotations"][own] + " ", "")
    body = env.kustomization("another", "./apps")
    body["metadata"]["annotations"] = {own: "{}"}
    metadata = {"name": APPS, "annotations": {own: "forged"}}
    applied = {**IDENTITY, "metadata": metadata}
    forged: dict[str, Deed] = {
        **{f"as {value}": write(own, value, "anna") for value in values},
        "created": lambda api, space: api.create("kustomizations", space, body),
        "applied": lambda api, space: api.apply("kustomizations", space, applied, "anna"),
    }
    for words, deed in forged.items():
        assert refused(env.api, env, deed) == CLOSED_BY, words

    in_git = env.kustomization(APPS, "./apps")
    in_git["metadata"]["annotations"] = {own: '{"policy": "forged"}'}
    env.write("cluster/apps.yaml", in_git)
    env.commit("Forge the annotation")
    eventually("Flux reports it", lambda: CLOSED_BY in str(env.target(PARENT)["status"]))
    assert "forged" not in env.target()["metadata"]["annotations"][own]


def test_an_annotation_may_be_removed(env: Environment, account: Api) -> None:
    """What does not touch the annotation passes, whoever asks."""
    own = annotation(f"{env.name}/windows")
    patch("anna", spec={"wait": True}, metadata={"labels": {"tried": "yes"}})(env.api, env.name)
    status: Object = {"status": {"lastAttemptedRevision": "main@sha1:0"}}
    env.api.patch("kustomizations", env.name, f"{APPS}/status", status)
    assert env.closed()
    write(own, None, "anna")(env.api, env.name)
    assert (env.suspended(), env.annotated()) == (True, False)
    assert refused(account, env, annotate) == FIELD


def test_a_policy_writes_its_own_annotation_alone(env: Environment, neighbour: Environment) -> None:
    """Neither gate writes the other policy's annotation. Each may remove a stale one."""
    for each in (env, neighbour):
        each.begin()
        each.policy()
    for each, other in ((env, neighbour), (neighbour, env)):
        each.eventually_closed()
        gate = each.account()
        eventually(
            "the policy is in force",
            lambda gate=gate, each=each: refused(gate, each, annotate) == FIELD,
        )
        foreign = annotation(f"{other.name}/windows")
        assert refused(gate, each, write(foreign, "{}"))
        gate.close()
    stale = annotation("gone/windows")
    write(stale, "{}", "anna")(env.api, env.name)
    gate = env.account()
    write(stale, None)(gate, env.name)
    gate.close()
    assert stale not in env.target()["metadata"]["annotations"]


@pytest.mark.usefixtures("account")
def test_a_renamed_gate_still_writes_its_annotations(env: Environment) -> None:
    """`namePrefix` renames the account and no text; another account gains nothing by it."""
    own = annotation(f"{env.name}/windows")
    rename = write(own, env.target()["metadata"]["annotations"][own] + " ")
    for name, said in (("site-windows", CLOSED_BY), ("site-windows-gate", "")):
        env.api.create("serviceaccounts", env.name, {"metadata": {"name": name}})
        env.grant(name, "Role", "windows-gate", name)
        renamed = env.account(name)
        eventually(
            f"{name} is judged",
            lambda renamed=renamed, said=said: refused(renamed, env, rename) == said,
        )
        renamed.close()


def test_former_names_are_kept_too(env: Environment) -> None:
    """The annotations of former names are the policy's own: nobody else may write them."""
    env.begin()
    former = f"{env.name}/before"
    env.closes({**CLOSED, "formerNames": [former]})
    old = rehearse(annotation(former))
    eventually("it is refused", lambda: refused(env.api, env, old) == CLOSED_BY)
    gate = env.account()
    assert refused(gate, env, write(annotation(former), "{}")) == FIELD
    gate.close()


@pytest.mark.long
def test_the_gate_works_under_it(env: Environment) -> None:
    """A window opens and closes again, while Flux writes the status and delivers commits."""
    env.begin()
    opening = window(after=75)
    env.closes({"windows": {"next": opening.spec}})
    env.release("2")
    env.opens_with(opening)
    env.eventually_applied("2")
    env.closes_with(opening)
    assert not env.says("denied request")


@pytest.mark.long
def test_kubectl_works_under_it(env: Environment) -> None:
    """The actuator `Kubectl` closes and opens; its account is held as the gate's is."""
    env.begin()
    opening = window(after=75, length=4, zone=STEADY_ZONE)
    env.delivers(kubectl_policy(opening))
    as_account = env.account()
    eventually("the policy is in force", lambda: refused(as_account, env, annotate) == FIELD)
    own = annotation(f"{env.name}/windows")
    assert refused(as_account, env, write(own, "{}")) == FIELD
    patch(spec={"suspend": True})(as_account, env.name)
    as_account.close()
    sleep_until(opening.opens)
    eventually("it opens", lambda: not env.suspended())
    sleep_until(opening.closes)
    eventually("it closes", env.suspended)


def test_uninstalling_is_held_too(env: Environment, account: Api) -> None:
    """What lifts the last suspension is held to its field until its account is gone."""
    env.render("windows.yaml", "cluster/windows", "--uninstall")
    env.commit("Lift")
    env.eventually_open()
    assert refused(account, env, annotate) == FIELD
    env.leave_out("windows")
    env.commit("Remove")
    gone = f"{env.name}.windows-gate"
    eventually("it is gone", lambda: env.api.find("validatingadmissionpolicies", "", gone) is None)


def may_list(account: Api, namespace: str) -> bool:
    """Say whether the account may list targets, as no emitted Role allows it to."""
    try:
        return bool(account.items("kustomizations", namespace))
    except ApiError:
        return False

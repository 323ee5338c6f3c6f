"""The admission policies on the real API server.

The gate works, its account can do nothing else, and nobody forges.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy

import pytest
from environment import (
    APPS,
    STEADY_ZONE,
    Environment,
    eventually,
    far_window,
    kubectl_policy,
    sleep_until,
    window,
)
from lab.api import Api, ApiError, Object, path

from krm_windows.gate.annotations import HOOKS, annotation

FIELD = "may change only spec.suspend and its own annotations here"
OWNERS = "may not change who owns the fields here"
CLOSED_BY = "may write its annotations"
KUSTOMIZE = "kustomize.toolkit.fluxcd.io/v1"
GATE = "krm-windows"
Deed = Callable[[Api, str], object]
Change = Callable[[list[Object]], object]


@pytest.fixture
def account(env: Environment) -> Iterator[Api]:
    """The API as the policy's account may use it, the policy being closed and held to its field."""
    env.begin(timeout="90s")
    env.policy({"windows": {"later": far_window().spec}})
    env.eventually_closed()
    as_account = token(env)
    # The API server takes up one admission policy after the other.
    eventually("the policy is in force", lambda: refused(as_account, env, annotate) == FIELD)
    hooks = rehearse(annotation(f"{env.name}/windows", HOOKS))
    eventually("that of annotations, too", lambda: refused(env.api, env, hooks) == CLOSED_BY)
    yield as_account
    as_account.close()


def token(env: Environment, name: str = "windows-gate") -> Api:
    """Return the API as the policy's account may use it, or another one beside it."""
    where = f"api/v1/namespaces/{env.name}/serviceaccounts/{name}/token"
    return Api(env.api.ask("POST", where, {"spec": {}})["status"]["token"])


def refused(api: Api, env: Environment, deed: Deed) -> str:
    """Return which of the admission policies refuses a deed with 403; empty if none does."""
    try:
        deed(api, env.name)
    except ApiError as error:
        said = [words for words in (FIELD, OWNERS, CLOSED_BY) if words in str(error)]
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
    """Change an annotation of the target that is not the gate's."""
    return patch(metadata={"annotations": {"tried": str(time.time_ns())}})(api, namespace)


def patch(manager: str = GATE, **change: object) -> Deed:
    """Return the deed of patching the target."""
    return lambda api, namespace: api.patch(
        "kustomizations", namespace, APPS, change, manager=manager
    )


def apply(manager: str, **spec: object) -> Deed:
    """Return the deed of applying fields of the target, on the server, by force."""

    def deed(api: Api, namespace: str) -> object:
        found = api.get("kustomizations", namespace, APPS)["spec"]
        wanted = {
            **{key: found[key] for key in ("interval", "path", "prune", "sourceRef", "timeout")},
            **spec,
        }
        body: Object = {
            "apiVersion": KUSTOMIZE,
            "kind": "Kustomization",
            "metadata": {"name": APPS},
            "spec": wanted,
        }
        return api.apply("kustomizations", namespace, body, manager)

    return deed


def rewrite(change: Change, **spec: object) -> Deed:
    """Return the deed of writing `managedFields` as they are, but for a change."""

    def deed(api: Api, namespace: str) -> object:
        entries = deepcopy(api.get("kustomizations", namespace, APPS)["metadata"]["managedFields"])
        answer = change(entries)
        written = entries if answer is None else answer
        body: Object = {"metadata": {"managedFields": written}}
        return api.patch(
            "kustomizations",
            namespace,
            APPS,
            {**body, **({"spec": spec} if spec else {})},
            manager=GATE,
        )

    return deed


def edit(manager: str, operation: str, change: Object, subresource: str = "") -> Change:
    """Return the change of one entry."""
    return lambda entries: entry(entries, manager, operation, subresource).update(change)


def entry(entries: list[Object], manager: str, operation: str, subresource: str = "") -> Object:
    """Return an entry of `managedFields`."""
    [found] = [
        each
        for each in entries
        if (each["manager"], each["operation"], each.get("subresource", ""))
        == (manager, operation, subresource)
    ]
    return found


def made(manager: str, operation: str, **more: object) -> Object:
    """Return an entry that owns a field which Flux applied."""
    fields = {
        "f:metadata": {"f:annotations": {"f:krm-windows.dev/hold": {}}},
        "f:spec": {"f:timeout": {}},
    }
    whose = {"manager": manager, "operation": operation, "apiVersion": KUSTOMIZE}
    return {
        **whose,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "time": "2026-01-01T00:00:00Z",
        **more,
    }


def own_more(entries: list[Object]) -> None:
    """Have the gate's own entry own a field of Flux's."""
    entry(entries, GATE, "Update")["fieldsV1"]["f:spec"]["f:timeout"] = {}


def own_a_label(entries: list[Object]) -> None:
    """Have the gate's own entry own all labels."""
    entry(entries, GATE, "Update")["fieldsV1"]["f:metadata"]["f:labels"] = {}


def own_below_its_field(entries: list[Object]) -> None:
    """Have the gate's own entry own something below its field."""
    entry(entries, GATE, "Update")["fieldsV1"]["f:spec"]["f:suspend"] = {"f:path": {}}


def lose_a_field(entries: list[Object]) -> None:
    """Take a field from Flux's entry."""
    del entry(entries, "kustomize-controller", "Apply")["fieldsV1"]["f:spec"]["f:timeout"]


def drop(manager: str, operation: str) -> Change:
    """Return the change that removes entries."""
    return lambda entries: [
        each for each in entries if (each["manager"], each["operation"]) != (manager, operation)
    ]


def join(entries: list[Object]) -> list[Object]:
    """Join two entries as the API server does where there are too many, which there are not."""
    updates = [
        each for each in entries if each["operation"] == "Update" and each["manager"] != GATE
    ]
    joined = {**made("ancient-changes", "Update", time=updates[-1]["time"]), "fieldsV1": {}}
    for each in updates[-2:]:
        joined["fieldsV1"].update(each["fieldsV1"])
    return [*(each for each in entries if each not in updates[-2:]), joined]


REFUSED: dict[str, Deed] = {
    "change the path": patch(spec={"path": "./elsewhere"}),
    "change the path beside what it may": patch(spec={"path": "./elsewhere", "suspend": False}),
    "change the account": patch(spec={"serviceAccountName": "admin"}),
    "change the source": patch(spec={"sourceRef": {"name": "other"}}),
    "remove a field": patch(spec={"targetNamespace": None}),
    "add a field": patch(spec={"force": True}),
    "label it": patch(metadata={"labels": {"tried": "yes"}}),
    "annotate it": annotate,
    "lift a hold": patch(metadata={"annotations": {"krm-windows.dev/hold": None}}),
    "keep it from going": patch(metadata={"finalizers": ["tried.example.com/yes"]}),
    "write the annotation of another policy": patch(
        metadata={"annotations": {annotation("other/windows"): "{}"}}
    ),
    "write the hooks' note of another policy": patch(
        metadata={"annotations": {annotation("other/x", HOOKS): "{}"}}
    ),
    "apply another path": apply(GATE, path="./elsewhere"),
}
OWNED: dict[str, Deed] = {
    "claim that Flux applied more": rewrite(lambda entries: entries.append(made("flux", "Apply"))),
    "claim that kubectl wrote more, which Flux takes over": rewrite(
        lambda entries: entries.append(made("kubectl-edit", "Update"))
    ),
    "own more itself": rewrite(own_more),
    "own labels itself": rewrite(own_a_label),
    "own what is below its field": rewrite(own_below_its_field),
    "own more by another operation": rewrite(lambda entries: entries.append(made(GATE, "Apply"))),
    "own more by a subresource": rewrite(
        lambda entries: entries.append(made(GATE, "Update", subresource="status"))
    ),
    "own more in another version": rewrite(
        lambda entries: entries.append(
            made(GATE, "Update", apiVersion="kustomize.toolkit.fluxcd.io/v1beta2")
        )
    ),
    "own more while it does what it may": rewrite(own_more, suspend=False),
    "empty the list": rewrite(lambda _: [{}]),
    "empty the list, and own what it writes": rewrite(lambda _: [{}], suspend=False),
    "drop Flux's entry": rewrite(drop("kustomize-controller", "Apply")),
    "drop the entry of a person": rewrite(drop("anna", "Update")),
    "keep its own entry only": rewrite(lambda entries: [entry(entries, GATE, "Update")]),
    "take a field from Flux": rewrite(lose_a_field),
    "rename Flux": rewrite(edit("kustomize-controller", "Apply", {"manager": "flux"})),
    "turn an apply into an update": rewrite(
        edit("kustomize-controller", "Apply", {"operation": "Update"})
    ),
    "turn an update into an apply": rewrite(edit("anna", "Update", {"operation": "Apply"})),
    "put Flux into a subresource": rewrite(
        edit("kustomize-controller", "Apply", {"subresource": "status"})
    ),
    "take the status out of its subresource": rewrite(
        edit("gotk-kustomize-controller", "Update", {"subresource": ""}, "status")
    ),
    "put Flux into another version": rewrite(
        edit("kustomize-controller", "Apply", {"apiVersion": "kustomize.toolkit.fluxcd.io/v1beta2"})
    ),
    "put Flux into no version": rewrite(
        edit("kustomize-controller", "Apply", {"apiVersion": "example.com/v1"})
    ),
    "make a person older": rewrite(edit("anna", "Update", {"time": "2020-01-01T00:00:00Z"})),
    "join two entries": rewrite(join),
    "apply the same values": apply(GATE),
    "apply the same values as Flux": apply("kustomize-controller"),
    "apply the same values as kubectl": apply("kubectl"),
    "apply its field": apply(GATE, suspend=True),
    "turn its field as Flux": patch("kustomize-controller", spec={"suspend": False}),
    "turn its field as kubectl": patch("kubectl-patch", spec={"suspend": False}),
    "turn its field as what the API server joins": patch(
        "ancient-changes", spec={"suspend": False}
    ),
}


def test_everything_but_its_field_is_refused(env: Environment, account: Api) -> None:
    """RBAC allows each of these patches, and the admission policy refuses it with 403."""
    held: Object = {"metadata": {"annotations": {"krm-windows.dev/hold": "anna"}}}
    env.api.patch("kustomizations", env.name, APPS, held)
    for words, deed in REFUSED.items():
        assert refused(account, env, deed), words
    target = env.target()
    assert (target["spec"]["path"], target["spec"]["suspend"]) == ("./apps", True)


def test_who_owns_a_field_is_not_its_to_say(env: Environment, account: Api) -> None:
    """Each of thirty ways to rewrite `managedFields` is refused; the others' entries stay."""
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"wait": True}}, manager="anna")
    before = owners(env)
    for words, deed in OWNED.items():
        assert refused(account, env, deed) in (OWNERS, FIELD), words
    for nothing in (
        rewrite(lambda _: [{"manager": "no entry"}]),
        lambda api, space: api.patch(
            "kustomizations", space, APPS, {"metadata": {"managedFields": None}}
        ),
        lambda api, space: api.json_patch(
            "kustomizations", space, APPS, {"op": "remove", "path": "/metadata/managedFields"}
        ),
    ):
        with suppress(ApiError):
            nothing(account, env.name)
    assert owners(env) == before


def owners(env: Environment) -> list[Object]:
    """Return the target's entries of `managedFields`, but for the status.

    Flux goes on writing that.
    """
    entries = env.target()["metadata"]["managedFields"]
    return [each for each in entries if each.get("subresource") != "status"]


@pytest.mark.long
def test_a_field_that_git_removes_goes(env: Environment, account: Api) -> None:
    """What is gone from Git is gone from the cluster, while it is closed.

    This holds whatever the account has tried.
    """
    env.api.patch("kustomizations", env.name, APPS, {"spec": {"wait": True}}, manager="anna")
    tried = [refused(account, env, deed) for deed in OWNED.values()]
    assert set(tried) <= {OWNERS, FIELD}
    patch(spec={"suspend": False})(account, env.name)
    patch(spec={"suspend": True})(account, env.name)
    assert env.target()["spec"]["timeout"] == "90s"
    env.write("cluster/apps.yaml", env.kustomization(APPS, "./apps"))
    env.commit("No time-out")
    env.eventually_delivered()
    assert "timeout" not in env.target()["spec"]


def test_rights_that_are_too_wide_are_held_too(env: Environment, account: Api) -> None:
    """An account that somebody made an administrator still creates and deletes no target.

    It is administrator of its namespace.
    """
    widen(env, account)
    assert refused(
        account, env, lambda api, namespace: api.delete("kustomizations", namespace, APPS)
    )
    another = env.kustomization("another", "./elsewhere")
    assert refused(
        account, env, lambda api, namespace: api.create("kustomizations", namespace, another)
    )
    whole = env.target()
    whole["metadata"]["managedFields"] = [{}]
    where = f"apis/{KUSTOMIZE}/namespaces/{env.name}/kustomizations/{APPS}"
    assert (
        refused(account, env, lambda api, _: api.ask("PUT", f"{where}?fieldManager={GATE}", whole))
        == OWNERS
    )
    status: Object = {"status": {"lastAppliedRevision": "main@sha1:0"}}
    assert refused(
        account,
        env,
        lambda api, namespace: api.patch("kustomizations", namespace, f"{APPS}/status", status),
    )


def widen(env: Environment, account: Api) -> None:
    """Make the account an administrator of its namespace."""
    binding = {
        "metadata": {"name": "too-wide"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "windows-gate", "namespace": env.name}],
    }
    env.api.create("rolebindings", env.name, binding)
    eventually("the rights are there", lambda: may_list(account, env.name))


def test_it_turns_its_field_and_nobody_else_is_held(env: Environment, account: Api) -> None:
    """It turns its field and writes its annotation, and others write the rest.

    It takes both from whoever wrote them last.
    """
    own = annotation(f"{env.name}/windows")
    many: Object = {
        "metadata": {"annotations": {f"note-{number}": "here" for number in range(1000)}}
    }
    env.api.patch("kustomizations", env.name, APPS, many)  # the cost of an expression is limited
    for suspend in (False, True):
        env.api.patch(
            "kustomizations", env.name, APPS, {"spec": {"suspend": not suspend}}, manager="anna"
        )
        annotations = {own: "{}" if suspend else None}
        patch(spec={"suspend": suspend}, metadata={"annotations": annotations})(account, env.name)
        assert env.suspended() is suspend
    patch("env", metadata={"labels": {"tried": "yes"}})(env.api, env.name)
    assert all(each["manager"] != "anna" for each in owners(env))


def test_many_field_managers_do_not_keep_it_from_its_field(env: Environment, account: Api) -> None:
    """It may join the oldest entry where there are more than the API server remembers.

    That alone passes.
    """
    many_hands(env, account)
    for words, deed in JOINED.items():
        assert refused(account, env, deed) == OWNERS, words
    own = annotation(f"{env.name}/windows")
    for suspend in (False, True):
        patch(spec={"suspend": suspend}, metadata={"annotations": {own: "{}"}})(account, env.name)
        assert env.suspended() is suspend
    managers = [entry["manager"] for entry in env.target()["metadata"]["managedFields"]]
    assert "ancient-changes" in managers
    assert GATE in managers


def many_hands(env: Environment, account: Api) -> None:
    """Have ten managers update the target, none of them the gate.

    The next one makes the API server join two.
    """
    patch(
        spec={"suspend": True},
        metadata={"annotations": {annotation(f"{env.name}/windows"): None}},
    )(account, env.name)
    for number in range(12):
        here: Object = {
            "spec": {"suspend": number % 2 == 0},
            "metadata": {"annotations": {f"hand-{number}": "here"}},
        }
        patch(f"hand-{number}", **here)(env.api, env.name)
        time.sleep(1.1)  # entries are as old as their second
    updates = [
        each for each in env.target()["metadata"]["managedFields"] if each["operation"] == "Update"
    ]
    assert len(updates) == 10
    assert all(each["manager"] != GATE for each in updates)


def joined(change: Callable[[Object, list[Object]], None]) -> Deed:
    """Return the deed of joining the oldest two entries, but not as the API server would."""

    def deed(entries: list[Object]) -> list[Object]:
        updates = sorted(
            (each for each in entries if each["operation"] == "Update"),
            key=lambda each: each["time"],
        )
        pair = updates[:2]
        made_of = {**made("ancient-changes", "Update"), "time": pair[1]["time"], "fieldsV1": {}}
        for each in pair:
            merge(made_of["fieldsV1"], each["fieldsV1"])
        kept = [each for each in entries if each not in pair]
        change(made_of, kept)
        return [*kept, made_of]

    return rewrite(deed, suspend=True)


def merge(into: Object, fields: Object) -> None:
    """Add what one entry owns to another."""
    for key, below in fields.items():
        merge(into.setdefault(key, {}), below)


JOINED: dict[str, Deed] = {
    "own a field besides": joined(
        lambda made_of, _: merge(made_of["fieldsV1"], {"f:spec": {"f:timeout": {}}})
    ),
    "own nothing at all": joined(
        lambda made_of, _: made_of.update(fieldsV1={"f:spec": {"f:suspend": {}}})
    ),
    "be an apply": joined(lambda made_of, _: made_of.update(operation="Apply")),
    "have another name": joined(lambda made_of, _: made_of.update(manager="kubectl")),
    "have another version": joined(
        lambda made_of, _: made_of.update(apiVersion="kustomize.toolkit.fluxcd.io/v1beta2")
    ),
    "be of another time": joined(lambda made_of, _: made_of.update(time="2026-01-01T00:00:00Z")),
    "join a third": joined(
        lambda made_of, kept: merge(made_of["fieldsV1"], take(kept)["fieldsV1"])
    ),
    "drop a third": joined(lambda _, kept: drop_one(kept)),
}


def take(kept: list[Object]) -> Object:
    """Remove the newest update, and return it."""
    newest = max(
        (each for each in kept if each["operation"] == "Update"), key=lambda each: each["time"]
    )
    kept.remove(newest)
    return newest


def drop_one(kept: list[Object]) -> None:
    """Remove the newest update."""
    take(kept)


def test_nobody_else_writes_the_annotations(env: Environment, account: Api) -> None:
    """Not even the administrator adds or changes the annotation; Flux brings none from Git.

    Nor does the administrator create an object with it.
    """
    own, note = annotation(f"{env.name}/windows"), annotation(f"{env.name}/windows", HOOKS)
    forged = (
        {own: "{}"},
        {own: env.target()["metadata"]["annotations"][own] + " "},
        {note: "{}"},
        {own: ""},
    )
    for annotations in forged:
        deed = patch("anna", metadata={"annotations": annotations})
        assert refused(env.api, env, deed) == CLOSED_BY, annotations
    body = env.kustomization("another", "./apps")
    apply_it = {"apiVersion": KUSTOMIZE, "kind": "Kustomization", "metadata": {"name": APPS}}
    for key in (own, note):
        body["metadata"]["annotations"] = {key: "{}"}
        assert (
            refused(env.api, env, lambda api, space: api.create("kustomizations", space, body))
            == CLOSED_BY
        )
        apply_it["metadata"]["annotations"] = {key: "forged"}
        assert (
            refused(
                env.api,
                env,
                lambda api, space: api.apply("kustomizations", space, apply_it, "anna"),
            )
            == CLOSED_BY
        )
    assert refused(account, env, patch(metadata={"annotations": {note: "{}"}})) == FIELD
    in_git = env.kustomization(APPS, "./apps")
    in_git["metadata"]["annotations"] = {own: '{"policy": "forged"}'}
    env.write("cluster/apps.yaml", in_git)
    env.commit("Forge the annotation")
    eventually(
        "Flux reports it",
        lambda: CLOSED_BY in str(env.api.get("kustomizations", env.name, "fleet")["status"]),
    )
    assert "forged" not in env.target()["metadata"]["annotations"][own]


def test_an_annotation_may_be_removed(env: Environment, account: Api) -> None:
    """What does not touch the annotation passes, whoever asks.

    Removing it makes the suspension a person's.
    """
    own = annotation(f"{env.name}/windows")
    patch("anna", spec={"wait": True}, metadata={"labels": {"tried": "yes"}})(env.api, env.name)
    status: Object = {"status": {"lastAttemptedRevision": "main@sha1:0"}}
    env.api.patch("kustomizations", env.name, f"{APPS}/status", status)
    assert env.closed()
    patch("anna", metadata={"annotations": {own: None}})(env.api, env.name)
    assert (env.suspended(), env.annotated()) == (True, False)
    assert refused(account, env, annotate) == FIELD


def test_a_policy_writes_its_own_annotation_alone(env: Environment, neighbour: Environment) -> None:
    """Two policies on one cluster: neither gate may write the other's annotation.

    Each may remove a stale one.
    """
    for each in (env, neighbour):
        each.begin()
        each.policy({"windows": {"later": far_window().spec}})
    for each, other in ((env, neighbour), (neighbour, env)):
        each.eventually_closed()
        gate = token(each)
        eventually(
            "the policy is in force",
            lambda gate=gate, each=each: refused(gate, each, annotate) == FIELD,
        )
        foreign = annotation(f"{other.name}/windows")
        assert refused(gate, each, patch(metadata={"annotations": {foreign: "{}"}}))
        gate.close()
    stale = annotation("gone/windows")
    patch("anna", metadata={"annotations": {stale: "{}"}})(env.api, env.name)
    gate = token(env)
    patch(metadata={"annotations": {stale: None}})(gate, env.name)
    gate.close()
    assert stale not in env.target()["metadata"]["annotations"]


@pytest.mark.usefixtures("account")
def test_a_renamed_gate_still_writes_its_annotations(env: Environment) -> None:
    """`namePrefix` renames the account and no text.

    Windows must go on, and another account gains nothing by it.
    """
    own = annotation(f"{env.name}/windows")
    rename = patch(
        metadata={"annotations": {own: env.target()["metadata"]["annotations"][own] + " "}}
    )
    for name, said in (("site-windows", CLOSED_BY), ("site-windows-gate", "")):
        env.api.create("serviceaccounts", env.name, {"metadata": {"name": name}})
        binding = {
            "metadata": {"name": name},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": "windows-gate",
            },
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": env.name}],
        }
        env.api.create("rolebindings", env.name, binding)
        renamed = token(env, name)
        eventually(
            f"{name} is judged",
            lambda renamed=renamed, said=said: refused(renamed, env, rename) == said,
        )
        renamed.close()


def test_former_names_are_kept_too(env: Environment) -> None:
    """The annotations of former names are the policy's own: nobody else may write them."""
    env.begin()
    former = f"{env.name}/before"
    env.policy({"windows": {"later": far_window().spec}, "formerNames": [former]})
    env.eventually_closed()
    for key in (annotation(former), annotation(former, HOOKS)):
        eventually(
            "it is refused", lambda key=key: refused(env.api, env, rehearse(key)) == CLOSED_BY
        )
    gate = token(env)
    assert refused(gate, env, patch(metadata={"annotations": {annotation(former): "{}"}})) == FIELD
    gate.close()


@pytest.mark.long
def test_the_gate_works_under_it(env: Environment) -> None:
    """A window opens and closes again, while Flux writes the status and delivers commits."""
    env.begin()
    opening = window(after=75)
    env.policy({"windows": {"next": opening.spec}})
    env.eventually_closed()
    env.release("2")
    sleep_until(opening.opens)
    env.eventually_open()
    env.eventually_applied("2")
    sleep_until(opening.closes)
    env.eventually_closed()
    assert not env.says("denied request")


@pytest.mark.long
def test_kubectl_works_under_it(env: Environment) -> None:
    """The actuator `Kubectl` closes and opens; its account is held as the gate's is.

    It has no annotation to write.
    """
    env.begin()
    opening = window(after=75, length=4, zone=STEADY_ZONE)
    env.policy(kubectl_policy(opening))
    env.eventually_delivered()
    as_account = token(env)
    eventually("the policy is in force", lambda: refused(as_account, env, annotate) == FIELD)
    own = annotation(f"{env.name}/windows")
    assert refused(as_account, env, patch(metadata={"annotations": {own: "{}"}})) == FIELD
    assert (
        refused(as_account, env, rewrite(lambda entries: entries.append(made(GATE, "Apply"))))
        == OWNERS
    )
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

"""`extras: [AdmissionPolicy]` on the real API server: the gate works, and its account can do nothing else."""

import time
from collections.abc import Callable, Iterator

import pytest
from lab.api import Api, ApiError, Object
from telling import APPS, Story, eventually, far_window, sleep_until, window

pytestmark = pytest.mark.usefixtures("admission")
SAID = "may change nothing here but spec.suspend and its own annotations"
MARK = "closed-by.krm-windows.dev/0123456789abcdef"
Deed = Callable[[Api, str], object]


@pytest.fixture
def account(story: Story) -> Iterator[Api]:
    """The API as the policy's account may use it, the policy being closed and held to its field."""
    story.begin()
    story.policy({"extras": ["AdmissionPolicy"], "windows": {"later": far_window().spec}})
    story.eventually_closed()
    where = f"api/v1/namespaces/{story.name}/serviceaccounts/windows-gate/token"
    answer = story.api.ask("POST", where, {"spec": {}})
    as_account = Api(answer["status"]["token"])
    eventually("the policy is in force", lambda: refuses(as_account, story, annotate))
    yield as_account
    as_account.close()


def annotate(api: Api, namespace: str) -> object:
    """Change an annotation of the target that is not the gate's."""
    return patch(metadata={"annotations": {"tried": str(time.time_ns())}})(api, namespace)


def patch(**change: object) -> Deed:
    """Return the deed of patching the target."""
    return lambda api, namespace: api.patch("kustomizations", namespace, APPS, change, manager="krm-windows")


def claim(manager: str, operation: str) -> Deed:
    """Return the deed of claiming that a manager owns what it does not, for Flux to remove what is not in Git."""
    fields = {"f:metadata": {"f:annotations": {"f:krm-windows.dev/hold": {}}}, "f:spec": {"f:timeout": {}}}
    entry = {
        "manager": manager,
        "operation": operation,
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return patch(metadata={"managedFields": [entry]})


REFUSED: dict[str, Deed] = {
    "change the path": patch(spec={"path": "./elsewhere"}),
    "change the path beside what it may": patch(spec={"path": "./elsewhere", "suspend": False}),
    "remove a field": patch(spec={"targetNamespace": None}),
    "add a field": patch(spec={"force": True}),
    "label it": patch(metadata={"labels": {"tried": "yes"}}),
    "annotate it": annotate,
    "lift a hold": patch(metadata={"annotations": {"krm-windows.dev/hold": None}}),
    "keep it from going": patch(metadata={"finalizers": ["tried.example.com/yes"]}),
    "claim that Flux applied more": claim("kustomize-controller", "Apply"),
    "claim that kubectl wrote more, which Flux takes over": claim("kubectl-edit", "Update"),
}


def test_everything_but_its_field_is_refused(story: Story, account: Api) -> None:
    """RBAC allows each of these patches, and the admission policy refuses it with 403."""
    held: Object = {"metadata": {"annotations": {"krm-windows.dev/hold": "anna"}}}
    story.api.patch("kustomizations", story.name, APPS, held)
    for words, deed in REFUSED.items():
        assert refuses(account, story, deed), words
    target = story.target()
    assert (target["spec"]["path"], target["spec"]["suspend"]) == ("./apps", True)


def test_rights_that_are_too_wide_are_held_too(story: Story, account: Api) -> None:
    """Somebody has made the account an administrator of its namespace: it still creates and deletes no target."""
    binding = {
        "metadata": {"name": "too-wide"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "windows-gate", "namespace": story.name}],
    }
    story.api.create("rolebindings", story.name, binding)
    eventually("the rights are there", lambda: may_list(account, story.name))
    assert refuses(account, story, lambda api, namespace: api.delete("kustomizations", namespace, APPS))
    another = story.kustomization("another", "./elsewhere")
    assert refuses(account, story, lambda api, namespace: api.create("kustomizations", namespace, another))
    status: Object = {"status": {"lastAppliedRevision": "main@sha1:0"}}
    assert refuses(
        account, story, lambda api, namespace: api.patch("kustomizations", namespace, f"{APPS}/status", status)
    )


def test_it_turns_its_field_and_nobody_else_is_held(story: Story, account: Api) -> None:
    """It turns its field and writes its marks, and others write what they like."""
    for suspend in (False, True):
        marks = {MARK: "{}" if suspend else None}
        patch(spec={"suspend": suspend}, metadata={"annotations": marks})(account, story.name)
        assert story.suspended() is suspend
    patch(metadata={"labels": {"tried": "yes"}})(story.api, story.name)


def test_many_hands_do_not_keep_it_from_its_field(story: Story, account: Api) -> None:
    """Where more have changed a target than the API server remembers, it joins the oldest, and that is no claim."""
    for hand in [f"hand-{number}" for number in range(12)]:
        here: Object = {"metadata": {"annotations": {hand: "here"}}}
        story.api.patch("kustomizations", story.name, APPS, here, manager=hand)
    for suspend in (False, True):
        patch(spec={"suspend": suspend}, metadata={"annotations": {MARK: "{}"}})(account, story.name)
    managers = [entry["manager"] for entry in story.target()["metadata"]["managedFields"]]
    assert "ancient-changes" in managers
    assert story.suspended()


@pytest.mark.long
def test_the_gate_works_under_it(story: Story) -> None:
    """A window opens and closes again, while Flux writes the target's status and delivers commits."""
    story.begin()
    opening = window(after=75)
    story.policy({"extras": ["AdmissionPolicy"], "windows": {"next": opening.spec}})
    story.eventually_closed(within=75)
    story.release("2")
    sleep_until(opening.opens)
    story.eventually_open()
    story.eventually_applied("2")
    sleep_until(opening.closes)
    story.eventually_closed()
    assert not story.says("denied request")


def may_list(account: Api, namespace: str) -> bool:
    """Say whether the account may list targets, as no emitted Role allows it to."""
    try:
        return bool(account.items("kustomizations", namespace))
    except ApiError:
        return False


def refuses(account: Api, story: Story, deed: Deed) -> bool:
    """Say whether the API server refuses a deed, in the words of the admission policy."""
    try:
        deed(account, story.name)
    except ApiError as error:
        return error.status == 403 and SAID in str(error)
    return False

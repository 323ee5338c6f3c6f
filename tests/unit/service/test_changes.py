"""Policies changed over HTTP: one commit each, with the caller as author, or nothing at all."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from effort import mostly_slow

POLICY_PATH = "/policies/flux-system/week"
LATER = {"spec": {"windows": {"week": {"closes": "Fri 12:00"}}}}
WRONG = {"spec": {"windows": {"week": {"closes": "Xri 12:00"}}}}
MERGE = "application/merge-patch+json"
IDENTITY = {
    "apiVersion": "krm-windows.dev/v1alpha1",
    "kind": "WindowPolicy",
    "metadata": {"name": "week", "namespace": "flux-system"},
}
Client = Any
Commit = Any
Serve = Any
Git = Any


def patch(client: Client, body: object, tag: str, query: str = "") -> Any:  # noqa: ANN401
    return client.ask("PATCH", f"{POLICY_PATH}{query}", body, if_match=tag, content_type=MERGE)


def read(client: Client) -> Any:  # noqa: ANN401
    return client.ask("GET", POLICY_PATH)


def test_a_patch_becomes_one_commit(client: Client, git: Git, repository: Path) -> None:
    before = git("show", "HEAD:clusters/week.yaml")
    done = patch(client, LATER, read(client).tag, "?reason=Later%20on%20Fridays")
    assert done.status == 200
    answer = done.json()
    assert answer["written"]
    assert answer["commit"] == git("rev-parse", "main").strip()
    assert [each["cluster"] for each in answer["differences"]] == ["north", "south"]
    assert git("log", "-1", "--format=%an <%ae> %s").strip() == (
        "Ada <ada@example.com> Later on Fridays"
    )
    after = git("show", "HEAD:clusters/week.yaml")
    changed = [line for line in after.splitlines() if line not in before.splitlines()]
    assert changed == ['    week: {opens: Mon 08:00, closes: "Fri 12:00"} # no deploys on Fridays']
    assert git("status", "--porcelain") == ""
    assert (repository / "clusters/week.yaml").read_text() == after
    # What is read is what was written; of the whole as JSON, only what differs is written.
    found = read(client)
    assert found.tag == done.tag
    assert patch(client, LATER, found.tag).json()["written"] is False
    policy = found.json()
    policy["spec"]["timeZone"] = "Europe/Paris"
    assert client.ask("PUT", POLICY_PATH, policy, if_match=found.tag).status == 200
    changed = git("show", "--format=", "--numstat", "HEAD").split()
    assert changed == ["1", "1", "clusters/week.yaml"]


@pytest.mark.parametrize(("name", "committer"), [("Bot", "Bot"), ("<b>", "krm-windows")])
def test_whom_git_names_makes_the_commit(
    name: str, committer: str, client: Client, git: Git
) -> None:
    git("config", "user.name", name)
    assert patch(client, LATER, read(client).tag).status == 200
    assert git("log", "-1", "--format=%cn by %an").strip() == f"{committer} by Ada"


def test_another_version_is_not_overwritten(client: Client, git: Git) -> None:
    tag = read(client).tag
    refused = [
        ({}, 428),
        *(({"if_match": each}, 412) for each in ('"0"', 'W/"0"', '"*"', tag[:-2])),
    ]
    refused.append(({"if_match": tag, "if_none_match": "*"}, 400))
    for sent, status in refused:
        done = client.ask("PATCH", POLICY_PATH, LATER, content_type=MERGE, **sent)
        assert done.status == status, sent
        assert done.headers["content-type"] == "application/problem+json"
    assert git("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.parametrize("form", ["W/{}", "{0}, {0}", '"0", W/{}', "*", "unquoted"])
def test_each_way_to_name_the_version(form: str, client: Client) -> None:
    """A proxy that compresses makes a tag weak, and some clients take its quotes away."""
    tag = read(client).tag
    sent = tag.strip('"') if form == "unquoted" else form.format(tag)
    assert patch(client, LATER, sent).status == 200


def test_a_parameter_that_nobody_reads_changes_nothing(client: Client, git: Git) -> None:
    for method, path in (("PATCH", ""), ("DELETE", "/overrides/x")):
        url = f"{POLICY_PATH}{path}?clustr=north"
        done = client.ask(method, url, LATER, if_match="*", content_type=MERGE)
        assert done.status == 400
        known = "(known: cluster, file, reason)"
        assert f"parameter 'clustr' {known}; did you mean \"cluster\"?" in done.json()["detail"]
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_reason_that_nobody_sees_is_none(client: Client) -> None:
    for reason in ("\u200b", " \u00ad\u3164"):
        sent = {"state": "open", "for": "2h", "reason": reason}
        done = client.ask("POST", f"{POLICY_PATH}/overrides", sent)
        assert done.status == 422, reason
        assert "must not be empty" in done.json()["findings"][0]["message"]


def test_a_wrong_change_is_refused_with_its_findings(client: Client, git: Git) -> None:
    done = patch(client, WRONG, read(client).tag)
    assert done.status == 422
    [found] = done.json()["findings"]
    assert found["rule"] == "moment-syntax"
    assert found["field"]["path"] == "spec.windows.week.closes"
    assert (found["file"], found["line"]) == ("clusters/week.yaml", 11)
    assert git("rev-list", "--count", "HEAD").strip() == "1"
    assert git("status", "--porcelain") == ""


def test_a_new_policy_gets_a_file(client: Client, git: Git, repository: Path) -> None:
    policy = read(client).json()
    policy["metadata"]["name"] = "night"
    policy["spec"]["targets"][0]["names"] = ["night"]
    done = client.ask("PUT", "/policies/flux-system/night", policy, if_none_match="*")
    assert done.status == 201
    assert git("status", "--porcelain") == ""
    assert (repository / "flux-system-night.yaml").exists()
    again = client.ask("PUT", "/policies/flux-system/night", policy, if_none_match="*")
    assert again.status == 412
    policy["metadata"]["name"] = "other"
    policy["spec"]["targets"][0]["names"] = ["other"]
    for file, status in (("night.yaml", 400), ("flux-system-other.yaml", 201)):
        path = f"/policies/flux-system/other?file={file}"
        assert client.ask("PUT", path, policy, if_none_match="*").status == status


def test_a_new_policy_gates_nothing_that_another_gates(client: Client) -> None:
    new = read(client).json()
    new["metadata"]["name"] = "new"
    path = "/policies/flux-system/new"
    for clusters, status, rules in (
        ({"north": {}}, 422, ["two-policies"]),
        ({"east": {}}, 201, []),
        (None, 201, ["two-policies-unclear"]),
    ):
        new["spec"]["clusters"] = clusters
        asked = client.ask("POST", f"{path}/preview", new).json()
        done = client.ask("PUT", path, new, if_none_match="*")
        for answer in (asked, done.json()):
            assert [each["rule"] for each in answer["findings"]] == rules
        assert (done.status, asked["writable"]) == (status, status == 201)
        if status == 201:
            assert client.ask("DELETE", path, if_match=done.tag).status == 200


def test_why_a_change_moves_no_hour_yet_is_said(client: Client) -> None:
    freeze = {"starts": "2099-12-24", "ends": "2099-12-27", "reason": "r"}
    for body, said in (
        ({"spec": {"freezes": {"x": freeze}}}, "The freeze x (r) first holds on Thu 2099-12-24"),
        (LATER, ""),
    ):
        asked = client.ask("POST", f"{POLICY_PATH}/preview", body, content_type=MERGE).json()
        done = patch(client, body, read(client).tag).json()
        assert done.get("summary") == asked.get("summary")
        assert asked.get("summary", "").startswith(said)
        assert bool(said) is ("summary" in asked)


def test_a_new_policy_is_previewed(client: Client, git: Git) -> None:
    made = {**read(client).json(), "metadata": {"name": "new", "namespace": "apps"}}
    wrong = {**made, "spec": {**made["spec"], "windows": {"week": {"opens": "Xri"}}}}
    for body, writable in ((made, True), (wrong, False)):
        done = client.ask("POST", "/policies/apps/new/preview", body)
        assert done.status == 200, done.body
        found = done.json()
        assert (found["policy"], found["file"]) == ("apps/new", "apps-new.yaml")
        assert (found["writable"], found["changes"]) == (writable, True)
        assert bool(found["findings"]) is not writable
        assert "etag" not in done.headers
    missing = client.ask("POST", "/policies/apps/new/preview", {}, content_type=MERGE)
    assert missing.status == 404
    assert client.ask("POST", "/policies/apps/other/preview", made).status == 409
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_delete_takes_the_document_alone(client: Client, git: Git) -> None:
    done = client.ask("DELETE", POLICY_PATH, if_match=read(client).tag)
    assert done.status == 200
    assert "ConfigMap" in git("show", "HEAD:clusters/week.yaml")
    assert read(client).status == 404
    assert git("status", "--porcelain") == ""


def test_an_override_is_made_listed_and_ended(client: Client, git: Git) -> None:
    wanted = {"state": "open", "for": "2h", "reason": "fix the press", "cluster": "north"}
    done = client.ask("POST", f"{POLICY_PATH}/overrides", wanted)
    assert done.status == 201
    name = done.json()["override"]
    assert git("log", "-1", "--format=%s").strip() == "fix the press"
    # Nobody renders here, so it is unknown whether anything is to be rendered.
    assert (done.json()["missing"], done.json()["rendered"]) == (["push", "reconcile"], None)
    [listed] = client.ask("GET", f"{POLICY_PATH}/overrides").json()["overrides"]
    assert (listed["name"], listed["phase"], listed["cluster"]) == (name, "active", "north")
    state = client.ask("GET", f"{POLICY_PATH}/state?cluster=north").json()
    assert (state["inGit"], state["inCluster"]) == (True, None)
    assert state["open"]
    assert state["rule"] == f"overrides.{name}"
    ended = client.ask("DELETE", f"{POLICY_PATH}/overrides/{name}?cluster=north")
    assert ended.status == 200
    assert git("log", "-1", "--format=%s").strip().endswith(" on north")
    assert client.ask("GET", f"{POLICY_PATH}/overrides").json()["overrides"] == []
    assert git("status", "--porcelain") == ""


def test_an_override_is_planned(serve: Serve, git: Git) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    wanted = {"state": "open", "for": "2h", "reason": "Audit", "requestedBy": "Ada", "ticket": "T"}
    for starts, status in (("2026-11-23T09:00", 422), ("soon", 422), ("2026-12-24T20:00", 201)):
        asked = {**wanted, "from": starts}
        assert client.ask("POST", f"{POLICY_PATH}/overrides", asked).status == status, starts
    for wrong in ({"from": "2027-03-28T02:30"}, {"until": "25:00"}, {"until": "2026-11-22"}):
        asked = {"state": "open", "reason": "Audit", "until": "2028-01-01", **wrong}
        refused = client.ask("POST", f"{POLICY_PATH}/overrides", asked)
        [(field, given)] = wrong.items()
        assert refused.json()["detail"].startswith(f"{field}: {given!r} is "), refused.body
    [listed] = client.ask("GET", f"{POLICY_PATH}/overrides").json()["overrides"]
    assert (listed["phase"], listed["requestedBy"], listed["ticket"]) == ("coming", "Ada", "T")
    assert listed["begins"] == "2026-12-24T19:00:00+00:00"
    assert "2026-12-24T22:00+01:00" in git("show", "HEAD:clusters/week.yaml")
    # Both days are said today.
    asked = {"state": "open", "reason": "Audit", "from": "tomorrow 06:00", "name": "morning"}
    asked["until"] = "tomorrow 08:00"
    assert client.ask("POST", f"{POLICY_PATH}/overrides", asked).status == 201
    assert 'ends: "2026-11-24T08:00+01:00"' in git("show", "HEAD:clusters/week.yaml")


def test_a_file_that_a_kustomization_names_is_not_removed(
    client: Client, git: Git, repository: Path, commit: Commit
) -> None:
    """The next build would fail, and nobody would know why."""
    policy = read(client).json()
    policy["metadata"]["name"] = "night"
    policy["spec"]["targets"][0]["names"] = ["night"]
    made = client.ask("PUT", "/policies/flux-system/night", policy, if_none_match="*")
    commit({"kustomization.yaml": "transformers:\n- ./flux-system-night.yaml # windows\n"})
    client.windows.refresh()
    done = client.ask("DELETE", "/policies/flux-system/night", if_match=made.tag)
    assert done.status == 409
    assert "kustomization.yaml names" in done.json()["detail"]
    commit({"kustomization.yaml": "resources: []\n"})
    done = client.ask("DELETE", "/policies/flux-system/night", if_match=made.tag)
    assert done.status == 200
    assert git("status", "--porcelain") == ""
    assert not (repository / "flux-system-night.yaml").exists()


# Up to the limit of a text (200), beyond it, and where a recursion of Python ends.
@pytest.mark.parametrize("depth", mostly_slow([200, 199, 201, 400, 100_000], every=4))
def test_what_is_nested_too_deeply_is_refused(client: Client, git: Git, depth: int) -> None:
    """Whatever the depth is, it is the caller's mistake and no failure of the service."""
    before, tag = git("rev-parse", "main"), read(client).tag
    nested = b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)
    whole = json.dumps(IDENTITY).encode()[:-1] + b', "spec": ' + nested + b"}"
    for method, path, kind, text in (
        ("PATCH", "", MERGE, whole),
        ("PATCH", "?cluster=north", MERGE, nested),
        ("POST", "/overrides", "application/json", nested),
        ("PUT", "", "application/json", whole),
        ("POST", "/preview", MERGE, nested),
    ):
        answer = client.ask(method, f"{POLICY_PATH}{path}", text, if_match=tag, content_type=kind)
        assert answer.status in (400, 422) or path == "/preview", answer.json()
        assert answer.status < 500
        if depth > 200:
            assert answer.json()["detail"] == "the body is nested too deeply"
    assert git("rev-parse", "main") == before

"""What a caller may change: hours with the scope `write`, and all else with `admin` alone."""

import html
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from catalogue import schema
from effort import mostly_slow

from krm_windows.policy.model import WindowPolicy
from krm_windows.service.access import Caller, Scope
from krm_windows.service.permissions import HOURS
from krm_windows.service.proposals import PullRequests
from krm_windows.system.git_branch import Person

Client = Any
Git = Any

PATH = "/policies/flux-system/full"
FORM = "application/x-www-form-urlencoded"
MERGE = "application/merge-patch+json"
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: full
  namespace: flux-system
  labels: {version: 1.10}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows:
    week: {opens: Mon 08:00, closes: Thu 17:00, cronJobs: {open: old-open}}
    night: {opens: daily 22:00, duration: 2h}
  freezes:
    christmas: {starts: "2030-12-20", ends: "2031-01-03", reason: Year end}
  overrides:
    fix: {state: Open, starts: "2030-12-22T09:00", ends: "2030-12-22T12:00", reason: Patch}
  actuator:
    image: python:3.12.10-slim
  clusters:
    north: {}
    south:
      windows: {week: {opens: Tue 08:00}}
      interval: 30m
"""
# Written once more, and not read from the table: who adds a row to it says it here, too.
HOUR_FIELDS = {
    "timeZone",
    "outsideWindows",
    "state",
    "closesEarly",
    "windows.*.opens",
    "windows.*.closes",
    "windows.*.duration",
    "windows.*.description",
    "freezes.*.starts",
    "freezes.*.ends",
    "freezes.*.duration",
    "freezes.*.reason",
    "overrides.*.state",
    "overrides.*.starts",
    "overrides.*.ends",
    "overrides.*.reason",
    "overrides.*.requestedBy",
    "overrides.*.ticket",
}
Serve = Callable[..., Any]


@pytest.fixture
def repository(repository: Any) -> Any:  # noqa: ANN401
    (repository / "clusters/full.yaml").write_text(POLICY)
    return repository


def caller(*scopes: Scope) -> Caller:
    return Caller("eve", Person("Eve", "eve@example.com"), frozenset(scopes))


WRITER = caller(Scope.READ, Scope.WRITE)
ADMIN = caller(Scope.ADMIN)


def fields(node: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    below = dict(node.get("properties", {}))
    if isinstance(node.get("additionalProperties"), dict):
        below["*"] = node["additionalProperties"]
    for name, part in below.items():
        yield (*path, name)
        yield from fields(part, (*path, name))


EVERY = sorted(set(fields(schema.tree(WindowPolicy))) - {("spec",)})
# What holds other fields is changed by those.
MAPS = {path[:-1] for path in EVERY}
LEAVES = [path for path in EVERY if path not in MAPS]


def change_of(path: tuple[str, ...]) -> dict[str, Any]:
    names = {"windows": "night", "freezes": "christmas", "overrides": "fix", "clusters": "north"}
    found: Any = "changed"
    for i in range(len(path) - 1, -1, -1):
        found = {names.get(path[i - 1], "any") if path[i] == "*" else path[i]: found}
    return found


def test_hours_are_the_listed_ones() -> None:
    def walk(table: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401
        for name, below in table.items():
            if below is None:
                yield f"{path}{name}"
            else:
                yield from walk(below, f"{path}{name}.")

    assert set(walk(HOURS)) == HOUR_FIELDS
    assert {f"spec.{field}" for field in HOUR_FIELDS} <= {".".join(path) for path in LEAVES}
    page = (ROOT / "docs/how-to/run-the-service.md").read_text()
    [row] = [line for line in page.splitlines() if line.startswith("| `write` |")]
    assert set(re.findall(r"`(\w+)`", row)) - {"write"} == set(HOURS)


# A field that nobody has heard of yet, at every place where one may come.
NEW = [("brandNew",), ("spec", "brandNew"), *((*path, "brandNew") for path in sorted(MAPS) if path)]
# Another name is another object: that is refused to all.
IDENTITY = {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}


@pytest.mark.slow
@pytest.mark.parametrize("scope", [Scope.WRITE, Scope.READ, Scope.ADMIN])
def test_a_field_takes_its_scope(scope: Scope, serve: Serve, git: Git) -> None:
    client = serve(caller(scope))
    wrong: list[str] = []
    for path in sorted({*LEAVES, *NEW} - IDENTITY):
        patch = change_of(path)
        patches = [(patch, "")]
        if path[0] == "spec":
            patches.append(({"spec": {"clusters": {"north": patch["spec"]}}}, ""))
            patches.append((patch["spec"], "?cluster=north"))
        is_hours = path[0] == "spec" and ".".join(path[1:]) in HOUR_FIELDS
        needed = Scope.WRITE if is_hours else Scope.ADMIN
        # A dry run may be asked by who reads, for what needs no more than `write`.
        dry = Scope.READ if is_hours else Scope.ADMIN
        for each, query in patches:
            # `changed` is no value of most fields: that is found later, and said with 422.
            done = client.patch(f"{PATH}{query}", each).status
            if (done != 403) is not (scope in (needed, Scope.ADMIN)):
                wrong.append(f"{done}: {each} {query}")
            done = client.ask("POST", f"{PATH}/preview{query}", each, content_type=MERGE).status
            if (done != 403) is not (scope in (dry, Scope.ADMIN)):
                wrong.append(f"preview {done}: {each} {query}")
        git("reset", "--quiet", "--hard", "HEAD")
    assert wrong == []


ROOT = Path(__file__).parents[3]
JSON = "application/json"
IMAGE = "evil.example/x:1"
ENDED = {"opens": "Mon 08:00", "closes": "Thu 17:00"}
PINNED = {"actuator": {"image": "python:3.12.10-slim"}}
# What is refused for the fields that it changes, whoever looks at how it is written.
PATCHES: dict[str, dict[str, Any]] = {
    "an image": {"actuator": {"image": IMAGE}},
    "with hours": {"state": "Open", "actuator": {"image": IMAGE}},
    "a null": {"actuator": None},
    "the same again for a cluster": {"clusters": {"north": PINNED}},
    "a merge key in JSON": {"windows": {"night": {"<<": {"cronJobs": {"open": "x"}}}}},
    "an empty map": {"hooks": {}},
    "an empty list": {"released": []},
    "all windows, with their jobs": {"windows": {"week": None, "new": ENDED}},
    "no map of windows": {"windows": ["week"]},
    "a cluster more": {"clusters": {"west": {"windows": {"week": ENDED}}}},
    "a cluster less": {"clusters": {"north": None}},
    "no clusters": {"clusters": None},
    "a list for a cluster": {"clusters": {"north": [1]}},
    "clusters of a cluster": {"clusters": {"north": {"clusters": {"a": {"state": "Open"}}}}},
    "a field that moves to a cluster": {"actuator": None, "clusters": {"south": PINNED}},
    "one that moves from a cluster": {"interval": "30m", "clusters": {"south": {"interval": None}}},
}
WHOLE: dict[str, dict[str, Any]] = {
    "no spec": {"spec": None},
    "an annotation": {"metadata": {"annotations": {"config.kubernetes.io/function": "exec: {}"}}},
    "a number as text": {"metadata": {"labels": {"version": "1.10"}}},
}


def document(name: str = "full", **changed: object) -> dict[str, Any]:
    policy = yaml.load(POLICY, yaml.CSafeLoader)
    policy["metadata"]["name"] = name
    policy["spec"] |= changed
    return dict(policy)


REFUSED: dict[str, tuple[str, str, object]] = {
    **{name: ("PATCH", MERGE, {"spec": patch}) for name, patch in PATCHES.items()},
    **{name: ("PATCH", MERGE, patch) for name, patch in WHOLE.items()},
    "a null for later": ("PUT", JSON, document(clusters={"south": {"hooks": None}})),
    "a whole document": ("PUT", JSON, document(actuator={})),
    "a removal": ("DELETE", JSON, b""),
}
SPLIT = "x\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: evil}\n"


def beyond_hours(text: str) -> Any:  # noqa: ANN401
    every = list(yaml.load_all(text.replace("overrides: null", ""), yaml.CBaseLoader))
    for each in every:
        for part in (each["spec"], *(each["spec"].get("clusters") or {}).values()):
            for path in HOUR_FIELDS:
                first, _, last = path.partition(".*.")
                if not last:
                    part.pop(first, None)
                for named in part.get(first, {}).values() if last else ():
                    named.pop(last, None)
            # Those that hold nothing else.
            for first in ("windows", "freezes", "overrides"):
                part[first] = {name: rest for name, rest in part.get(first, {}).items() if rest}
    return every


@pytest.mark.parametrize("way", mostly_slow(REFUSED, 4))
def test_what_is_no_hours_is_refused(way: str, serve: Serve, git: Git) -> None:
    method, kind, body = REFUSED[way]
    sent = {"content_type": kind, "if_match": "*"}
    before = git("rev-parse", "HEAD")
    done = serve(WRITER).ask(method, PATH, body, **sent)
    assert done.status == 403, done.body
    assert "'admin'" in done.json()["detail"]
    assert git("rev-parse", "HEAD") == before
    if method != "DELETE":
        dry = serve(WRITER).ask("POST", f"{PATH}/preview", body, content_type=kind)
        assert dry.status == 403, dry.body
    assert serve(ADMIN).ask(method, PATH, body, **sent).status in (200, 422)


def test_a_new_policy_takes_admin(serve: Serve, git: Git) -> None:
    targets = [{"kind": "Kustomization", "names": ["new"]}]
    body, url = document("new", targets=targets), "/policies/flux-system/new"
    for scopes, dry, status in (
        ((Scope.READ, Scope.WRITE, Scope.OVERRIDE), 403, 403),
        ((Scope.ADMIN,), 200, 201),
    ):
        client = serve(caller(*scopes))
        assert client.ask("POST", f"{url}/preview", body).status == dry
        assert client.ask("PUT", url, body, if_none_match="*").status == status
    assert git("rev-list", "--count", "HEAD").strip() == "2"


def test_an_override_ends_within_a_year(serve: Serve) -> None:
    client = serve(ADMIN, at=datetime(2030, 12, 1, tzinfo=UTC))
    url, body = f"{PATH}/overrides", {"state": "open", "reason": "fix"}
    until = "2031-12-03"
    assert client.ask("POST", url, {**body, "for": "9999d"}).status == 400
    refused = client.ask("POST", url, {**body, "until": until})
    assert (refused.status, "by 2031-12-02T01:00+01:00" in refused.json()["detail"]) == (422, True)
    assert client.ask("POST", url, {**body, "until": "2031-11-30"}).status == 201
    sent = urlencode({**body, "until": until, "scope": "all"}).encode()
    refused = client.ask("POST", f"/ui{PATH}/override", sent, content_type=FORM)
    assert "an override must end by" in refused.body.decode()


# Texts that look like more than a text.
TEXTS = (
    SPLIT,
    SPLIT.replace("\n", "\u2028"),
    SPLIT.replace("\n", "\x85"),
    f"x, cronJobs: {{open: {IMAGE}}}",
    'x # {"$imagepolicy": "evil:evil"}',
    f"*image\n  actuator: {{image: {IMAGE}}}",
    "!!python/object/apply:os.system [true]",
)


@pytest.mark.parametrize(
    "patch",
    [
        {"windows": {"new": ENDED, "night": None}, "freezes": None},
        {"state": "Closed", "timeZone": "Europe/Paris", "closesEarly": "10m"},
        {"clusters": {"north": {"state": "Closed"}, "south": {"windows": {"night": None}}}},
        {"windows": {f"w{i}": {**ENDED, "description": text} for i, text in enumerate(TEXTS)}},
    ],
    ids=["windows", "state", "clusters", "texts"],
)
def test_hours_are_changed_with_write(patch: dict[str, Any], serve: Serve, git: Git) -> None:
    done = serve(WRITER).patch(PATH, {"spec": patch})
    assert done.status == 200, done.body
    assert done.json()["written"]
    after = git("show", "HEAD:clusters/full.yaml")
    assert beyond_hours(after) == beyond_hours(POLICY)
    assert git("show", "--format=", "--name-only", "HEAD").split() == ["clusters/full.yaml"]


def test_an_override_is_nothing_else(serve: Serve, git: Git) -> None:
    client = serve(caller(Scope.READ, Scope.OVERRIDE))
    for wanted in (
        {"name": "x.actuator.image"},
        {"name": "../actuator"},
        {"name": "x: {}\n  actuator"},
        {"cluster": "north.actuator"},
        {"cluster": "west"},
        {"actuator": {"image": IMAGE}},
        {"reason": SPLIT},
        {"name": "y", "ticket": f"*image\n  actuator: {{image: {IMAGE}}}"},
        {"requestedBy": {"actuator": IMAGE}},
    ):
        body = {"state": "open", "for": "2h", "reason": "fix", "name": "x", **wanted}
        done = client.ask("POST", f"{PATH}/overrides", body)
        assert done.status in (201, 400, 404, 422), wanted
        after = git("show", "HEAD:clusters/full.yaml")
        assert beyond_hours(after) == beyond_hours(POLICY), wanted


def test_an_anchor_of_the_file_carries_nothing(
    serve: Serve, git: Git, commit: Callable[..., str]
) -> None:
    """A text of hours that an image is made of changes alone."""
    text = POLICY.replace("image: python:3.12.10-slim", "image: *image").replace(
        "duration: 2h", 'duration: 2h, description: &image "python:3.12.10-slim"'
    )
    commit({"clusters/full.yaml": text})
    done = serve(WRITER).patch(PATH, {"spec": {"windows": {"night": {"description": IMAGE}}}})
    assert done.status == 200
    after = yaml.load(git("show", "HEAD:clusters/full.yaml"), yaml.CSafeLoader)["spec"]
    assert after["windows"]["night"]["description"] == IMAGE
    assert after["actuator"]["image"] == "python:3.12.10-slim"


def test_the_form_removes_no_more_than_hours(serve: Serve, git: Git) -> None:
    client = serve(WRITER)
    page = html.unescape(client.ask("GET", f"/ui{PATH}/window?window=week").body.decode())
    sent = dict(re.findall(r'type="hidden" name="([^"]+)" value="("[^"]+"|[^"]*)"', page))
    sent |= {
        "opens": "Mon 08:00",
        "closes": "Thu 17:00",
        "reason": "x",
        "remove": "yes",
        "scope": "all",
    }
    before = git("rev-parse", "HEAD")
    done = client.ask(
        "POST", f"/ui{PATH}/window?window=week", urlencode(sent).encode(), content_type=FORM
    )
    assert done.status == 422
    assert "spec.windows.week.cronJobs" in done.body.decode()
    assert git("rev-parse", "HEAD") == before


def test_a_proposal_takes_the_same_scope(serve: Serve, remote: Any) -> None:  # noqa: ANN401
    """A pull request of code is opened for nobody who may change hours alone."""
    assert remote
    client = serve(WRITER, remote="origin", proposals=PullRequests(command="/bin/false"))
    assert client.patch(PATH, {"spec": {"actuator": {"image": IMAGE}}}).status == 403

"""The OpenAPI document: every operation, and every answer, is in it; nothing else is."""

import json
import re
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest
from starlette.routing import Route

from krm_windows.service import description

Client = Any
Git = Any

POLICY = "/policies/flux-system/week"
MERGE = "application/merge-patch+json"
OTHER = {
    "apiVersion": "krm-windows.dev/v1alpha1",
    "kind": "WindowPolicy",
    "metadata": {"name": "other", "namespace": "flux-system"},
    "spec": {},
}
# A request for each operation that works, and requests of which each is wrong in one way.
ASKED: tuple[tuple[str, str, object, dict[str, str]], ...] = (
    ("GET", "/policies", b"", {}),
    ("GET", "/policies?limit=x", b"", {}),
    ("GET", "/policies?what=1", b"", {}),
    ("GET", POLICY, b"", {}),
    ("GET", POLICY, b"", {"accept": "text/plain"}),
    ("GET", "/policies/flux-system/none", b"", {}),
    ("GET", "/policies/..%2F..%2Fetc/passwd", b"", {}),
    ("PUT", POLICY, {}, {"if_match": "*"}),
    ("PUT", POLICY, [], {"if_match": "*"}),
    ("PUT", POLICY, b'{"a": "\\ud800"}', {"content_type": "application/json", "if_match": "*"}),
    ("PUT", POLICY, b"[" * 100_000, {"content_type": "application/json", "if_match": "*"}),
    ("PUT", POLICY, b"\xff\xfe", {"content_type": "application/json", "if_match": "*"}),
    ("PUT", POLICY, b"{}", {"content_type": "text/html"}),
    ("PATCH", POLICY, {"spec": {"windows": None}}, {"if_match": "*", "content_type": MERGE}),
    ("PATCH", POLICY, {"spec": 1}, {"if_match": "*", "content_type": MERGE}),
    ("PATCH", POLICY, {"kind": "Pod"}, {"if_match": "*", "content_type": MERGE}),
    ("PATCH", POLICY, {"metadata": {"x\u0000": 1}}, {"if_match": "*", "content_type": MERGE}),
    ("PATCH", f"{POLICY}?cluster=none", {}, {"if_match": "*", "content_type": MERGE}),
    ("DELETE", POLICY, b"", {}),
    ("POST", f"{POLICY}/preview", {}, {"content_type": MERGE}),
    ("POST", f"{POLICY}/preview?what=maybe", {}, {"content_type": MERGE}),
    ("GET", f"{POLICY}/state", b"", {}),
    ("GET", f"{POLICY}/state?at=0001-01-01T00:00%2B14:00", b"", {}),
    ("GET", f"{POLICY}/state?cluster=none", b"", {}),
    ("GET", f"{POLICY}/calendar?days=3", b"", {}),
    ("GET", f"{POLICY}/calendar?days=3", b"", {"accept": "text/calendar"}),
    ("GET", f"{POLICY}/calendar?from=2999-12-31&days=400", b"", {}),
    ("GET", f"{POLICY}/pending", b"", {}),
    ("GET", f"{POLICY}/pending?cluster=none", b"", {}),
    ("GET", f"{POLICY}/pending?at=2026-12-01T00:00Z", b"", {}),
    ("GET", f"{POLICY}/rendered", b"", {}),
    ("GET", f"{POLICY}/overrides", b"", {}),
    ("POST", f"{POLICY}/overrides", {"state": "open"}, {}),
    ("POST", f"{POLICY}/overrides", {"state": 1, "reason": "r", "for": "2h"}, {}),
    ("POST", f"{POLICY}/overrides", {"state": "open", "reason": "r", "for": "9999999d"}, {}),
    ("POST", f"{POLICY}/overrides", {"state": "open", "reason": "r", "until": "\u0000"}, {}),
    ("POST", f"{POLICY}/overrides", {"state": "open", "reason": "r", "for": "2h"}, {}),
    ("POST", f"{POLICY}/preview?cluster=none", {}, {"content_type": MERGE}),
    ("GET", f"{POLICY}/calendar?cluster=none", b"", {}),
    ("DELETE", f"{POLICY}/overrides/none", b"", {}),
    ("DELETE", f"{POLICY}/overrides/none?cluster=none", b"", {}),
    ("PUT", POLICY, OTHER, {"if_match": "*"}),
    ("POST", f"{POLICY}/preview", OTHER, {}),
    ("GET", f"{POLICY}/calendars", b"", {}),
    ("POST", f"{POLICY}/calendars", b"", {}),
    ("POST", f"{POLICY}/calendars?cluster=none", b"", {}),
    ("DELETE", f"{POLICY}/calendars/none", b"", {}),
    ("GET", "/fleet", b"", {}),
    ("GET", "/calendars/none.ics", b"", {}),
    ("GET", "/healthz", b"", {}),
    ("GET", "/readyz", b"", {}),
    ("GET", "/metrics", b"", {}),
    ("GET", "/openapi.json", b"", {}),
    ("OPTIONS", POLICY, b"", {}),
)

# What is asked of an operation first is asked in the quick tests, too.
FIRST = {(each[0], each[1].partition("?")[0]): each for each in reversed(ASKED)}
OTHERS = [each for each in ASKED if each not in FIRST.values()]


@pytest.mark.parametrize(
    "asked",
    [*FIRST.values(), *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)],
    ids=lambda asked: f"{asked[0]} {asked[1]} {asked[2]!r:.40} {asked[3]}"[:90],
)
def test_every_answer_is_as_documented(
    asked: tuple[str, str, Any, dict[str, str]], client: Client
) -> None:
    method, target, body, headers = asked
    answer = client.ask(method, target, body, **headers)
    assert answer.status != 500
    # A cluster, an override or a policy that is not there; another policy than the path says.
    assert (answer.status == 404) is ("none" in target or "passwd" in target)
    assert answer.status == 409 or body != OTHER
    found = documented(method, target)
    if found is None:
        assert answer.status in (404, 405)
        return
    response = found["responses"][str(answer.status)]
    content = response.get("content", {})
    media_type = answer.headers.get("content-type", "").partition(";")[0]
    assert media_type in content or not answer.body
    if media_type.endswith("json"):
        schema = {
            **content[media_type]["schema"],
            "components": description.document()["components"],
        }
        jsonschema.validate(answer.json(), schema)


def documented(method: str, target: str) -> Any:  # noqa: ANN401
    path = target.partition("?")[0]
    for template, operations in description.document()["paths"].items():  # type: ignore[attr-defined]
        pattern = re.sub(r"\{\w+\}", "[^/]+", template)
        if re.fullmatch(pattern, path):
            return operations.get(method.lower())
    return None


def test_the_document_is_of_the_table_of_routes(client: Client) -> None:
    found = client.ask("GET", "/openapi.json").json()
    assert found == json.loads(json.dumps(description.document()))
    assert {
        (method.upper(), path) for path, every in found["paths"].items() for method in every
    } == {(method, route.path) for route in description.ROUTES for method in route.methods}
    documents = [documented(method, path) for method, path in FIRST]
    assert all(each in documents for every in found["paths"].values() for each in every.values())
    inner = client.application._application
    paths = {route.path for route in inner.routes if isinstance(route, Route)}
    others = paths - {each.path for each in description.ROUTES}
    assert all(path == "/" or path.startswith("/ui/") for path in others), others
    # Its schemas are schemas, and refer to what is there.
    names = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found)))
    assert names <= found["components"]["schemas"].keys()
    for schema in found["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ({"state": "Open"}, '"open"'),
        ({"clusters": ["north"]}, '"cluster"'),
        ({"requested_by": "a"}, '"requestedBy"'),
    ],
)
def test_what_was_meant_is_said(client: Client, wrong: dict[str, object], meant: str) -> None:
    body = {"state": "open", "reason": "r", "for": "2h", **wrong}
    detail = client.ask("POST", f"{POLICY}/overrides", body).json()["detail"]
    assert detail.endswith(f"; did you mean {meant}?")


@pytest.mark.parametrize(
    ("wrong", "detail"),
    [
        ({"state": None}, "state must be 'open' or 'closed'"),
        ({"reason": ""}, "reason must have at least 1 character"),
        ({"reason": 5}, "reason must be a valid string"),
        ({"until": "18:00"}, "an override needs one end: give for, such as 2h, or until"),
        ({"odd": 1}, "odd is not known"),
    ],
)
def test_what_is_wrong_is_said_in_plain_words(
    client: Client, wrong: dict[str, object], detail: str
) -> None:
    body = {"state": "open", "reason": "r", "for": "2h", **wrong}
    answer = client.ask("POST", f"{POLICY}/overrides", body)
    assert (answer.status, answer.json()["detail"]) == (400, detail)


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "the body is not JSON: see line 1, column 1"),
        (b'{"state": "open",\n "state"}', "the body is not JSON: see line 2, column 9"),
        (b'{"state": "open", "state": "closed"}', "'state' comes twice in the body"),
        (b'{"for": 1e999}', "the body is not JSON in UTF-8, or has a number that JSON lacks"),
        (b"[" * 100_000, "the body is nested too deeply"),
    ],
    ids=range(5),
)
def test_of_a_body_it_is_said_where_it_is_no_json(client: Client, body: bytes, detail: str) -> None:
    answer = client.ask("POST", f"{POLICY}/overrides", body, content_type="application/json")
    assert (answer.status, answer.json()["detail"]) == (400, detail)


@pytest.mark.parametrize(
    ("query", "meant"), [("clusters=north", '"cluster"'), ("cluster=nort", "'north'")]
)
def test_what_was_meant_in_an_address_is_said(client: Client, query: str, meant: str) -> None:
    detail = client.ask("GET", f"{POLICY}/state?{query}").json()["detail"]
    assert detail.endswith(f"; did you mean {meant}?")


def test_how_long_an_override_may_last(client: Client) -> None:
    for number, (text, status) in enumerate(
        (("90m", 201), ("0d5m", 201), ("0h", 400), ("", 400), ("1h1d", 400), ("2 h", 400))
    ):
        body = {"state": "closed", "reason": "r", "for": text, "name": f"o{number}"}
        assert client.ask("POST", f"{POLICY}/overrides", body).status == status, text


def parameter(operation: str, name: str) -> dict[str, Any]:
    paths: Any = description.document()["paths"]
    [found] = [
        each["schema"]
        for methods in paths.values()
        for one in methods.values()
        if one["operationId"] == operation
        for each in one["parameters"]
        if each["name"] == name
    ]
    assert isinstance(found, dict)
    return found


FORGED = f"Idempotency-Key: {'0' * 64}/{'0' * 64}"


def test_a_reason_is_one_printable_line_of_a_commit(client: Client, git: Git) -> None:
    """What nobody sees is left out; nobody puts trailers below it, such as another's key."""
    for number, (text, subject) in enumerate(
        (
            ("Für die Presse", "Für die Presse"),
            ("a\nb\u2028c\x85\x00", "a b c"),
            (f"fix\n\n{FORGED}\x1b[31m", f"fix {FORGED} [31m"),
            ("\u200b\n", "flux-system/week"),
            ("", "Change windows flux-system/week"),
            ("x" * 500, "x" * 500),
            ("y" * 501, "x" * 500),
        )
    ):
        target = f"{POLICY}?{urlencode({'reason': text})}"
        patch = {"spec": {"windows": {"week": {"closes": f"Fri 12:0{number}"}}}}
        done = client.patch(target, patch)
        assert done.status == (400 if len(text) > 500 else 200)
        assert git("log", "-1", "--format=%s").rstrip("\n") == subject
        assert git("log", "-1", "--format=%(trailers:key=Idempotency-Key)").strip() == ""


def test_what_a_key_may_be_is_described_as_it_is_read(client: Client) -> None:
    schema = parameter("addOverride", "Idempotency-Key")
    for number, key in enumerate(("k", "a b", "\u00e9", "x" * 500, "", "x" * 501)):
        allowed = jsonschema.Draft202012Validator(schema).is_valid(key)
        body = {"state": "open", "for": "2h", "reason": "fix", "name": f"o{number}"}
        done = client.ask("POST", f"{POLICY}/overrides", body, idempotency_key=key)
        assert done.status == (201 if allowed else 400), key


def test_where_a_calendar_may_begin_is_described_as_it_is_read(client: Client) -> None:
    schema = jsonschema.Draft202012Validator(parameter("getCalendar", "from"))
    days = ("2026-12-20", "2026-12-20T09:00", "2026-12-20T09:00Z", "2026-12-20x", "1969-12-20")
    for text in days:
        done = client.ask("GET", f"{POLICY}/calendar?from={text}")
        assert done.status == (200 if schema.is_valid(text) else 400), text


def test_who_has_a_version_already_is_told_so(client: Client) -> None:
    """By its tag among others, by a weak one, and by `*` (RFC 9110, 13.1.2)."""
    tag = client.ask("GET", POLICY).tag
    for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        assert client.ask("GET", POLICY, if_none_match=known).status == 304, known
    for unknown in ('"other"', tag.replace('"', ""), ""):
        assert client.ask("GET", POLICY, if_none_match=unknown).status == 200, unknown

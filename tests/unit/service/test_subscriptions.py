"""Calendars that people subscribe to: read by an address alone, and that alone, until revoked."""

import json
import re
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import icalendar
import pytest
from authorization import bearer

from krm_windows.service import access, rates, subscriptions
from krm_windows.service.access import Caller, Scope, Ways
from krm_windows.system.git_branch import Person

Client = Any
Commit = Any
Git = Any
Serve = Any

PAGE = "/ui/policies/flux-system/week"
FORM = "application/x-www-form-urlencoded"
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
BOB = Caller("bob", Person("Bob", "bob@example.com"), frozenset({Scope.READ}))


def send(client: Client, target: str, **headers: str) -> Any:  # noqa: ANN401
    target, _, hashed = target.partition("#")
    body = urlencode({"hash": hashed}).encode()
    return client.ask("POST", target, body, content_type=FORM, **headers)


def subscribe(client: Client, query: str = "", **headers: str) -> str:
    """Make an address; return its path."""
    made = send(client, f"{PAGE}/subscribe{query}", **headers)
    assert made.status == 200, made.body
    secure = "s" if client.windows.settings.tlsByProxy else ""
    shown = re.findall(r'"(\w+)://127\.0\.0\.1(/calendars/kw_[\w-]{43}\.ics)"', made.body.decode())
    assert [kind for kind, _ in shown] == [f"http{secure}", "webcal"]
    [path] = {path for _, path in shown}
    return str(path)


def hashes(client: Client, target: str = PAGE) -> list[str]:
    return re.findall(r'name="hash" value="(\w+)"', client.ask("GET", target).body.decode())


def test_an_address_is_read_by_programs_until_it_is_revoked(serve: Serve) -> None:
    client = serve(BOB, at=NOON, tlsByProxy=True)
    address = subscribe(client, "?cluster=south")
    token = address[len("/calendars/") : -len(".ics")]
    found = serve(None, at=NOON).ask("GET", address)
    assert (found.status, found.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    calendar = icalendar.Calendar.from_ical(found.body)
    assert calendar["NAME"] == "flux-system/week on south"
    # From the week that has begun, and for a year.
    events = calendar.walk("VEVENT")
    assert (events[0].start, len(events)) == (datetime(2026, 11, 24, 7, tzinfo=UTC), 53)
    # A program that polls has it already, all day long, after a restart too.
    later = serve(None, at=NOON.replace(hour=20))
    assert later.ask("GET", address, if_none_match=found.tag).status == 304
    assert later.ask("HEAD", address).tag == found.tag
    kept = client.windows.folder / "calendars"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert token not in kept.read_text()
    # Nor is it on the page again; who made it when, and when it was last asked for, is.
    page = client.ask("GET", PAGE).body.decode()
    assert token not in page
    assert "made by bob" in page
    assert "last read on 2026-11-23" in page
    [hashed] = hashes(client)
    assert hashes(client, f"{PAGE}?cluster=north") == []
    after = send(client, f"{PAGE}/subscribe/revoke#{hashed}")
    assert b"Revoked." in client.ask("GET", after.headers["location"].partition("#")[0]).body
    assert serve(None).ask("GET", address).status == 404
    assert hashes(client) == []


def test_whose_an_address_is(serve: Serve) -> None:
    address = subscribe(serve(BOB))
    other = serve(Caller("eve", BOB.person, frozenset({Scope.READ, Scope.WRITE, Scope.OVERRIDE})))
    [hashed] = hashes(serve(BOB))
    assert hashes(other) == []
    answer = send(other, f"{PAGE}/subscribe/revoke#{hashed}")
    assert answer.headers["location"] == f"{PAGE}#subscribe"
    assert serve(None).ask("GET", address).status == 200
    admin = serve()
    assert hashes(admin) == [hashed]
    assert send(admin, f"{PAGE}/subscribe/revoke#{hashed}").status == 303
    assert serve(None).ask("GET", address).status == 404


@pytest.mark.parametrize(
    "tried",
    [
        *("/calendars/{hash}.ics", "/calendars/{token}x.ics", "/calendars/kw_.ics"),
        *("/calendars/.ics", "/calendars/{token}", "/calendars/{token}.ics/", "/calendars/"),
        *("/calendars/x%2F..%2F{token}.ics", "/calendars/%00.ics"),
        *("/calendars/../policies/flux-system/week", "/calendars/{token}.ics?cluster=north"),
        *("/policies/flux-system/week?token={token}", "/policies/flux-system/week", PAGE),
    ],
)
def test_nothing_else_is_read_with_it(
    tried: str, started: Serve, serve: Serve, tmp_path: Path
) -> None:
    """No guess, no hash, no other path; and it is no token of the interface."""
    token = subscribe(serve(BOB))[len("/calendars/") : -len(".ics")]
    (tmp_path / "tokens").touch()
    lines: list[dict[str, Any]] = []
    stranger = started(Ways(tokens=tmp_path / "tokens"), lines)
    target = tried.format(token=token, hash=access.digest(token))
    done = stranger.ask("GET", target, **bearer(token))
    assert done.status in (400, 401, 404), done.body
    assert b"BEGIN" not in done.body
    assert token not in json.dumps(lines)
    assert stranger.ask("POST", f"/calendars/{token}.ics").status == 405


def test_who_guesses_has_to_wait(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 0.0))
    client = serve(BOB)
    address = subscribe(client)
    found = [client.ask("GET", f"/calendars/kw_{number}.ics").status for number in range(70)]
    assert (found[0], found[-1]) == (404, 429)
    assert client.ask("GET", address).status == 200


def test_who_loses_their_token_loses_their_addresses(started: Serve, tmp_path: Path) -> None:
    file, token = tmp_path / "tokens", access.new_token()
    line = access.token_line("bob", "read", token)
    file.write_text(line)
    lines: list[dict[str, Any]] = []
    client = started(Ways(tokens=file), lines)
    address = subscribe(client, **bearer(token))
    assert (lines[-1]["event"], lines[-1]["caller"]) == ("subscribed", "bob")
    assert address[len("/calendars/") : -len(".ics")] not in json.dumps(lines)
    # Nothing is revoked, and nothing is said of it.
    assert send(client, f"{PAGE}/subscribe/revoke#0", **bearer(token)).status == 303
    assert lines[-1]["event"] == "subscribed"
    for text, status in (
        (line.replace("bob", "eve"), 404),
        # Another token of the same person.
        (access.token_line("bob", "read", access.new_token()), 200),
        (line.replace(" read ", " override "), 404),
        ("", 404),
    ):
        file.write_text(f"{text}\n")
        assert client.ask("GET", address).status == status, text


def test_what_is_gone_or_wrong_has_no_calendar(
    serve: Serve, commit: Commit, repository: Path
) -> None:
    client = serve(BOB)
    whole, south = subscribe(client), subscribe(client, "?cluster=south")
    text = (repository / "clusters/week.yaml").read_text()
    for old, new, statuses in (
        ("south:", "west:", (200, 404)),
        ("week # the name", "other", (404, 404)),
        ("Mon 08:00", "Xri 08:00", (409, 200)),
        ("#", "#", (200, 200)),
    ):
        commit({"clusters/week.yaml": text.replace(old, new)})
        client.windows.refresh()
        found = [client.ask("GET", address) for address in (whole, south)]
        assert tuple(answer.status for answer in found) == statuses
        assert not any(b"west" in answer.body for answer in found[1:])


def test_what_was_broken_by_hand_keeps_nobody_from_the_hours(serve: Serve) -> None:
    client = serve(BOB)
    address, kept = subscribe(client), client.windows.folder / "calendars"
    for broken in (kept.read_text()[:-9], "{}", "[{}]", "\x00"):
        kept.write_text(broken)
        page = client.ask("GET", PAGE)
        assert page.status == 200
        assert "the service cannot read them" in page.body.decode()
        for refused in (client.ask("GET", address), send(client, f"{PAGE}/subscribe")):
            assert refused.status == 503
            assert b"mend or remove krm-windows/calendars" in refused.body
            assert str(client.windows.folder).encode() not in refused.body
        assert kept.read_text() == broken


def test_one_person_has_so_many(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscriptions, "MOST", 2)
    client = serve(BOB)
    addresses = [subscribe(client), subscribe(client)]
    refused = send(client, f"{PAGE}/subscribe")
    assert refused.status == 422
    assert "revoke one first, as of flux-system/week" in refused.body.decode()
    # Another person has their own.
    addresses.append(subscribe(serve()))
    assert [client.ask("GET", each).status for each in addresses] == [200] * 3
    assert send(client, f"{PAGE}/subscribe?cluster=none").status == 404


def test_clusters_that_differ_too_much_are_subscribed_to_one_by_one(
    serve: Serve, commit: Commit, repository: Path
) -> None:
    hours = "".join(
        f"    c{number}: {{windows: {{week: {{opens: Tue 08:{number:02}}}}}}}\n"
        for number in range(21)
    )
    text = (repository / "clusters/week.yaml").read_text()
    commit({"clusters/week.yaml": text.replace("    north: {}\n", hours)})
    client = serve(BOB)
    refused = send(client, f"{PAGE}/subscribe")
    assert refused.status == 422
    assert "subscribe to one of them" in refused.body.decode()
    assert hashes(client) == []
    subscribe(client, "?cluster=c7")


@pytest.fixture
def guarded(started: Serve, tmp_path: Path) -> tuple[Client, str]:
    token = access.new_token()
    (tmp_path / "tokens").write_text(access.token_line("bob", "read", token))
    return started(Ways(tokens=tmp_path / "tokens"), []), token


def sign_in(client: Client, token: str, target: str) -> Any:  # noqa: ANN401
    return client.ask("POST", target, urlencode({"token": token}).encode(), content_type=FORM)


def action(answer: Any) -> str:  # noqa: ANN401
    [found] = re.findall(r'action="(/ui/login[^"]*)"', answer.body.decode())
    return found.replace("&amp;", "&")


def test_after_signing_in_one_is_where_one_wanted_to_be(guarded: tuple[Client, str]) -> None:
    client, token = guarded
    for wanted in ("/", f"{PAGE}?cluster=south&days=28", "/?q=a+b&state=open"):
        first = client.ask("GET", wanted)
        assert first.status == 401
        # A typing error on the way is no obstacle.
        again = sign_in(client, "kw_wrong", action(first))
        assert again.status == 401
        done = sign_in(client, token, action(again))
        assert (done.status, done.headers["location"]) == (303, wanted)
    # What was sent with a form is not sent again.
    assert action(send(client, f"{PAGE}/subscribe")) == "/ui/login"


@pytest.mark.parametrize(
    "wanted",
    [
        *("https://evil.example/", "//evil.example/", "/\\evil.example", "\\\\evil.example"),
        *("/%2F/evil.example", "/\t/evil.example", "/\n/evil.example", "javascript:alert(1)"),
        *("///evil.example", "/.//evil.example", "/u\ti//evil.example", " //evil.example", ""),
        *("ui/", "/policies", "/ui/\r\nSet-Cookie: a=b", "/ui\\\\evil.example", "http:/ui/"),
    ],
)
def test_nobody_is_led_elsewhere(wanted: str, guarded: tuple[Client, str]) -> None:
    client, token = guarded
    done = sign_in(client, token, f"/ui/login?{urlencode({'next': wanted})}")
    assert (done.status, done.headers["location"]) == (303, "/")
    # Nor by the form, or a link, of the page.
    page = client.ask("GET", f"/ui/login?{urlencode({'next': wanted})}")
    assert action(page) == "/ui/login"


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ({"proxy": access.Proxy("X-User", ())}, "sign-in, which stands before it"),
        ({"provider": access.Provider("https://id.example.com", "a")}, "https://id.example.com"),
        ({"anonymous": BOB}, "You need not"),
    ],
)
def test_no_token_is_asked_for_where_there_is_none(
    ways: dict[str, Any], words: str, started: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krm_windows.service.keys.Keys.refresh", lambda _: None)
    client = started(Ways(**ways), [])
    for target in ("/ui/login", "/"):
        page = client.ask("GET", target)
        if page.status == HTTPStatus.OK and target == "/":
            continue
        assert words in page.body.decode()
        assert 'name="token"' not in page.body.decode()


def test_a_program_makes_lists_and_revokes_an_address(serve: Serve) -> None:
    client, calendars = serve(BOB), "/policies/flux-system/week/calendars"
    made = client.ask("POST", f"{calendars}?cluster=south")
    assert made.status == 201
    # Never for more than was meant.
    assert client.ask("POST", calendars, {"cluster": "south"}).status == 400
    assert client.ask("GET", made.json()["path"]).status == 200
    assert client.ask("GET", f"{calendars}?cluster=north").json()["calendars"] == []
    [found] = client.ask("GET", calendars).json()["calendars"]
    assert (found["id"], found["cluster"]) == (made.json()["id"], "south")
    assert found["asked"] is not None
    # A stranger neither sees nor revokes it.
    other = serve(Caller("eve", Person("Eve", "eve@example.com"), frozenset({Scope.READ})))
    assert other.ask("GET", calendars).json()["calendars"] == []
    # Nor does its owner under another policy.
    elsewhere = client.ask("DELETE", f"/policies/flux-system/other/calendars/{found['id']}")
    statuses = [each.ask("DELETE", f"{calendars}/{found['id']}").status for each in (other, client)]
    assert [elsewhere.status, *statuses] == [404, 404, 204]
    assert client.ask("GET", made.json()["path"]).status == 404

"""What tells pages that they are out of date: once, for a while, and not to any number of them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest

from krm_windows.service.access import Access
from krm_windows.service.pages import events

Client = Any
Serve = Any
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)


@dataclass
class Stream:
    """A request whose answer goes on, until it ends or the browser is gone."""

    client: Client
    query: dict[str, str]
    sent: list[dict[str, Any]] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self) -> str:
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/ui/events",
            "raw_path": b"/ui/events",
            "query_string": urlencode(self.query).encode(),
            "headers": [(b"host", b"127.0.0.1")],
            "client": ("127.0.0.1", 40000),
            "server": ("127.0.0.1", 80),
        }
        await self.client.application(scope, self.receive, self.send)
        return self.text

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        self.sent.append(message)
        # Something is sent though nothing has happened.
        if message.get("body") == b":\n\n":
            self.waits.set()

    @property
    def text(self) -> str:
        return b"".join(each.get("body", b"") for each in self.sent[1:]).decode()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_LOOK_SECONDS", 0.01)


def shown(client: Client) -> dict[str, str]:
    at = NOW + timedelta(hours=1)
    return {"commit": client.windows.snapshot.commit, "at": at.isoformat()}


def another_commit(client: Client, _: pytest.MonkeyPatch) -> None:
    client.windows.snapshot = replace(client.windows.snapshot, commit="b" * 40)


def an_instant_passes(client: Client, _: pytest.MonkeyPatch) -> None:
    client.windows.time = NOW + timedelta(hours=1)


def it_stops(client: Client, _: pytest.MonkeyPatch) -> None:
    client.windows.stopping.set()


def nobody_is_known(_: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Access, "caller", lambda *_: None)


def an_hour_passes(_: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_LOOK_SECONDS", 0)


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (another_commit, 1),
        (an_instant_passes, 1),
        (it_stops, 0),
        (nobody_is_known, 0),
        (an_hour_passes, 0),
    ],
)
def test_a_stream_ends(
    happens: Callable[[Client, pytest.MonkeyPatch], None],
    told: int,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = serve(at=NOW)

    async def run() -> str:
        stream = Stream(client, shown(client))
        asked = asyncio.create_task(stream.ask())
        await stream.waits.wait()
        assert "changed" not in stream.text
        happens(client, monkeypatch)
        return await asyncio.wait_for(asked, 20)

    assert asyncio.run(run()).count("event: changed\ndata: ") == told


def test_what_is_out_of_date_already_is_told_at_once(serve: Serve) -> None:
    client = serve(at=NOW)
    for query in ({"commit": "a" * 40}, {**shown(client), "at": "2026-11-23T08:59:00Z"}):
        assert "event: changed" in asyncio.run(Stream(client, query).ask())


@pytest.mark.parametrize("most", ["MOST", "MOST_OF_ONE"])
def test_streams_are_bounded_and_one_that_is_gone_makes_room(
    most: str, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serve(at=NOW)
    monkeypatch.setattr(events, most, 2)

    async def run() -> None:
        streams = [Stream(client, shown(client)) for _ in range(2)]
        asked = [asyncio.create_task(each.ask()) for each in streams]
        for each in streams:
            await each.waits.wait()
        refused = Stream(client, shown(client))
        assert "too many pages" in await refused.ask()
        assert refused.sent[0]["status"] == 503
        assert (b"retry-after", b"60") in refused.sent[0]["headers"]
        # Whom it is of counts: all others are followed.
        client.application._application.state.service.streams.update(
            dict.fromkeys(client.application._application.state.service.streams, "eve")
        )
        other = Stream(client, {"commit": "a" * 40})
        await other.ask()
        assert other.sent[0]["status"] == (503 if most == "MOST" else 200)
        for each in streams:
            each.gone.set()
        await asyncio.wait_for(asyncio.gather(*asked), 20)
        asked.clear()
        follower = Stream(client, {"commit": "a" * 40})
        assert "event: changed" in await follower.ask()
        assert follower.sent[0]["status"] == 200
        headers = dict(follower.sent[0]["headers"])
        assert headers[b"content-type"].startswith(b"text/event-stream")
        assert headers[b"cache-control"] == b"no-store"

    asyncio.run(run())

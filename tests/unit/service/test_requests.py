"""What the service asks other servers for: a pull request, and the keys of a provider."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import jwt
import pytest
from effort import crossed
from listening import answering

from krm_windows.service import keys, proposals
from krm_windows.service.keys import Keys, UnreachableError
from krm_windows.service.proposals import Proposed
from krm_windows.system.git_program import RemoteError

Ask = Callable[[str, Path], None]
NO_KEY = jwt.encode({"iss": "x"}, "a" * 64, "HS256", {"kid": "1"})


@contextmanager
def server(status: int, headers: dict[str, str], body: bytes) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []

    def answer(what: str, *_: object) -> tuple[int, dict[str, str], bytes]:
        asked.append(what)
        return status, headers, body

    with answering(answer) as address:
        yield address, asked


def _propose(address: str, folder: Path) -> None:
    (folder / "token").write_text("secret\n")
    forge = proposals.PullRequests(url=address, tokenFile=folder / "token")
    with pytest.raises(RemoteError, match=r"^the pull request failed: ") as raised:
        forge.open(Proposed("head", "main", "title", "body"))
    assert "secret" not in str(raised.value)


def _refused(keys: Keys) -> None:
    keys.refresh()
    with pytest.raises(UnreachableError):
        keys.claims(NO_KEY, "krm-windows")


def _discover(address: str, folder: Path) -> None:
    assert folder
    _refused(Keys(address))


WAYS = (_propose, _discover)


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("status", [302, 307])
def test_a_redirect_is_not_followed(ask: Ask, status: int, tmp_path: Path) -> None:
    """It would take the token, or what is believed, to another host."""
    with (
        server(200, {}, b"{}") as (other, elsewhere),
        server(status, {"Location": f"{other}/x"}, b"{}") as (address, asked),
    ):
        ask(address, tmp_path)
    assert len(asked) == 1
    assert elsewhere == []


BODIES = [b"{}", b"", b"<html>", b"[" * 9999, b'["a"]', b"\xff"]


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize(("status", "body"), crossed([200, 401, 422, 429, 503], BODIES))
def test_an_answer_of_another_kind_is_no_answer(
    ask: Ask, status: int, body: bytes, tmp_path: Path
) -> None:
    # What there is by now is left out: to go through all of it takes longer than the test.
    gc.freeze()
    with server(status, {"Retry-After": "0"}, body) as (address, asked):
        ask(address, tmp_path)
        # What is left open is told where it is collected, as an error.
        gc.collect()
    gc.unfreeze()
    assert len(asked) == 1


@pytest.mark.parametrize("ask", WAYS)
def test_an_answer_without_end_is_not_read(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_MOST", 1000)
    monkeypatch.setattr("krm_windows.forge.http._MOST", 1000)
    with server(200, {}, b" " * 4000 + b'{"keys": [], "html_url": "x"}') as (address, asked):
        ask(address, tmp_path)
    assert len(asked) == 1

"""Requests as they are written, and answers as they are read: RFC 9110 and RFC 9112."""

import json
from io import BufferedReader, BytesIO
from pathlib import Path

import pytest
from api_server import Api, Fault, ended, kustomization, left, raw
from test_connections import wait_for_the_end

from krm_windows.gate.answers import LARGEST, Request, read
from krm_windows.gate.kubernetes import Cluster
from krm_windows.gate.target import observe

APPS = kustomization("apps", "v1")
GET = Request("GET", "/apis", None, {"Authorization": "Bearer x"})


def reader(text: bytes) -> BufferedReader:
    """What came from a server, until the connection's end."""
    return BufferedReader(BytesIO(text))  # type: ignore[arg-type] # as raw as it has to be


# --- What is asked --------------------------------------------------------------------------------


def test_a_request() -> None:
    """One with a body says how long it is, and one without says nothing."""
    assert GET.written("10.0.0.1:443") == (
        b"GET /apis HTTP/1.1\r\nHost: 10.0.0.1:443\r\nAuthorization: Bearer x\r\n\r\n"
    )
    assert Request("PATCH", "/a?b=c", '{"a": 1}', {}).written("[::1]:6443") == (
        b'PATCH /a?b=c HTTP/1.1\r\nHost: [::1]:6443\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    )


@pytest.mark.parametrize(
    "odd", ["\r\nX: y", "\n", "\r", " HTTP/1.1", "\x00", "\x85", "\u2028", "ä"]
)
def test_a_path_stays_in_its_line(odd: str) -> None:
    """A name of a target that is none must not become a header, or another request."""
    with pytest.raises(ValueError, match=r"cannot be sent|can't encode"):
        GET._replace(path=f"/apis/{odd}").written("a")


@pytest.mark.parametrize("odd", ["\r\nX: y", "\n y", "\r", "\x00", "ä"])
def test_a_token_stays_in_its_line(odd: str) -> None:
    """As a path does."""
    with pytest.raises(ValueError, match=r"cannot be sent|can't encode"):
        GET._replace(headers={"Authorization": f"Bearer x{odd}"}).written("a")


# --- What is answered -----------------------------------------------------------------------------

WHOLE = {
    "a length": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "no reason": b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\n{}",
    "not even a space for it": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "names in any case": b"HTTP/1.1 200 OK\r\ncOnTeNt-lEnGtH:2\r\n\r\n{}",
    "blanks around a value": b"HTTP/1.1 200 OK\r\nContent-Length: \t 2 \t\r\n\r\n{}",
    "lines that end in one character": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"1\r\n{\r\n0001\r\n}\r\n0\r\n\r\n",
    "chunks with extensions": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'2 ;a="b;c"\r\n{}\r\n0;z\r\n\r\n',
    "headers behind chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\n{}\r\n0\r\nDate: then\r\nX: y\r\n\r\n",
    "an interim answer": b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "several, with headers": b"HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n"
    b"HTTP/1.1 102 Processing\r\nDate: then\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_an_answer_with_an_end(text: bytes) -> None:
    """What comes after it is left for the next one."""
    both = reader(text * 2 + b"!")
    for _ in range(2):
        assert read(both) == (200, b"{}", None, None, False)
    assert both.read() == b"!"


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_content(status: int) -> None:
    """Whatever length its headers give: that is how long it would be."""
    head = b"HTTP/1.1 %d Such\r\nContent-Length: 5\r\n\r\n" % status
    both = reader(head + b"!")
    assert read(both) == (status, b"", None, None, False)
    assert both.read() == b"!"


LAST = {
    "no length": b"HTTP/1.1 200 OK\r\n\r\n{}",
    "closes": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
    "closes, among others": b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "closes, said later": b"HTTP/1.1 200 OK\r\nConnection: x\r\nConnection: close\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("text", LAST.values(), ids=LAST)
def test_an_answer_that_is_the_last_one(text: bytes) -> None:
    """It is whole, and its connection is not used again."""
    assert read(reader(text)) == (200, b"{}", None, None, True)


def test_headers_that_count() -> None:
    """When it was written, and when to ask again."""
    head = b"HTTP/1.1 429 Slow down\r\nDate: now\r\nX: y\r\nRetry-After: 1\r\n"
    text = head + b"Content-Length: 0\r\n\r\n"
    assert read(reader(text)) == (429, b"", "now", "1", False)


HEAD = b"HTTP/1.1 200 OK\r\n"
CODED = HEAD + b"Transfer-Encoding: chunked\r\n"
NONE = {
    "nothing": b"",
    "an empty line": b"\r\n",
    "another version": b"HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status below all": b"HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + HEAD + b"\r\n{}",
    "an interim answer alone": b"HTTP/1.1 100 Continue\r\n\r\n",
    "a header without a colon": HEAD + b"X\r\nContent-Length: 2\r\n\r\n{}",
    "no end of the headers": HEAD + b"Content-Length: 2\r\n",
    "a header that is cut off": HEAD + b"Content-Length: 2",
    "a line that is too long": HEAD + b"X: " + b"x" * 70_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "a folded length": HEAD + b"Content-Length:\r\n 2\r\n\r\n{}",
    "a length with a sign": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "a length with digits between": HEAD + b"Content-Length: 0_2\r\n\r\n{}",
    "invalid Content-Length other digits": HEAD + b"Content-Length: \xb2\r\n\r\n{}",
    "no length": HEAD + b"Content-Length:\r\n\r\n{}",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}",
    "a length twice": HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length beyond all": HEAD + b"Content-Length: %d\r\n\r\n{}" % (LARGEST + 1),
    "cut off": HEAD + b"Content-Length: 3\r\n\r\n{}",
    "another coding": HEAD + b"Transfer-Encoding: gzip\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two codings": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding twice": CODED + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding and a length": CODED + b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a chunk of no size": CODED + b"\r\n\r\n{}\r\n0\r\n\r\n",
    "a size with a sign": CODED + b"\r\n+2\r\n{}\r\n0\r\n\r\n",
    "a size with a prefix": CODED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "a chunk beyond all": CODED + b"\r\n%x\r\n{}\r\n0\r\n\r\n" % (LARGEST + 1),
    "a chunk that is longer": CODED + b"\r\n2\r\n{}}\r\n0\r\n\r\n",
    "a chunk that is cut off": CODED + b"\r\n3\r\n{}",
    "no last chunk": CODED + b"\r\n2\r\n{}\r\n",
    "no end of what follows": CODED + b"\r\n2\r\n{}\r\n0\r\n",
}


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_an_answer_that_is_none(text: bytes) -> None:
    """It is refused, and nothing of it is taken for the object."""
    with pytest.raises(ValueError, match=r"."):
        read(reader(text))


# --- On a connection ------------------------------------------------------------------------------


@pytest.fixture
def cluster(port: int, account: Path) -> Cluster:
    """The API server."""
    return Cluster("127.0.0.1", str(port), account, 5)


def chunked(content: bytes) -> bytes:
    """Answer in chunks of seven bytes, as a server does that does not know the length before."""
    pieces = [content[at : at + 7] for at in range(0, len(content), 7)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def sized(content: bytes) -> bytes:
    """Answer with a length, behind an interim answer."""
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
    return interim + b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content


@pytest.mark.parametrize("written", [chunked, sized])
def test_an_answer_in_many_records(api: Api, cluster: Cluster, written: object) -> None:
    """However TLS cuts it, it is read as a whole."""
    assert callable(written)
    api.add("apps", {"suspend": True, "filler": "x" * 40_000})
    answer = written(json.dumps(api.object("apps")).encode())
    pieces = [answer[at : at + 1000] for at in range(0, len(answer), 1000)]
    api.fault("GET", "apps", raw(*pieces))
    assert cluster.get(APPS, observe).suspended


@pytest.mark.parametrize("end", ["of TCP", "of TLS"])
def test_what_has_ended_is_not_used_again(api: Api, cluster: Cluster, end: str) -> None:
    """Neither where the server just goes, nor where it says so before, as Go does."""
    content = json.dumps(api.object("apps")).encode()
    ways: dict[str, Fault] = {"of TCP": left, "of TLS": ended(sized(content))}
    api.fault("GET", "apps", ways[end])
    cluster.get(APPS, observe)
    wait_for_the_end(api)
    cluster.get(APPS, observe)
    assert api.connections == 2

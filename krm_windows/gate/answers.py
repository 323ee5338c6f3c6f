"""HTTP/1.1 (RFC 9112): how a request is written, and how its answer is read.

`http.client` reads headers with Python's parser of mail, which took a sixth of a run. Here five of
them count, and an answer whose end is not said as the RFC has it is an error.
"""

import re
from io import BufferedReader
from typing import NamedTuple

# Bytes of an answer: etcd takes objects of 1.5 MiB, and a Pod of 128 MiB can read this one.
LARGEST = 2 * 1024**2
_LONGEST = 65536  # bytes of a line
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})( .*)?")
_LENGTH = re.compile("[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(;.*)?")  # its size, and extensions
_READ = {b"connection", b"date", b"retry-after", b"content-length", b"transfer-encoding"}
_INTERIM, _WITHOUT_CONTENT = range(100, 200), (204, 304)
_SWITCHING = b"101"  # to another protocol, which nobody has asked for


class Request(NamedTuple):
    """What is asked: `body` is JSON in ASCII, None for none."""

    method: str
    path: str
    body: str | None
    headers: dict[str, str]

    def written(self, host: str) -> bytes:
        """Write it for a host; raise `ValueError` where a path or a header would be two."""
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body is not None:
            lines.append(f"Content-Length: {len(self.body)}")
        if " " in self.path or not all(map(str.isprintable, lines)):
            raise ValueError("a path or header cannot be sent")
        return "\r\n".join([*lines, "", self.body or ""]).encode("ascii")


class Answer(NamedTuple):
    """What was answered, whole; `date` and `retry_after` are headers, None if they are missing.

    `is_last`: no other answer comes on its connection.
    """

    status: int
    content: bytes
    date: str | None
    retry_after: str | None
    is_last: bool


class _Head(NamedTuple):
    version: int  # 1 for HTTP/1.1
    status: int
    headers: dict[bytes, str]


def read(reader: BufferedReader) -> Answer:
    """Read an answer, behind interim ones (RFC 9110, 15.2); raise `ValueError` for what is none."""
    head = _head(reader)
    while head.status in _INTERIM:
        head = _head(reader)
    headers = head.headers
    is_last = head.version == 0 or "close" in headers.get(b"connection", "").lower()
    if head.status in _WITHOUT_CONTENT:
        content = b""
    elif b"transfer-encoding" in headers:
        content = _chunks(reader, headers)
    elif b"content-length" in headers:
        content = _sized(reader, headers[b"content-length"])
    else:
        content = reader.read()  # until the server ends the connection
        is_last = True
    return Answer(head.status, content, headers.get(b"date"), headers.get(b"retry-after"), is_last)


def _head(reader: BufferedReader) -> _Head:
    line = _line(reader)
    said = _STATUS.fullmatch(line)
    if said is None or said[2] == _SWITCHING:
        raise ValueError(f"{line[:100]!r} is not a status line")
    return _Head(int(said[1]), int(said[2]), _headers(reader))


def _headers(reader: BufferedReader) -> dict[bytes, str]:
    """Read headers, up to the empty line, and keep those that count.

    One that is given twice is a list (RFC 9110, 5.3), which no length is.
    """
    found: dict[bytes, str] = {}
    while line := _line(reader):
        name, colon, value = line.partition(b":")
        if not colon:
            raise ValueError(f"{line[:100]!r} is not a header")
        key = name.lower()
        if key in _READ:
            text = value.strip().decode("latin-1")
            if key in found:
                text = f"{found[key]}, {text}"
            found[key] = text
    return found


def _sized(reader: BufferedReader, length: str) -> bytes:
    if not _LENGTH.fullmatch(length):
        raise ValueError(f"invalid Content-Length {length[:100]!r}")
    return _exactly(reader, int(length))


def _chunks(reader: BufferedReader, headers: dict[bytes, str]) -> bytes:
    """Read a content that comes in chunks, and the headers behind it (RFC 9112, 7.1)."""
    # With both, proxies have been made to take a part of one answer for another one.
    if headers[b"transfer-encoding"].lower() != "chunked" or b"content-length" in headers:
        raise ValueError("unsupported Transfer-Encoding")
    pieces = []
    while size := _size(_line(reader)):
        pieces.append(_exactly(reader, size))
        if _line(reader):
            raise ValueError("a chunk is longer than its size")
    _headers(reader)
    return b"".join(pieces)


def _size(line: bytes) -> int:
    said = _CHUNK.fullmatch(line)
    if said is None:
        raise ValueError(f"{line[:100]!r} is not a chunk size")
    return int(said[1], 16)


def _line(reader: BufferedReader) -> bytes:
    line = reader.readline(_LONGEST)
    if not line.endswith(b"\n"):
        raise ValueError("truncated, or a line is too long")
    return line.rstrip(b"\r\n")


def _exactly(reader: BufferedReader, size: int) -> bytes:
    """Read so many bytes; room is made for them at once, so there is a limit."""
    if size > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    content = reader.read(size)
    if len(content) < size:
        raise ValueError(f"truncated, {size - len(content)} bytes missing")
    return content

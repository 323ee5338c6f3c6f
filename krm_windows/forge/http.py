"""Requests to a forge: bounded in time and size, tried again where that may help.

The token goes to the one host that was named, in a header; no message has it.
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlencode

import urllib3

from krm_windows.forge import proxies
from krm_windows.forge.errors import ConflictError, ForgeError, RefusedError
from krm_windows.krm import InputError, plain_json
from krm_windows.system import addresses
from krm_windows.system.errors import WorkspaceError

Json = object
"""What `json.loads` yields; see `record` and `records`."""
Record = dict[str, Json]
Query = Mapping[str, str | int]

_MOST = 16 << 20
"""Bytes of an answer. A page of a hundred pull requests of GitHub has some 2 MiB."""
_MOST_PAGES = 200
MOST_THREADS = 64
"""So many connections are kept open."""
_PIECE = 1 << 16
_SECONDS = 60.0
_TRIES = 5
# Seconds. The hourly limits of a forge may want more.
_LONGEST_PAUSE = 300.0
# Characters of what a forge says of an error.
_WORDS = 200
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)
# GitHub and GitLab say 405 of what cannot be merged; 422 is of what is not valid.
_CONFLICTS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.CONFLICT,
    HTTPStatus.PRECONDITION_FAILED,
    HTTPStatus.UNPROCESSABLE_ENTITY,
)


class _Retry(urllib3.Retry):
    # GitHub's limits are 403, too.
    RETRY_AFTER_STATUS_CODES = frozenset({403, 413, 429, 503})

    def get_retry_after(self, response: urllib3.BaseHTTPResponse) -> float | None:
        """Wait for some minutes at most; then the run fails, and the next one goes on."""
        found = super().get_retry_after(response)
        return None if found is None else min(found, _LONGEST_PAUSE)


_AGAIN = _Retry(
    _TRIES - 1,
    allowed_methods=None,
    status_forcelist=(429, 500, 502, 503, 504),
    backoff_factor=1,
    raise_on_status=False,
)


@dataclass(frozen=True, slots=True)
class Response:
    """What came back: the value of its JSON; names of headers are in any letters."""

    headers: Mapping[str, str]
    value: Json


@dataclass
class Client:
    """Asks one REST interface; `header` and `token` say who asks. Threads may share it."""

    address: str
    header: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        """Check the address; raises WorkspaceError where the token would go in the clear."""
        addresses.confidential(self.address)
        if not self.token.isascii() or not self.token.isprintable():
            raise WorkspaceError("the token contains characters that an HTTP header cannot have")
        self._pool = proxies.manager(self.address, MOST_THREADS)

    def get(self, path: str, **query: str | int) -> Json:
        """Return what is at a path, below the address."""
        return self._asked("GET", _with(path, query)).value

    def pages(self, path: str, query: Query, within: str = "") -> Iterator[Record]:
        """Yield the entries of a list, page after page; each page may have it `within` a name."""
        for number in range(1, _MOST_PAGES + 1):
            answer = self._asked("GET", _with(path, {**query, "page": number}))
            yield from records(record(answer.value).get(within) if within else answer.value)
            # RFC 8288. The address that it names is not used: it may be another host's.
            if not re.search(r'rel="?next\b', answer.headers.get("link", "")):
                return
        raise ForgeError(f"GET {path}: more than {_MOST_PAGES} pages")

    def send(self, method: str, path: str, content: Record, *, again: bool = True) -> Response:
        """Send a value; `again` says that twice does no harm.

        Raises ConflictError where the state of the forge does not allow it.
        """
        return self._asked(method, path, content, again=again)

    def _asked(
        self, method: str, path: str, content: Record | None = None, *, again: bool = True
    ) -> Response:
        what = f"{method} {path.partition('?')[0]}"
        try:
            response = self._pool.request(
                method,
                f"{self.address.rstrip('/')}/{path}",
                headers={
                    self.header: self.token,
                    "Accept": "application/json",
                    "User-Agent": "krm-windows",
                },
                json=content,
                retries=_AGAIN if again else False,
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            value = parsed(read(response, _MOST, _SECONDS))
        except UnfitError as error:
            raise ForgeError(f"{what}: {error}") from None
        except (urllib3.exceptions.HTTPError, OSError, ValueError, OverflowError) as error:
            # The words of the exception may name the address with what is in it.
            reason = getattr(error, "reason", None) or error
            raise ForgeError(f"{what}: failed ({type(reason).__name__})") from None
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(f"{what}: {response.status}", response.status, value)
        return Response(response.headers, value)

    def _refusal(self, said: str, status: int, value: Json) -> ForgeError:
        """Return what a status that is not fine is as an error."""
        # Whoever answers may repeat what it was sent; the scheme before the token is no secret.
        secret = self.token.rpartition(" ")[2]
        words = _message(value).replace(secret, "***")[:_WORDS]
        if words:
            said += f": {words}"
        # 404, too, where a token may not know that there is anything.
        if status in _REFUSED:
            right = "does the token have the permission"
            if status == HTTPStatus.NOT_FOUND:
                right = f"are the API's URL and the repository right, and {right}"
            return RefusedError(f"{said} ({right}?)")
        return ConflictError(said, words) if status in _CONFLICTS else ForgeError(said)


class UnfitError(Exception):
    """An answer is too long, or takes too long."""


def read(response: urllib3.BaseHTTPResponse, most: int, seconds: float) -> bytes:
    """Read an answer whole and give its connection back; raises UnfitError.

    `most` is its largest size in bytes, `seconds` how long it may take. The response must have been
    asked for without `preload_content`. Whatever fails, the connection is closed.
    """
    try:
        found = _pieces(response, most, time.monotonic() + seconds)
    except BaseException:
        # What is left of it must not become the answer to the next request.
        response.close()
        raise
    response.release_conn()
    return found


def _pieces(response: urllib3.BaseHTTPResponse, most: int, deadline: float) -> bytes:
    found = bytearray()
    while piece := response.read1(_PIECE):
        found += piece
        if len(found) > most:
            raise UnfitError(f"the response has more than {most} bytes")
        # One byte a second would never reach the time limit of a read.
        if time.monotonic() > deadline:
            raise UnfitError("the response took too long")
    return bytes(found)


def parsed(content: bytes) -> Json:
    """Return the value of JSON; None for what is none."""
    try:
        found: Json = plain_json.read(content)
    except (ValueError, InputError):
        return None
    return found


def record(value: Json) -> Record:
    """Give back a JSON object; raises ForgeError for anything else."""
    if not isinstance(value, dict):
        raise ForgeError("unexpected response from the forge")
    return value


def records(value: Json) -> list[Record]:
    """Give back a list of JSON objects; raises ForgeError for anything else."""
    if not isinstance(value, list):
        raise ForgeError("unexpected response from the forge")
    return [record(each) for each in value]


def text(value: Record, *path: str) -> str:
    """Return a text that is deep in an object, empty where it is absent or none."""
    found: Json = value
    for name in path:
        if not isinstance(found, dict):
            return ""
        found = found.get(name)
    if isinstance(found, str):
        return found
    return ""


def number(value: Record, name: str) -> int:
    """Return a number of an object; raises ForgeError where there is none."""
    found = value.get(name)
    if not isinstance(found, int):
        raise ForgeError("unexpected response from the forge")
    return found


def _message(value: Json) -> str:
    if not isinstance(value, dict):
        return ""
    return text(value, "message") or text(value, "error")


def _with(path: str, query: Query) -> str:
    return f"{path}?{urlencode(query)}" if query else path

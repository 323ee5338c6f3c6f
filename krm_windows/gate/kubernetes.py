"""The Kubernetes API, as far as the gate needs it: verified TLS, no proxies, and no wait without an end."""

import json
import ssl
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from time import monotonic

from krm_windows.gate.timetable import Target

_LOOK = 12  # all requests of a look may take as long as so many that time out


class ApiError(Exception):
    """The API server did not do what it was asked: `status` is its HTTP status, 0 where it gave no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Cluster:
    """An API server, for one look. `account` is the folder of `token` and `ca.crt`, `skew` our clock less its, in s."""

    def __init__(self, host: str, port: str, account: Path, timeout: float = 10) -> None:
        self.skew: int | None = None
        self._address, self._account, self._timeout = (host.strip("[]"), int(port)), account, timeout
        self._tls = ssl.create_default_context(cafile=account / "ca.crt")
        self._tls.verify_flags &= ~ssl.VERIFY_X509_STRICT  # on since Python 3.13; CAs of common distributions fail it
        self._versions: dict[str, object] = {}
        self.renew()

    def renew(self) -> None:
        """Begin another look: with its own time, and with the token that is there now."""
        self._end = monotonic() + _LOOK * self._timeout
        self._token = (self._account / "token").read_text().strip()

    def get(self, target: Target) -> object:
        """Read the object of `target`; raise `ApiError`."""
        return self.ask("GET", self._path(target))

    def patch(self, target: Target, body: dict[str, object]) -> object:
        """Apply a JSON merge patch (RFC 7386) and give the object as it is then; raise `ApiError`."""
        return self.ask("PATCH", f"{self._path(target)}?fieldManager=krm-windows", body)

    def _path(self, target: Target) -> str:
        group, version = f"/apis/{target.group}", target.version or self._versions.get(target.group)
        if not version:
            version = self._versions[target.group] = dig(self.ask("GET", group), "preferredVersion", "version")
        return f"{group}/{version}/namespaces/{target.namespace}/{target.resource}/{target.name}"

    def ask(self, method: str, path: str, body: dict[str, object] | None = None) -> object:
        """Send a request and give the answer; raise `ApiError`."""
        seconds = min(self._timeout, self._end - monotonic())
        if seconds <= 0:
            raise ApiError(0, f"no time left for {method} {path}")
        connection = HTTPSConnection(*self._address, timeout=seconds, context=self._tls)
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content}
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            response = connection.getresponse()
            text = response.read().decode()
            if date := response.headers["Date"]:
                self.skew = round((datetime.now(UTC) - parsedate_to_datetime(date)).total_seconds())
            is_json = response.headers.get_content_type() == "application/json"
            answer: object = json.loads(text) if is_json else {"message": text}
        except (OSError, HTTPException, ValueError) as error:
            raise ApiError(0, f"no answer to {method} {path}: {error!r}") from error
        finally:
            connection.close()
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            raise ApiError(response.status, f"{response.status}: {dig(answer, 'message')}")
        return answer


def dig(thing: object, *path: str) -> object:
    """Give what lies at `path` in nested mappings; None where there is nothing."""
    for key in path:
        thing = thing.get(key) if isinstance(thing, dict) else None
    return thing

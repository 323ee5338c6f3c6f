"""The keys of an identity provider, and what its JSON Web Tokens claim (RFC 7519, RFC 7517)."""

import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import jwt
import urllib3

from krm_windows.forge import http, proxies
from krm_windows.system import addresses, bounded
from krm_windows.system.errors import WorkspaceError

# Of pairs of keys: with a shared secret, whoever checks a token could make one, too.
_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_LEEWAY = 30
_SECONDS = 5.0
_MOST = 1 << 20
# A key that is not known may be new; but nobody makes us ask for it all the time.
_FRESH_SECONDS = 600.0
_AGAIN_SECONDS = 30.0


class UntrustedError(Exception):
    """A token is not one of the provider's, or is over."""


class Keys:
    """The keys of an issuer: from a file, from an address, or as its discovery document says."""

    def __init__(self, issuer: str, source: str | None) -> None:
        """Take keys of an issuer; raises WorkspaceError for an address that is not safe."""
        self._issuer = issuer
        self._source = source
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._asked = -_FRESH_SECONDS
        for address in (issuer, source):
            if address is not None and "://" in address:
                addresses.confidential(address)

    def claims(self, token: str, audience: str) -> Mapping[str, object]:
        """Return what a token claims; raises UntrustedError for one that does not count."""
        try:
            # The header only says by which key; nothing of it is believed.
            key = self._key(jwt.get_unverified_header(token).get("kid"))
            found: dict[str, object] = jwt.decode(
                token,
                key,
                algorithms=list(_ALGORITHMS),
                audience=audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # PyJWT says why, and repeats nothing of the token.
            raise UntrustedError(f"the token does not count: {type(error).__name__}") from None
        return found

    def _key(self, name: str | None) -> jwt.PyJWK:
        with self._lock:
            age = time.monotonic() - self._asked
            if age > _FRESH_SECONDS or (name not in self._keys and age > _AGAIN_SECONDS):
                self._asked = time.monotonic()
                self._keys = self._load() or self._keys
            found = self._keys.get(name)
            # A provider with one key need not name it (RFC 7517, 4.5).
            if found is None and name is None and len(self._keys) == 1:
                [found] = self._keys.values()
        if found is None:
            raise UntrustedError("the token is signed by a key that the provider does not have")
        return found

    def _load(self) -> dict[str | None, jwt.PyJWK]:
        """Return the provider's keys, none where they cannot be had now."""
        try:
            listed = http.records(http.record(http.parsed(self._text())).get("keys"))
        except (OSError, WorkspaceError, http.UnfitError, urllib3.exceptions.HTTPError):
            return {}
        keys: dict[str | None, jwt.PyJWK] = {}
        for each in listed:
            try:
                key = jwt.PyJWK.from_dict(each)
            except (jwt.PyJWTError, TypeError, AttributeError, ValueError):
                # One of a kind that is not known here takes nothing from the others.
                continue
            keys[key.key_id] = key
        return keys

    def _text(self) -> bytes:
        source = self._source
        if source is not None and "://" not in source:
            return bounded.read_file(Path(source), most=_MOST)
        if source is None:
            # OpenID Connect Discovery 1.0, 4.
            place = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            source = http.text(http.record(http.parsed(_fetched(place))), "jwks_uri")
            # An answer that anybody on the way could forge has no keys.
            addresses.confidential(source)
        return _fetched(source)


def _fetched(address: str) -> bytes:
    """Return what lies at an address; raises WorkspaceError, OSError or HTTPError for nothing."""
    response = proxies.manager(address, 1).request(
        "GET",
        address,
        headers={"Accept": "application/json"},
        # It could lead to an address that anybody on the way may answer for.
        redirect=False,
        timeout=_SECONDS,
        preload_content=False,
    )
    text = http.read(response, _MOST, _SECONDS)
    if response.status != HTTPStatus.OK:
        raise WorkspaceError(f"{address}: {response.status}")
    return text

"""The keys of an identity provider, and what its JSON Web Tokens claim (RFC 7519, RFC 7517)."""

import asyncio
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jwt
import urllib3
from jwt.algorithms import AllowedPublicKeys

from krm_windows.forge import http, proxies
from krm_windows.forge.errors import ForgeError
from krm_windows.system import addresses, bounded
from krm_windows.system.errors import WorkspaceError

# Of pairs of keys: with a shared secret, whoever checks a token could make one, too.
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_ALGORITHMS = (*_RSA, "ES256", "ES384", "ES512", "EdDSA")
# What a header says that it is the header of (RFC 7519, 5.1; RFC 9068, 2.1). A token of another
# kind, such as `logout+jwt`, is signed by the same keys for the same audience (RFC 8725, 3.12).
_TYPES = ("jwt", "at+jwt")
_REQUIRED = ["exp", "iss", "aud", "sub"]
_LEEWAY = 30
_SECONDS = 5.0
_MOST = 1 << 20
# Who waits for the keys in seconds.
_PATIENCE = 3.0
# Keys are read again after so long. What the provider has withdrawn meanwhile counts until then,
# and for whoever asks while they are read; after twice as long, everybody waits for them.
_FRESH_SECONDS = 600.0
# A key that is not known may be new; but nobody makes us ask for it all the time.
_AGAIN_SECONDS = 30.0


class UntrustedError(Exception):
    """A token is not one of the provider's, or is over."""


class UnreachableError(Exception):
    """The provider's keys cannot be had, so nobody can say whether a token is one of its own.

    The words say why, and are for the operator.
    """


@dataclass(frozen=True, slots=True)
class _Key:
    """A key, and the algorithms that it may have signed with."""

    key: AllowedPublicKeys
    algorithms: tuple[str, ...]


class Keys:
    """The keys of an issuer: from a file, from an address, or as its discovery document says."""

    def __init__(self, issuer: str, source: str | None) -> None:
        """Take keys of an issuer.

        Raises WorkspaceError for an address that is not safe, and OSError for a file that cannot be
        read.
        """
        self._issuer = issuer
        self._source = source
        self._keys: dict[str | None, _Key] = {}
        # When they were read last, in monotonic seconds, and why they could not be.
        self._began = -math.inf
        self._failure: str | None = "they were not read"
        # One at a time, and away from whoever asks: the provider may not answer for seconds.
        self._reader = ThreadPoolExecutor(1, "keys")
        self._reading: Future[None] | None = None
        for address in (issuer, source):
            if address is not None and _is_url(address):
                addresses.confidential(address)
        if source is None:
            # They are found by its name.
            addresses.confidential(issuer)
        elif not _is_url(source):
            bounded.read_file(Path(source), most=_MOST)

    async def claims(self, token: str, audience: str) -> Mapping[str, object]:
        """Return what a token claims, `sub` among it.

        Raises UntrustedError for one that does not count, and UnreachableError where that cannot be
        said.
        """
        try:
            # The header only says by which key; nothing else of it is believed.
            header = jwt.get_unverified_header(token)
            kind = header.get("typ")
            if kind is not None and str(kind).lower().removeprefix("application/") not in _TYPES:
                raise UntrustedError("the token is of another type than JWT or at+jwt")
            key = await self._key(header.get("kid"))
            found: dict[str, object] = jwt.decode(
                token,
                key.key,
                algorithms=list(key.algorithms),
                audience=audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": _REQUIRED},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # PyJWT says why, and repeats nothing of the token.
            raise UntrustedError(f"invalid token: {type(error).__name__}") from None
        return found

    async def _key(self, name: object) -> _Key:
        """Return a key; begins to read the keys where it is time to, and waits in no thread."""
        found = self._found(name)
        now = time.monotonic()
        age = now - self._began
        is_read = self._reading is None or self._reading.done()
        if is_read and age > (_AGAIN_SECONDS if found is None else _FRESH_SECONDS):
            self._began = now
            self._reading = self._reader.submit(self._read)
        # Whoever has a key that is known waits for nobody, unless it is known for too long.
        if self._reading is not None and (found is None or age > 2 * _FRESH_SECONDS):
            # It goes on for others, whoever has gone away.
            await asyncio.wait([asyncio.wrap_future(self._reading)], timeout=_PATIENCE)
            found = self._found(name)
        if found is not None:
            return found
        # It may be a key that is new.
        if self._reading is not None and not self._reading.done():
            raise UnreachableError("the provider does not answer")
        if self._failure is not None:
            raise UnreachableError(self._failure)
        raise UntrustedError("the token is signed with a key that the provider does not have")

    def _found(self, name: object) -> _Key | None:
        # A provider with one key need not name it (RFC 7517, 4.5).
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(name) if isinstance(name, str) else None

    def _read(self) -> None:
        """Read the keys; those that are known stay where there are none."""
        try:
            keys = dict(_usable(http.records(http.record(http.parsed(self._text())).get("keys"))))
        except ForgeError:
            self._failure = "the response is not a JSON Web Key Set or discovery document"
        except (OSError, WorkspaceError, http.UnfitError, urllib3.exceptions.HTTPError) as error:
            self._failure = f"{type(error).__name__}: {error}"
        else:
            self._keys = keys or self._keys
            self._failure = None if keys else "none of the keys signs tokens"

    def _text(self) -> bytes:
        source = self._source
        if source is not None and not _is_url(source):
            return bounded.read_file(Path(source), most=_MOST)
        if source is None:
            # OpenID Connect Discovery 1.0, 4.
            place = f"{self._issuer.rstrip('/')}/.well-known/openid-configuration"
            found = http.record(http.parsed(_fetched(place)))
            # One of several at the same host could name the keys of another (4.3).
            if http.text(found, "issuer") != self._issuer:
                raise WorkspaceError(f"{place}: is about another issuer")
            source = http.text(found, "jwks_uri")
            # An answer that anybody on the way could forge has no keys.
            addresses.confidential(source)
        return _fetched(source)


def _is_url(source: str) -> bool:
    """Say whether keys are at an address; else they are in a file."""
    return "://" in source


def _usable(listed: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str | None, _Key]]:
    """Yield the keys that sign tokens, by their names."""
    for each in listed:
        # Others are there to encrypt (RFC 7517, 4.2 and 4.3).
        operations = each.get("key_ops")
        if each.get("use", "sig") != "sig":
            continue
        if isinstance(operations, list) and "verify" not in operations:
            continue
        try:
            key = jwt.PyJWK.from_dict(dict(each))
        except (jwt.PyJWTError, TypeError, AttributeError, ValueError):
            # One of a kind that is not known here takes nothing from the others.
            continue
        algorithms: tuple[str, ...] = (key.algorithm_name,)
        # Which is for the token to say where the key does not (RFC 7517, 4.4); those of an elliptic
        # curve have one alone.
        if key.key_type == "RSA" and "alg" not in each:
            algorithms = _RSA
        if algorithms[0] in _ALGORITHMS:
            yield key.key_id, _Key(key.key, algorithms)


def _fetched(address: str) -> bytes:
    """Return what is at an address; raises WorkspaceError, OSError or HTTPError for nothing."""
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

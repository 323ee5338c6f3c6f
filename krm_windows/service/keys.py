"""The keys of an identity provider, and what its JSON Web Tokens claim (RFC 7519, RFC 7517)."""

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import jwt
import urllib3
from jwt.algorithms import AllowedPublicKeys

from krm_windows.forge import http, proxies
from krm_windows.forge.errors import ForgeError
from krm_windows.system import addresses
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
REFRESH_SECONDS = 60.0
"""How often keys are read: what the provider has withdrawn counts for so long."""
# Keys of a provider that does not answer count for so long.
_LASTING_SECONDS = 1200.0
# A key, and the algorithms that it may have signed with.
_Key = tuple[AllowedPublicKeys, tuple[str, ...]]


class UntrustedError(Exception):
    """A token is not one of the provider's, or is over."""


class UnreachableError(Exception):
    """The provider's keys cannot be had, so nobody can say whether a token is one of its own.

    The words say why, and are for the operator.
    """


class Keys:
    """The keys of an issuer, where its discovery document says.

    They are read by `refresh`, beside whoever calls: nobody waits for the provider.
    """

    def __init__(self, issuer: str) -> None:
        """Take keys of an issuer; raises WorkspaceError for an address that is not safe."""
        addresses.confidential(issuer)
        self._issuer = issuer
        self._keys: dict[str | None, _Key] = {}
        # When they were read last, in monotonic seconds, and why they could not be since.
        self._read_at = -math.inf
        self._failure: str | None = "they were not read"

    def claims(self, token: str, audience: str) -> Mapping[str, object]:
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
            key, algorithms = self._key(header.get("kid"))
            found: dict[str, object] = jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                audience=audience,
                issuer=self._issuer,
                leeway=_LEEWAY,
                options={"require": _REQUIRED},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # PyJWT says why, and repeats nothing of the token.
            raise UntrustedError(f"invalid token: {type(error).__name__}") from None
        return found

    def _key(self, name: object) -> _Key:
        if time.monotonic() - self._read_at > _LASTING_SECONDS:
            raise UnreachableError(self._failure or "they were read too long ago")
        found = self._keys.get(name) if isinstance(name, str) else None
        # A provider with one key need not name it (RFC 7517, 4.5).
        if name is None and len(self._keys) == 1:
            [found] = self._keys.values()
        if found is not None:
            return found
        # It may be a key that is new.
        if self._failure is not None:
            raise UnreachableError(self._failure)
        raise UntrustedError("the token is signed with a key that the provider does not have")

    def refresh(self) -> None:
        """Read the keys; where there are none, those that are known count for a while."""
        try:
            listed = http.records(http.record(http.parsed(self._text())).get("keys"))
        except ForgeError:
            self._failure = "the response is not a JSON Web Key Set or discovery document"
        except (OSError, WorkspaceError, http.UnfitError, urllib3.exceptions.HTTPError) as error:
            self._failure = f"{type(error).__name__}: {error}"
        else:
            self._failure = "none of the keys signs tokens"
            keys = dict(_usable(listed))
            if keys:
                self._keys, self._read_at, self._failure = keys, time.monotonic(), None

    def _text(self) -> bytes:
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
            yield key.key_id, (key.key, algorithms)


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

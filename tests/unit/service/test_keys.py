"""Whose JSON Web Tokens count, and what becomes of a provider that does not answer."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jwt
import pytest
from authorization import bearer
from certificates import Certificate, self_signed
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from listening import answering

from krm_windows.service import keys
from krm_windows.service.access import Provider, Scope, Ways
from krm_windows.service.keys import Keys, UnreachableError, UntrustedError

Serve = Any

AUDIENCE = "krm-windows"
DISCOVERY = "/.well-known/openid-configuration"
POLICY = "/policies/flux-system/week"
KEY = rsa.generate_private_key(65537, 2048)
GRANTED = {"ops": frozenset(Scope)}


class Issuer:
    def __init__(self) -> None:
        public: dict[str, Any] = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
        public.pop("key_ops")
        self.key = {**public, "kid": "k1"}
        self.asked: list[str] = []
        self.name = self.address = ""

    def answer(self, asked: str, *_: object) -> tuple[int, dict[str, str], bytes]:
        self.asked.append(asked)
        return 200, {}, json.dumps(self.documents()[asked.split()[1]]).encode()

    def documents(self) -> dict[str, object]:
        return {
            DISCOVERY: {"issuer": self.name, "jwks_uri": f"{self.address}/keys"},
            "/keys": {"keys": [self.key]},
        }

    def token(
        self, algorithm: str = "RS256", kid: str = "k1", typ: str = "JWT", **more: object
    ) -> str:
        claims = {"iss": self.address, "aud": AUDIENCE, "sub": "u1", "exp": time.time() + 60}
        headers = {"kid": kid, "typ": typ}
        return jwt.encode({**claims, "scope": "ops", **more}, KEY, algorithm, headers)

    def serve(self, certificate: Certificate | None = None) -> Iterator["Issuer"]:
        with answering(self.answer, certificate) as self.address:
            self.name = self.address
            yield self


def claims(found: Keys, token: str) -> Mapping[str, object]:
    found.refresh()
    return found.claims(token, AUDIENCE)


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    yield from Issuer().serve()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return self_signed(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture
def secure(certificate: Certificate) -> Iterator[Issuer]:
    yield from Issuer().serve(certificate)


def test_who_vouches_for_an_issuer(
    secure: Issuer, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnreachableError):
        claims(Keys(secure.address), secure.token())
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    assert claims(Keys(secure.address), secure.token())["sub"] == "u1"
    secure.name = secure.address = secure.address.replace("localhost", "127.0.0.1")
    with pytest.raises(UnreachableError):
        claims(Keys(secure.address), secure.token())


@pytest.fixture
def ways(issuer: Issuer) -> Ways:
    return Ways(provider=Provider(issuer.address, AUDIENCE), granted=GRANTED)


def test_a_key_that_is_for_something_else_signs_nothing(issuer: Issuer) -> None:
    """A provider may publish keys to encrypt for it beside those it signs with (RFC 7517, 4.2)."""
    key = issuer.key
    for purpose in (
        {"use": "enc"},
        {"key_ops": ["encrypt", "wrapKey"]},
        {"alg": "RSA-OAEP"},
        {"use": 5},
    ):
        issuer.key = {**key, **purpose}
        with pytest.raises(UnreachableError, match="none of the keys signs"):
            claims(Keys(issuer.address), issuer.token())


@pytest.mark.parametrize("algorithm", ["RS256", "PS512"])
def test_a_key_need_not_say_its_algorithm(algorithm: str, issuer: Issuer) -> None:
    """It is optional (RFC 7517, 4.4), and a key that says it is for that one alone."""
    assert claims(Keys(issuer.address), issuer.token(algorithm))["sub"] == "u1"
    issuer.key["alg"] = algorithm
    found = Keys(issuer.address)
    assert claims(found, issuer.token(algorithm))["sub"] == "u1"
    other = "RS256" if algorithm != "RS256" else "PS256"
    with pytest.raises(UntrustedError):
        claims(found, issuer.token(other))


def test_a_token_of_another_type_does_not_count(issuer: Issuer) -> None:
    """The same key signs what ends a session, for the same audience (RFC 8725, 3.11)."""
    found = Keys(issuer.address)
    for kind in ("JWT", "jwt", "at+jwt", "application/at+jwt"):
        assert claims(found, issuer.token(typ=kind))["sub"] == "u1"
    for kind in ("logout+jwt", "secevent+jwt", "dpop+jwt"):
        with pytest.raises(UntrustedError, match="another type"):
            claims(found, issuer.token(typ=kind))


def test_what_is_found_is_about_the_issuer(issuer: Issuer) -> None:
    """One tenant's document does not name another's keys (OpenID Connect Discovery 1.0, 4.3)."""
    issuer.name = f"{issuer.address}/other"
    with pytest.raises(UnreachableError, match="another issuer"):
        claims(Keys(issuer.address), issuer.token())


def test_a_provider_out_of_reach_is_not_the_callers_fault(
    started: Serve, ways: Ways, issuer: Issuer
) -> None:
    lines: list[dict[str, Any]] = []
    odd = {DISCOVERY: ["odd"]}
    issuer.documents = lambda: odd  # type: ignore[method-assign, assignment, return-value]
    done = started(ways, lines).ask("GET", POLICY, **bearer(issuer.token()))
    assert (done.status, done.headers["retry-after"]) == (503, "30")
    assert "discovery" not in done.body.decode()
    assert (lines[-1]["event"], lines[-1]["status"]) == ("refused", 503)
    assert "or discovery document" in lines[-1]["detail"]
    assert issuer.token() not in json.dumps(lines)


def test_keys_that_are_known_outlast_a_provider_that_is_gone(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Keys(issuer.address)
    with pytest.raises(UnreachableError, match="were not read"):
        found.claims(issuer.token(), AUDIENCE)
    assert claims(found, issuer.token())
    asked = len(issuer.asked)
    with pytest.raises(UntrustedError, match="does not have"):
        found.claims(issuer.token(kid="x"), AUDIENCE)
    assert len(issuer.asked) == asked
    issuer.documents = dict  # type: ignore[method-assign]
    assert claims(found, issuer.token())
    with pytest.raises(UnreachableError):
        claims(found, issuer.token(kid="x"))
    monkeypatch.setattr(keys, "_LASTING_SECONDS", -1.0)
    with pytest.raises(UnreachableError):
        claims(found, issuer.token())


def test_a_key_that_is_withdrawn_counts_no_longer(issuer: Issuer) -> None:
    found = Keys(issuer.address)
    old = issuer.token()
    assert claims(found, old)
    issuer.key["kid"] = "k2"
    with pytest.raises(UntrustedError, match="does not have"):
        claims(found, old)
    assert claims(found, issuer.token(kid="k2"))


@pytest.mark.parametrize("verified", [False, "false"])
def test_a_person_is_who_the_provider_says_and_not_who_they_say(
    verified: object, started: Serve, ways: Ways, issuer: Issuer, git: Callable[..., str]
) -> None:
    """By `sub` alone: an address may be anybody's (OpenID Connect Core 1.0, 5.7)."""
    lines: list[dict[str, Any]] = []
    client = started(ways, lines)
    override = {"state": "open", "for": "2h", "reason": "fix"}
    ada = {"email": "ada@example.com", "name": "Ada Lovelace"}
    authors = []
    people: list[dict[str, object]] = [
        {"sub": "u1", **ada},
        {"sub": "u2", **ada, "email_verified": verified},
        {"sub": "u 2\n"},
    ]
    for number, claims in enumerate(people):
        body = {**override, "name": f"o{number}"}
        # A key is of each caller their own.
        sent = {**bearer(issuer.token("RS256", "k1", "JWT", **claims)), "idempotency-key": "k"}
        done = client.ask("POST", f"{POLICY}/overrides", body, **sent)
        assert done.status == 201
        authors.append(git("log", "-1", "--format=%an <%ae>").strip())
    assert authors[:2] == ["Ada Lovelace <ada@example.com>", "Ada Lovelace <u2>"]
    callers = [line["caller"] for line in lines]
    assert callers[:2] == ["u1", "u2"]
    assert callers[2].startswith("u 2-")
    assert "(u2)" in git("log", "-2", "--format=%B")

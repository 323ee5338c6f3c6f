"""An identity provider over HTTPS: found by its name, and trusted by whom the operator trusts."""

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt
import pytest
from certificates import Certificate, self_signed
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from krm_windows.service.keys import Keys, UnreachableError

AUDIENCE = "krm-windows"
KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate for this machine."""
    return self_signed(tmp_path_factory.mktemp("tls"), "localhost")


@pytest.fixture
def issuer(certificate: Certificate) -> Iterator[str]:
    """The address of a provider that publishes one key."""
    asked: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(asked[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
        address = f"https://localhost:{listening.server_port}/realms/fleet"
        public = ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
        asked["/realms/fleet/.well-known/openid-configuration"] = {
            "issuer": address,
            "jwks_uri": f"{address}/keys",
        }
        asked["/realms/fleet/keys"] = {"keys": [{**public, "kid": "1"}]}
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
        thread.start()
        yield address
        listening.shutdown()
        thread.join()


def token(issuer: str) -> str:
    """Return a token of the provider."""
    claims = {"iss": issuer, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 60}
    return jwt.encode(claims, KEY, "ES256", {"kid": "1"})


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine, and none of its certificates."""
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


def test_keys_are_found_by_the_name_of_the_issuer(
    issuer: str, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose certificate is in the file that SSL_CERT_FILE names (OpenSSL's own variable)."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    assert asyncio.run(Keys(issuer, None).claims(token(issuer), AUDIENCE))["sub"] == "ada"


def test_an_issuer_that_nobody_vouches_for_has_no_keys(issuer: str) -> None:
    """A certificate of its own, and one for another name."""
    with pytest.raises(UnreachableError):
        asyncio.run(Keys(issuer, None).claims(token(issuer), AUDIENCE))


def test_a_certificate_is_for_a_name(
    issuer: str, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same machine by another name is somebody else."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    other = issuer.replace("localhost", "127.0.0.1")
    with pytest.raises(UnreachableError):
        asyncio.run(Keys(other, None).claims(token(other), AUDIENCE))

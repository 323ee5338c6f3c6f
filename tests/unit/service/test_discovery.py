"""An identity provider over HTTPS: found by its name, and trusted by whom the operator trusts."""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from jwt.algorithms import ECAlgorithm

from krm_windows.service.keys import Keys, UntrustedError

AUDIENCE = "krm-windows"
KEY = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, with its key, that nobody else has signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    written = tmp_path_factory.mktemp("tls") / "cert.pem"
    written.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return written


@pytest.fixture
def issuer(certificate: Path) -> Iterator[str]:
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
    context.load_cert_chain(certificate)
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
    issuer: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose certificate is in the file that SSL_CERT_FILE names (OpenSSL's own variable)."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert Keys(issuer, None).claims(token(issuer), AUDIENCE)["sub"] == "ada"


def test_an_issuer_that_nobody_vouches_for_has_no_keys(issuer: str) -> None:
    """A certificate of its own, and one for another name."""
    with pytest.raises(UntrustedError):
        Keys(issuer, None).claims(token(issuer), AUDIENCE)


def test_a_certificate_is_for_a_name(
    issuer: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same machine by another name is somebody else."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    other = issuer.replace("localhost", "127.0.0.1")
    with pytest.raises(UntrustedError):
        Keys(other, None).claims(token(other), AUDIENCE)

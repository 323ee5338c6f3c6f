"""`krm-windows serve`: what it refuses to start as, and the server that callers really reach."""

import http.client
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from krm_windows.cli import main

ROOT = Path(__file__).resolve().parents[3]
LOCAL = "127.0.0.1"
PATH = "/policies/flux-system/no-deploy-friday"
# Limits that a test can wait for.
SERVED = """\
import sys
from krm_windows.cli import main
from krm_windows.service import server
server._HEADER_SECONDS = 1.0
server._IDLE_SECONDS = 1.0
sys.exit(main(["serve", *sys.argv[1:]]))
"""


@pytest.fixture
def repository(tmp_path: Path, tool: Callable[[str], Path]) -> Path:
    """A repository with a policy."""
    folder = tmp_path / "repository"
    folder.mkdir()
    example = ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml"
    (folder / "week.yaml").write_bytes(example.read_bytes())
    git = [str(tool("git")), "-C", str(folder)]
    for arguments in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "Operator"),
        ("config", "user.email", "operator@example.com"),
        ("add", "."),
        ("commit", "--quiet", "--message=first"),
    ):
        subprocess.run([*git, *arguments], check=True)
    return folder


@contextmanager
def served(*arguments: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Start the program; give its port, and end it."""
    command = [sys.executable, "-c", SERVED, "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            assert "serving on" in line, line
            yield int(line.rpartition(":")[2]), process
        finally:
            process.terminate()


def answered(port: int, content: bytes, seconds: float = 20.0) -> tuple[bytes, float]:
    """Send bytes and read until the server has closed; return what came, and after how long."""
    began = time.monotonic()
    with socket.create_connection((LOCAL, port), timeout=seconds) as connection:
        connection.sendall(content)
        found = b""
        while part := connection.recv(65536):
            found += part
    return found, time.monotonic() - began


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--repo DIR"),
        (["--host", "0.0.0.0"], "say who may call"),  # noqa: S104 - it is refused
        (["--host", "0.0.0.0", "--tls-by-proxy"], "say who may call"),  # noqa: S104 - likewise
        (["--host", "::", "--tokens", "t"], "--tls-by-proxy"),
        (["--host", "example.com"], "must be an address"),
        (["--tls-cert", "c"], "belong together"),
        (["--oidc-issuer", "https://id.example.com"], "--oidc-audience"),
        (["--proxy-user", "X-User"], "--proxy-from"),
        (["--proxy-user", "X-User", "--proxy-from", "10.0.0.1/8"], "must be addresses"),
        (["--propose", "https://forge.example.com/repos/a/b"], "--push REMOTE"),
        (["--propose", "https://f.example.com/repos/a/b", "--push", "origin"], "--propose-token"),
        (["--grant", "ops=admin"], "--grant must be"),
        (["--new-file", "{a}.yaml"], "--new-file takes"),
        (["--port", "99999"], "from 1 to 65535"),
        (["--tokens", "none"], "none"),
        (["--committer", "nobody"], "NAME <EMAIL>"),
        (["--branch", "none"], "there is no branch"),
        (
            [
                *("--push", "origin", "--propose-token", "t"),
                *("--propose", "http://forge.example.com/repos/a/b"),
            ],
            "must be https",
        ),
    ],
)
def test_what_it_does_not_start_as(
    arguments: list[str], said: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that lets everybody in, sends secrets in clear, or means something else."""
    if arguments:
        arguments = ["--repo", str(repository), *arguments]
    assert main(["serve", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_a_token_is_shown_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its line has the hash alone, and lets whoever has the token in."""
    from krm_windows.service.access import Access, Ways  # noqa: PLC0415 - the extra

    options = ["--scopes", "read,override", "--author", "Ada <ada@example.com>"]
    assert main(["serve", "--new-token", "ada", *options]) == 0
    shown = capsys.readouterr()
    token = shown.err.strip().rpartition(" ")[2]
    assert token.startswith("kw_")
    assert token not in shown.out
    (tmp_path / "tokens").write_text(shown.out)
    found = Access(Ways(tokens=tmp_path / "tokens")).begin_session(token)
    assert token not in found
    assert main(["serve", "--new-token", "a b"]) == 1
    assert main(["serve", "--new-token", "ada", "--scopes", "admin"]) == 1


def test_the_server(repository: Path) -> None:
    """Answers, writes who changed what, and ends when it is told to."""
    with served("--repo", str(repository)) as (port, process):
        connection = http.client.HTTPConnection(LOCAL, port, timeout=20)
        connection.request("GET", PATH)
        answer = connection.getresponse()
        assert json.loads(answer.read())["kind"] == "WindowPolicy"
        tag = answer.headers["ETag"]
        patch = json.dumps({"spec": {"freezes": None}})
        headers = {"If-Match": tag, "Content-Type": "application/merge-patch+json"}
        connection.request("PATCH", f"{PATH}?reason=No%20freeze", patch, headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status == 200, body
        connection.close()
        # A request of no HTTP, headers without an end, and one of a size that nobody needs.
        assert b" 400 " in answered(port, b"what is this\r\n\r\n")[0].partition(b"\r\n")[0]
        found, seconds = answered(port, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
        assert found == b""
        assert 0.5 < seconds < 10
        large = b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100_000
        assert b" 400 " in answered(port, large)[0].partition(b"\r\n")[0]
        # A connection on which nothing more comes is closed.
        found, seconds = answered(port, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nG")
        assert b" 200 " in found.partition(b"\r\n")[0]
        assert seconds < 10
        process.terminate()
        assert process.stderr
        [line] = process.stderr.read().splitlines()
    told = json.loads(line)
    assert (told["event"], told["caller"], told["commit"]) == ("changed", "local", body["commit"])


def test_over_tls(repository: Path, tmp_path: Path) -> None:
    """With a certificate, nothing is served without."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "cert.pem").write_bytes(certificate.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "key.pem").write_bytes(private)
    files = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    with served("--repo", str(repository), *files) as (port, _):
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        connection = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        assert answer.status == 200
        assert "max-age" in answer.headers["Strict-Transport-Security"]
        connection.close()

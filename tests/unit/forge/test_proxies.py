"""How a forge is reached: through proxies, and with certificates of one's own."""

import base64
import logging
import select
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from certificates import self_signed
from forges import REPOSITORY, TOKEN, Pull, Server, serving

from krm_windows.forge import ForgeError, connect, proxies
from krm_windows.forge.http import Client
from krm_windows.system.errors import WorkspaceError

PASSWORD = "p@ss/of-the-proxy"  # noqa: S105 - of a server of ours
QUOTED = "p%40ss%2Fof-the-proxy"
VARIABLES = ("https_proxy", "no_proxy", "all_proxy", "http_proxy")
FORGE = "https://forge.test/api"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    for name in (*VARIABLES, "ssl_cert_file", "ssl_cert_dir", "request_method"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    written = self_signed(tmp_path_factory.mktemp("tls"), "localhost", "forge.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*written)
    return written.file, context


@dataclass
class Proxy:
    port: int = 0
    behind: int = 0
    asked: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def proxying(server: Server) -> Iterator[Proxy]:
    """Serve CONNECT (RFC 9110, 9.3.6), for whoever knows the password."""
    proxy = Proxy(behind=int(server.address.rpartition(":")[2]))
    expected = base64.b64encode(f"ada:{PASSWORD}".encode()).decode()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = self.rfile.readline().decode().split()[1]
            headers = {}
            while line := self.rfile.readline().decode().strip():
                name, _, value = line.partition(": ")
                headers[name.lower()] = value
            proxy.asked.append((asked, headers.get("proxy-authorization", "")))
            assert TOKEN not in str(headers)
            if headers.get("proxy-authorization") != f"Basic {expected}":
                self.wfile.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
                return
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            with socket.create_connection(("127.0.0.1", proxy.behind)) as behind:
                passed(self.connection, behind)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        listening.block_on_close = False
        proxy.port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever, args=(0.02,))
        thread.start()
        yield proxy
        listening.shutdown()
        thread.join()


def passed(one: socket.socket, other: socket.socket) -> None:
    while True:
        ready, _, _ = select.select([one, other], [], [], 30)
        for each in ready:
            content = each.recv(65536)
            if not content:
                return
            (other if each is one else one).sendall(content)


def made(address: str) -> connect.Connected:
    kind = connect.KINDS["github"]
    client = Client(address, kind.header, f"{kind.scheme}{TOKEN}")
    return kind.make(client, REPOSITORY)


@pytest.fixture
def server(certificate: tuple[Path, ssl.SSLContext]) -> Iterator[Server]:
    with serving("github", Pull(1, "a" * 40), tls=certificate[1]) as found:
        yield found


def test_an_authority_of_ones_own_is_believed(
    server: Server, certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ForgeError, match=r"failed \(SSLError\)"):
        list(made(server.address).open_changes())
    assert server.asked == []
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert len(list(made(server.address).open_changes())) == 1


def test_a_proxy_is_asked(
    server: Server,
    certificate: tuple[Path, ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with proxying(server) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ada:{QUOTED}@127.0.0.1:{proxy.port}")
        assert len(list(made("https://forge.test").open_changes())) == 1
    assert [asked for asked, _ in proxy.asked] == ["forge.test:443"]
    assert not any(each in caplog.text for each in (TOKEN, PASSWORD, QUOTED))


def test_a_proxy_that_refuses_is_an_error_without_its_password(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with proxying(server) as proxy:
        for password in ("wr0ng", QUOTED):
            address = f"http://ada:{password}@127.0.0.1:{proxy.port}"
            monkeypatch.setenv("HTTPS_PROXY", address)
            # The right one, at a forge whose certificate nobody vouches for.
            with pytest.raises(ForgeError, match=r"failed \((ProxyError|SSLError)\)") as raised:
                list(made("https://forge.test").open_changes())
            said = f"{raised.value!r} {caplog.text}"
            assert not any(each in said for each in (TOKEN, PASSWORD, password))
    monkeypatch.setenv("HTTPS_PROXY", f"http://ada:{QUOTED}@127.0.0.1:{proxy.port}")
    with pytest.raises(ForgeError, match=r"failed \(\w+\)") as raised:
        list(made("https://forge.test").open_changes())
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "environment", "proxy"),
    [
        (FORGE, {}, None),
        (FORGE, {"HTTPS_PROXY": "http://proxy.test:3128"}, "http://proxy.test:3128"),
        (FORGE, {"https_proxy": "proxy.test:3128"}, "http://proxy.test:3128"),
        (FORGE, {"HTTPS_PROXY": "http://p.test", "NO_PROXY": "a.test, .test"}, None),
        (FORGE, {"HTTPS_PROXY": "http://p.test", "NO_PROXY": "orge.test"}, "http://p.test:80"),
        (FORGE, {"HTTPS_PROXY": "http://p.test", "NO_PROXY": "forge.test:444"}, "http://p.test:80"),
        ("https://forge.test:444", {"HTTPS_PROXY": "p.test", "NO_PROXY": "forge.test:444"}, None),
        ("http://127.0.0.1:1", {"HTTP_PROXY": "http://p.test", "HTTPS_PROXY": "p.test"}, None),
    ],
)
def test_which_proxy_is_asked(
    address: str, environment: dict[str, str], proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = proxies.manager(address, 1).proxy
    assert (None if found is None else found.url) == proxy


@pytest.mark.parametrize(
    "proxy",
    [
        f"socks5://ada:{PASSWORD}@proxy.test",
        f"http://ada:{QUOTED}@proxy.test:many",
        f"http://ada:{QUOTED}@[::1",
    ],
)
def test_a_proxy_that_is_none_is_said_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(WorkspaceError) as raised:
        proxies.manager(FORGE, 1)
    assert str(raised.value) == "HTTPS_PROXY: must be http://HOST:PORT or https://HOST:PORT"

"""`krm-windows serve`: what it refuses to start as, and the server that callers really reach."""

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from committed import put_under_git
from pydantic import SecretStr

from krm_windows.cli import main
from krm_windows.service import access, application, server
from krm_windows.service.proposals import PullRequests
from krm_windows.service.settings import Clusters, Settings
from krm_windows.service.windows import Windows
from krm_windows.system.git_branch import Person

ROOT = Path(__file__).resolve().parents[3]
LOCAL = "127.0.0.1"
PROXY = "proxy: {user: X-User, networks: [10.0.0.0/8]}"
OIDC = "oidc: {issuer: https://id.example.com, audience: a}"
PATH = "/policies/flux-system/no-deploy-friday"


@pytest.fixture
def repository(tmp_path: Path, tool: Callable[[str], Path]) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    example = ROOT / "examples/no-deploy-friday/no-deploy-friday.yaml"
    (folder / "week.yaml").write_bytes(example.read_bytes())
    git = put_under_git(folder, tool("git"))
    git("clone", "--quiet", "--bare", ".", "../clone.git")
    for change in (("user.name", "Ada"), ("user.email", "ada@example.com")):
        git("-C", "../clone.git", "config", *change)
    git("-C", "../clone.git", "remote", "remove", "origin")
    return tmp_path / "clone.git"


@contextmanager
def served(*arguments: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "krm_windows", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            line = process.stderr.readline()
            assert "serving on" in line, line
            yield int(line.rpartition(":")[2]), process
        finally:
            process.terminate()


def answered(port: int, content: bytes, seconds: float = 20.0) -> tuple[bytes, float]:
    began = time.monotonic()
    with socket.create_connection((LOCAL, port), timeout=seconds) as connection:
        connection.sendall(content)
        found = b""
        while part := connection.recv(65536):
            found += part
    return found, time.monotonic() - began


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('host: "0.0.0.0"', "configure authentication"),
        ('host: "::"\ntokens: t', "tlsByProxy"),
        ('host: "::"\ntlsByProxy: true', "the address :: can be reached by others"),
        ("host: example.com", "host: value is not a valid IPv4 or IPv6 address"),
        ("oidc: {issuer: https://id.example.com, audience: ''}", "oidc.audience"),
        ("oidc: {issuer: https://id.example.com, audience: a, kyes: a}", "oidc.kyes"),
        ("proxy: {user: X-User}", "proxy.networks is missing"),
        ("proposals: {command: sh}", "give remote"),
        ("remote: origin\nproposals: {url: https://f.example.com/a}", "tokenFile"),
        ("remote: origin\nproposals: {tokenFile: t}", "give url, or command"),
        ("remote: o\nproposals: {command: sh, url: https://f}", "and not both"),
        ("remote: o\nproposals: {command: no-such-program}", "no such program"),
        ("remote: https://f/a\nproposals: {url: https://f, tokenFile: no-such}", "no-such"),
        (
            "remote: origin\nproposals: {url: http://forge.example.com/repos/a, tokenFile: @}",
            "must be an https URL",
        ),
        (f"{PROXY}\ngrants: {{ops: [root]}}", "grants.ops.0 must be 'read'"),
        ("grants: {ops: [read]}\ntokens: t", "grants has no effect without"),
        ("oidc: {issuer: id.example.com, audience: a}", "the URL must be https"),
        ("remote: nowhere", "remote 'nowhere' not found"),
        ("clusters: {directories: a, sources: [odd]}", "clusters"),
        ("tokens: none", "none"),
        ("branch: none", "branch 'none' not found"),
        ("brunch: main", "brunch is not known"),
        ("[]", "must be a mapping"),
        ("a: [", "config:"),
    ],
)
def test_what_it_does_not_start_as(
    content: str, said: str, repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config"
    file.write_text(content.replace("@", str(file)))
    assert main(["serve", "--repo", str(repository), "--config", str(file)]) == 1
    assert said in capsys.readouterr().err


def test_it_needs_a_repository(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve"]) == 2
    assert "--repo DIR or --config FILE" in capsys.readouterr().err
    assert main(["serve", "--repo", ".", "--host", "0.0.0.0"]) == 1  # noqa: S104 - it is refused
    assert "configure authentication" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--scopes read", "--scopes needs --new-token"),
        ("--author A<a@b.c>", "--author needs --new-token"),
        ("--new-token ada --tokens t", "--new-token takes no option but"),
        ("--new-token ada --port 0", "--new-token takes no option but"),
    ],
)
def test_an_option_that_would_have_no_effect(
    options: str, said: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = [] if "--new" in options else ["--repo", str(repository)]
    assert main(["serve", *served, *options.split()]) == 2
    assert said in capsys.readouterr().err


def test_a_port_that_another_program_has(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server((LOCAL, 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--repo", str(repository), "--port", port]) == 1
    assert f"cannot listen at {LOCAL}, port {port}: Address" in capsys.readouterr().err


def test_it_stops_though_a_page_is_followed(repository: Path) -> None:
    with ExitStack() as stack:
        port, process = stack.enter_context(served("--repo", str(repository)))
        connection = http.client.HTTPConnection(LOCAL, port, timeout=20)
        stack.callback(connection.close)
        connection.request("GET", "/readyz")
        commit = json.loads(connection.getresponse().read())["commit"]
        connection.request("GET", f"/ui/events?commit={commit}")
        stream = connection.getresponse()
        assert stream.readline() == b"retry: 5000\n"
        began = time.monotonic()
        process.terminate()
        assert b"changed" not in stream.read()
        process.wait(20)
        # At once, and not after the seconds that answers get to be complete.
        assert time.monotonic() - began < 8


@pytest.mark.slow
def test_sign_ins_that_never_end_keep_nobody_out(repository: Path) -> None:
    begun = b"POST /ui/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n"
    begun += b"Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken="
    with served("--repo", str(repository)) as (port, _), ExitStack() as stack:
        for _ in range(600):
            connection = socket.create_connection((LOCAL, port), timeout=20)
            stack.enter_context(connection).sendall(begun)
        for _ in range(3):
            request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            found, seconds = answered(port, request)
            assert b" 200 " in found.partition(b"\r\n")[0]
            assert seconds < 5
        assert b" 408 " in connection.recv(65536).partition(b"\r\n")[0]


Start = Callable[..., tuple[Settings, access.Ways]]


@pytest.fixture
def start(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    seen: list[tuple[Settings, access.Ways]] = []

    def make(windows: Windows, ways: access.Ways, _: object) -> None:
        seen.append((windows.settings, ways))

    def run(_: object, address: tuple[str, int], started: Callable[..., None], __: object) -> None:
        started(address[0], 8080)

    monkeypatch.setattr(access, "Access", lambda ways, *_: ways)
    monkeypatch.setattr(application, "make", make)
    monkeypatch.setattr(server, "run", run)

    def command(content: str, *options: str) -> tuple[Settings, access.Ways]:
        file = repository.with_name("config")
        file.write_text(f"repo: {repository}\n{content}")
        assert main(["serve", "--config", str(file), *options]) == 0
        return seen[-1]

    return command


def test_on_loopback_everybody_is_the_user_of_the_repository(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever calls by another name of the machine is refused, as a page of elsewhere might."""
    settings, ways = start("rate: 0", "--host", "::1", "--port", "0")
    assert "serving on http://[::1]:8080" in capsys.readouterr().err
    assert ways.anonymous is not None
    assert ways.anonymous.person == Person("Ada", "ada@example.com")
    assert settings.is_open
    assert settings.rate == 0


def test_who_may_call(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("")
    content = f"""
host: "::"
tlsByProxy: true
tokens: {tokens}
oidc: {{issuer: https://id.example.com, audience: w}}
proxy: {{user: X-User, networks: [10.0.0.0/8], groups: X-Groups}}
grants: {{ops: [read, override], "*": [read], platform: [read, admin]}}
"""
    settings, ways = start(content)
    assert "serving on http://[::]:8080" in capsys.readouterr().err
    assert ways.anonymous is None
    assert ways.tokens == tokens
    assert ways.provider == access.Provider("https://id.example.com", "w", "scope")
    assert ways.proxy is not None
    assert ways.proxy.groups == "X-Groups"
    read, override = access.Scope.READ, access.Scope.OVERRIDE
    platform = {read, access.Scope.ADMIN}
    assert ways.granted == {"ops": {read, override}, "*": {read}, "platform": platform}
    assert not settings.is_open
    # Without grants, scopes have the name of the program in a token.
    _, ways = start(f"tlsByProxy: true\n{OIDC}")
    granted = ways.granted
    assert granted["krm-windows:write"] == {access.Scope.WRITE}
    assert granted["krm-windows:admin"] == {access.Scope.ADMIN}


def test_where_changes_go(
    start: Start, tool: Callable[[str], Path], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = [str(tool("git")), "-C", str(repository)]
    subprocess.run([*git, "remote", "add", "origin", "https://forge.example.com/a/b"], check=True)
    content = "remote: origin\nclusters: {directories: clusters/*, sources: [fleet=.]}\n"
    settings, _ = start(f"{content}proposals: {{command: sh}}")
    assert settings.clusters == Clusters("clusters/*", ("fleet=.",))
    assert settings.proposals == PullRequests(command="sh")
    monkeypatch.setenv("KRM_WINDOWS_PROPOSALS__TOKEN", "other")
    settings, _ = start(f"{content}proposals: {{url: https://forge.example.com/repos/a/b}}")
    assert settings.proposals
    assert settings.proposals.token == SecretStr("other")
    assert "other" not in repr(settings)


def test_a_token_is_shown_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--scopes", "read,override", "--author", "Ada <ada@example.com>"]
    assert main(["serve", "--new-token", "ada", *options]) == 0
    shown = capsys.readouterr()
    token = shown.err.strip().rpartition(" ")[2]
    assert token.startswith("kw_")
    assert token not in shown.out
    (tmp_path / "tokens").write_text(shown.out)
    found = access.Access(access.Ways(tokens=tmp_path / "tokens")).begin_session(token)
    assert token not in found
    assert main(["serve", "--new-token", "a b"]) == 2
    for scopes in ("root", ""):
        assert main(["serve", "--new-token", "ada", "--scopes", scopes]) == 2


def two_lengths() -> bytes:
    """Write a request that one reader takes for two, each of which would open the windows."""
    body = b'{"state": "open", "for": "2h", "reason": "fix"}'
    head = f"POST {PATH}/overrides HTTP/1.1\r\nHost: 127.0.0.1\r\n".encode()
    head += b"Content-Type: application/json\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    two = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(chunk)
    return head + two + chunk + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_the_server(repository: Path) -> None:
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
        # A request of no HTTP, and one of a size that nobody needs.
        assert b" 400 " in answered(port, b"what is this\r\n\r\n")[0].partition(b"\r\n")[0]
        large = b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 100_000
        assert b" 400 " in answered(port, large)[0].partition(b"\r\n")[0]
        # One with two lengths ends the connection (RFC 9112, 6.1); what stands behind it is lost.
        found, seconds = answered(port, two_lengths())
        assert found.count(b"HTTP/1.1 ") == 1
        assert b" 400 " in found.partition(b"\r\n")[0]
        assert seconds < 5
        process.terminate()
        assert process.stderr
        [line] = process.stderr.read().splitlines()
    told = json.loads(line)
    assert (told["event"], told["caller"], told["commit"]) == ("changed", "local", body["commit"])

"""Who may call: tokens, JSON Web Tokens, a proxy; everybody else gets nothing, and is told of."""

import ipaddress
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import jwt
import pytest
from authorization import bearer
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.requests import Request

from krm_windows.service import access, admission, application, description, rates
from krm_windows.service.access import Access, Caller, Provider, Proxy, Scope, Ways
from krm_windows.service.pages import table
from krm_windows.service.problems import Problem
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_branch import Person

Client = Any
Git = Any
Serve = Any

POLICY = "/policies/flux-system/week"
ISSUER, AUDIENCE = "https://id.example.com", "krm-windows"
OVERRIDE = {"state": "open", "for": "2h", "reason": "fix"}
GRANTED = {"ops": frozenset({Scope.READ, Scope.OVERRIDE}), "dev": frozenset({Scope.READ})}


@pytest.fixture
def tokens(tmp_path: Path) -> dict[str, str]:
    made = {name: access.new_token() for name in ("reader", "writer", "caller")}
    scopes = {"reader": "read", "writer": "read,write", "caller": "read,override"}
    lines = [
        access.token_line(name, scopes[name], token, Person("Ada Lovelace", "ada@example.com"))
        for name, token in made.items()
    ]
    (tmp_path / "tokens").write_text("\n".join(["# ours", "", *lines, ""]))
    return made


def request(headers: dict[str, str], client: str = "127.0.0.1") -> Request:
    found = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
    return Request({"type": "http", "headers": found, "client": (client, 1), "method": "GET"})


def who(made: Access, asked: Request) -> Caller | None:
    if made.keys is not None:
        made.keys.refresh()
    return made.caller(asked)


@pytest.mark.parametrize("row", [("reader", 200, 403), ("caller", 200, 201), ("nobody", 401, 401)])
def test_a_token_has_its_scopes(
    row: tuple[str, int, int], started: Serve, git: Git, tokens: dict[str, str], tmp_path: Path
) -> None:
    name, reads, overrides = row
    lines: list[dict[str, Any]] = []
    client = started(Ways(tokens=tmp_path / "tokens"), lines)
    token = tokens.get(name, "kw_guessed")
    assert client.ask("GET", POLICY, **bearer(token)).status == reads
    done = client.ask("POST", f"{POLICY}/overrides", OVERRIDE, **bearer(token))
    assert done.status == overrides
    told = lines[-1]
    event = "changed" if overrides == 201 else "refused"
    assert (told["event"], told["status"]) == (event, overrides)
    if overrides == 201:
        assert told["commit"] == git("rev-parse", "HEAD").strip()
        assert git("log", "-1", "--format=%an <%ae>").strip() == "Ada Lovelace <ada@example.com>"
    if reads == 401:
        assert done.headers["www-authenticate"].startswith("Bearer ")
        # Who is refused a session is nobody.
        form = f"token={token}".encode()
        assert client.ask("POST", "/ui/login", form, content_type=FORM_TYPE).status == 401
        assert (lines[-1]["event"], lines[-1]["operation"]) == ("refused", "beginSession")
        assert "caller" not in lines[-1]
    assert token not in json.dumps(lines)


def test_each_commit_is_changed_in_one_line_of_the_log(
    started: Serve, tokens: dict[str, str], tmp_path: Path
) -> None:
    lines: list[dict[str, Any]] = []
    client = started(Ways(tokens=tmp_path / "tokens"), lines)
    sent = {**bearer(tokens["caller"]), "idempotency-key": "k"}
    for _ in range(2):
        assert client.ask("POST", f"{POLICY}/overrides", OVERRIDE, **sent).status == 201
    empty = client.patch(POLICY, {}, **bearer(tokens["writer"]))
    assert (empty.status, empty.json()["written"]) == (200, False)
    assert [line["event"] for line in lines] == ["changed", "repeated", "unchanged"]
    assert lines[0]["commit"] == lines[1]["commit"]


@pytest.mark.parametrize("wrong", ["", "half of a kw_line", "removed", "a folder", "chmod go-w"])
def test_a_token_that_is_taken_out_of_the_file_is_none(
    wrong: str, started: Serve, tokens: dict[str, str], tmp_path: Path
) -> None:
    """Whatever else the file says: what is right in it holds, and what is wrong is said once."""
    lines: list[dict[str, Any]] = []
    file = tmp_path / "tokens"
    client, text = started(Ways(tokens=file), lines), file.read_text()
    assert client.ask("GET", POLICY, **bearer(tokens["reader"])).status == 200
    kept = [line for line in text.splitlines() if "reader" not in line]
    file.write_text("\n".join([wrong[:16], *kept] if " kw_" in wrong else kept))
    if wrong in ("removed", "a folder"):
        file.unlink()
    if wrong == "a folder":
        file.mkdir()
    if wrong == "chmod go-w":
        file.chmod(0o666)
    holds = not wrong or " kw_" in wrong
    for _ in range(2):
        assert client.ask("GET", POLICY, **bearer(tokens["reader"])).status == 401
        done = client.ask("GET", POLICY, **bearer(tokens["writer"]))
        assert done.status == (200 if holds else 401)
    right = f"krm_windows_tokens_right {0 if wrong else 1}.0"
    assert right in client.ask("GET", "/metrics").body.decode()
    told = [line["detail"] for line in lines if line["event"] == "tokens"]
    assert len(told) == bool(wrong)
    assert "kw_" not in json.dumps(lines)
    if wrong == "a folder":
        file.rmdir()
    file.unlink(missing_ok=True)
    file.write_text(text)
    assert client.ask("GET", POLICY, **bearer(tokens["reader"])).status == 200


def test_a_session_ends_with_its_token(serve: Serve, tmp_path: Path) -> None:
    """Where the line is gone, and where it has another token: the old one may have been stolen."""
    client, token = signing_in(serve, tmp_path)
    cookie = cookie_of(client, token)
    file = tmp_path / "tokens"
    before = file.read_text()
    another = access.token_line("ada", "read,write,override", access.new_token())
    for text, status in (
        (before, 200),
        (f"# A comment.\n{before}", 200),
        (f"{another}\n", 401),
        (before, 200),
        ("", 401),
    ):
        file.write_text(text)
        assert client.ask("GET", "/", cookie=cookie).status == status, text


@pytest.mark.parametrize("way", ["header", "form"])
def test_who_fails_to_say_who_they_are_too_often_has_to_wait(
    way: str, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, token = signing_in(serve, tmp_path)
    # No permit comes back while a busy machine answers the first tries.
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: 0.0))

    def tried(token: str) -> int:
        if way == "header":
            done = client.ask("GET", POLICY, **bearer(token))
        else:
            form = f"token={token}".encode()
            done = client.ask("POST", "/ui/login", form, content_type=FORM_TYPE)
        return int(done.status)

    found = [tried(f"kw_guess{number}") for number in range(100)]
    assert (found[0], found[-1]) == (401, 429)
    assert found == sorted(found)
    assert tried(token) in (200, 303)


@pytest.mark.parametrize(
    "line",
    [
        "ada read secret-token",
        "ada read",
        "ada root sha256:" + "0" * 64,
        "ada read sha256:" + "0" * 64 + "\nada write sha256:" + "1" * 64,
    ],
)
def test_a_file_of_tokens_is_read_strictly(line: str, tmp_path: Path) -> None:
    """Nobody finds out later that a line did not count; and a token in it is not repeated."""
    (tmp_path / "tokens").write_text(line)
    with pytest.raises(WorkspaceError) as raised:
        Access(Ways(tokens=tmp_path / "tokens"))
    assert "secret-token" not in str(raised.value)


KEY = ec.generate_private_key(ec.SECP256R1())


LISTED = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key()))
JWKS = json.dumps({"keys": [{"kty": "odd"}, {**LISTED, "kid": "k1", "use": "sig"}]}).encode()


def token(key: Any = KEY, algorithm: str = "ES256", kid: str = "k1", **claims: object) -> str:  # noqa: ANN401
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "exp": now + 60, "sub": "u1", "groups": ["ops"]}
    kept = {name: value for name, value in {**whole, **claims}.items() if value is not None}
    return jwt.encode(kept, key, algorithm, headers={"kid": kid})


def provided() -> Access:
    made = Access(Ways(provider=Provider(ISSUER, AUDIENCE, "groups"), granted=GRANTED))
    assert made.keys is not None
    made.keys._text = lambda: JWKS  # type: ignore[method-assign]
    return made


def test_a_json_web_token() -> None:
    made = provided()
    found = who(made, request(bearer(token(email="ada@example.com", name="Ada <L>"))))
    assert found is not None
    assert found.scopes == {Scope.READ, Scope.OVERRIDE}
    assert (found.person.name, found.person.email) == ("Ada L", "ada@example.com")
    nobody = who(made, request(bearer(token(groups="dev other"))))
    assert nobody is not None
    assert nobody.scopes == {Scope.READ}


@pytest.mark.parametrize(
    "wrong",
    [
        token(iss="https://evil.example.com"),
        token(aud="other"),
        token(aud=None),
        token(exp=int(time.time()) - 3600),
        token(exp=None),
        token(nbf=int(time.time()) + 3600),
        token(kid="k2"),
        token(sub=None),
        token(key=ec.generate_private_key(ec.SECP256R1())),
        token(key=rsa.generate_private_key(65537, 2048), algorithm="RS256"),
        token(key="0" * 64, algorithm="HS256"),
        jwt.encode({"iss": ISSUER, "aud": AUDIENCE, "exp": 4e9, "sub": "u"}, "", "none"),
        "a.b.c",
        "",
    ],
)
def test_a_token_of_somebody_else_does_not_count(wrong: str) -> None:
    with pytest.raises(Problem, match="401"):
        who(provided(), request(bearer(wrong)))


def proxied() -> Access:
    networks = (ipaddress.ip_network("10.0.0.0/24"),)
    proxy = Proxy("X-User", networks, "X-Groups", "X-Email")
    return Access(Ways(proxy=proxy, granted=GRANTED))


def test_a_proxy_says_who_calls() -> None:
    headers = {"X-User": "ada", "X-Groups": "ops,other", "X-Email": "ada@example.com"}
    found = who(proxied(), request(headers, "10.0.0.7"))
    assert found is not None
    assert (found.name, found.person.email) == ("ada", "ada@example.com")
    assert found.scopes == {Scope.READ, Scope.OVERRIDE}
    assert who(proxied(), request(headers, "10.0.1.7")) is None
    assert who(proxied(), request({}, "10.0.0.7")) is None


@pytest.mark.parametrize("name", ["x-user", "x-groups", "x-email"])
def test_a_header_of_the_proxy_that_comes_twice_is_not_believed(name: str) -> None:
    """One of both is the caller's own, and nobody knows which."""
    headers = [(b"x-user", b"ada"), (b"x-groups", b"dev"), (b"x-email", b"ada@example.com")]
    headers.append((name.encode(), b"ops"))
    scope = {"type": "http", "headers": headers, "client": ("10.0.0.7", 1), "method": "GET"}
    with pytest.raises(Problem) as raised:
        who(proxied(), Request(scope))
    assert raised.value.status == 401


def test_a_file_of_tokens_that_others_may_write_is_refused(
    tokens: dict[str, str], tmp_path: Path
) -> None:
    """At the start; later, it lets nobody in."""
    path = tmp_path / "tokens"
    served = Access(Ways(tokens=path))
    path.write_text(access.token_line("evil", "admin", "kw_evil") + "\n")
    for mode in (0o620, 0o602):
        path.chmod(mode)
        with pytest.raises(WorkspaceError, match="chmod go-w"):
            Access(Ways(tokens=path))
    for token in (tokens["reader"], "kw_evil"):
        with pytest.raises(Problem):
            served.begin_session(token)


def test_what_a_name_may_hold() -> None:
    assert access.clean("Ada\n<evil@example.com>\x1b[31m\u2028") == "Adaevil@example.com[31m"
    assert access.clean(" .\n") == "unknown"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"origin": "http://127.0.0.1", "sec_fetch_site": "same-origin"}, 201),
        ({"host": "evil.example.com"}, 403),
    ],
)
def test_another_site_changes_nothing(
    headers: dict[str, str], status: int, serve: Serve, git: Git
) -> None:
    """Whatever it has a browser of somebody send here, and by whatever name (DNS rebinding)."""
    client = serve()
    done = client.ask("POST", f"{POLICY}/overrides", OVERRIDE, **headers)
    assert done.status == status
    if status == 403:
        form = urlencode(OVERRIDE).encode()
        page = client.ask("POST", f"/ui{POLICY}/override", form, content_type=FORM_TYPE, **headers)
        assert (page.status, page.headers["content-type"][:9]) == (403, "text/html")
    assert git("rev-list", "--count", "HEAD").strip() == ("2" if status == 201 else "1")


def test_a_host_or_a_path_that_is_none_is_refused(client: Client) -> None:
    """As the caller's error: Git and the file system take no name with NUL."""
    for host in ("[", "[::1", "]", "[a]:80", "a b"):
        assert client.ask("GET", "/healthz", host=host).status == 403, host
    for path in ("/policies/a/b%00", "/policies/%00/b/state", "/ui/policies/a/b%00/window"):
        for method in ("GET", "PUT", "POST", "DELETE"):
            assert client.ask(method, path, {}, if_none_match="*").status == 400, path


def test_headers_for_browsers(client: Client) -> None:
    for path in ("/policies", "/nothing", "/healthz"):
        found = client.ask("GET", path).headers
        assert "default-src 'none'" in found["content-security-policy"]
        assert found["x-content-type-options"] == "nosniff"
        assert found["x-frame-options"] == "DENY"
        assert found["cache-control"] == "no-store"


def test_too_much_is_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    client, url = serve(rate=1), f"{POLICY}/overrides"
    assert client.ask("POST", url, {"state": "odd"}).status == 400
    done = client.ask("POST", url, {"state": "odd"})
    assert done.status == 429
    assert 0 < int(done.headers["retry-after"]) <= 61
    assert client.ask("GET", POLICY).status == 200
    monkeypatch.setattr(admission, "_MOST_BODY", 1000)
    assert serve().ask("POST", url, {**OVERRIDE, "ticket": "x" * 2000}).status == 413


def signing_in(serve: Serve, tmp_path: Path, secret: bytes | None = None) -> tuple[Client, str]:
    token = access.new_token()
    (tmp_path / "tokens").write_text(access.token_line("ada", "read,write,override", token) + "\n")
    client = serve()
    made = Access(Ways(tokens=tmp_path / "tokens"), secret)
    return type(client)(application.make(client.windows, made), client.windows), token


def cookie_of(client: Client, token: str) -> str:
    done = client.ask("POST", "/ui/login", f"token={token}".encode(), content_type=FORM_TYPE)
    cookie: str = done.headers["set-cookie"].partition(";")[0]
    return cookie


FORM_TYPE = "application/x-www-form-urlencoded"


def test_a_session_outlives_a_restart(serve: Serve, tmp_path: Path) -> None:
    secret = access.kept_secret(Directory.at(tmp_path))
    assert access.kept_secret(Directory.at(tmp_path)) == secret
    assert (tmp_path / "session-key").stat().st_mode & 0o777 == 0o600
    before, token = signing_in(serve, tmp_path, secret)
    cookie = cookie_of(before, token)
    for key, status in ((None, 401), (secret, 200)):
        made = Access(Ways(tokens=tmp_path / "tokens"), key)
        after = type(before)(application.make(before.windows, made), before.windows)
        assert after.ask("GET", "/", cookie=cookie).status == status


def test_a_session_that_is_not_ours_is_none(serve: Serve, tmp_path: Path) -> None:
    secret = b"s" * 32
    client, token = signing_in(serve, tmp_path, secret)
    name, _, good = cookie_of(client, token).partition("=")
    claims = jwt.decode(good, secret, ["HS256"])
    head, body, signature = good.split(".")
    others = (
        "",
        "..",
        "\x80",
        f"{head}.{body}.",
        f"{head}.{body[:-1]}.{signature}",
        jwt.encode(claims, None, "none"),
        jwt.encode(claims, b"x" * 32, "HS256"),
        jwt.encode({**claims, "exp": time.time() - 1}, secret, "HS256"),
        jwt.encode({**claims, "sub": "0" * 64}, secret, "HS256"),
        jwt.encode({"sub": claims["sub"]}, secret, "HS256"),
    )
    assert client.ask("GET", "/", cookie=f"{name}={good}").status == 200
    for other in others:
        assert client.ask("GET", "/", cookie=f"{name}={other}").status == 401, other


OPEN = {
    *("/healthz", "/readyz", "/metrics", "/openapi.json", "/calendars/{token}.ics"),
    *("/ui/login", "/ui/logout", "/ui/assets/{asset}"),
}


def test_whoever_is_not_known_gets_nothing(serve: Serve, tmp_path: Path) -> None:
    client, _ = signing_in(serve, tmp_path)
    wrong = []
    for route in (*description.ROUTES, *table.ROUTES):
        target = route.path.replace("{token}", "x").format(
            namespace="flux-system", name="week", override="o", calendar="c", asset="x"
        )
        for method in route.methods:
            is_open = route.path in OPEN and (method, route.path) != ("POST", "/ui/login")
            status = client.ask(method, target, b"", content_type=FORM_TYPE).status
            if (status == 401) is is_open:
                wrong.append((method, route.path, status))
    assert wrong == []

"""The clients of forges, and comments by them, against a server that speaks their interfaces."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from forges import KINDS, REPOSITORY, TOKEN, Pull, Reply, Server, serving

from krm_windows.forge import (
    CommitState,
    ForgeError,
    PullRequest,
    RefusedError,
    Status,
    connect,
    http,
)
from krm_windows.forge.comments import put
from krm_windows.forge.gitlab import GitLab
from krm_windows.forge.http import Client
from krm_windows.forge.pulls import Pulls
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_program import Access

NOW = datetime(2026, 12, 16, 11, 0, tzinfo=UTC)
ON_EACH = pytest.mark.parametrize("asked", KINDS, indirect=True)


@dataclass
class Asked:
    server: Server
    forge: connect.Connected


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr(time, "sleep", found.append)
    return found


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    pulls = (Pull(1, "a" * 40, labels=("bug",)), Pull(2, "b" * 40))
    with serving(getattr(request, "param", "github"), *pulls) as server:
        yield made(server)


def made(server: Server) -> Asked:
    kind = connect.KINDS[server.kind]
    client = Client(server.address, kind.header, f"{kind.scheme}{TOKEN}")
    return Asked(server, kind.make(client, REPOSITORY))


@ON_EACH
def test_open_changes_are_read(asked: Asked) -> None:
    first, second = asked.forge.open_changes()
    assert first == PullRequest(1, "a" * 40, frozenset({"bug"}), "main")
    assert asked.forge.change(2) == second
    assert asked.forge.default_branch() == "main"


@ON_EACH
def test_a_thousand_changes_are_read_in_pages(asked: Asked) -> None:
    asked.server.pulls = [Pull(number, f"{number:040x}") for number in range(1, 1002)]
    # Read twice: as if another one had come in between.
    asked.server.pulls.insert(500, asked.server.pulls[0])
    found = [each.number for each in asked.forge.open_changes()]
    assert found == list(range(1, 1002))
    assert len(asked.server.asked) == (21 if asked.server.kind == "gitea" else 11)


@ON_EACH
def test_a_status_is_set_and_read(asked: Asked) -> None:
    said = Status("krm-windows", CommitState.PENDING, "closed", "https://windows.test/")
    for each in (said, Status("ci", CommitState.SUCCESS, "fine")):
        asked.forge.set_status("a" * 40, each)
    assert asked.forge.statuses("a" * 40) == {
        "krm-windows": said,
        "ci": Status("ci", CommitState.SUCCESS, "fine"),
    }
    done = Status("krm-windows", CommitState.SUCCESS, "open")
    # The same again, which GitLab refuses.
    for each in (said, done):
        asked.forge.set_status("a" * 40, each)
    assert asked.forge.statuses("a" * 40)["krm-windows"] == done
    for state in CommitState:
        asked.forge.set_status("a" * 40, Status("each", state, "why"))
        assert asked.forge.statuses("a" * 40)["each"].state is state


LATER = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        ((429, {"Retry-After": LATER}, {}), [90]),
        ((429, {"Retry-After": "3600"}, {}), [300]),
        # The first time at once.
        ((429, {}, {}), []),
        ((403, {"Retry-After": "60"}, {"message": "secondary rate limit"}), [60]),
        ((502, {}, b"<html>Bad Gateway</html>"), []),
        ((503, {"Retry-After": "3"}, {}), [3]),
    ],
)
def test_what_passes_is_tried_again(
    asked: Asked,
    trouble: Reply,
    expected: list[float],
    slept: list[float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time", NOW.timestamp)
    asked.server.troubles = [trouble]
    assert len(list(asked.forge.open_changes())) == 2
    assert slept == expected


def test_what_does_not_pass_ends(asked: Asked, slept: list[float]) -> None:
    asked.server.troubles = [(503, {}, {})] * 9
    with pytest.raises(ForgeError, match=r"GET \S+: 503"):
        list(asked.forge.open_changes())
    assert slept == [2, 4, 8]
    for after in ("soon", "9" * 5000):
        asked.server.troubles = [(429, {"Retry-After": after}, {})]
        with pytest.raises(ForgeError, match=r"failed \(\w+\)"):
            list(asked.forge.open_changes())
    with serving("github") as server:
        gone = made(server)
    with pytest.raises(ForgeError, match=r"failed \(\w+\)"):
        list(gone.forge.open_changes())


@ON_EACH
def test_a_merge_is_not_tried_again(asked: Asked) -> None:
    first, _ = asked.forge.open_changes()
    asked.server.troubles = [(502, {}, {})]
    with pytest.raises(ForgeError, match="502"):
        asked.forge.merge(first)
    assert asked.server.merged == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_right_that_is_missing_is_said(
    asked: Asked, status: int, slept: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    words = f"Resource not accessible with {TOKEN}"
    asked.server.troubles = [(status, {}, {"message": words})]
    with pytest.raises(RefusedError, match="does the token have the permission") as raised:
        asked.forge.set_status("a" * 40, Status("x", CommitState.SUCCESS, "open"))
    assert "Resource not accessible with ***" in str(raised.value)
    # Nothing is found either below an address that lacks its `/api/v1`.
    assert ("API's URL" in str(raised.value)) is (status == 404)
    assert TOKEN not in f"{raised.value!r} {caplog.text}"
    assert slept == []


def test_a_redirect_is_not_followed(asked: Asked) -> None:
    """It would take the token to another host."""
    with serving(asked.server.kind) as other:
        asked.server.troubles = [(307, {"Location": f"{other.address}/repos"}, {})]
        with pytest.raises(ForgeError, match="307"):
            list(asked.forge.open_changes())
        assert other.asked == []


@ON_EACH
@pytest.mark.parametrize(
    "content", [b"", b"<html>", b'{"a": 1}', b"[1]", b'[{"number": "1"}]', b"[" * 9999]
)
def test_an_answer_of_another_kind_is_an_error(asked: Asked, content: bytes) -> None:
    asked.server.troubles = [(200, {}, content)]
    with pytest.raises(ForgeError, match="unexpected response from the forge"):
        list(asked.forge.open_changes())


def test_an_answer_without_end_is_not_read(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MOST", 1000)
    asked.server.troubles = [(200, {}, b" " * 2000)]
    with pytest.raises(ForgeError, match="more than 1000 bytes"):
        list(asked.forge.open_changes())
    monkeypatch.setattr(http, "_MOST_PAGES", 3)
    asked.server.troubles = [(200, {"Link": '<x>; rel="next"'}, [])] * 9
    with pytest.raises(ForgeError, match="more than 3 pages"):
        list(asked.forge.open_changes())


def say(asked: Asked, name: str, text: str, *, is_news: bool = True) -> bool:
    return put(asked.forge, 1, name, text, is_news=is_news)


@ON_EACH
def test_it_is_said_once_and_edited_in_place(asked: Asked) -> None:
    assert not say(asked, "week", "nothing", is_news=False)
    assert say(asked, "week", "| opens |")
    assert not say(asked, "week", "| opens |\n")
    assert say(asked, "other", "| closes |")
    assert say(asked, "week", "nothing", is_news=False)
    assert [(number, who) for number, who, _ in asked.server.comments] == [(1, "ada")] * 2
    first, second = (text.splitlines() for _, _, text in asked.server.comments)
    assert first[1:] == ["nothing"]
    assert second[1:] == ["| closes |"]
    assert first[0] != second[0]


@ON_EACH
def test_a_comment_of_somebody_else_is_not_ours(asked: Asked) -> None:
    """Whoever copies the mark could change our words later, in a comment of their own."""
    assert say(asked, "week", "| opens |")
    _, _, said = asked.server.comments[0]
    asked.server.comments[:] = [(1, "eve", said), (1, "ada", f"> {said}")]
    assert say(asked, "week", "| closes |")
    assert asked.server.comments[0] == (1, "eve", said)
    assert [who for _, who, _ in asked.server.comments] == ["eve", "ada", "ada"]


@ON_EACH
def test_the_token_of_an_app_finds_its_own(asked: Asked) -> None:
    """It may not ask whose it is; GitHub says of a comment that an app has written it."""
    assert say(asked, "week", "| opens |")
    [(_, _, said)] = asked.server.comments
    asked.server.comments[:] = [(1, "eve", said), (1, "ci[bot]", said)]
    asked.server.login = None
    if asked.server.kind != "github":
        with pytest.raises(RefusedError, match="GET user: 403"):
            say(asked, "week", "| closes |")
        return
    assert say(asked, "week", "| closes |")
    assert asked.server.comments[0] == (1, "eve", said)
    [_, (_, who, now)] = asked.server.comments
    assert (who, "closes" in now) == ("ci[bot]", True)


@ON_EACH
def test_it_is_found_behind_many(asked: Asked) -> None:
    asked.server.comments += [(1, "eve", "words")] * 120
    assert say(asked, "week", "| opens |")
    assert say(asked, "week", "| closes |")
    assert len(asked.server.comments) == 121


def test_a_long_one_is_cut_at_a_line(asked: Asked) -> None:
    """GitHub takes 65,536 characters; it says that lines are missing."""
    lines = [f"| {number:04} | {'x' * 90} |" for number in range(1000)]
    assert say(asked, "week", "\n".join(lines))
    [(_, _, said)] = asked.server.comments
    assert len(said) < 65_536
    *kept, empty, last = said.splitlines()[1:]
    assert kept == lines[: len(kept)]
    assert (empty, last) == ("", "… the rest is in the log")
    assert not say(asked, "week", "\n".join(lines))


def test_a_comment_is_not_sent_twice(asked: Asked) -> None:
    """Its answer may be lost, and the comment be there."""

    def before(method: str, _path: str) -> None:
        if method == "POST":
            asked.server.troubles = [(502, {}, {})]

    asked.server.before = before
    with pytest.raises(ForgeError, match="502"):
        say(asked, "week", "x")
    assert sum(each.startswith("POST") for each in asked.server.asked) == 1


@pytest.mark.parametrize(
    ("name", "address", "environment", "said"),
    [
        ("gitea", None, {"GITEA_TOKEN": "x"}, "give --url"),
        ("github", None, {}, "variable GITHUB_TOKEN"),
        ("gitlab", None, {"GITLAB_TOKEN": " \n"}, "variable GITLAB_TOKEN"),
        ("github", "http://forge.example/api", {"GITHUB_TOKEN": "x"}, "must be an https URL"),
        ("github", None, {"GITHUB_TOKEN": "x\r\ny"}, "an HTTP header cannot have"),
    ],
)
def test_what_is_missing_is_said(
    name: str, address: str | None, environment: dict[str, str], said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said):
        connect.connect(name, REPOSITORY, address, environment)


@pytest.mark.parametrize(
    ("name", "address", "environment", "expected"),
    [
        ("github", None, {}, "https://api.github.com"),
        ("github", None, {"GITHUB_API_URL": "https://ghe.test/api/v3"}, "https://ghe.test/api/v3"),
        ("github", "https://a.test", {"GITHUB_API_URL": "https://b.test"}, "https://a.test"),
        ("gitlab", None, {"CI_API_V4_URL": "https://gl.test/api/v4"}, "https://gl.test/api/v4"),
        ("gitea", "https://tea.test", {"GITHUB_API_URL": "https://b.test"}, "https://tea.test"),
    ],
)
def test_where_a_forge_is(
    name: str, address: str | None, environment: dict[str, str], expected: str
) -> None:
    variable = connect.KINDS[name].variable
    forge = connect.connect(name, REPOSITORY, address, {**environment, variable: "x"})
    assert isinstance(forge, (Pulls, GitLab))
    assert forge.client.address == expected


@pytest.mark.parametrize(
    ("name", "address", "place"),
    [
        ("github", None, "https://github.com/"),
        ("github", "https://api.acme.ghe.com", "https://acme.ghe.com/"),
        ("github", "https://github.example/api/v3/", "https://github.example/"),
        ("gitlab", "https://dev.example/gitlab/api/v4", "https://dev.example/gitlab/"),
        ("gitea", "https://gitea.example/api/v1", "https://gitea.example/"),
    ],
)
def test_git_sends_the_token_to_the_forge_alone(name: str, address: str | None, place: str) -> None:
    token = {connect.KINDS[name].variable: TOKEN}
    access = connect.git_access(connect.connect(name, REPOSITORY, address, token))
    assert access == Access(place, TOKEN)
    assert access.environment()["GIT_CONFIG_KEY_0"] == f"http.{place}.extraHeader"
    assert TOKEN not in repr(access) + repr(Client("https://forge.test", "Authorization", TOKEN))

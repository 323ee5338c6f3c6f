"""A comment on a change: said once, and edited in place."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from forges import KINDS, REPOSITORY, TOKEN, Pull, Server, serving

from krm_windows.forge import ForgeError, RefusedError, connect
from krm_windows.forge.comments import put


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A forge of each kind, with a change."""
    with serving(request.param, Pull(7, "a" * 40)) as found:
        yield found


Put = Callable[..., bool]


@pytest.fixture
def say(server: Server) -> Put:
    """What says something on the change."""
    token = {f"{server.kind.upper()}_TOKEN": TOKEN}
    forge = connect.connect(server.kind, REPOSITORY, server.address, token)
    return partial(put, forge, 7)


def test_it_is_said_once_and_edited_in_place(server: Server, say: Put) -> None:
    """What is the same already is not written again; what is no news is said in place of news."""
    assert say("week", "| opens |", is_news=True)
    assert not say("week", "| opens |\n", is_news=True)
    assert say("other", "| closes |", is_news=True)
    assert say("week", "nothing", is_news=False)
    assert [(number, who) for number, who, _ in server.comments] == [(7, "ada")] * 2
    first, second = (text.splitlines() for _, _, text in server.comments)
    assert first[1:] == ["nothing"]
    assert second[1:] == ["| closes |"]
    assert first[0] != second[0]


def test_what_is_no_news_is_not_said(server: Server, say: Put) -> None:
    """Most changes change no hour."""
    assert not say("week", "nothing", is_news=False)
    assert server.comments == []


def test_a_comment_of_somebody_else_is_not_ours(server: Server, say: Put) -> None:
    """Whoever copies the mark could change our words later, in a comment of their own."""
    assert say("week", "| opens |", is_news=True)
    _, _, said = server.comments[0]
    server.comments[:] = [(7, "eve", said), (7, "ada", f"> {said}")]
    assert say("week", "| closes |", is_news=True)
    assert server.comments[0] == (7, "eve", said)
    assert [who for _, who, _ in server.comments] == ["eve", "ada", "ada"]


def test_the_token_of_an_app_finds_its_own(server: Server, say: Put) -> None:
    """It may not ask whose it is; GitHub says of a comment that an app has written it.

    Elsewhere it is a right that is missing, without which each run would write another comment.
    """
    assert say("week", "| opens |", is_news=True)
    [(_, _, said)] = server.comments
    server.comments[:] = [(7, "eve", said), (7, "ci[bot]", said)]
    server.login = None
    if server.kind != "github":
        with pytest.raises(RefusedError, match="GET user: 403"):
            say("week", "| closes |", is_news=True)
        return
    assert say("week", "| closes |", is_news=True)
    assert server.comments[0] == (7, "eve", said)
    [_, (_, who, now)] = server.comments
    assert (who, "closes" in now) == ("ci[bot]", True)


def test_it_is_found_behind_many(server: Server, say: Put) -> None:
    """On a later page."""
    server.comments += [(7, "eve", "words")] * 120
    assert say("week", "| opens |", is_news=True)
    assert say("week", "| closes |", is_news=True)
    assert len(server.comments) == 121


def test_a_long_one_is_cut_at_a_line(server: Server, say: Put) -> None:
    """GitHub takes 65,536 characters; it says that lines are missing."""
    lines = [f"| {number:04} | {'x' * 90} |" for number in range(1000)]
    assert say("week", "\n".join(lines), is_news=True)
    [(_, _, said)] = server.comments
    assert len(said) < 65_536
    *kept, empty, last = said.splitlines()[1:]
    assert kept == lines[: len(kept)]
    assert (empty, last) == ("", "… the rest is in the log")
    assert not say("week", "\n".join(lines), is_news=True)


def test_a_comment_is_not_sent_twice(server: Server, say: Put) -> None:
    """Its answer may be lost, and the comment be there."""

    def before(method: str, _path: str) -> None:
        if method == "POST":
            server.troubles = [(502, {}, {})]

    server.before = before
    with pytest.raises(ForgeError, match="502"):
        say("week", "x", is_news=True)
    assert sum(each.startswith("POST") for each in server.asked) == 1


def test_a_right_that_is_missing_is_said(server: Server, say: Put) -> None:
    """As the token of a pull request from a fork has it."""
    server.before = lambda method, _path: (
        method == "POST"
        and server.troubles.append((403, {}, {"message": "Resource not accessible by integration"}))
    )
    with pytest.raises(RefusedError, match="does the token have the permission"):
        say("week", "x", is_news=True)

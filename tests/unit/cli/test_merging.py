"""`merge-gate` that merges, or approves, against forges of ours on loopback."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from calls import POLICY
from forges import CANNOT_BE_MERGED, KINDS, TOKEN, Pull, Server, configured, serving

from krm_windows.cli import merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError

# In Berlin it is Wednesday, 12:00: open until Thursday, 17:00; after that closed until Monday.
WEDNESDAY = datetime(2026, 12, 16, 11, 0, tzinfo=UTC)
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
OPEN = "open until Thu 2026-12-17 17:00 Europe/Berlin: flux-system/week (windows.office)\n"
CLOSED = "closed until Mon 2026-12-21 08:00 Europe/Berlin: flux-system/week (no window is open)\n"
LABELS = ("window:week",)


class Hands:
    """A clock whose hands sleeping turns, and what happens while it sleeps."""

    def __init__(self, at: datetime) -> None:
        self.at = at
        self.slept: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        """Read it."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Turn it."""
        self.slept.append(seconds)
        self.at += timedelta(seconds=seconds)
        self.meanwhile()


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A forge of each kind: two changes with the label of the policy, and one without."""
    monkeypatch.setenv(f"{request.param.upper()}_TOKEN", TOKEN)
    pulls = (
        Pull(1, "a" * 40, ("apps/web.yaml",), LABELS),
        Pull(2, "b" * 40, ("apps/web.yaml",)),
        Pull(3, "c" * 40, ("docs/a.md",), LABELS),
    )
    with serving(request.param, *pulls) as found:
        found.is_checked_out(monkeypatch)
        yield found


@pytest.fixture(autouse=True)
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a policy."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What was printed since the last time, but the statuses that were set."""

    def found() -> str:
        printed = capsys.readouterr()
        lines = (printed.out + printed.err).splitlines(keepends=True)
        return "".join(line for line in lines if " success: " not in line)

    return found


def gated(server: Server, *options: str, hands: Hands | None = None) -> ExitCode:
    """Call the command."""
    where = ("--forge", server.kind, "--repo", "acme/fleet", "--url", server.address)
    arguments = ["merge-gate", "policy.yaml", *where, *configured(["paths: [apps/*]", *options])]
    turned = hands or Hands(WEDNESDAY)
    clock = Clock(turned.now, turned.sleep)
    return merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments), clock)


def test_the_changes_of_a_window_are_merged(server: Server, said: Callable[[], str]) -> None:
    """Those with its label, the oldest first, each at the commit that was seen."""
    assert gated(server, "merge: true") == 0
    assert server.merged == [(1, "a" * 40), (3, "c" * 40)]
    assert said() == f"#1 aaaaaaaaaaaa merged: {OPEN}#3 cccccccccccc merged: {OPEN}"


def test_nothing_is_merged_while_it_is_closed(server: Server, said: Callable[[], str]) -> None:
    """A label counts for what touches nothing gated, too: somebody wants it in the window."""
    assert gated(server, "merge: true", hands=Hands(THURSDAY)) == 0
    assert server.merged == []
    assert f"#1 aaaaaaaaaaaa not merged: {CLOSED}#3 cccccccccccc not merged: {CLOSED}" in said()


@pytest.mark.parametrize("option", ["merge: true", "approveOnly: true"])
def test_a_dry_run_changes_nothing(server: Server, said: Callable[[], str], option: str) -> None:
    """And says what would be done, and what keeps a change back."""
    done = {"merge: true": "merged", "approveOnly: true": "approved"}[option]
    assert gated(server, option, "--dry-run") == 0
    assert not any(each.startswith(("POST", "PUT")) for each in server.asked)
    lines = said()
    assert f"#1 aaaaaaaaaaaa would be {done}: {OPEN}" in lines
    assert f"#3 cccccccccccc would be {done}: {OPEN}" in lines


def test_checks_are_waited_for(server: Server, said: Callable[[], str]) -> None:
    """One change at a time: the next is looked at when the first is merged."""
    hands = Hands(WEDNESDAY)
    first = server.pulls[0]
    first.checks = {"ci": "pending"}

    def meanwhile() -> None:
        assert server.merged == []
        if len(hands.slept) == 40:
            first.checks = {"ci": "success"}

    hands.meanwhile = meanwhile
    assert gated(server, "merge: true", hands=hands) == 0
    assert hands.slept == [15.0] * 40
    assert [number for number, _ in server.merged] == [1, 3]
    assert "merged" in said()


def test_checks_that_end_after_the_window_merge_nothing(
    server: Server, said: Callable[[], str]
) -> None:
    """The wait ends at the very edge, and the status says that it is closed."""
    hands = Hands(THURSDAY - timedelta(seconds=40))
    server.pulls[0].checks = {"ci": "pending"}
    assert gated(server, "merge: true", hands=hands) == 0
    assert hands.slept == [15.0, 15.0, 10.0]
    assert server.merged == []
    assert server.latest("a" * 40)["state"] == "pending"
    assert f"#1 aaaaaaaaaaaa not merged: {CLOSED}" in said()


def test_closing_early_counts(server: Server, policy: Path) -> None:
    """A change that could not finish in the window waits for the next."""
    (policy / "policy.yaml").write_text(POLICY.replace("spec:\n", "spec:\n  closesEarly: 30m\n"))
    assert gated(server, "merge: true", hands=Hands(THURSDAY - timedelta(minutes=30))) == 0
    assert server.merged == []
    assert gated(server, "merge: true", hands=Hands(THURSDAY - timedelta(minutes=31))) == 0
    assert len(server.merged) == 2


REASONS = {
    "conflicts": {
        "github": "GitHub reports dirty",
        "gitlab": "GitLab reports conflict",
        "gitea": "it conflicts with its base branch",
    },
    "unreviewed": {
        "github": "GitHub reports blocked",
        "gitlab": "GitLab reports not_approved",
        "gitea": f"405: {CANNOT_BE_MERGED['gitea'][2]['message']}",
    },
    "draft": {**dict.fromkeys(KINDS, "it is a draft"), "gitlab": "GitLab reports draft_status"},
    "unknown": {
        "github": "GitHub reports unknown",
        "gitlab": "GitLab reports checking",
        "gitea": "it conflicts with its base branch",
    },
}


@pytest.mark.parametrize("trouble", REASONS)
def test_the_first_that_cannot_be_merged_ends_it(
    server: Server, said: Callable[[], str], trouble: str
) -> None:
    """With the reason; those behind it may need it, and are not tried."""
    setattr(server.pulls[0], trouble, True)
    assert gated(server, "merge: true") == 1
    assert server.merged == []
    lines = said()
    assert "krm-windows: #1 aaaaaaaaaaaa not merged: " in lines
    assert f"{REASONS[trouble][server.kind]}\n" in lines
    assert "#3 cccccccccccc not merged: not tried, because #1 failed\n" in lines


def test_a_check_that_fails_ends_it(server: Server, said: Callable[[], str]) -> None:
    """It is named where the forge names it."""
    server.pulls[0].checks = {"ci": "failure", "lint": "pending"}
    assert gated(server, "merge: true") == 1
    assert server.merged == []
    reason = "its pipeline has failed" if server.kind == "gitlab" else "the check ci has failed"
    assert f"#1 aaaaaaaaaaaa not merged: {reason}\n" in said()


def test_checks_without_end_end_it(server: Server, said: Callable[[], str]) -> None:
    """After the time that they may take."""
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}
    assert gated(server, "merge: true", "timeout: 10m", hands=hands) == 1
    assert sum(hands.slept) == 600
    assert "has not finished\n" in said()


def test_what_the_forge_works_out_is_waited_for(server: Server) -> None:
    """A merge or a push makes it look for conflicts again, for some seconds."""
    hands = Hands(WEDNESDAY)
    server.pulls[0].unknown = True

    def meanwhile() -> None:
        server.pulls[0].unknown = False

    hands.meanwhile = meanwhile
    assert gated(server, "merge: true", hands=hands) == 0
    assert (len(server.merged), hands.slept) == (2, [15.0])


def test_a_forge_that_looks_again_after_checks_is_waited_for(server: Server) -> None:
    """The minute that it has begins then, however long the checks took."""
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}

    def meanwhile() -> None:
        server.pulls[0].checks = {"ci": "pending" if len(hands.slept) < 40 else "success"}
        server.pulls[0].unknown = 40 <= len(hands.slept) < 43

    hands.meanwhile = meanwhile
    assert gated(server, "merge: true", hands=hands) == 0
    assert (len(server.merged), len(hands.slept)) == (2, 43)


def test_a_merge_that_is_refused_for_a_moment_is_tried_again(server: Server) -> None:
    """Gitea looks for conflicts in every other change after a merge, and shows what was before."""
    hands = Hands(WEDNESDAY)
    refusals = [CANNOT_BE_MERGED[server.kind]] * 2

    def before(_method: str, path: str) -> None:
        if path.endswith("3/merge") and refusals:
            server.troubles = [refusals.pop()]

    server.before = before
    assert gated(server, "merge: true", hands=hands) == 0
    assert server.merged == [(1, "a" * 40), (3, "c" * 40)]
    assert hands.slept == [15.0, 15.0]


def test_a_token_that_may_not_merge_ends_it(server: Server, said: Callable[[], str]) -> None:
    """In the words of the forge, and without the token."""
    server.may_merge = False
    assert gated(server, "merge: true") == 1
    assert server.merged == []
    lines = said()
    words = {
        "github": "the token has no permission: PUT repos/acme/fleet/pulls/1/merge: 403",
        "gitlab": "the token has no permission: PUT projects/acme%2Ffleet/merge_requests/1",
        "gitea": "405: User not allowed to merge PR",
    }
    assert words[server.kind] in lines
    assert TOKEN not in lines


def pushed_at(server: Server, method: str, path: str) -> None:
    """Let somebody push, force or not, when a request comes in."""

    def before(asked: str, of: str) -> None:
        if asked == method and of.endswith(path):
            server.pulls[0].sha = "f" * 40

    server.before = before


def test_a_push_while_it_runs_merges_nothing(server: Server, said: Callable[[], str]) -> None:
    """Between the list and the look at its checks."""
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}

    def meanwhile() -> None:
        server.pulls[0].sha = "f" * 40

    hands.meanwhile = meanwhile
    assert gated(server, "merge: true", hands=hands) == 1
    assert server.merged == []
    assert "#1 aaaaaaaaaaaa not merged: its head has moved to ffffffffffff: check again" in said()


@pytest.mark.parametrize("option", ["merge: true", "approveOnly: true"])
def test_a_force_push_before_the_merge_merges_nothing(
    server: Server, said: Callable[[], str], option: str
) -> None:
    """The commit that was seen goes along, so the forge refuses any other."""
    method, path = ("PUT", "1/merge") if option == "merge: true" else ("POST", "1/reviews")
    if server.kind == "gitea":
        method = "POST"
    if server.kind == "gitlab" and option == "approveOnly: true":
        path = "1/approve"
    pushed_at(server, method, path)
    assert gated(server, option) == 1
    assert server.merged == []
    assert server.pulls[0].reviews == []
    assert ": its head has moved to ffffffffffff: check again\n" in said()


def test_a_window_that_closes_before_the_merge_merges_nothing(
    server: Server, said: Callable[[], str]
) -> None:
    """While the forge is asked about the checks; it is decided again right before the merge."""
    hands = Hands(THURSDAY - timedelta(seconds=1))

    def before(_method: str, path: str) -> None:
        if path.endswith("/1"):
            hands.at = THURSDAY

    server.before = before
    assert gated(server, "merge: true", hands=hands) == 0
    assert server.merged == []
    assert f"#1 aaaaaaaaaaaa not merged: {CLOSED}" in said()


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("merged", 0, "#1 aaaaaaaaaaaa merged: by someone else\n"),
        ("closed", 1, "#1 aaaaaaaaaaaa not merged: it is closed\n"),
    ],
)
def test_a_change_that_ends_meanwhile_is_not_merged(
    server: Server, said: Callable[[], str], state: str, code: int, words: str
) -> None:
    """By somebody else's hand."""

    def before(_method: str, path: str) -> None:
        if path.endswith("/1"):
            server.pulls[0].state = state

    server.before = before
    assert gated(server, "merge: true") == code
    assert (1, "a" * 40) not in server.merged
    assert words in said()


def test_a_dry_run_waits_for_nothing(server: Server, said: Callable[[], str]) -> None:
    """It says what would be waited for, and goes on."""
    hands = Hands(WEDNESDAY)
    server.pulls[0].checks = {"ci": "pending"}
    assert gated(server, "merge: true", "--dry-run", hands=hands) == 0
    assert hands.slept == []
    lines = said()
    assert "has not finished\n" in lines
    assert f"#3 cccccccccccc would be merged: {OPEN}" in lines


def test_a_forge_that_fails_ends_it(server: Server, said: Callable[[], str]) -> None:
    """After it was asked five times about a change, which is then not merged."""

    def before(_method: str, path: str) -> None:
        server.troubles = [(500, {}, {})] if path.endswith("/1") else []

    server.before = before
    assert gated(server, "merge: true") == 1
    assert server.merged == []
    assert ": 500\n" in said()


def test_an_answer_that_is_lost_is_looked_for(server: Server, said: Callable[[], str]) -> None:
    """The merge is not sent again; if it has happened all is well."""
    sent = []

    def before(_method: str, path: str) -> None:
        if path.endswith("/merge"):
            sent.append(path)
            # What a proxy says while the forge merges.
            server.troubles = [(502, {}, {})]
            [pull] = [each for each in server.pulls if f"/{each.number}/merge" in path]
            pull.state = "merged" if pull.number == 1 else "open"

    server.before = before
    assert gated(server, "merge: true") == 1
    lines = said()
    assert "#1 aaaaaaaaaaaa merged: " in lines
    assert "#3 cccccccccccc not merged: " in lines
    assert ": 502" in lines
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("squash", {"github": {"merge_method": "squash"}, "gitlab": {"squash": True}}),
        ("merge", {"github": {"merge_method": "merge"}, "gitlab": {"squash": False}}),
        ("rebase", {"github": {"merge_method": "rebase"}}),
        (None, {"github": {}, "gitlab": {}}),
    ],
)
def test_a_method_is_sent_along(
    server: Server, method: str | None, sent: dict[str, dict[str, object]]
) -> None:
    """Without one it is the forge's own; GitLab rebases by a setting of the project."""
    options = () if method is None else (f"mergeMethod: {method}",)
    expected = {**sent, "gitea": {"Do": method or "merge"}}.get(server.kind)
    if expected is None:
        with pytest.raises(InputError, match="GitLab takes rebase from the project's settings"):
            gated(server, "merge: true", *options)
        return
    assert gated(server, "merge: true", *options) == 0
    sha = "head_commit_id" if server.kind == "gitea" else "sha"
    assert server.sent == {sha: "c" * 40, **expected}


def test_approving_leaves_the_merge_to_the_forge(server: Server, said: Callable[[], str]) -> None:
    """At the commit that was seen, once, whether its checks have ended or not."""
    server.pulls[0].checks = {"ci": "pending"}
    server.pulls[0].unreviewed = True
    for _ in range(2):
        assert gated(server, "merge: true", "approveOnly: true") == 0
    assert server.merged == []
    assert [len(each.reviews) for each in server.pulls] == [1, 0, 1]
    assert server.pulls[0].reviews[0]["commit_id"] == "a" * 40
    assert f"#1 aaaaaaaaaaaa approved: {OPEN}" in said()

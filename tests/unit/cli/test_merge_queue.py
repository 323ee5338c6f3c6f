"""`krm-windows merge-gate` for one commit: merge queues, merge trains, and what judges a change."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from calls import POLICY
from committed import FLUX, MAP, Repository
from forges import TOKEN, Pull, Server, configured, serving

from krm_windows.cli import merge_gate
from krm_windows.cli.arguments import parser
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.sleeping import Clock
from krm_windows.exit_codes import ExitCode
from krm_windows.forge import ForgeError
from krm_windows.krm import InputError
from krm_windows.system import git

# In Berlin it is Thursday, 17:00: closed until Monday.
THURSDAY = datetime(2026, 12, 17, 16, 0, tzinfo=UTC)
MONDAY = datetime(2026, 12, 21, 7, 0, tzinfo=UTC)
CLOSED = "closed until Mon 2026-12-21 08:00 Europe/Berlin: flux-system/week (no window is open)\n"
FREE = "changes nothing that a window gates\n"
OPENED = POLICY.replace("spec:\n", "spec:\n  state: Open\n")


@pytest.fixture
def repository(
    tmp_path: Path, tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Repository:
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path, tool("git"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    with serving("github", Pull(7, "a" * 40, ("apps/map.yaml",))) as found:
        changed = git.changed

        def compared(directory: Path, base: str, sha: str) -> frozenset[str]:
            return (found.changed if base == "main" else changed)(directory, base, sha)

        found.is_checked_out(monkeypatch)
        monkeypatch.setattr(git, "changed", compared)
        yield found


def gated(*options: str, at: datetime = THURSDAY, paths: bool = True) -> ExitCode:
    lines = ["paths: [apps/*]"] if paths else []
    arguments = ["merge-gate", "windows/policy.yaml", *configured([*options, *lines])]
    clock = Clock(lambda: at, lambda _: None)
    return merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments), clock)


def on(server: Server) -> tuple[str, ...]:
    return ("--forge", "github", "--repo", "acme/fleet", "--url", server.address)


@pytest.mark.parametrize("paths", [True, False])
def test_a_commit_is_answered_for(
    repository: Repository, capsys: pytest.CaptureFixture[str], *, paths: bool
) -> None:
    gate = repository.commit({"apps/map.yaml": MAP.replace("web", "net")})
    free = repository.commit({"README.md": "The fleet\n"})
    since = ("--base", repository.base, "--head")
    assert gated(*since, gate, paths=paths) == ExitCode.CLOSED
    said = CLOSED
    # What is compared is known more closely than by paths.
    if not paths:
        said = f"{CLOSED.rstrip()}; removes ConfigMap default/web\n"
    assert capsys.readouterr().out == f"{gate[:12]} pending: {said}"
    assert gated(*since, gate, at=MONDAY, paths=paths) == ExitCode.FINE
    assert "success: open until Thu 2026-12-24 17:00" in capsys.readouterr().out
    assert gated("--base", gate, "--head", free, paths=paths) == ExitCode.FINE
    assert capsys.readouterr().out == f"{free[:12]} success: {FREE}"


@pytest.mark.parametrize("paths", [True, False])
@pytest.mark.parametrize(
    "files",
    [
        {"windows/policy.yaml": OPENED, "clusters/north/policy.yaml": OPENED},
        # What is gated is a matter of the base, too: here Flux would apply another directory.
        {"clusters/north/apps.yaml": FLUX % ("apps", "live"), "live/map.yaml": MAP},
    ],
)
def test_a_change_opens_no_window_for_itself(
    repository: Repository, files: dict[str, str], *, paths: bool
) -> None:
    sha = repository.commit({**files, "apps/map.yaml": MAP.replace("web", "net")})
    assert gated("--base", repository.base, "--head", sha, paths=paths) == ExitCode.CLOSED
    # What has landed counts for the next one.
    after = repository.commit({"apps/map.yaml": MAP})
    expected = ExitCode.FINE if "windows/policy.yaml" in files else ExitCode.CLOSED
    if paths:
        assert gated("--base", sha, "--head", after) == expected


def test_a_tree_below_the_top_is_gated(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forge and git name files from the top of the repository; nothing would be gated else."""
    below = {}
    for path in repository.folder.rglob("*.yaml"):
        below[f"fleet/{path.relative_to(repository.folder)}"] = path.read_text()
    base = repository.commit(below)
    sha = repository.commit({"fleet/apps/map.yaml": MAP.replace("web", "net")})
    # What is at the top is another fleet, which the change does not touch.
    assert gated("--base", base, "--head", sha, paths=False) == ExitCode.FINE
    monkeypatch.chdir("fleet")
    assert gated("--base", base, "--head", sha, paths=False) == ExitCode.CLOSED


def test_open_changes_are_judged_by_the_base_in_a_checkout_of_one(
    repository: Repository, server: Server
) -> None:
    """A workflow of a pull request has the pull request in its checkout."""
    repository.commit({"windows/policy.yaml": OPENED})
    assert gated(*on(server), "--base", repository.base) == ExitCode.FINE
    assert server.latest("a" * 40)["state"] == "pending"
    # This is what the option is for.
    assert gated(*on(server)) == ExitCode.FINE
    assert server.latest("a" * 40)["state"] == "success"


def test_a_link_of_the_change_leads_to_no_other_policy(repository: Repository) -> None:
    repository.commit({"windows/open.yaml": OPENED})
    policy = repository.folder / "windows/policy.yaml"
    policy.unlink()
    policy.symlink_to("open.yaml")
    sha = repository.commit({"apps/map.yaml": ""})
    assert gated("--base", repository.base, "--head", sha) == ExitCode.CLOSED


def test_what_judges_must_be_said(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it would be the change itself; so must what is compared."""
    with pytest.raises(InputError, match="--head needs --base"):
        gated("--head", repository.base)
    assert gated("--base", repository.base, "--head", "f" * 40) == ExitCode.CLOSED
    monkeypatch.chdir("apps")
    for what in ("windows/policy.yaml", "--config"):
        arguments = ["../windows/policy.yaml", "--base", repository.base, "--head", repository.base]
        if what == "--config":
            arguments = ["policy.yaml", *arguments[1:], "--config", "../gate.yaml"]
        arguments = ["merge-gate", *arguments]
        with pytest.raises(InputError, match="is outside"):
            merge_gate.run(parser(COMMANDS, arguments).parse_args(arguments))


def test_the_file_of_the_base_counts(
    repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change cannot say what gates it; a file that the base has not is an error."""
    sha = repository.commit({"apps/map.yaml": "", "gate.yaml": "paths: [docs/*]\n"})
    on = ("--base", sha, "--head", sha, "--config", "gate.yaml")
    assert gated(*on, paths=False) == ExitCode.FINE
    with pytest.raises(InputError, match=r"^gate\.yaml: No such file"):
        gated("--base", repository.base, *on[2:], paths=False)
    before = repository.commit({"gate.yaml": "paths: [apps/*]\n"})
    after = repository.commit({"apps/map.yaml": MAP, "gate.yaml": "paths: [docs/*]\n"})
    on = ("--base", before, "--head", after, "--config", "gate.yaml")
    assert gated(*on, paths=False) == ExitCode.CLOSED
    assert "pending: closed until" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mergemethod: merge", "mergemethod: Extra inputs are not permitted"),
        ("timeout: 0h", "timeout: must be longer than zero"),
        ("merge: [", "gate.yaml:2:1: did not find expected node content"),
    ],
)
def test_a_wrong_file_is_said(text: str, said: str, repository: Repository) -> None:
    sha = repository.commit({"gate.yaml": text})
    with pytest.raises(InputError, match=r"^gate\.yaml") as raised:
        gated("--base", sha, "--head", sha, "--config", "gate.yaml", paths=False)
    assert said in str(raised.value)


def event(repository: Repository, sha: str, **fields: object) -> str:
    group = {
        "head_sha": sha,
        "head_ref": f"refs/heads/gh-readonly-queue/main/pr-7-{repository.base}",
        "base_sha": repository.base,
        "base_ref": "refs/heads/main",
    }
    payload = {"action": "checks_requested", "merge_group": {**group, **fields}}
    written = repository.folder.parent / "event.json"
    written.write_text(json.dumps(payload))
    return str(written)


def test_a_merge_queue_has_its_answer(
    repository: Repository, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the commit that would be merged, which is not the head of the pull request."""
    sha = repository.commit({"apps/map.yaml": MAP.replace("web", "net")})
    given = event(repository, sha)
    assert gated(*on(server), "--event", given) == ExitCode.CLOSED
    assert {name: said[-1]["state"] for name, said in server.statuses.items()} == {sha: "failure"}
    assert capsys.readouterr().out == f"{sha[:12]} failure: {CLOSED}"
    assert gated(*on(server), "--event", given, at=MONDAY) == ExitCode.FINE
    assert server.latest(sha)["state"] == "success"


def test_labels_count_in_a_queue(repository: Repository, server: Server) -> None:
    free = repository.commit({"README.md": "Ours\n"})
    [pull] = server.pulls
    pull.labels = ("window:week",)
    assert gated(*on(server), "--event", event(repository, free)) == ExitCode.CLOSED
    one = ("--base", repository.base, "--head", free)
    assert gated(*on(server), *one) == ExitCode.FINE
    assert gated(*on(server), *one, "--change", "7") == ExitCode.CLOSED


@pytest.mark.parametrize(
    "fields",
    [
        {"head_sha": "--all"},
        {"base_sha": "main"},
        {"head_ref": "refs/heads/main"},
        {"head_ref": "refs/heads/gh-readonly-queue/main/pr-x-" + "a" * 40},
    ],
)
def test_an_event_of_another_kind_is_refused(
    repository: Repository, fields: dict[str, object]
) -> None:
    """Nothing in it is taken for an option of git."""
    with pytest.raises(ForgeError, match="names no branch of a merge queue"):
        gated("--event", event(repository, repository.base, **fields))


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "not JSON"), ("[]", "unexpected response"), ("{}", "not a merge queue event")],
)
def test_an_event_that_is_none_is_refused(repository: Repository, content: str, said: str) -> None:
    (repository.folder / "event.json").write_text(content)
    with pytest.raises(ForgeError, match=said):
        gated("--event", "event.json")
    for option in ("--base", "--head"):
        with pytest.raises(InputError, match="--event cannot be used"):
            gated("--event", event(repository, "a" * 40), option, "HEAD")


def test_what_waits_in_a_queue_is_answered_anew_at_every_edge(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was a success when it was queued is none when the window has closed meanwhile."""
    monkeypatch.chdir(tmp_path)
    heads = {7: "1" * 40, 8: "2" * 40, 9: "3" * 40, 10: "4" * 40}
    for number in (8, 9, 10):
        server.pulls.append(Pull(number, f"{number:040x}", ("docs/a.md",)))
    for number, sha in heads.items():
        branch = "other" if number == 9 else "main"
        ref = f"refs/heads/gh-readonly-queue/{branch}/pr-{number}-{'b' * 40}"
        server.refs[ref] = sha
    server.refs["refs/heads/gh-readonly-queue/odd"] = "5" * 40
    server.compared = {
        heads[7]: ("apps/map.yaml",),
        heads[8]: ("README.md",),
        heads[10]: ("apps/map.yaml", "docs/a.md"),
    }
    Path("windows").mkdir()
    Path("windows/policy.yaml").write_text(POLICY)
    for at, states in ((MONDAY, ["success"] * 3), (THURSDAY, ["failure", "success", "failure"])):
        assert gated(*on(server), at=at) == ExitCode.FINE
        found = [server.latest(heads[number])["state"] for number in (7, 8, 10)]
        assert found == states
    assert heads[9] not in server.statuses
    assert "5" * 40 not in server.statuses


def test_a_branch_named_like_a_queue_lets_nothing_through(
    repository: Repository, server: Server
) -> None:
    """Whoever may push chooses its name and its commit."""
    [pull] = server.pulls
    sha = repository.commit({"apps/map.yaml": MAP.replace("web", "net")})
    pull.sha = sha
    server.pulls.append(Pull(8, "8" * 40, ("apps/map.yaml",)))
    other = "6" * 40
    server.compared = {repository.base: (), other: ("apps/map.yaml",)}
    queue = "refs/heads/gh-readonly-queue/main/pr"
    server.refs = {
        # At the head of a change, at the branch itself, and at what is not open yet.
        f"{queue}-7-{sha}": sha,
        f"{queue}-7-{repository.base}": repository.base,
        f"{queue}-8-{repository.base}": other,
    }
    assert gated(*on(server)) == ExitCode.FINE
    assert server.latest(sha)["state"] == "pending"
    assert repository.base not in server.statuses
    assert server.latest(other)["state"] == "failure"

"""What waits for a closed policy, as the repository of a service says it."""

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest
from calls import APPS

from krm_windows.service import waiting
from krm_windows.service.settings import Clusters

Client = Any

Git = Callable[..., str]
Serve = Any
PENDING = "/policies/flux-system/week/pending"
PAGE = "/ui/policies/flux-system/week"
# Saturday; the window of north closed on Thursday at 17:00 in Berlin, which is 16:00 in UTC.
SATURDAY = datetime(2026, 12, 12, 9, tzinfo=UTC)
MONDAY = datetime(2026, 12, 14, 9, tzinfo=UTC)
CLOSED = "2026-12-10T17:00:00+01:00"
SCRIPT = "<script>alert(1)</script>"
APPLIED = APPS.replace("fleet", "flux-system")
ALONE = "apiVersion: krm-windows.dev/v1alpha1\nkind: WindowPolicy\nmetadata: {name: %s}\n"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: small}\n"


@pytest.fixture
def flux(commit: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def made(at: str, path: str, text: str, message: str) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", at)
        return commit({path: text}, message)

    for cluster in ("north", "south"):
        made("2026-12-09T08:00Z", f"clusters/{cluster}/apps.yaml", APPLIED, ".")
    made("2026-12-09T09:00Z", "apps/settings.yaml", SETTINGS, "Small")
    made("2026-12-10T15:59:59Z", "other/settings.yaml", SETTINGS, "Before")
    return made


def asked(client: Client, target: str = f"{PENDING}?cluster=north") -> Any:  # noqa: ANN401
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    return answer.json()


def subjects(commits: list[dict[str, str]]) -> list[str]:
    return [each["subject"] for each in commits]


def test_what_came_since_it_closed_is_said(
    serve: Serve, flux: Callable[..., str], git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = flux("2026-12-10T16:00:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "At the edge")
    flux("2026-12-10T16:00:01Z", "apps/settings.yaml", f"{SETTINGS}# 2\n", "One")
    new = flux("2026-12-11T16:00:00Z", "apps/settings.yaml", f"{SETTINGS}# 3\n", "Two")
    client = serve(at=SATURDAY)
    found = asked(client)
    assert (found["from"], found["to"], found["branch"]) == (old, new, "main")
    assert (found["open"], found["since"]) == (False, CLOSED)
    assert (found["count"], found["complete"]) == (2, True)
    assert subjects(found["commits"]) == ["Two", "One"]
    assert found["commits"][0]["author"] == "Operator <operator@example.com>"
    assert found["targets"] is None
    [note] = found["notes"]
    assert "serve is not told of `clusters`" in note
    # A page does not count what changes windows alone; another object in the file is more.
    for path, end in (("alone", ""), ("more", f"---\n{SETTINGS}")):
        flux("2026-12-11T17:00:00Z", f"clusters/{path}.yaml", ALONE % path + end, path)
    git("commit", "--quiet", "--allow-empty", "--message=Changes nothing")
    # Nor what was a policy alone once.
    for text in (ALONE % "gone", f"{ALONE % 'gone'}spec: {{}}\n"):
        flux("2026-12-11T17:00:00Z", "clusters/gone.yaml", text, "Gone")
    git("rm", "--quiet", "clusters/gone.yaml")
    git("commit", "--quiet", "--message=Remove it")
    client.windows.refresh()
    page = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "4 commits to <code>main</code>" in page
    assert "4 commits of windows alone are not counted" in page
    found = asked(client)
    assert (found["count"], found["countBesidesWindows"], found["complete"]) == (8, 4, True)
    monkeypatch.setattr(waiting, "_SHOWN", 7)
    assert asked(client)["complete"] is False


def test_a_merge_came_when_it_was_merged(
    serve: Serve, flux: Callable[..., str], git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("branch", "before")
    flux("2026-12-09T10:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Written early")
    git("branch", "topic")
    git("reset", "--quiet", "--hard", "before")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-12-11T10:00Z")
    git("merge", "--quiet", "--no-ff", "--message=Merge topic", "topic")
    found = asked(serve(at=SATURDAY))
    assert subjects(found["commits"]) == ["Merge topic"]


def test_a_policy_that_is_closed_for_good_has_no_edge(
    serve: Serve, flux: Callable[..., str]
) -> None:
    client = serve(at=SATURDAY)
    path = client.windows.settings.repo / "clusters/week.yaml"
    text = path.read_text().replace("spec:\n", "spec:\n  state: Closed\n", 1)
    flux("2026-12-11T10:00Z", "clusters/week.yaml", text, "Stop")
    found = asked(serve(at=SATURDAY))
    assert (found["from"], found["complete"]) == (None, False)
    assert found["notes"] == ["it is unknown when it closed, or what came since"]
    # Zero would be what somebody has counted.
    assert found["count"] is None
    page = serve(at=SATURDAY).ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "It is unknown when it closed" in page


def test_more_commits_than_are_looked_at_are_said_to_be_more(
    serve: Serve, git: Git, repository: Path, tool: Callable[[str], Path]
) -> None:
    lines = ["feature done", "commit refs/heads/main", "committer A <a@b> 1765000000 +0000"]
    lines += ["data 1", "0", "from refs/heads/main^0"]
    for number in range(waiting.MOST_COMMITS):
        at = int(SATURDAY.timestamp()) - 5000 + number
        lines += ["commit refs/heads/main", f"committer A <a@b> {at} +0000", "data 1", "1"]
    stream = "\n".join([*lines, "done", ""]).encode()
    command = [str(tool("git")), "-C", str(repository), "fast-import", "--quiet"]
    subprocess.run(command, input=stream, check=True)
    git("reset", "--quiet", "--hard")
    found = asked(serve(at=SATURDAY))
    assert (found["from"], found["complete"]) == (None, False)
    assert found["count"] is None
    assert len(found["commits"]) == 100


def test_no_module_is_imported_from_where_it_was_started(
    serve: Serve, flux: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That may be the repository, to which others write."""
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    for name in ("krm_windows", "json", "logging", "yaml", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(3)\n")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    monkeypatch.chdir(tmp_path)
    [target] = asked(client)["targets"]
    assert target["pending"] is True


def test_a_history_that_begins_later_is_not_counted(serve: Serve, git: Git) -> None:
    """As in a new repository or a shallow clone: what was there when it closed is unknown."""
    git("commit", "--quiet", "--allow-empty", "--amend", "--message=first")
    found = asked(serve(at=MONDAY + timedelta(days=4000)))
    assert "what its targets have applied is unknown" in found["notes"][0]
    client = serve(at=datetime(2025, 1, 4, tzinfo=UTC))
    found = asked(client)
    assert (found["count"], found["complete"], found["from"]) == (None, False, None)
    page = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "At least 1 commit to" in page


@pytest.mark.slow
def test_what_the_targets_take_is_found_and_shown(serve: Serve, flux: Callable[..., str]) -> None:
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", SCRIPT)
    flux("2026-12-11T09:00Z", "other/settings.yaml", f"{SETTINGS}# 1\n", "Of others")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    found = asked(client)
    assert subjects(found["commits"]) == ["Of others", SCRIPT]
    [target] = found["targets"]
    assert (target["kind"], target["name"], target["pending"]) == ("Kustomization", "apps", True)
    assert (target["count"], subjects(target["commits"])) == (1, [SCRIPT])
    assert found["notes"] == []
    # The same again is not looked for twice.
    assert asked(client) == found
    first = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "2 commits to <code>main</code>" in first
    assert "check=targets" in first
    assert 'href="#waits-title"' in first
    page = client.ask("GET", f"{PAGE}?cluster=north&check=targets").body.decode()
    assert "Kustomization flux-system/apps" in page
    assert "waits: 1 commit" in page
    for each in (first, page):
        assert SCRIPT not in each
        assert escape(SCRIPT) in each
    assert (
        client.ask("GET", "/").body.decode().count("2 commits in this repository since it closed")
        == 2
    )
    # A policy of two clusters says it of each alone.
    assert "What waits" not in client.ask("GET", PAGE).body.decode()
    # Once it waits for nothing more, it is said to be so: another policy text, or another commit.
    flux("2026-12-11T10:00Z", "apps/settings.yaml", SETTINGS, "Back")
    client.windows.refresh()
    [target] = asked(client)["targets"]
    assert subjects(target["commits"]) == ["Back", SCRIPT]


def test_where_nothing_is_known_or_came_it_is_said(serve: Serve, flux: Callable[..., str]) -> None:
    page = serve(at=SATURDAY).ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "<p>No commits to" in page
    assert "those before is unknown: no cluster was asked" in page
    assert "This is what Git says. No cluster was asked." in page
    new = flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    # Of an open one nothing waits.
    found = asked(serve(at=MONDAY))
    assert (found["open"], found["from"], found["to"]) == (True, new, new)
    assert (found["count"], found["complete"], found["targets"]) == (0, True, None)
    assert "unknown: no cluster was asked" in found["notes"][0]
    client = serve(at=SATURDAY, clusters=Clusters("nowhere/*"))
    found = asked(client)
    assert found["targets"] is None
    assert "no directory matches nowhere/*" in found["notes"][0]
    page = client.ask("GET", f"{PAGE}?cluster=north&check=targets").body.decode()
    assert "no directory matches nowhere/*" in page


def test_one_is_worked_out_at_a_time(
    serve: Serve, flux: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    monkeypatch.setattr(waiting, "_PATIENCE", 0.01)
    with client.windows.waiting._lock:
        answer = client.ask("GET", f"{PENDING}?cluster=north")
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")

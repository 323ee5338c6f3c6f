"""What waits for a closed policy, as the repository of a service says it."""

import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any

import pytest

from krm_windows.schedule import timeline
from krm_windows.service import waiting
from krm_windows.service.policies import Place
from krm_windows.service.settings import Clusters

Git = Callable[..., str]
Serve = Any
PENDING = "/policies/flux-system/week/pending"
PAGE = "/ui/policies/flux-system/week"
# Saturday; the window of north closed on Thursday at 17:00 in Berlin, which is 16:00 in UTC.
SATURDAY = datetime(2026, 12, 12, 9, tzinfo=UTC)
MONDAY = datetime(2026, 12, 14, 9, tzinfo=UTC)
CLOSED = "2026-12-10T17:00:00+01:00"
SCRIPT = "<script>alert(1)</script>"
APPLIED = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{name}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: small}\n"


@pytest.fixture
def commit(git: Git, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Commit a file at a time."""

    def made(at: str, path: str, text: str, message: str) -> str:
        place = repository / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        monkeypatch.setenv("GIT_COMMITTER_DATE", at)
        git("add", ".")
        git("commit", "--quiet", f"--message={message}")
        return git("rev-parse", "HEAD").strip()

    return made


@pytest.fixture
def flux(commit: Callable[..., str]) -> Callable[..., str]:
    """The repository of two clusters, as Flux reads it, before the window closed."""
    for cluster in ("north", "south"):
        commit(
            "2026-12-09T08:00Z", f"clusters/{cluster}/apps.yaml", APPLIED.format(name="apps"), "."
        )
    commit("2026-12-09T09:00Z", "apps/settings.yaml", SETTINGS, "Small")
    commit("2026-12-10T15:59:59Z", "other/settings.yaml", SETTINGS, "Before")
    return commit


def asked(client: Any, target: str = f"{PENDING}?cluster=north") -> Any:  # noqa: ANN401
    """Ask what waits."""
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    return answer.json()


def subjects(commits: list[dict[str, str]]) -> list[str]:
    """Return the subjects of commits."""
    return [each["subject"] for each in commits]


def test_what_came_since_it_closed_is_said(serve: Serve, flux: Callable[..., str]) -> None:
    """By the commits of the branch, the newest first; of the targets nobody looks for it."""
    old = flux("2026-12-10T16:00:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "At the edge")
    flux("2026-12-10T16:00:01Z", "apps/settings.yaml", f"{SETTINGS}# 2\n", "One")
    new = flux("2026-12-11T16:00:00Z", "apps/settings.yaml", f"{SETTINGS}# 3\n", "Two")
    found = asked(serve(at=SATURDAY))
    assert (found["from"], found["to"], found["branch"]) == (old, new, "main")
    assert (found["open"], found["since"]) == (False, CLOSED)
    assert (found["count"], found["complete"]) == (2, True)
    assert subjects(found["commits"]) == ["Two", "One"]
    assert found["commits"][0]["author"] == "Operator <operator@example.com>"
    assert found["targets"] is None
    assert found["notes"] == [waiting._NOT_LOOKED]


def test_of_an_open_one_nothing_waits(serve: Serve, flux: Callable[..., str]) -> None:
    """What comes is taken at once."""
    new = flux("2026-12-13T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "On Sunday")
    found = asked(serve(at=MONDAY))
    assert (found["open"], found["from"], found["to"]) == (True, new, new)
    assert (found["count"], found["complete"], found["targets"]) == (0, True, None)
    [note] = found["notes"]
    assert "unknown: no cluster was asked" in note


def test_a_merge_came_when_it_was_merged(
    serve: Serve, flux: Callable[..., str], git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written before the window closed and merged behind it waits."""
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
    """Then it is not known what was applied."""
    client = serve(at=SATURDAY)
    path = client.windows.settings.repo / "clusters/week.yaml"
    text = path.read_text().replace("spec:\n", "spec:\n  state: Closed\n", 1)
    flux("2026-12-11T10:00Z", "clusters/week.yaml", text, "Stop")
    found = asked(serve(at=SATURDAY))
    assert (found["from"], found["complete"]) == (None, False)
    assert found["notes"] == ["it is unknown when it closed"]
    # Zero would be what somebody has counted.
    assert found["count"] is None
    page = serve(at=SATURDAY).ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "It is unknown when it closed" in page


def test_more_commits_than_are_looked_at_are_said_to_be_more(
    serve: Serve, git: Git, repository: Path, tool: Callable[[str], Path]
) -> None:
    """Nothing is counted that was not seen."""
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
    assert found["notes"] == [f"at least {waiting.MOST_COMMITS} commits since it closed"]


@pytest.mark.slow
def test_what_the_targets_take_is_found(serve: Serve, flux: Callable[..., str]) -> None:
    """Of two commits, the one that changed what the Kustomization reads."""
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    flux("2026-12-11T09:00Z", "other/settings.yaml", f"{SETTINGS}# 1\n", "Of others")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    found = asked(client)
    assert subjects(found["commits"]) == ["Of others", "Ours"]
    [target] = found["targets"]
    assert (target["kind"], target["name"], target["pending"]) == ("Kustomization", "apps", True)
    assert (target["count"], subjects(target["commits"])) == (1, ["Ours"])
    assert found["notes"] == []
    # The same again is not looked for twice.
    assert asked(client) == found
    # Once it waits for nothing more, it is said to be so: another policy text, or another commit.
    flux("2026-12-11T10:00Z", "apps/settings.yaml", SETTINGS, "Back")
    client.windows.refresh()
    [target] = asked(client)["targets"]
    assert subjects(target["commits"]) == ["Back", "Ours"]


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
    assert found["notes"] == ["at least 1 commit since it closed"]
    page = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "At least 1 commit to" in page


@pytest.mark.slow
def test_commits_for_others_are_not_said_to_be_none(serve: Serve, flux: Callable[..., str]) -> None:
    """The branch has one; it is the targets that take nothing of it."""
    flux("2026-12-11T09:00Z", "other/settings.yaml", f"{SETTINGS}# 1\n", "Of others")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    [target] = asked(client)["targets"]
    assert (target["pending"], target["count"]) == (False, 0)
    for _ in rounds(60):
        page = client.ask("GET", "/").body.decode()
        if "checking what waits" not in page:
            break
    assert "no commits for its targets since it closed" in page
    assert "no commits since it closed" not in page


def test_why_nothing_is_known_is_said(serve: Serve, flux: Callable[..., str]) -> None:
    """A glob that leads nowhere is no repository without changes."""
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    client = serve(at=SATURDAY, clusters=Clusters("nowhere/*"))
    found = asked(client)
    assert found["targets"] is None
    [note] = found["notes"]
    assert "no directory matches nowhere/*" in note
    page = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "no directory matches nowhere/*" in page
    assert "what waits is unknown" in client.ask("GET", "/").body.decode()


def rounds(seconds: float) -> Iterator[None]:
    """Yield again and again until some time has passed."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        yield
        time.sleep(0.1)


@pytest.mark.slow
def test_pages_say_what_is_known_and_do_not_wait(serve: Serve, flux: Callable[..., str]) -> None:
    """At first that somebody looks, then what waits; whatever was written stays a text."""
    flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", SCRIPT)
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    first = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "1 commit to <code>main</code>" in first
    assert "Checking which of them" in first
    assert SCRIPT not in first
    assert escape(SCRIPT) in first
    for _ in rounds(60):
        page = client.ask("GET", f"{PAGE}?cluster=north").body.decode()
        if "Checking which of them" not in page:
            break
    assert "Kustomization flux-system/apps" in page
    assert "waits: 1 commit" in page
    assert SCRIPT not in page
    for _ in rounds(60):
        page = client.ask("GET", "/").body.decode()
        if "checking what waits" not in page:
            break
    assert page.count("waits: <strong>1 commit</strong> since") == 2
    # A policy of two clusters says it of each alone.
    assert "What waits" not in client.ask("GET", PAGE).body.decode().replace("What waits as", "")


def test_without_clusters_the_first_page_says_nothing_of_it(
    serve: Serve, flux: Callable[..., str]
) -> None:
    """Nothing would be known in any row."""
    assert flux
    page = serve(at=SATURDAY).ask("GET", "/").body.decode()
    assert "wait" not in page
    page = serve(at=SATURDAY).ask("GET", f"{PAGE}?cluster=north").body.decode()
    assert "<p>No commits to" in page
    assert "those before is unknown: no cluster was asked" in page
    assert "In Git; in the cluster: not asked." in page


def test_one_question_is_looked_for_once(serve: Serve, flux: Callable[..., str]) -> None:
    """However many ask; of too many, the last are told to ask later."""
    old = flux("2026-12-11T08:00Z", "apps/settings.yaml", f"{SETTINGS}# 1\n", "Ours")
    client = serve(at=SATURDAY, clusters=Clusters("clusters/*"))
    stored = client.windows.snapshot.one(Place("flux-system", "week"))
    tip = client.windows.snapshot.commit
    windows = client.windows

    def find(cluster: str) -> Any:  # noqa: ANN401 - a future
        decision = timeline.decide(windows.evaluator.timetable(stored, "north"), SATURDAY)
        waits = windows.waiting.of(stored, cluster, decision, tip)
        assert waits.old != old
        return waits.asked

    assert find("north") is find("north")
    later = [find(f"c{number}") for number in range(150)]
    refused = [each for each in later if each.done() and "too many" in each.result().problem]
    assert refused
    # Those of an older commit are not looked for at all.
    flux("2026-12-11T09:00Z", "apps/settings.yaml", SETTINGS, "Back")
    done = [each.result(timeout=120) for each in later if each not in refused]
    assert sum("has moved" in each.problem for each in done) > 50

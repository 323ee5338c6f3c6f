"""The history of a policy: what each change did, and where its commit is found."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from krm_windows.krm import InputError
from krm_windows.service import effects, settings
from krm_windows.service.links import commit_pattern
from krm_windows.service.proposals import PullRequests
from krm_windows.service.settings import Settings

Client = Any
Git = Callable[..., str]
Serve = Any
PAGE = "/ui/policies/flux-system/week/history"
OVERRIDE = (
    '  overrides: {inc-1: {state: Open, starts: "2026-11-21T10:00Z", ends: "2026-11-21T11:00Z", '
    "reason: Fix, requestedBy: Grace <b>, ticket: INC-1}}\n"
)
LOCAL = (
    "  overrides: {loc: {state: Open, starts: 2026-11-24T09:00, ends: 2026-11-24T12:00, "
    "reason: Fix}}\n"
)
SHORTER = LOCAL.replace("12:00", "11:00")
SUMMER = "  freezes: {summer: {starts: 2027-08-02, ends: 2027-08-20, reason: Holidays}}\n"
END = "  clusters:\n"
# What each commit replaces, and what the page says that it did: the oldest first.
CHANGES = [
    (
        (END, OVERRIDE + END),
        (
            "Override to open for 1 h on north, south, requested by Grace <b>, INC-1: Sat "
            "2026-11-21 11:00 to Sat 2026-11-21 12:00 (Europe/Berlin), called off before it began "
            "at Fri 2026-11-20 08:00 by Operator inc-1: Fix north, south opens 1 h more in 28 days"
        ),
    ),
    (
        (OVERRIDE, ""),
        (
            "Override called off before it began on north, south inc-1 north, south closes 1 h "
            "more in 28 days"
        ),
    ),
    (
        ("opens: Tue 08:00", "opens: Tue 06:00"),
        (
            "south opens 8 h more in 28 days opens Tue 06:00 for 2 h, 4 times from 2026-11-24 "
            "(the window week)"
        ),
    ),
    (
        ("Thu 17:00", "Fri 12:00"),
        (
            "north, south opens 3 d 4 h more in 28 days opens Fri 2026-11-20 10:00 for 2 h "
            "(the window week) opens Thu 17:00 for 19 h, 3 times"
        ),
    ),
    (
        (END, SUMMER + END),
        (
            "north closes 12 d 12 h more in 274 days closes Mon 08:00 for 4 d 4 h, 3 times from "
            "2027-08-02 (the freeze summer (Holidays) instead of the window week)"
        ),
    ),
    (
        ("    south:\n", "    south:\n      timeZone: America/Chicago\n"),
        "in 28 days, on the clock of America/Chicago",
    ),
    (
        (END, LOCAL + END),
        (
            "2026-11-24 09:00 to 2026-11-24 12:00 on the clock of each, changed at Fri 2026-11-20 "
            "14:00 by Operator loc: Fix No hours moved: "
            "already open then (Tue 2026-11-24 09:00), by the window week"
        ),
    ),
    (
        (LOCAL, SHORTER),
        "Long <i> Override changed to open on north, south",
    ),
    (
        (SHORTER, ""),
        (
            "Override called off before it began on north, south loc No hours moved: "
            "still open then (Tue 2026-11-24 09:00), by the window week"
        ),
    ),
    (
        (
            "    north: {}\n",
            "    north: {windows: {noon: {opens: Tue 12:00, closes: Tue 13:00}}}\n",
        ),
        "No hours moved: already open then (Tue 2026-11-24 12:00), by the window week",
    ),
    (("names: [apps]", "names: [apps, web]"), "No hours moved: targets changed"),
    (
        ("# Another object", "# Some object"),
        "No hours moved: only labels, comments or other objects of the file changed",
    ),
    (("# the name", "# its name"), "No hours moved: only labels"),
    (("week # its", "week\n  labels: {a: b} # its"), "No hours moved: only labels"),
    (("opens: Mon 08:00", "opens: Xon 08:00"), "this version: flux-system/week has errors"),
    (("opens: Xon 08:00", "opens: Mon 08:00"), "the version before: flux-system/week has errors"),
    (("flux-system", "other"), "The policy was removed"),
    (("namespace: other", "namespace: flux-system"), "The policy is new in this file"),
]


class Items(HTMLParser):
    """The texts of the items of the list, and the links of the page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.items: list[str] = []
        self.links: list[dict[str, str | None]] = []
        self.feed(source.partition('<ol class="changes">')[2].replace("</p>", " "))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h3":
            self.items.append("")
        if tag == "a":
            self.links.append(dict(attrs))

    def handle_data(self, data: str) -> None:
        if self.items:
            self.items[-1] = " ".join(f"{self.items[-1]} {data}".split()).replace(" ,", ",")


def listed(client: Client, query: str = "", page: str = PAGE) -> Items:
    answer = client.ask("GET", page + query)
    assert answer.status == 200
    return Items(answer.body.decode())


@pytest.fixture
def changed(
    repository: Path, git: Git, commit: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Commits of one hour of a day each, on the 20th of November."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-20T05:00Z")
    git("commit", "--quiet", "--amend", "--no-edit")
    commits = []
    file = repository / "clusters/week.yaml"
    text = file.read_text()
    for number, ((old, new), _) in enumerate(CHANGES):
        assert old in text
        text = text.replace(old, new)
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(name, f"2026-11-20T{number + 6:02}:00Z")
        message = f"Change {number} <b>\n\nLong <i>\n\nPolicy: a/b"
        commits.append(commit({"clusters/week.yaml": text}, message))
    return commits


def test_each_change_says_what_it_did(changed: list[str], serve: Serve) -> None:
    client = serve()
    items = [*listed(client).items, *listed(client, "?continue=10").items]
    assert len(items) == len(changed) + 1
    for number, ((_, said), item) in enumerate(zip(reversed(CHANGES), items, strict=False)):
        assert f"Change {len(CHANGES) - 1 - number} <b>" in item
        assert "Long <i>" in item
        assert "Policy: a/b" not in item
        assert said in item
    # On one cluster, what moved there.
    items = listed(client, "?cluster=north&continue=10").items
    assert "opens 1 h more" in items[7]
    assert "No hours moved on north" in items[5]
    # On a day, and what was before it.
    assert listed(client, "?on=2026-11-20").items[0].startswith("Change 16")
    assert not listed(client, "?on=2026-11-19").items
    assert client.ask("GET", f"{PAGE}?on=Tuesday").status == 400


def test_an_override_says_when_it_was_ended_on_one_cluster_after_another(
    repository: Path, commit: Callable[..., str], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = (repository / "clusters/week.yaml").read_text()
    made = without.replace(END, OVERRIDE + END)
    left = made.replace("    south:\n", "    south:\n      overrides: {inc-1: null}\n")
    for hour, text in enumerate((made, left, without), 6):
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(name, f"2026-11-20T{hour:02}:00Z")
        commit({"clusters/week.yaml": text})
    south, north = (
        f"called off before it began at Fri 2026-11-20 {at}:00 by Operator on "
        for at in ("08", "09")
    )
    assert f", {south}south, {north}north" in " ".join(listed(serve()).items)


def test_what_moves_no_hour_for_two_reasons_is_said_of_each_cluster(
    repository: Path, commit: Callable[..., str], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "2026-11-20T06:00Z")
    text = (repository / "clusters/week.yaml").read_text()
    zones = text.replace("    south:\n", "    south:\n      timeZone: America/Chicago\n")
    override = OVERRIDE.replace("-21T10", "-24T18").replace("-21T11", "-24T19")
    for each in (zones, zones.replace(END, override + END)):
        commit({"clusters/week.yaml": each})
    assert (
        "No hours moved: north: already open then (Tue 2026-11-24 19:00), by the window week; "
        "south: already open then (Tue 2026-11-24 12:00), by the window week"
    ) in " ".join(listed(serve()).items)


def test_the_history_of_all_policies_is_one_list(
    changed: list[str],
    git: Git,
    commit: Callable[..., str],
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # In Chicago it is still the 20th.
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-11-21T04:00Z")
    text = git("show", "HEAD:clusters/week.yaml").replace("name: week", "name: plant")
    commit({"plant.yaml": text.replace("Europe/Berlin", "America/Chicago")}, "Plant")
    git("branch", "side")
    git("reset", "--quiet", "--hard", "HEAD~")
    git("merge", "--quiet", "--no-ff", "--message=Merge", "side")
    client = serve()
    for query, expected in (
        ("", ("Plant", f"Change {len(changed) - 1}")),
        ("?on=2026-11-20", ("Plant", f"Change {len(changed) - 2}")),
        ("?on=2026-11-19", ()),
    ):
        found = listed(client, query, "/ui/history").items
        assert len(found) == 5 * len(expected)
        assert all(map(str.startswith, found, expected)), query


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://github.com/acme/fleet.git", "https://github.com/acme/fleet/commit/{commit}"),
        ("https://ada:secret@github.com/acme/fleet/", "https://github.com/acme/fleet/commit/{commit}"),
        ("git@github.com:acme/fleet.git", "https://github.com/acme/fleet/commit/{commit}"),
        ("git@github.com:42/fleet.git", "https://github.com/42/fleet/commit/{commit}"),
        ("ssh://git@GitHub.com:22/acme/fleet.git", "https://github.com/acme/fleet/commit/{commit}"),
        ("https://codeberg.org/acme/fleet", "https://codeberg.org/acme/fleet/commit/{commit}"),
        ("https://gitlab.com/a/b/c.git", "https://gitlab.com/a/b/c/-/commit/{commit}"),
        ("https://git.example.com/acme/fleet.git", None),
        ("https://github.com.evil.test/acme/fleet", None),
        ("https://evil.test/@github.com/acme/fleet", None),
        ("https://github.com/acme/fleet?a=b", None),
        ("file:///srv/github.com/acme", None),
        ("/srv/github.com/acme", None),
        ("", None),
    ],
)  # fmt: skip
def test_a_commit_is_linked_at_a_forge_that_is_known(remote: str, found: str | None) -> None:
    assert commit_pattern(Settings(repo=Path()), remote) == found


@pytest.mark.parametrize(
    ("interface", "found"),
    [
        ("https://api.github.com/repos/acme/fleet", "https://github.com/acme/fleet/commit/abc"),
        ("https://git.test/api/v1/repos/acme/fleet/", "https://git.test/acme/fleet/commit/abc"),
    ],
)
def test_where_changes_are_proposed_is_where_commits_are(interface: str, found: str) -> None:
    proposals = PullRequests(url=interface, token=SecretStr("secret"))
    made = Settings(repo=Path(), remote="origin", proposals=proposals)
    assert (commit_pattern(made, "/srv/fleet") or "").format(commit="abc") == found


def test_a_setting_says_where_commits_are(tmp_path: Path, serve: Serve, changed: list[str]) -> None:
    client = serve(commitUrl="https://git.test/fleet?id={commit}")
    found = listed(client).links
    assert f"https://git.test/fleet?id={changed[-1]}" in [each["href"] for each in found]
    assert {each.get("rel") for each in found if "git.test" in str(each["href"])} == {"noreferrer"}
    for wrong in ("javascript:{commit}", "https://a:b@c.test/{commit}", "https://c.test/commit"):
        with pytest.raises(InputError):
            settings.read(None, {"repo": tmp_path, "commitUrl": wrong})


def test_hours_of_too_many_clusters_are_not_compared(
    serve: Serve, git: Git, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "_MOST_GROUPS", 1)
    file = repository / "clusters/week.yaml"
    file.write_text(file.read_text().replace("Mon 08:00", "Mon 09:00"))
    git("commit", "--quiet", "--all", "--message=later")
    page = serve().ask("GET", PAGE).body.decode()
    assert "Hours not compared: too many clusters differ" in page
    # Those that stay as they are need no comparison.
    file.write_text(file.read_text().replace("Tue 08:00", "Tue 09:00"))
    git("commit", "--quiet", "--all", "--message=south")
    page = serve().ask("GET", PAGE).body.decode()
    assert ">closes 4&nbsp;h more<" in page.replace("\N{NO-BREAK SPACE}", "&nbsp;"), page

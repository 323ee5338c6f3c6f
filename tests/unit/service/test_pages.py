"""The pages, as a browser without scripts gets and sends them."""

import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from asked import Page, get, send
from starlette.requests import Request

import krm_windows
from krm_windows.service.access import Caller, Scope, Ways
from krm_windows.service.pages import groups, rendering, spans
from krm_windows.service.problems import Problem
from krm_windows.service.proposals import PullRequests
from krm_windows.system.git_branch import Person

Client = Any
Commit = Any
Git = Any
Serve = Any
PACKAGE = Path(krm_windows.__file__).parent
PAGE = "/ui/policies/flux-system/week"
WINDOW = f"{PAGE}/window?window=week"
# What one picks, in place of Monday eight and of Thursday five.
WEDNESDAY = {"Mon": "", "Wed": "yes"}
NIGHTS = {"repeats": "other", "begins": "daily 22:00", "ends-on": "after", "hours": "2"}
NIGHTS |= {"reason": "Nights"}
FRIDAY = {"weekday": "Fri", "until": "12:00"}


def count(git: Git) -> int:
    return int(git("rev-list", "--count", "HEAD"))


def policy(git: Git) -> Any:  # noqa: ANN401 - what YAML is
    return next(yaml.safe_load_all(git("show", "HEAD:clusters/week.yaml")))["spec"]


def rewrite(client: Client, git: Git, old: str, new: str) -> None:
    file = client.windows.settings.repo / "clusters/week.yaml"
    file.write_text(file.read_text().replace(old, new))
    git("commit", "--quiet", "--all", "--message=Oops \u202e")
    client.windows.refresh()


def test_the_first_page_says_what_is_open(client: Client) -> None:
    page = get(client, "/")
    assert page.status == 200
    for word in ("week", "north", "south", "Operator", "first", "Europe/Berlin"):
        assert word in page.texts or word in page.text
    assert f"{PAGE}?cluster=south" in page.links
    # What alone can be meant is shown at once.
    for query, cluster in (("q=south", "south"), ("q=week+north", "north")):
        assert get(client, f"/?{query}").headers["location"] == f"{PAGE}?cluster={cluster}"
    for query in ("q=nothing", "state=unknown"):
        assert not [link for link in get(client, f"/?{query}").links if "cluster=" in link]
    # Of the policy and of the cluster in the table, and of the week's map.
    links = [link for link in get(client, "/?q=week").links if "cluster=" in link]
    assert Counter(link.partition("cluster=")[2] for link in links) == {"north": 3, "south": 3}


def test_a_policy_has_a_page(client: Client) -> None:
    page = get(client, f"{PAGE}?from=2026-12-14&days=28")
    assert page.status == 200
    assert "Open Mon 08:00 to Thu 17:00" in page.text
    assert "The first that applies wins" in page.text
    # Each day is drawn for each group of clusters.
    assert get(client, f"{PAGE}?days=101").status == 400
    assert f"{PAGE}/window?window=week" in page.links
    classes = Counter(found.get("class", "") for _, found in page.tags)
    # Two days of four weeks, on the axis and in the row of each of two clusters.
    assert classes["weekend-paper"] == 2 * 4 * 4
    assert "14 Dec" in page.text
    # As many days earlier, or later.
    for first in ("2026-11-16", "2027-01-11"):
        assert f"{PAGE}?days=28&from={first}#calendar-title" in page.links
    assert (page.text.count("Today"), get(client, PAGE).text.count("Today")) == (1, 2)


def test_what_clusters_have_of_a_window_is_listed_below_it(client: Client, git: Git) -> None:
    own = "{late: {opens: Fri 19:00, duration: 2h}, week: {closes: Fri 17:00}}"
    rewrite(client, git, "    north: {}\n", f"    north: {{windows: {own}}}\n")
    found = re.findall(r"\b(?:late|week) (?:except )?on \w+", get(client, PAGE).text)
    names = ["week except on north", "week on north", "week on south", "late on north"]
    assert list(dict.fromkeys(found)) == names


def test_freezes_are_listed_as_they_begin(serve: Serve, git: Git) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    days = {"a": '"0 0 31 12 *", duration: 1d', "b": "2026-12-24, ends: 2026-12-26"}
    days |= {"c": "2026-11-22, ends: 2026-11-22", "d": "2026-11-22, ends: 2026-11-23"}
    every = ", ".join(f"{name}: {{starts: {when}, reason: Why}}" for name, when in days.items())
    rewrite(client, git, "  clusters:\n", f"  freezes: {{{every}}}\n  clusters:\n")
    page = get(client, PAGE)
    assert re.findall(r"\b([a-d]) (Over )?Closed", page.text) == [
        ("d", ""),
        ("b", ""),
        ("a", ""),
        ("c", "Over "),
    ]
    assert "week except on south Open Mon" in page.text


def test_a_month_is_for_those_that_are_alike(client: Client, git: Git) -> None:
    xmas = "{starts: 2026-12-25, duration: 1d, reason: Xmas}"
    rewrite(client, git, "  clusters:\n", f"  freezes: {{a: {xmas}, b: {xmas}}}\n  clusters:\n")
    page = get(client, f"{PAGE}/month?month=2026-12")
    assert "Xmas" in page.texts
    assert page.status == 200
    assert page.text.count("closed") >= 8
    assert {"until 17", "all day"} <= set(page.texts)
    for month in ("2026-11", "2027-01"):
        assert f"{PAGE}/month?month={month}" in page.links
    # On the last days of a month, the next one is what somebody wants to print.
    client.windows.time = datetime(2026, 12, 31, 12, tzinfo=UTC)
    links = get(client, PAGE).links
    for month in ("2026-11", "2026-12", "2027-01"):
        text = get(client, f"{PAGE}/month?month={month}").text
        assert ("Days before today are by today's rules." in text) == (month < "2027")
    assert {f"{PAGE}/month?month={each}" for each in ("2026-12", "2027-01")} <= {*links}
    for query, status in (("cluster=none", 404), ("month=2026-13", 400), ("month=1969-12", 400)):
        assert get(client, f"{PAGE}/month?{query}").status == status


def test_a_group_is_opened_where_its_clusters_are_ticked(client: Client, git: Git) -> None:
    rewrite(client, git, "    north: {}\n", "    north: {}\n    west: {}\n")
    client.windows.time = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert f"{PAGE}#on-north" in get(client, "/").links
    actions = ("state=closed&like=north", "state=open&cluster=south")
    assert {f"{PAGE}/override?{each}" for each in actions} <= {*get(client, PAGE).links}
    page = get(client, f"{PAGE}/override?like=west")
    ticked = [found["name"] for _, found in page.tags if "checked" in found]
    assert ticked[-2:] == ["on:north", "on:west"]
    assert get(client, f"{PAGE}/override?like=none").status == 404


def test_a_group_that_is_wrong_keeps_no_other_from_its_month(client: Client, git: Git) -> None:
    rewrite(client, git, "north: {}", "north: {timeZone: Mars/Olympus}")
    page = get(client, f"{PAGE}/month?month=2026-12")
    assert (page.status, "north:" in page.text, "south week" in page.text) == (200, True, True)
    assert get(client, f"{PAGE}/month?cluster=north").status == 409
    assert "ada" in get(client, f"{PAGE}/month?cluster=north").texts


def test_a_wrong_window_is_not_saved(client: Client, git: Git) -> None:
    form = get(client, WINDOW)
    for field, typed, said in (
        ("ends", "Xri <b>", "must be a moment"),
        ("reason", "", "Give a reason"),
        ("reason", "Only that", "nothing to save"),
    ):
        other = {"ends-on": "other"} if field == "ends" else {}
        page = send(client, WINDOW, {**form.fields, **other, "reason": "Later", field: typed})
        assert page.status == (200 if said == "nothing to save" else 422), field
        assert said in page.text
        found = next(found for _, found in page.tags if found.get("id") == field)
        assert found["value"] == typed
        if said != "nothing to save":
            assert f"#{field}" in page.links
            assert found["aria-invalid"] == "true"
            assert f"{field}-found" in found["aria-describedby"].split()
    # Without a version it could overwrite what nobody has seen.
    fields = {**form.fields, **FRIDAY, "reason": "Blind", "etag": ""}
    assert send(client, WINDOW, fields).status == 409
    assert count(git) == 1


def test_a_window_is_previewed_and_saved(client: Client, git: Git) -> None:
    form = get(client, WINDOW)
    assert {"Mon": "yes", "at": "08:00", "weekday": "Thu"}.items() <= form.fields.items()
    fields = {**form.fields, **FRIDAY, "reason": "Later on Fridays"}
    page = send(client, WINDOW.replace("window?", "window/preview?"), fields)
    assert page.status == 200
    assert "Opens 3 d 4 h more in the next 28 days." in page.text
    assert "north, south" in page.text
    assert count(git) == 1
    answer = send(client, WINDOW, fields)
    assert answer.status == 303
    assert git("log", "-1", "--format=%an %s").strip() == "Ada Later on Fridays"
    assert count(git) == 2
    page = get(client, answer.headers["location"])
    assert git("rev-parse", "main")[:10] in page.text
    assert "Saved" in page.text
    # On one cluster, the others keep theirs.
    form = get(client, f"{WINDOW}&cluster=north")
    assert form.fields["on:north"]
    fields = {**form.fields, **WEDNESDAY, "reason": "Later in the north"}
    assert send(client, f"{WINDOW}&cluster=north", fields).status == 303
    assert policy(git)["clusters"]["north"] == {"windows": {"week": {"opens": "Wed 08:00"}}}
    assert policy(git)["windows"]["week"]["opens"] == "Mon 08:00"


def test_a_change_is_for_all_clusters_or_for_those_that_are_ticked(
    client: Client, git: Git
) -> None:
    target = f"{PAGE}/window"
    fields = {**get(client, target).fields, **NIGHTS, "name": "nights"}
    assert fields["scope"] == "all"
    for chosen, status, said in (
        ({"scope": ""}, 422, "Choose whether"),
        ({"scope": "some"}, 422, "Choose at least one"),
        ({"scope": "all", "on:north": "yes"}, 422, "untick the clusters"),
        ({"scope": "some", "on:east": "yes"}, 404, "no cluster"),
    ):
        page = send(client, target, {**fields, **chosen})
        assert (page.status, said in page.text) == (status, True), chosen
    both = {"scope": "some", "on:north": "yes", "on:south": "yes"}
    assert send(client, target, {**fields, **both}).status == 303
    assert count(git) == 2
    found = {"nights": {"opens": "daily 22:00", "duration": "2h"}}
    assert policy(git)["clusters"] == {
        "north": {"windows": found},
        "south": {"windows": {"week": {"opens": "Tue 08:00"}, **found}},
    }
    page = get(client, PAGE)
    assert "nights on north, south" in page.text
    [link] = [link for link in page.links if "alike=" in link]
    assert {"scope": "some", "on:north": "yes", "on:south": "yes"}.items() <= get(
        client, link
    ).fields.items()
    assert "week set for south" in get(client, f"{PAGE}?cluster=south").text
    # As it is shown, and nothing else, becomes what each of them has.
    form = get(client, WINDOW)
    assert send(client, WINDOW, {**form.fields, **both, "reason": "As one"}).status == 303
    assert policy(git)["clusters"]["south"]["windows"]["week"] == {"opens": "Mon 08:00"}
    assert "week" not in policy(git)["clusters"]["north"]["windows"]


def test_the_clock_and_what_holds_outside_of_windows_are_set(client: Client, git: Git) -> None:
    target = f"{PAGE}/hours"
    form = get(client, target)
    assert {"timeZone": "Europe/Berlin", "state": "Scheduled"}.items() <= form.fields.items()
    for changed, said in (
        ({"timeZone": "Europe/Berln"}, "Choose a time zone"),
        ({"outsideWindows": "Open"}, "for policies that have no windows"),
        ({"closesEarly": "soon"}, "must be a duration"),
        ({"reason": ""}, "Give a reason"),
        ({}, "nothing to save"),
    ):
        page = send(client, target, {**form.fields, "reason": "Why", **changed})
        assert (page.status, said in page.text) == (422 if changed else 200, True), changed
    every = {"timeZone": "Bavaria", "closesEarly": "soon", "reason": ""}
    page = send(client, target, {**form.fields, **every})
    assert {f"#{name}" for name in every} <= {*page.links}
    # What was meant is a button, which saves nothing yet.
    wrong = {**form.fields, "timeZone": "Europe/Berln", "reason": "Why"}
    [use] = [
        found["value"]
        for _, found in send(client, target, wrong).tags
        if found.get("name") == "use"
    ]
    assert send(client, target, {**wrong, "use": use}).fields["timeZone"] == "Europe/Berlin"
    assert count(git) == 1
    early = {**form.fields, "closesEarly": "30m", "reason": "What has begun"}
    assert send(client, target, early).status == 303
    assert policy(git)["closesEarly"] == "30m"
    form = get(client, target)
    held = {"state": "Closed", "scope": "some", "on:north": "yes", "reason": "Broken"}
    assert send(client, target, {**form.fields, **held}).status == 303
    assert policy(git)["clusters"]["north"] == {"state": "Closed"}
    assert send(client, target, {**form.fields, **held, "state": "Open"}).status == 409


def test_the_style_of_the_calendar_is_no_style_of_the_pages() -> None:
    """Pages load both sheets: a class that one of them styles is not another thing in the other."""
    sheets = ("preview/assets/calendar.css", "service/assets/page.css")
    texts = ((PACKAGE / sheet).read_text() for sheet in sheets)
    ours, others = (set(re.findall(r"^\.([\w-]+) \{", text, re.MULTILINE)) for text in texts)
    assert not ours & others


def test_nothing_of_a_page_is_inline(client: Client) -> None:
    for target in ("/", PAGE, f"{PAGE}/window?window=week"):
        page = get(client, target)
        for tag, found in page.tags:
            assert tag != "style"
            assert "style" not in found
            assert not any(name.startswith("on") for name in found)
            if tag == "script":
                assert found["src"].startswith("/ui/assets/")
        assets = [
            found.get("href") or found.get("src", "")
            for tag, found in page.tags
            if tag in ("link", "script", "img")
        ]
        for asset in assets:
            assert client.ask("GET", asset).status == 200
    assert client.ask("GET", "/ui/assets/page.css").status == 404


def test_what_changed_meanwhile_is_shown_and_nothing_typed_is_lost(
    client: Client, git: Git
) -> None:
    form = get(client, WINDOW)
    first = {**form.fields, "Mon": "", "Tue": "yes", "at": "06:00", "reason": "Tuesdays"}
    assert send(client, WINDOW, first).status == 303
    page = send(client, WINDOW, {**form.fields, **WEDNESDAY, "reason": "Wednesdays"})
    assert page.status == 409
    assert "it is now 'Tue 06:00'" in page.text
    assert WEDNESDAY.items() <= {"Mon": "", **page.fields}.items()
    page = send(client, WINDOW, {**form.fields, **FRIDAY, "reason": "Fridays"})
    assert page.status == 409
    assert "Tuesdays" in page.text
    kept = {"Tue": "yes", "at": "06:00", **FRIDAY, "reason": "Fridays"}
    assert kept.items() <= page.fields.items()
    assert send(client, WINDOW, {**page.fields}).status == 303
    assert policy(git)["windows"]["week"] == {"opens": "Tue 06:00", "closes": "Fri 12:00"}


def test_a_refusal_is_a_page(client: Client) -> None:
    for target, status in (
        ("/ui/policies/flux-system/none", 404),
        (f"{PAGE}?cluster=none", 404),
        (f"{PAGE}/window?window=none", 404),
        ("/?color=red", 400),
    ):
        page = get(client, target)
        assert page.status == status
        assert page.headers["content-type"].startswith("text/html")
        assert "/" in page.links
    for accept, kind in (("text/html,*/*;q=0.8", "text/html"), ("*/*", "application/problem+json")):
        for method, target, status in (("GET", "/ui/nowhere", 404), ("DELETE", "/", 405)):
            answer = client.ask(method, target, accept=accept)
            assert answer.status == status
            assert answer.headers["content-type"].startswith(kind)


OVERRIDE = {
    "state": "open",
    "for": "2h",
    "scope": "all",
    "reason": "CVE-2026-1 <script>",
    "ticket": "OPS-7",
    "requestedBy": "Ada",
}
SOUTH = {"scope": "some", "on:south": "yes"}


def ask(client: Client, action: str = "/preview", **changed: str) -> Page:
    return send(client, f"{PAGE}/override{action}", {**OVERRIDE, **changed})


def test_an_override_is_previewed_made_and_ended(client: Client, git: Git) -> None:
    page = ask(client, reason="")
    assert page.status == 200
    assert "Targets: Kustomization flux-system/apps" in page.text
    assert "Once applied, flux-system/week on north" in page.text
    assert "by the override (this one)" in page.text
    assert count(git) == 1
    answer = ask(client, "", **SOUTH)
    assert answer.status == 303
    [(name, made)] = policy(git)["clusters"]["south"]["overrides"].items()
    assert (made["state"], made["ticket"]) == ("Open", "OPS-7")
    assert git("log", "-1", "--format=%an %s").strip() == "Ada CVE-2026-1 <script>"
    # Pressed twice, the second finds the name taken.
    if f"{datetime.now(UTC):%Y%m%d-%H%M}" in name:
        assert ask(client, "", **SOUTH).status in (303, 422)
        git("reset", "--quiet", "--hard", answer.headers["location"].rpartition("=")[2][:40])
        client.windows.refresh()
    page = get(client, answer.headers["location"])
    assert name in page.text
    assert 'class="active fresh"' in page.source
    assert "<script>" not in page.source.partition("</head>")[2]
    form = send(client, f"{PAGE}/override/change", {"override": name, "end": "End now", **SOUTH})
    assert count(git) == 2
    assert form.fields["reason"] == f"End {name}"
    assert send(client, f"{PAGE}/override", {**form.fields, "reason": ""}).status == 422
    wrong = {"override": "other"}
    assert "'other' not found" in send(client, f"{PAGE}/override", {**form.fields, **wrong}).text
    at = client.windows.snapshot.commit
    elsewhere = send(client, f"{PAGE}/override?cluster=north", form.fields)
    assert elsewhere.headers["location"].startswith(f"{PAGE}?saved=")
    git("reset", "--quiet", "--hard", at)
    client.windows.refresh()
    ended = send(client, f"{PAGE}/override?cluster=south", form.fields)
    assert ended.headers["location"].startswith(f"{PAGE}?cluster=south&saved=")
    assert git("log", "-1", "--format=%s").strip() == f"End {name} on south"
    assert count(git) == 3
    assert "overrides" not in policy(git)["clusters"]["south"]


def test_an_override_of_all_is_ended_on_the_cluster_of_a_page(client: Client) -> None:
    answer = ask(client, "")
    name = answer.headers["location"].rpartition("overrides.")[2]
    for cluster, left in (("south", ["north"]), ("north", [])):
        place = f"{PAGE}?cluster={cluster}"
        listed = get(client, place).fields
        assert listed[f"on:{cluster}"] == "yes"
        form = send(
            client, f"{PAGE}/override/change?cluster={cluster}", {**listed, "end": "End now"}
        )
        assert form.fields["scope"] == "some"
        assert send(client, f"{PAGE}/override?cluster={cluster}", form.fields).status == 303
        # It is offered where it still holds.
        form = send(
            client, f"{PAGE}/override/change", {"override": name, "scope": "all", "end": "End now"}
        )
        boxes = [found.get("name", "") for _, found in form.tags]
        assert [each.removeprefix("on:") for each in boxes if each.startswith("on:")] == left


def test_to_end_one_of_all_ends_no_other_of_its_name(client: Client, git: Git) -> None:
    """Two that begin in the same minute are called the same."""
    entry = "overrides: {fix: {state: %s, ends: 2036-11-24, reason: %s}}"
    rewrite(client, git, "  clusters:\n", f"  {entry % ('Open', 'Fix')}\n  clusters:\n")
    rewrite(client, git, "south:\n", f"south:\n      {entry % ('Closed', 'Audit')}\n")
    sent = {"override": "fix", "state": "open", "scope": "all", "end": "End now", "reason": "Done"}
    assert send(client, f"{PAGE}/override", sent).status == 303
    assert "overrides" not in policy(git)
    assert list(policy(git)["clusters"]["south"]["overrides"]) == ["fix"]


def test_who_unticks_each_cluster_of_an_override_can_tick_it_again(client: Client) -> None:
    assert ask(client, "", **SOUTH, **{"on:north": "yes"}).status == 303
    listed = {**get(client, PAGE).fields, "for": "4h", "reason": "Why"}
    for end in ("End now", ""):
        page = send(client, f"{PAGE}/override/change", {**listed, "end": end})
        for scope in ({"scope": "some"}, {"scope": ""}):
            sent = {name: text for name, text in page.fields.items() if name[:3] != "on:"}
            page = send(client, f"{PAGE}/override", {**sent, **scope})
            assert page.status == 422
            fields = {found.get("name") for _, found in page.tags}
            assert {"scope", "on:north", "on:south"} <= fields, (end, scope)


AUDIT = "overrides: {audit: {state: Closed, ends: 2026-11-23T12:00, reason: Why, %s}}"


@pytest.mark.parametrize(
    ("spec", "cluster", "said"),
    [
        ("", "north", "Open by the window week (Mon 08:00 to Thu 17:00)"),
        ("", "south", "at the end of the window week (Wed 08:00 to Thu 17:00)"),
        (AUDIT % "requestedBy: Grace, ticket: OPS-7", "north", "Requested by Grace (OPS-7)"),
        (AUDIT % "ticket: OPS-7", "north", "Closed by an override: Why"),
        ("state: Closed", "north", "Closed by hand"),
        ("freezes: {now: {starts: 2026-11-23, duration: 2d, reason: Why}}", "north", "now (2026-"),
    ],
)
def test_it_is_said_why_and_by_whom(
    spec: str, cluster: str, said: str, serve: Serve, git: Git
) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    if spec:
        rewrite(client, git, "  clusters:\n", f"  {spec}\n  clusters:\n")
    # It says other things than that rule, and so is another's.
    git("config", "user.name", "Mallory")
    rewrite(client, git, "apps]", "apps, more]")
    rewrite(client, git, "opens: Tue", "opens: Wed")
    text = get(client, f"{PAGE}?cluster={cluster}").text
    assert said in text
    by = "Mallory" if cluster == "south" else "Operator"
    assert re.search(f"by {by}, ", text.partition("This is what Git says.")[0])


def test_who_wrote_a_rule_is_found_beyond_the_changes_at_hand(
    client: Client, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "COMMITS", 1)
    rewrite(client, git, "apps]", "apps, more]")
    assert "by Operator, " in get(client, f"{PAGE}?cluster=north").text.partition("Git says.")[0]
    monkeypatch.setattr(groups, "_MOST_BYTES", 1)
    said = "by an unknown person: it is older than the last change of the file"
    assert said in get(client, f"{PAGE}?cluster=north").text


def test_who_moves_a_file_has_not_written_its_rules(client: Client, git: Git) -> None:
    git("mv", "clusters/week.yaml", "moved.yaml")
    git("commit", "--quiet", "--message=Move")
    client.windows.refresh()
    said = "Written by an unknown person: it is older than the last change of the file"
    assert said in get(client, f"{PAGE}?cluster=north").text


def test_only_an_override_that_holds_now_is_shown_as_open(serve: Serve, git: Git) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    days = {"past": (21, 22), "present": (22, 24), "future": (25, 26)}
    every = ", ".join(
        f"{name}: {{state: Open, starts: 2026-11-{first}, ends: 2026-11-{last}, reason: Why}}"
        for name, (first, last) in days.items()
    )
    rewrite(client, git, "  clusters:\n", f"  overrides: {{{every}}}\n  clusters:\n")
    page = get(client, f"{PAGE}?cluster=north")
    for words in ("Over Why was open until", "Open Why until", "Coming Why open from"):
        assert words in page.text
    assert [found.get("class") for _, found in page.tags].count("state open") == 1
    assert "Open by an override: Why" in page.text


def test_an_override_that_another_one_overrules_is_not_shown_as_open(
    serve: Serve, git: Git
) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    entry = "overrides: {%s: {state: %s, ends: 2026-11-24, reason: %s}}"
    rewrite(client, git, "  clusters:\n", f"  {entry % ('fix', 'Open', 'Fix')}\n  clusters:\n")
    rewrite(client, git, "south:\n", f"south:\n      {entry % ('audit', 'Closed', 'Audit')}\n")
    for query, said in (
        ("", "On south overruled by Audit"),
        ("?cluster=north", "Open Fix until Wed 2026-11-25 00:00 Europe/Berlin"),
        ("?cluster=south", "Overruled by Audit"),
    ):
        page = get(client, PAGE + query)
        assert said in page.text
        classes = [found.get("class") for _, found in page.tags]
        assert classes.count("state open") == (query != "?cluster=south")
    # It is on one cluster only.
    assert "wins overrides that close overrides that open windows" in get(client, PAGE).text
    rewrite(client, git, "  timeZone:", "  state: Closed\n  timeZone:")
    assert "Overruled Audit closed until" in get(client, PAGE).text


def test_overrides_to_come_are_listed_by_when_they_begin(serve: Serve, git: Git) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    entry = "{state: Open, starts: 2026-12-%s, ends: 2026-12-%s, reason: %s}"
    every = ", ".join((f"a: {entry % (20, 21, 'Last')}", f"b: {entry % (10, 30, 'First')}"))
    rewrite(client, git, "  clusters:\n", f"  overrides: {{{every}}}\n  clusters:\n")
    assert re.search("First.*Last", get(client, PAGE).text.partition("Calendar")[0])


def test_the_months_that_are_shown_can_be_printed(client: Client) -> None:
    page = get(client, f"{PAGE}?from=2026-12-30").text
    assert "Print December…" in page
    assert "Print January…" in page


def test_a_wrong_override_is_told_beside_its_field(serve: Serve, git: Git) -> None:
    # Ten in the morning in Berlin.
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    until = {"for": "at", "until": "2026-11-24"}
    later = {"when": "at", "from": "2026-11-24", "from-time": "20:00"}
    for said, changed in (
        ({"reason": "Give a reason"}, {"reason": ""}),
        ({"for": "Choose for how long"}, {"for": ""}),
        ({"for": "Choose for how long"}, {"for": "soon"}),
        ({"for": "Choose for how long"}, {"for": "0m"}),
        ({"until": "Choose the day"}, {"for": "at"}),
        ({"until": "is no end"}, {**until, "until": "someday"}),
        (
            {"until": "and it is now", "reason": "Give a reason"},
            {**until, "until": "2026-11-22", "reason": ""},
        ),
        ({"until": "and it is now"}, {**until, "until": "2026-11-23", "until-time": "09:59"}),
        ({"until": "and it begins"}, {**until, **later, "until-time": "19:00"}),
        ({"from": "and it is now"}, {**later, "from": "2026-11-23", "from-time": "09:00"}),
        ({"from": "Choose the day"}, {**later, "from": ""}),
        ({"from": "skip"}, {**later, "from": "2027-03-28", "from-time": "02:30"}),
        ({"from": "is no beginning"}, {**later, "from": "someday"}),
        ({"state": "Choose whether"}, {"state": "ajar"}),
        ({"scope": "at least one"}, {"scope": "some"}),
        (
            {"for": "Choose", "reason": "Give", "scope": "Choose"},
            {"for": "", "reason": "", "scope": ""},
        ),
    ):
        page = ask(client, "", **changed)
        assert page.status == 422, changed
        linked = {link for link in page.links if link.startswith("#") and link != "#main"}
        assert linked == {f"#{name}" for name in said}, changed
        assert all(words in page.text for words in said.values()), changed
        assert page.fields["ticket"] == "OPS-7"
    assert count(git) == 1


def test_an_override_is_planned_and_its_end_changed_on_two_clusters_at_once(
    serve: Serve, git: Git
) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    both = {**SOUTH, "on:north": "yes"}
    later = {"when": "at", "from": "2026-12-24", "from-time": "20:00", "for": "24:00"}
    assert ask(client, "", **both, **later).status == 303
    assert ask(client, "", **both).status == 303
    # A second time in this minute.
    assert "There is nothing to save" in ask(client, "", **both).text
    found = policy(git)["clusters"]["south"]["overrides"]
    assert found == policy(git)["clusters"]["north"]["overrides"]
    planned = found["open-20261224-2000"]
    assert planned["starts"] == "2026-12-24T20:00+01:00"
    assert planned["ends"] == "2026-12-25T00:00+01:00"
    page = get(client, PAGE)
    assert page.text.count("On north, south; requested by Ada") == 2
    sent = {"override": "open-20261123-1000", "state": "open", **both}
    page = send(client, f"{PAGE}/override/change", sent)
    assert "Change the end: open-20261123-1000" in page.text
    assert "Mon 2026-11-23 12:00" in page.text
    fields = {**page.fields, "for": "at", "until": "2026-11-23", "until-time": "18:00"}
    assert send(client, f"{PAGE}/override", fields).status == 422
    assert send(client, f"{PAGE}/override", {**fields, "reason": "Longer"}).status == 303
    found = policy(git)["clusters"]["south"]["overrides"]["open-20261123-1000"]
    assert (found["ends"], found["ticket"]) == ("2026-11-23T18:00+01:00", "OPS-7")
    assert git("log", "-1", "--format=%s").strip() == "Longer"
    # Of one to come, so long from when it begins.
    sent |= {"override": "open-20261224-2000", "for": "2h", "reason": "Shorter"}
    assert send(client, f"{PAGE}/override", sent).status == 303
    found = policy(git)["clusters"]["south"]["overrides"]["open-20261224-2000"]
    assert found == {**planned, "ends": "2026-12-24T22:00+01:00"}
    # One that has begun while its form was open.
    client.windows.time = datetime(2026, 12, 24, 19, 30, tzinfo=UTC)
    assert send(client, f"{PAGE}/override", {**sent, "for": "1h"}).status == 303
    found = policy(git)["clusters"]["south"]["overrides"]["open-20261224-2000"]
    assert found == {**planned, "ends": "2026-12-24T21:30+01:00"}
    # Ended on both, too.
    assert send(client, f"{PAGE}/override", {**sent, "end": "Call off"}).status == 303
    for cluster in policy(git)["clusters"].values():
        assert list(cluster["overrides"]) == ["open-20261123-1000"]


def test_what_is_open_is_kept_open_from_when_it_closes(serve: Serve) -> None:
    client = serve(at=datetime(2026, 11, 26, 9, tzinfo=UTC))
    for cluster in ("", "?cluster=north"):
        [link] = {each for each in get(client, f"{PAGE}{cluster}").links if "state=open" in each}
        form = get(client, link)
        sent = {**form.fields, "for": "1h", "reason": "Why"}
        shown = send(client, f"{PAGE}/override/preview", sent).text
        assert "opens Thu 2026-11-26 17:00 to Thu 2026-11-26 18:00" in shown


def test_noon_of_the_next_day_is_counted_from_when_it_begins(serve: Serve, git: Git) -> None:
    client = serve(at=datetime(2026, 11, 23, 9, tzinfo=UTC))
    noon = {**SOUTH, "for": "noon"}
    later = {"when": "at", "from": "2026-12-04", "from-time": "00:30"}
    for when in ({}, {"when": "at", "from": "2026-11-23", "from-time": "11:00"}, later):
        assert ask(client, "", **noon, **when).status == 303
    made = policy(git)["clusters"]["south"]["overrides"]
    days = [each["ends"] for each in made.values()]
    assert days == [f"2026-{day}T12:00+01:00" for day in ("11-24", "11-24", "12-05")]
    sent = {"override": [*made][2], "state": "open", "reason": "Why", **noon}
    assert "2026-12-05 12:00" in send(client, f"{PAGE}/override/preview", sent).text
    never = {"when": "at", "from": "9999-12-31", "from-time": "23:59"}
    for length in ("noon", "24:00"):
        assert ask(client, "", **{**noon, **never, "for": length}).status == 422


def test_what_closes_all_the_time_is_to_be_ended_first(client: Client) -> None:
    assert ask(client, "", state="closed").status == 303
    page = ask(client, "", **{**SOUTH, "for": "30m"})
    assert "#state" in page.links
    assert "keeps it closed until" in page.text
    assert f"{PAGE}#overrides-title" in page.links
    # Longer than that, it opens.
    made = ask(client, "", **{**SOUTH, "for": "4h"})
    assert made.status == 303
    sent = {"override": made.headers["location"].rpartition("overrides.")[2], "state": "open"}
    shorter = send(client, f"{PAGE}/override", {**SOUTH, **sent, "for": "30m", "reason": "Why"})
    assert "#for" in shorter.links
    assert "End the closing of south now…" in get(client, PAGE).text


def test_what_is_closed_on_one_cluster_opens_on_another(client: Client) -> None:
    assert ask(client, "", **{**SOUTH, "state": "closed"}).status == 303
    north = {"scope": "some", "on:north": "yes"}
    assert "keeps it closed until" in ask(client, "", **{**SOUTH, **north}).text
    assert ask(client, "", **north).status == 303


def test_an_override_that_could_not_win_is_not_offered(client: Client, git: Git) -> None:
    rewrite(client, git, "  clusters:\n", "  state: Closed\n  clusters:\n")
    assert f"{PAGE}/override" not in get(client, PAGE).links
    page = get(client, f"{PAGE}/override")
    assert "held closed by hand" in page.text
    assert "for" not in {found.get("name") for _, found in page.tags}
    # One that is there is ended all the same.
    rewrite(client, git, "  clusters:\n", f"  {AUDIT % ''}\n  clusters:\n")
    sent = {"override": "audit", "state": "closed", "end": "End now", "scope": "all"}
    form = send(client, f"{PAGE}/override/change", sent)
    assert send(client, f"{PAGE}/override", form.fields).status == 303
    assert "overrides" not in policy(git)


def test_what_a_scope_does_not_allow_is_not_offered(
    serve: Serve, started: Serve, tmp_path: Path
) -> None:
    reader = serve(Caller("bob", Person("Bob", "bob@example.com"), frozenset({Scope.READ})))
    page = get(reader, PAGE)
    assert page.status == 200
    assert not [
        link for link in page.links if re.search("/(window|freeze|holidays|override)", link)
    ]
    # To subscribe to a calendar is to read.
    assert [found for tag, found in page.tags if tag == "form"] == [
        {"method": "post", "action": f"{PAGE}/subscribe"}
    ]
    for target in (WINDOW, f"{PAGE}/freeze", f"{PAGE}/holidays", f"{PAGE}/override"):
        assert get(reader, target).status == 403
        assert send(reader, target, {}).status == 403
    # Who is unknown may sign in: the refusal is the form to do it, and no error at the first visit.
    (tmp_path / "tokens").touch()
    unknown = started(Ways(tokens=tmp_path / "tokens"), [])
    wrong = send(unknown, "/ui/login", {"token": "nonsense"})
    for page, is_wrong in ((get(unknown, "/"), False), (wrong, True)):
        assert page.status == 401
        assert "bearer" in page.headers["www-authenticate"].lower()
        assert any(found.get("action") == "/ui/login" for _, found in page.tags)
        assert ("Error: unknown token" in page.text) is is_wrong
        assert "Bearer" not in page.text
        assert any(found.get("id") == "summary" for _, found in page.tags) is is_wrong
    assert get(unknown, "/ui/login").status == 200


@pytest.mark.parametrize(
    ("words", "spoken"),
    [
        ("first Sun 06:00 to first Sun 10:00", "the first Sunday 06:00 to the first Sunday 10:00"),
        (
            "2nd last Fri 06:00 to last Sat 07:00",
            "the 2nd last Friday 06:00 to the last Saturday 07:00",
        ),
        ("Mon 08:00 to Thu 17:00", "Mon 08:00 to Thu 17:00"),
    ],
)
def test_a_day_of_a_month_is_said_as_people_say_it(words: str, spoken: str) -> None:
    assert rendering.environment().filters["spoken"](words) == spoken


def test_how_far_away_it_is_says_on_which_side() -> None:
    now = datetime(2026, 11, 23, 9, tzinfo=UTC)
    for seconds, said in ((30, "within a minute"), (0, "just now"), (-30, "just now")):
        assert rendering.away(now + timedelta(seconds=seconds), now) == said


@pytest.mark.parametrize("status", [400, 409, 500])
def test_every_refusal_has_a_page(status: int) -> None:
    found = [{"message": "is <b>wrong</b>", "file": "a.yaml", "line": 3, "field": {"path": "spec"}}]
    problem = Problem(HTTPStatus(status), "because <i>", found, {"Retry-After": "1"})
    response = rendering.refused(Request({"type": "http", "headers": []}), problem)
    assert response.status_code == status
    assert response.headers["retry-after"] == "1"
    body = bytes(response.body).decode()
    assert "because &lt;i&gt;" in body
    assert "<b>" not in body


def test_a_window_is_added(client: Client, git: Git) -> None:
    target = f"{PAGE}/window"
    form = get(client, target)
    fields = {**form.fields, **NIGHTS}
    for name in ("week", "Not A Label"):
        page = send(client, target, {**fields, "name": name})
        assert page.status == 422, name
        assert page.fields["begins"] == "daily 22:00"
        assert [link for link in page.links if link.startswith("#")] == ["#main", "#name"]
    assert send(client, target, {**fields, "name": "nightly"}).status == 303
    assert count(git) == 2
    # Without a name it is called after when it opens.
    assert (
        send(client, target, {**fields, "etag": get(client, target).fields["etag"]}).status == 303
    )
    assert git("log", "-1", "--format=%s").strip() == "Window: daily-22-00"
    windows = policy(git)["windows"]
    assert (
        windows["nightly"] == windows["daily-22-00"] == {"opens": "daily 22:00", "duration": "2h"}
    )


def test_an_error_of_a_name_that_is_there_is_no_error_of_a_field(client: Client, git: Git) -> None:
    rewrite(client, git, "  week: {opens: Mon", "  Week: {opens: Mon")
    form = get(client, f"{PAGE}/window?window=Week")
    page = send(client, f"{PAGE}/window?window=Week", {**form.fields, "reason": "Later"})
    assert "The window Week: Use small letters" in page.text
    assert "#until" not in page.links


def test_a_window_is_removed(client: Client, git: Git) -> None:
    target = f"{WINDOW}&cluster=south"
    form = get(client, target)
    assert form.fields["Tue"] == "yes"
    fields = {**form.fields, "remove": "yes", "reason": "Not in the south"}
    page = send(client, target.replace("window?", "window/preview?"), fields)
    # Without any window the policy would never open there: `check` says so.
    assert "south" in page.text
    assert "checked" in next(found for _, found in page.tags if found.get("id") == "remove")
    nightly = "windows:\n    nightly: {opens: daily 22:00, duration: 2h}\n    week: {opens: Mon"
    rewrite(client, git, "windows:\n    week: {opens: Mon", nightly)
    form = get(client, target)
    answer = send(client, target, {**form.fields, "remove": "yes", "reason": "Not in the south"})
    assert answer.status == 303
    assert policy(git)["clusters"]["south"] == {"windows": {"week": None}}
    assert "week on south Not here" in get(client, f"{PAGE}?cluster=south").text
    form = get(client, target)
    assert form.fields["remove"] == "yes"
    # What is kept comes back, and what is as on all others leaves nothing behind.
    back = {"windows": {"week": {"opens": "Wed 08:00", "closes": "Thu 17:00"}}}
    for remove, left in (("", back), ("own", {})):
        fields = {**get(client, target).fields, **WEDNESDAY, "remove": remove, "reason": "Back"}
        assert send(client, target, fields).status == 303
        assert policy(git)["clusters"]["south"] == left
    # For all, it is gone wherever it was changed.
    fields = {**fields, "etag": get(client, target).fields["etag"]}
    assert send(client, target, {**fields, "remove": ""}).status == 303
    form = get(client, WINDOW)
    assert send(client, WINDOW, {**form.fields, "remove": "yes", "reason": "Gone"}).status == 303
    assert policy(git)["clusters"] == {"north": {}, "south": {}}
    assert list(policy(git)["windows"]) == ["nightly"]


def test_a_policy_with_errors_has_a_page(client: Client, git: Git) -> None:
    rewrite(client, git, "Thu 17:00", "Xhu <b>")
    assert "Unknown" in get(client, "/?state=unknown").text
    page = get(client, PAGE)
    assert page.status == 200
    assert "The policy has errors" in page.text
    assert "line 11" in page.text
    assert WINDOW in page.links
    form = get(client, WINDOW)
    assert form.fields["ends"] == "Xhu <b>"
    answer = send(client, WINDOW, {**form.fields, "ends": "Thu 17:00", "reason": "Back"})
    assert answer.status == 303
    assert "The policy has errors" not in get(client, PAGE).text
    assert get(client, f"{PAGE}/override").status == 200


def test_a_file_tells_policies_of_one_name_apart(
    serve: Serve, git: Git, repository: Path, commit: Commit
) -> None:
    client = serve()
    assert "several files" not in get(client, "/").text
    commit({"clusters/copy.yaml": (repository / "clusters/week.yaml").read_text()})
    client.windows.refresh()
    overview = get(client, "/")
    links = [link for link in overview.links if "file=" in link]
    assert len(set(links)) == 4
    assert "several files flux-system/week: clusters/copy.yaml, clusters/week" in overview.text
    assert "week in clusters/copy.yaml" in overview.text
    page = get(client, links[0])
    assert page.status == 200
    assert all("file=" in link for link in page.links if "/window?" in link)
    assert get(client, PAGE).status == 409
    # The oldest commit of a shallow clone looks like one that has added every file.
    assert "is shallow" not in page.text
    (repository / ".git/shallow").write_text(git("rev-parse", "HEAD"))
    assert "earlier changes are unknown" in get(serve(), links[0]).text


def test_hidden_signs_are_shown_as_codes(client: Client, git: Git) -> None:
    rewrite(client, git, "Thu 17:00}", 'Thu 17:00, description: "a\u202eb"}')
    page = get(client, PAGE)
    assert "\u202e" not in page.source
    assert "a\\u202eb" in page.text
    assert get(client, WINDOW).fields["description"] == "a\u202eb"


def test_an_error_of_one_cluster_is_told_on_the_page(client: Client, git: Git) -> None:
    rewrite(client, git, "opens: Tue 08:00", "opens: Xue")
    for target, is_wrong in (("", True), ("?cluster=north", False), ("?cluster=south", True)):
        page = get(client, f"{PAGE}{target}")
        assert page.status == 200
        assert ("The policy has errors" in page.text) is is_wrong
    assert "Open Mon 08:00" in get(client, f"{PAGE}?cluster=north").text
    assert get(client, "/?state=unknown").text.count("Unknown") == 1


def test_many_clusters_fit_the_pages(client: Client, git: Git) -> None:
    named = "".join(f"    plant-{number}: {{}}\n" for number in range(120))
    # Each with hours of its own.
    named += "".join(
        f"    edge-{number}: {{windows: {{week: {{opens: Mon 07:{number:02}}}}}}}\n"
        for number in range(30)
    )
    rewrite(client, git, "    north: {}\n", named)
    page = get(client, PAGE)
    assert "120 clusters like plant-0" in page.texts
    assert f"{PAGE}?cluster=plant-77" in page.links
    assert "12 more groups" in page.text
    first = get(client, "/")
    assert "1 policy, 151 clusters" in first.text
    assert "120 clusters like plant-0" in first.text
    first = get(client, "/?q=week")
    assert "50 clusters, and more on the next page" in first.text
    following = next(link for link in first.links if "continue=" in link)
    assert "50 clusters from number 51 on, and more" in get(client, following).text
    assert get(client, "/?q=plant-77").headers["location"] == f"{PAGE}?cluster=plant-77"
    assert "Nothing unknown matches “plant”." in get(client, "/?state=unknown&q=plant").text
    form = get(client, f"{PAGE}/override?cluster=plant-7")
    # What is no field of the form is of none: Enter in it would send the form.
    assert all("name" in found or "form" in found for tag, found in form.tags if tag == "input")
    assert "on:plant-7" in form.fields
    assert ask(client, **{"scope": "some", "on:plant-none": "yes"}).status == 404
    days = get(client, f"{PAGE}?cluster=plant-7&days=90&from=2026-11-01")
    assert "January 2027" in days.text


@pytest.mark.parametrize("address", ["https://forge.test/1?a=b", "javascript:alert(1)", ""])
def test_what_is_proposed_is_not_said_to_be_saved(
    address: str, serve: Serve, git: Git, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remote.is_dir()
    monkeypatch.setattr(PullRequests, "open", lambda *_: address)
    client = serve(remote="origin", proposals=PullRequests(command="sh"))
    form = get(client, WINDOW)
    assert "Propose" in form.texts
    page = send(client, WINDOW, {**form.fields, **FRIDAY, "reason": "Later"})
    assert page.status == 200
    assert "Until then, nothing has changed." in page.text
    assert (address in page.links) is address.startswith("https:")
    assert address in page.text
    assert "once its pull request is merged" in get(client, f"{PAGE}/override").text
    assert ask(client, "").status == 200
    assert count(git) == 1


@pytest.mark.parametrize("text", ["", "\0", "a\nb", "<b>", "%", "\u202e", "99999h", "x" * 600])
def test_no_text_makes_a_form_fail(client: Client, git: Git, text: str) -> None:
    form = get(client, f"{PAGE}/window")
    kept = {"etag": form.fields["etag"], "reason": "Why", "state": "open"}
    names = (*spans.FIELDS, "name", "was-opens", "was-duration", "scope", "for", "cluster", "use")
    names = (*names, "override", "starts", "duration", "country", "region", "when", "on:north")
    picked = dict.fromkeys(("from", "from-time", "to", "to-time", "until", "until-time"), text)
    fields = {**dict.fromkeys(names, text), **kept}
    for path, query in (
        *((path, "") for path in ("freeze", "holidays", "override/change")),
        *((path, "window=week") for path in ("window", "window/preview")),
        *((path, "") for path in ("override", "override/preview")),
        ("freeze", "freeze=year"),
        ("window", urlencode({"window": text, "cluster": text})),
        ("freeze/preview", urlencode({"freeze": text, "cluster": text})),
        ("holidays/preview", urlencode({"cluster": text})),
    ):
        for more in ({}, picked, {**picked, "scope": "all", "when": "at", "for": "at"}):
            fields |= more
            page = send(client, f"{PAGE}/{path}?{query}", fields)
            assert page.status < 500, (path, query)
            assert page.headers["content-type"].startswith("text/html")
    assert count(git) == 1

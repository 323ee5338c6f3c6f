"""The forms of freezes and of public holidays, as a browser without scripts sends them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from asked import get, send

Client = Any
Git = Any
Serve = Any
PAGE = "/ui/policies/flux-system/week"
NEW = f"{PAGE}/freeze"
NOW = "2026-11-30T10:00+01:00"
ONE = f"{PAGE}/freeze?freeze=one"


@pytest.fixture
def client(serve: Serve) -> Client:
    return serve(at=datetime(2026, 11, 30, 9, tzinfo=UTC))


def spec(git: Git) -> Any:  # noqa: ANN401 - what YAML is
    # As texts, the dates too.
    return next(yaml.load_all(git("show", "HEAD:clusters/week.yaml"), yaml.BaseLoader))["spec"]


def given(client: Client, git: Git, freeze: str) -> str:
    """Have a freeze in the file, and return the file."""
    file = client.windows.settings.repo / "clusters/week.yaml"
    text = file.read_text().replace("  clusters:\n", f"  freezes: {{one: {freeze}}}\n  clusters:\n")
    file.write_text(text)
    git("commit", "--quiet", "--all", "--message=one")
    client.windows.refresh()
    return text


DAYS = {"date": "2026-12-08", "at": "", "end-date": "2026-12-09", "until": "", "reason": "Count"}


@pytest.mark.parametrize(
    ("typed", "name", "made"),
    [
        ({}, "count-2026", ("2026-12-08", "2026-12-09")),
        ({"at": "18:00"}, "count-2026", ("2026-12-08T18:00", "2026-12-09")),
        (
            {"end-date": "2026-12-08", "until": "06:00"},
            "count-2026",
            ("2026-12-08", "2026-12-08T06:00"),
        ),
        ({"name": "stock"}, "stock", ("2026-12-08", "2026-12-09")),
        (
            {"repeats": "week", "Tue": "yes", "at": "12:00", "ends-on": "same", "until": "16:00"},
            "count",
            ("Tue 12:00", "16:00"),
        ),
    ],
)
def test_a_freeze_is_added_by_dates(
    client: Client, git: Git, typed: dict[str, str], name: str, made: tuple[str, str]
) -> None:
    fields = {**get(client, NEW).fields, **DAYS, **typed}
    assert "Closes" in send(client, f"{NEW}/preview", fields).text
    assert send(client, NEW, fields).status == 303
    starts, ends = made
    assert spec(git)["freezes"] == {name: {"starts": starts, "ends": ends, "reason": "Count"}}
    assert git("log", "-1", "--format=%s").strip() == "Freeze: Count"


@pytest.mark.parametrize(
    ("typed", "fields"),
    [
        (dict.fromkeys(("date", "end-date", "reason"), ""), ["date", "end-date", "reason"]),
        ({"end-date": "2026-12-07"}, ["end-date"]),
        ({"end-date": "2026-12-08", "until": "00:00"}, ["end-date"]),
        ({"date": "2026-11-01", "end-date": "2026-11-29"}, ["end-date"]),
        ({"date": "soon"}, ["date"]),
        ({"repeats": "week", "Tue": "yes", "at": "12:00"}, ["end-date"]),
        ({"name": "Not a label"}, ["name"]),
        ({"name": "not-a-label" + "a" * 53}, ["name"]),
        ({"scope": "some"}, ["scope"]),
        ({"scope": ""}, ["scope"]),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(
    client: Client, git: Git, typed: dict[str, str], fields: list[str]
) -> None:
    page = send(client, NEW, {**get(client, NEW).fields, **DAYS, **typed})
    assert page.status == 422
    linked = [link for link in page.links if link.startswith("#") and link != "#main"]
    assert sorted(linked) == sorted(f"#{name}" for name in fields)
    assert page.fields["date"] == typed.get("date", DAYS["date"])
    assert ("Use not-a-label" in page.text and "63 at most" in page.text) == ("name" in typed)
    assert git("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.parametrize(
    ("freeze", "picked"),
    [
        ("{starts: 2026-12-05, ends: '2026-12-06', reason: Why}", ("once", "date")),
        ("{starts: 2026-12-05T18:00, ends: 2026-12-06T06:00, reason: Why}", ("once", "date")),
        (
            "{starts: 2026-12-05T18:00+01:00, ends: 2026-12-06T24:00, reason: Why}",
            ("other", "date"),
        ),
        ("{starts: last day 18:00, duration: 12h, reason: Why}", ("month", "after")),
        ("{starts: 2026-12-05, duration: 2d, reason: Why}", ("once", "after")),
    ],
)
def test_a_freeze_that_is_left_as_it_is_keeps_every_byte(
    client: Client, git: Git, freeze: str, picked: tuple[str, str]
) -> None:
    text = given(client, git, freeze)
    fields = {**get(client, ONE).fields, "why": "Only looked"}
    assert (fields["repeats"], fields["ends-on"]) == picked
    page = send(client, ONE, fields)
    assert page.status == 200
    assert "nothing to save" in page.text
    assert git("show", "HEAD:clusters/week.yaml") == text
    assert send(client, ONE, {**fields, "reason": "Because"}).status == 303
    assert git("show", "HEAD:clusters/week.yaml") == text.replace("Why", "Because")


def test_without_a_reason_what_else_is_wrong_is_said_as_well(client: Client, git: Git) -> None:
    given(client, git, "{starts: 2026-12-05, ends: 2026-12-06, reason: Why}")
    page = send(client, ONE, {**get(client, ONE).fields, "end-date": "2026-12-04", "reason": ""})
    assert {"#end-date", "#reason", "#why"} <= {*page.links}


def test_what_is_only_worth_knowing_does_not_move_the_form(client: Client) -> None:
    days = {**get(client, NEW).fields, **DAYS, "at": "10:00"}
    page = send(client, f"{NEW}/preview", days)
    assert "closes Tue 2026-12-08 10:00" in page.text
    assert "cuts the window" not in page.text
    assert "aria-invalid" not in page.source


def test_what_somebody_else_made_of_a_freeze_is_said(client: Client, git: Git) -> None:
    given(client, git, "{starts: 2026-12-05, ends: 2026-12-06, reason: Why}")
    first = get(client, ONE).fields
    assert send(client, ONE, {**first, "end-date": "2026-12-07", "why": "Longer"}).status == 303
    page = send(client, ONE, {**first, "end-date": "2026-12-08", "why": "Longer still"})
    assert page.status == 409
    assert "2026-12-07" in page.text
    assert page.fields["end-date"] == "2026-12-08"
    assert send(client, ONE, page.fields).status == 303
    assert spec(git)["freezes"]["one"]["ends"] == "2026-12-08"


@pytest.mark.parametrize(
    ("freeze", "outcome", "left"),
    [
        (
            "{starts: 2026-11-30, ends: 2026-12-06, reason: Why}",
            "end",
            "2026-11-30T10:00+01:00",
        ),
        ("{starts: 2026-11-30, duration: 7d, reason: Why}", "end", "2026-11-30T10:00+01:00"),
        ("{starts: 2026-12-05, ends: 2026-12-06, reason: Why}", "yes", None),
        ("{starts: 2026-11-05, ends: 2026-11-06, reason: Why}", "yes", None),
        ("{starts: Mon 08:00, duration: 7h, reason: Why}", "yes", None),
    ],
)
def test_a_freeze_ends_now_or_is_removed(
    client: Client, git: Git, freeze: str, outcome: str, left: str | None
) -> None:
    given(client, git, freeze)
    page = get(client, ONE)
    assert ("End it now" in page.text) is (outcome == "end")
    assert send(client, ONE, {**page.fields, "remove": outcome}).status == 422
    fields = {**page.fields, "remove": outcome, "why": "Done"}
    assert send(client, ONE.replace("freeze?", "freeze/preview?"), fields).status == 200
    assert send(client, ONE, fields).status == 303
    assert git("log", "-1", "--format=%s").strip() == "Done"
    found = spec(git).get("freezes", {}).get("one", {})
    assert found.get("ends") == left
    assert "duration" not in found


def test_a_freeze_that_is_gone_comes_back_and_is_removed_everywhere(
    client: Client, git: Git
) -> None:
    given(client, git, "{starts: 2026-12-05, ends: 2026-12-06, reason: Why}")
    there, ours = f"{ONE}&cluster=north", "Change the freeze one"
    for remove, left in (
        ("yes", {"freezes": {"one": None}}),
        ("own", {}),
        ("yes", {"freezes": {"one": None}}),
        ("", {"freezes": {"one": {"starts": "2026-12-05", "ends": "2026-12-06", "reason": "Own"}}}),
    ):
        page = get(client, there)
        changed = {"remove": remove, "reason": "Own", "why": "In the north"}
        assert send(client, there, {**page.fields, **changed}).status == 303
        found = next(yaml.safe_load_all(git("show", "HEAD:clusters/week.yaml")))["spec"]
        assert json.loads(json.dumps(found["clusters"]["north"], default=str)) == left
        assert f"{ours} on north" in get(client, f"{PAGE}?cluster=north").text
    assert (
        send(client, ONE, {**get(client, ONE).fields, "remove": "yes", "why": "Over"}).status == 303
    )
    assert spec(git)["clusters"]["north"] == {}


def test_holidays_of_a_region_become_freezes_of_some_clusters(client: Client, git: Git) -> None:
    page = get(client, f"{PAGE}/holidays")
    chosen = [found.get("value") for tag, found in page.tags if "selected" in found]
    # By the time zone of the policy.
    assert "DE" in chosen
    assert "Epiphany" not in page.text
    page = get(client, f"{PAGE}/holidays?country=DE&region=BY")
    assert "Epiphany" in page.text
    fields = {**page.fields, "2026-12-24/2027-01-01": "yes", "2027-01-06/2027-01-06": "yes"}
    fields |= {"scope": "some", "on:north": "yes"}
    assert send(client, f"{PAGE}/holidays", {**page.fields, "scope": "some"}).status == 422
    # While somebody chooses, nothing is an error yet.
    for missing in ({**page.fields, "scope": "some"}, {**fields, "scope": ""}):
        assert send(client, f"{PAGE}/holidays/preview", missing).status == 200
    assert "Closes" in send(client, f"{PAGE}/holidays/preview", fields).text
    assert send(client, f"{PAGE}/holidays", fields).status == 303
    assert "freezes" not in spec(git)
    assert spec(git)["clusters"]["north"]["freezes"] == {
        "christmas-to-new-year-2026": {
            "starts": "2026-12-24",
            "ends": "2027-01-01",
            "reason": "Christmas to New Year",
        },
        "epiphany-2027": {"starts": "2027-01-06", "ends": "2027-01-06", "reason": "Epiphany"},
    }
    subject = git("log", "-1", "--format=%s").strip()
    assert subject == "Freeze Christmas to New Year, Epiphany"
    assert get(client, f"{PAGE}/holidays").text.count("already frozen on north") == 1
    # On both clusters it is changed at once.
    assert send(client, f"{PAGE}/holidays", {**fields, "on:south": "yes"}).status == 303
    link = next(link for link in get(client, PAGE).links if "epiphany" in link)
    fields_of_both = {**get(client, link).fields, "end-date": "2027-01-07", "why": "A bridge"}
    assert send(client, link.removesuffix("&alike=yes"), fields_of_both).status == 303
    ends = [each["freezes"]["epiphany-2027"]["ends"] for each in spec(git)["clusters"].values()]
    assert ends == ["2027-01-07", "2027-01-07"]
    # A second time it is there already, which is said, and is no error.
    fields.pop("2027-01-06/2027-01-06")
    again = send(client, f"{PAGE}/holidays", fields)
    assert "nothing to save" in again.text
    assert "correct the errors" not in again.text
    assert "already frozen on north, south" in again.text


def test_holidays_are_offered_to_the_clusters_of_their_country(client: Client, git: Git) -> None:
    file = client.windows.settings.repo / "clusters/week.yaml"
    text = file.read_text()
    file.write_text(text.replace("    south:\n", "    south:\n      timeZone: America/Chicago\n"))
    git("commit", "--quiet", "--all", "--message=zone")
    client.windows.refresh()
    for country, cluster in (("DE", "north"), ("US", "south"), ("FR", "")):
        fields = get(client, f"{PAGE}/holidays?country={country}").fields
        assert fields["scope"] == ("some" if cluster else "all")
        ticked = [name for name in fields if name.startswith("on:")]
        assert ticked == ([f"on:{cluster}"] if cluster else [])


@pytest.mark.parametrize("query", ["country=", "country=XX", "country=DE&region=CA", "country=DEU"])
def test_a_place_without_holidays_is_no_error(client: Client, query: str) -> None:
    assert get(client, f"{PAGE}/holidays?{query}").status == 200


def test_a_freeze_of_next_summer_is_previewed_by_its_own_hours(client: Client) -> None:
    summer = {**get(client, NEW).fields, **DAYS, "date": "2027-08-02", "end-date": "2027-08-08"}
    page = send(client, NEW.replace("/freeze", "/freeze/preview"), summer)
    said = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Closes 3 d 9 h more in the next 252 days." in said

"""The pages, as a browser without scripts gets and sends them."""

from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from krm_windows.service.access import Caller, Scope
from krm_windows.system.git_branch import Person

Client = Any
Git = Any
PAGE = "/ui/policies/flux-system/week"
FORM = "application/x-www-form-urlencoded"


@dataclass
class Page(HTMLParser):
    """What a page has: texts, links, and the fields of its first form."""

    def __init__(self, answer: Any) -> None:  # noqa: ANN401
        """Read an answer."""
        super().__init__()
        self.status = answer.status
        self.headers = answer.headers
        self.source = answer.body.decode()
        self.texts: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        found = {name: text or "" for name, text in attrs}
        self.tags.append((tag, found))
        if tag == "a":
            self.links.append(found.get("href", ""))

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if data.strip():
            self.texts.append(" ".join(data.split()))

    @property
    def text(self) -> str:
        """All texts."""
        return " ".join(self.texts)

    @property
    def fields(self) -> dict[str, str]:
        """What the form would send."""
        return {
            found["name"]: found.get("value", "")
            for tag, found in self.tags
            if tag == "input" and found.get("type") not in ("checkbox", "radio", "search")
        }


def get(client: Client, target: str) -> Page:
    """Load a page."""
    return Page(client.ask("GET", target))


def send(client: Client, target: str, fields: dict[str, str]) -> Page:
    """Send a form."""
    return Page(client.ask("POST", target, urlencode(fields).encode(), content_type=FORM))


def test_the_first_page_says_what_is_open(client: Client) -> None:
    """A row for each policy and cluster, with state, end, reason and last change."""
    page = get(client, "/")
    assert page.status == 200
    for word in ("flux-system/week", "north", "south", "Operator", "first", "Europe/Berlin"):
        assert word in page.texts or word in page.text
    assert f"{PAGE}?cluster=south" in page.links


@pytest.mark.parametrize(
    ("query", "shown"),
    [("q=south", ["south"]), ("q=week+north", ["north"]), ("q=nothing", []), ("state=wrong", [])],
)
def test_the_first_page_is_filtered(client: Client, query: str, shown: list[str]) -> None:
    """By words of policy and cluster, and by state."""
    links = [link for link in get(client, f"/?{query}").links if "cluster=" in link]
    assert [link.partition("cluster=")[2] for link in links] == shown


def test_a_policy_has_a_page(client: Client) -> None:
    """State, calendar, rules, history."""
    page = get(client, PAGE)
    assert page.status == 200
    assert "open Monday 08:00 to Thursday 17:00" in page.text
    assert "What wins, from the top" in page.text
    assert f"{PAGE}/window?window=week" in page.links
    assert any(tag == "svg" for tag, _ in page.tags)


def test_nothing_of_a_page_is_inline(client: Client) -> None:
    """No style and no script in it, and every asset is there."""
    for target in ("/", PAGE, f"{PAGE}/window?window=week"):
        page = get(client, target)
        for tag, found in page.tags:
            assert tag != "style"
            assert "style" not in found
            assert not any(name.startswith("on") for name in found)
            if tag == "script":
                assert found["src"].startswith("/ui/assets/page-")
        assets = [
            found.get("href") or found.get("src", "")
            for tag, found in page.tags
            if tag in ("link", "script", "img")
        ]
        for asset in assets:
            assert client.ask("GET", asset).status == 200
    assert client.ask("GET", "/ui/assets/page.css").status == 404


def test_a_preview_says_which_hours_open(client: Client, git: Git) -> None:
    """Nothing is saved."""
    form = get(client, f"{PAGE}/window?window=week")
    assert form.fields["opens"] == "Mon 08:00"
    page = send(
        client,
        f"{PAGE}/window/preview?window=week",
        {**form.fields, "closes": "Fri 12:00"},
    )
    assert page.status == 200
    assert "Opens 3 d 4 h more." in page.text
    assert "north, south" in page.text
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_wrong_field_is_reported_beside_it(client: Client, git: Git) -> None:
    """The field names what was found of it, and what was typed is kept."""
    form = get(client, f"{PAGE}/window?window=week")
    page = send(
        client,
        f"{PAGE}/window?window=week",
        {**form.fields, "closes": "Xri <b>", "reason": "Later"},
    )
    assert page.status == 422
    field = next(found for _, found in page.tags if found.get("id") == "closes")
    assert field["aria-invalid"] == "true"
    assert field["value"] == "Xri <b>"
    assert "closes-found" in field["aria-describedby"].split()
    assert "#closes" in page.links
    assert "must be a moment" in page.text
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_saved_window_is_one_commit_that_the_page_names(client: Client, git: Git) -> None:
    """Of the caller, with the reason as its message."""
    form = get(client, f"{PAGE}/window?window=week")
    fields = {**form.fields, "closes": "Fri 12:00", "reason": "Later on Fridays"}
    answer = send(client, f"{PAGE}/window?window=week", fields)
    assert answer.status == 303
    commit = git("rev-parse", "main").strip()
    assert git("log", "-1", "--format=%an %s").strip() == "Ada Later on Fridays"
    assert git("rev-list", "--count", "HEAD").strip() == "2"
    page = get(client, answer.headers["location"])
    assert commit[:10] in page.text
    assert "Saved" in page.text


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines"])
def test_a_change_has_a_reason(client: Client, git: Git, reason: str) -> None:
    """One line of it."""
    form = get(client, f"{PAGE}/window?window=week")
    fields = {**form.fields, "closes": "Fri 12:00", "reason": reason}
    page = send(client, f"{PAGE}/window?window=week", fields)
    assert page.status == 422
    assert "#reason" in page.links
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_what_changed_meanwhile_is_shown_and_nothing_typed_is_lost(
    client: Client, git: Git
) -> None:
    """The second of two who began alike sees what the first one did, and may go on from there."""
    target = f"{PAGE}/window?window=week"
    form = get(client, target)
    first = {**form.fields, "opens": "Tue 06:00", "reason": "Tuesdays"}
    assert send(client, target, first).status == 303
    second = {**form.fields, "closes": "Fri 12:00", "reason": "Fridays"}
    page = send(client, target, second)
    assert page.status == 409
    assert "Tuesdays" in page.text
    assert page.fields["closes"] == "Fri 12:00"
    assert page.fields["opens"] == "Tue 06:00"
    assert page.fields["reason"] == "Fridays"
    assert send(client, target, {**page.fields}).status == 303
    [policy, _] = yaml.safe_load_all(git("show", "HEAD:clusters/week.yaml"))
    assert policy["spec"]["windows"]["week"] == {"opens": "Tue 06:00", "closes": "Fri 12:00"}


def test_a_field_that_both_changed_is_reported(client: Client) -> None:
    """With what it is now, beside what was typed."""
    target = f"{PAGE}/window?window=week"
    form = get(client, target)
    first = {**form.fields, "closes": "Thu 18:00", "reason": "Six"}
    assert send(client, target, first).status == 303
    second = {**form.fields, "closes": "Fri 12:00", "reason": "Fridays"}
    page = send(client, target, second)
    assert page.status == 409
    assert "it is 'Thu 18:00' now" in page.text
    assert page.fields["closes"] == "Fri 12:00"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/ui/policies/flux-system/none", 404),
        (f"{PAGE}?cluster=none", 404),
        (f"{PAGE}/window?window=none", 404),
        ("/?color=red", 400),
        ("/?state=red", 400),
    ],
)
def test_a_refusal_is_a_page(client: Client, target: str, status: int) -> None:
    """In plain words, with a way back."""
    page = get(client, target)
    assert page.status == status
    assert page.headers["content-type"].startswith("text/html")
    assert "/" in page.links


OVERRIDE = {
    "state": "open",
    "for": "2h",
    "until": "",
    "reason": "CVE-2026-1 <script>",
    "ticket": "OPS-7",
    "requested-by": "Ada",
    "cluster": "",
}


def ask(client: Client, **changed: str) -> Page:
    """Fill the form of an override in, and go on."""
    form = get(client, f"{PAGE}/override")
    token = {"form-token": form.fields["form-token"]}
    return send(client, f"{PAGE}/override/check", {**token, **OVERRIDE, **changed})


def test_an_override_is_confirmed_first(client: Client, git: Git) -> None:
    """With the targets that open, and until when."""
    page = ask(client)
    assert page.status == 200
    assert "Kustomization flux-system/apps" in page.text
    assert "CVE-2026-1 <script>" in page.text
    assert "in 2 h" in page.text or "in 1 h 59 m" in page.text
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_what_was_confirmed_is_made(client: Client, git: Git) -> None:
    """One commit, until the moment that was shown; then it is on the page, with a way to end it."""
    confirm = ask(client, cluster="south")
    answer = send(client, f"{PAGE}/override", confirm.fields)
    assert answer.status == 303
    [policy, _] = yaml.safe_load_all(git("show", "HEAD:clusters/week.yaml"))
    [(name, made)] = policy["spec"]["clusters"]["south"]["overrides"].items()
    assert made["ends"] == confirm.fields["until"]
    assert made["state"] == "Open"
    assert made["ticket"] == "OPS-7"
    assert git("log", "-1", "--format=%an %s").strip() == "Ada CVE-2026-1 <script>"
    page = get(client, answer.headers["location"])
    assert name in page.text
    assert "<script>" not in page.source.partition("</head>")[2]
    ended = send(
        client,
        f"{PAGE}/override/end?cluster=south",
        {"form-token": page.fields["form-token"], "override": name},
    )
    assert ended.status == 303
    assert git("rev-list", "--count", "HEAD").strip() == "3"
    assert "overrides" not in git("show", "HEAD:clusters/week.yaml")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"reason": ""}, "reason"),
        ({"for": ""}, "for"),
        ({"for": "soon"}, "for"),
        ({"for": "0m"}, "for"),
        ({"until": "18:00"}, "for"),
        ({"for": "", "until": "someday"}, "until"),
        ({"for": "", "until": "2020-01-01"}, "until"),
        ({"state": "ajar"}, "state"),
    ],
)
def test_a_wrong_override_is_told_beside_its_field(
    client: Client, git: Git, changed: dict[str, str], field: str
) -> None:
    """Nothing is confirmed, and what was typed is kept."""
    page = ask(client, **changed)
    assert page.status == 422
    assert f"#{field}" in page.links
    assert page.fields["ticket"] == "OPS-7"
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_confirmation_leads_back_to_the_form(client: Client) -> None:
    """With everything that was typed."""
    page = ask(client)
    again = send(client, f"{PAGE}/override/check", {**page.fields, "edit": "yes"})
    assert again.status == 200
    assert again.fields["reason"] == OVERRIDE["reason"]


def test_what_a_scope_does_not_allow_is_not_offered(serve: Any) -> None:  # noqa: ANN401
    """A reader finds no form, and none is shown or taken."""
    reader = serve(Caller("bob", Person("Bob", "bob@example.com"), frozenset({Scope.READ})))
    page = get(reader, PAGE)
    assert page.status == 200
    assert not [link for link in page.links if "/window" in link or "/override" in link]
    assert not [tag for tag, _ in page.tags if tag == "button"]
    for target in (f"{PAGE}/window?window=week", f"{PAGE}/override"):
        assert get(reader, target).status == 403
        assert send(reader, target, {}).status == 403


def test_who_is_unknown_may_sign_in(serve: Any) -> None:  # noqa: ANN401
    """The refusal is the form to do it."""
    page = get(serve(None), "/")
    assert page.status == 401
    assert any(found.get("action") == "/ui/login" for _, found in page.tags)
    assert get(serve(None), "/ui/login").status == 200


def test_a_form_of_another_site_is_refused(client: Client, git: Git) -> None:
    """Without the token of our own form, or from another origin."""
    form = get(client, f"{PAGE}/window?window=week").fields
    fields = {**form, "closes": "Fri 12:00", "reason": "Evil"}
    target = f"{PAGE}/window?window=week"
    assert send(client, target, {**fields, "form-token": "x"}).status == 403
    body = urlencode(fields).encode()
    answer = client.ask("POST", target, body, content_type=FORM, origin="https://evil.example")
    assert answer.status == 403
    assert answer.headers["content-type"].startswith("text/html")
    assert git("rev-list", "--count", "HEAD").strip() == "1"

"""What pages say of now and of a month is what the interface says, of policies of any kind."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape
from random import Random
from typing import Any

import pytest

from krm_windows.service.pages import groups

Commit = Callable[..., str]
Client = Any
Serve = Any
PAGE = "/ui/policies/flux-system/week"
API = "/policies/flux-system/week"
HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
"""
ZONES = ("Europe/Berlin", "America/Chicago", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
# At edges and beside them: a year's and a month's, clock changes, a leap day, and any minute.
TIMES = (
    *(datetime(2026, 12, 31, 22, 59, 59, tzinfo=UTC), datetime(2026, 12, 31, 23, tzinfo=UTC)),
    *(datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
    *(datetime(2026, 11, 1, 7, tzinfo=UTC), datetime(2026, 4, 4, 15, tzinfo=UTC)),
    *(datetime(2028, 2, 29, 12, 34, tzinfo=UTC), datetime(2026, 11, 23, 7, tzinfo=UTC)),
)


def policy(random: Random, at: datetime) -> str:
    """Make a policy up, whose rules turn near an instant."""

    def rule(days: int) -> str:
        begins = at.replace(tzinfo=None) + timedelta(hours=random.randint(-30, 30))
        ends = begins + timedelta(hours=random.randint(1, 24 * days))
        return f'starts: "{begins:%Y-%m-%dT%H:%M}", ends: "{ends:%Y-%m-%dT%H:%M}", reason: r'

    def rules() -> dict[str, str]:
        opens = random.choice(["Mon-Fri 08:00", "daily 02:30", "last day 18:00", "first Sun 00:00"])
        length = random.choice(["3h", "24h", "90m"])
        found = {
            "windows": f"{{{random.choice('ab')}: {{opens: {opens}, duration: {length}}}}}",
            "freezes": f"{{f: {{{rule(2)}}}}}",
            "overrides": f"{{o: {{state: {random.choice(['Open', 'Closed'])}, {rule(1)}}}}}",
            "timeZone": random.choice(ZONES),
        }
        return {name: text for name, text in found.items() if random.random() < 0.6}

    spec = rules()
    spec.pop("timeZone", None)
    spec.setdefault("windows", "{a: {opens: Mon 08:00, closes: Thu 17:00}}")
    if random.random() < 0.3:
        spec["outsideWindows"] = "Open"
        del spec["windows"]
    if random.random() < 0.15:
        spec["state"] = random.choice(["Open", "Closed"])
    lines = [f"  {name}: {text}" for name, text in spec.items()]
    lines.append("  clusters:")
    for number in range(6):
        own = {} if number % 3 == 0 else rules()
        if "outsideWindows" in spec:
            own.pop("windows", None)
        lines.append(f"    c{number}: {{{', '.join(': '.join(each) for each in own.items())}}}")
    return HEAD + "\n".join(lines) + "\n"


def text(client: Client, target: str) -> str:
    answer = client.ask("GET", target)
    assert answer.status == 200, (target, answer.body)
    return unescape(answer.body.decode())


def said(article: str) -> tuple[str, datetime | None]:
    verdict = re.search(r'class="verdict">(\w+)(?: (?:until <time datetime="(.+?)"|for))?', article)
    assert verdict, article
    return verdict[1], datetime.fromisoformat(verdict[2]) if verdict[2] else None


def answered(client: Client, cluster: str) -> tuple[str, datetime | None]:
    answer = client.ask("GET", f"{API}/state?cluster={cluster}")
    if answer.status == 409:
        return "Unknown", None
    state = answer.json()
    until = state["until"] and datetime.fromisoformat(state["until"])
    return ("Open" if state["open"] else "Closed"), until


@pytest.mark.parametrize("at", TIMES, ids=str)
def test_pages_say_what_the_interface_says(at: datetime, serve: Serve, commit: Commit) -> None:
    random = Random(str(at))  # noqa: S311 - the same each time
    for number in range(3):
        commit({"clusters/week.yaml": policy(random, at)}, f"policy {number}")
        client = serve(at=at)
        together: dict[str, tuple[str, datetime | None]] = {}
        whole = text(client, PAGE)
        for article in re.findall(r"<article.*?</article>", whole, re.DOTALL):
            for name in re.findall(r"[?&]cluster=(c\d)\">c\d</a>", article):
                together[name] = said(article)
        for cluster in (f"c{each}" for each in range(6)):
            expected = answered(client, cluster)
            assert said(text(client, f"{PAGE}?cluster={cluster}")) == expected
            assert together[cluster] == expected, whole


MONTHS = ("2026-03", "2026-04", "2026-10", "2026-11", "2028-02")


@pytest.mark.parametrize("month", MONTHS)
def test_a_month_is_open_on_the_days_of_the_calendar(
    month: str, serve: Serve, commit: Commit
) -> None:
    random = Random(month)  # noqa: S311 - likewise
    at = datetime.fromisoformat(f"{month}-27T00:00Z")
    for number in range(3):
        commit({"clusters/week.yaml": policy(random, at)}, f"policy {number}")
        client = serve(at=at)
        for cluster in ("c1", "c4"):
            query = f"?cluster={cluster}&from={month}-01&days=28"
            answer = client.ask("GET", f"{API}/calendar{query}")
            if answer.status == 409:
                continue
            found = answer.json()
            expected: set[int] = set()
            for each in found["intervals"]:
                # Wall clocks: whole days, of 23 or 25 hours, too.
                day = datetime.fromisoformat(each["opens"] or found["from"]).replace(tzinfo=None)
                ends = datetime.fromisoformat(each["closes"] or found["until"]).replace(tzinfo=None)
                while day < ends:
                    expected.add(day.day)
                    day = day.replace(hour=0, minute=0) + timedelta(days=1)
            sheet = text(client, f"{PAGE}/month?cluster={cluster}&month={month}")
            cells = re.findall(r'<td class="is-open.*?</span>(\d+)</span>', sheet, re.DOTALL)
            assert {int(day) for day in cells if int(day) < 29} == expected


def test_all_clusters_count_however_many_differ(
    serve: Serve, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MOST", 2)
    own = [f"    c{each}: {{closesEarly: {each}m}}\n" for each in range(5)]
    window = "  windows: {a: {opens: Mon 08:00, duration: 9h}}\n  clusters:\n"
    commit({"clusters/week.yaml": HEAD + window + "".join(own)})
    client = serve(at=datetime(2026, 11, 23, 8, tzinfo=UTC))
    front = text(client, "/")
    assert "5 clusters" in front
    assert re.findall(r"<strong>(\d)</strong> (\w+)", front) == [
        *(("2", "open"), ("0", "closed"), ("3", "unknown"))
    ]
    assert "3 more clusters" in front
    assert groups.TOO_MANY in front
    assert "1 more group:" in text(client, PAGE)
    assert "3 more clusters" in text(client, f"{PAGE}/month")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("freezes: {f: {%s, reason: r}}", "10:00.*at the beginning of the freeze.*f<"),
        (
            "overrides: {f: {state: Closed, %s, reason: r}}",
            "10:00.*at the beginning of an override",
        ),
        ("overrides: {f: {state: Open, %s, reason: r}}", "20:00.*at the end of an override"),
        ("closesEarly: 15m", "16:45.*at the end of the window"),
    ],
)
def test_since_when_and_why_it_is_closed(
    rule: str, words: str, serve: Serve, commit: Commit
) -> None:
    times = 'starts: "2026-11-23T10:00", ends: "2026-11-23T20:00"'
    window = "  windows: {a: {opens: Mon 08:00, duration: 9h}}\n"
    commit({"clusters/week.yaml": f"{HEAD}{window}  {rule.replace('%s', times)}\n"})
    client = serve(at=datetime(2026, 11, 23, 20, tzinfo=UTC))
    [article] = re.findall(r"<article.*?</article>", text(client, PAGE), re.DOTALL)
    assert re.search(f"By today.s rules closed since .*{words}", article), article

"""Now and today on twelve clusters in twelve time zones, by REST and on the pages."""

from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
import yaml
from twelve_zones import BASE, INSTANTS, POLICY, ZONES, local

Client = Any
Git = Any
Serve = Any
REST = "/policies/flux-system/week"
PAGE = "/ui/policies/flux-system/week"
FORM = {"content-type": "application/x-www-form-urlencoded"}
# In UTC and east of it, it is another day than in America.
EVENING = datetime(2026, 11, 25, 1, 30, 20, tzinfo=UTC)


@pytest.fixture
def file(repository: Path, git: Git) -> Path:
    file: Path = repository / "clusters/week.yaml"
    file.write_text(POLICY)
    git("commit", "--quiet", "--all", "--message=zones")
    return file


def page(client: Client, target: str, form: dict[str, str] | None = None) -> str:
    if form is None:
        answer = client.ask("GET", target)
    else:
        body = urlencode(form).encode()
        answer = client.ask("POST", target, body, **FORM, sec_fetch_site="same-origin")
    assert answer.status in (200, 303), answer.body
    text: str = unescape(answer.body.decode())
    return text


def instants(git: Git) -> tuple[datetime, datetime]:
    """Return beginning and end of the only override in the branch: instants."""
    text = git("show", "main:clusters/week.yaml")
    spec = yaml.load(text, yaml.BaseLoader)["spec"]  # noqa: S506 - texts alone
    places = [spec, *spec["clusters"].values()]
    [entry] = [one for place in places for one in place.get("overrides", {}).values()]
    begins, ends = datetime.fromisoformat(entry["starts"]), datetime.fromisoformat(entry["ends"])
    assert begins.tzinfo is not None
    assert ends.tzinfo is not None
    return begins, ends


@pytest.mark.slow
@pytest.mark.parametrize("now", INSTANTS, ids=lambda at: f"{at:%Y%m%dT%H%M}")
def test_rest_stops_all_at_once_until_one_instant(
    now: datetime, file: Path, git: Git, serve: Serve
) -> None:
    """The state of every cluster, its calendar from its own day on, and the list agree."""
    assert file
    client = serve(at=now)
    body = {"state": "closed", "until": "18:00", "reason": "stop all"}
    assert client.ask("POST", f"{REST}/overrides", body).status == 201
    begins, ends = instants(git)
    assert begins == now.replace(second=0)
    assert ends.astimezone(ZoneInfo(BASE)).strftime("%H:%M") == "18:00"
    [listed] = client.ask("GET", f"{REST}/overrides").json()["overrides"]
    assert listed["phase"] == "active"
    assert datetime.fromisoformat(listed["ends"]) == ends
    for cluster in ZONES:
        state = client.ask("GET", f"{REST}/state?cluster={cluster}").json()
        assert (state["open"], state["timeZone"]) == (False, ZONES[cluster])
        assert state["rule"].startswith("overrides.closed-")
        calendar = client.ask("GET", f"{REST}/calendar?cluster={cluster}&days=1").json()
        assert calendar["from"].startswith(str(local(now, cluster).date()))


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["", "chicago", "kiritimati"])
def test_the_form_means_the_clock_of_a_cluster(
    cluster: str, file: Path, git: Git, serve: Serve
) -> None:
    assert file
    zone = ZoneInfo(ZONES.get(cluster, BASE))
    client = serve(at=EVENING)
    form = {"state": "open", "for": "", "until": "18:00", "reason": "fix", "cluster": cluster}
    page(client, f"{PAGE}/override/preview", form)
    page(client, f"{PAGE}/override", form)
    begins, ends = instants(git)
    assert begins == EVENING.replace(second=0)
    assert ends.astimezone(zone).strftime("%H:%M") == "18:00"
    assert EVENING < ends <= EVENING + timedelta(days=1)


@pytest.mark.parametrize("cluster", ZONES)
def test_pages_of_a_cluster_are_of_its_zone(cluster: str, file: Path, serve: Serve) -> None:
    """No other zone is named on them, and days begin where it is."""
    assert file
    client = serve(at=EVENING)
    others = {zone for zone in ZONES.values() if zone != ZONES[cluster]}
    for target in (
        f"{PAGE}?cluster={cluster}",
        f"{PAGE}/window?window=week&cluster={cluster}",
        f"{PAGE}/window?cluster={cluster}",
    ):
        text = page(client, target)
        assert ZONES[cluster] in text, target
        assert not [zone for zone in others if zone in text], target
    text = page(client, f"{PAGE}?cluster={cluster}&days=1")
    assert f"{local(EVENING, cluster):%a %Y-%m-%d}" in text
    text = page(client, f"{PAGE}/override?cluster={cluster}")
    assert f"({cluster}: {ZONES[cluster]})" in text


def test_overrides_on_the_page_of_a_cluster_are_its_own(file: Path, git: Git, serve: Serve) -> None:
    """On its clock, also one that ends at a time of each clock; and none of another cluster."""
    times = "state: Open, starts: 2026-11-24T00:00, ends: 2026-11-30T18:00"
    own = f"overrides: {{%s: {{{times}, reason: %s}}}}"
    text = POLICY.replace("  clusters:\n", f"  {own % ('every', 'each')}\n  clusters:\n")
    text = text.replace("berlin: {}", f"berlin: {{{own % ('berlins', 'here')}}}")
    file.write_text(text)
    git("commit", "--quiet", "--all", "--message=own")
    client = serve(at=EVENING)
    for cluster in ZONES:
        said = page(client, f"{PAGE}?cluster={cluster}")
        listed = said.partition('id="overrides-title"')[2].partition("</section>")[0]
        assert "until <time" in listed
        assert "Mon 2026-11-30 18:00" in listed
        assert {zone for zone in ZONES.values() if zone in listed} == {ZONES[cluster]}
        assert ("berlins" in listed) is (cluster == "berlin")
    every = page(client, PAGE).partition('id="overrides-title"')[2]
    assert "from the first cluster to the last" in every
    assert "berlins" in every


def test_the_page_without_a_cluster_is_of_all(file: Path, git: Git, serve: Serve) -> None:
    """Its rules are those that its forms change, and no cluster's own; each row begins today."""
    text = POLICY.replace(
        "pago-pago: {timeZone: Pacific/Pago_Pago}",
        "pago-pago: {timeZone: Pacific/Pago_Pago, windows: {week: {opens: Tue 09:00}}}",
    ).replace(
        "    berlin: {}\n", "    berlin: {windows: {only: {opens: Sun 01:00, duration: 1h}}}\n"
    )
    file.write_text(text)
    git("commit", "--quiet", "--all", "--message=own")
    client = serve(at=EVENING)
    said = page(client, PAGE)
    rules = said.partition('id="rules-title"')[2]
    assert "windows.week" in rules
    assert "Tue 09:00" not in rules
    assert "windows.only" not in rules
    assert f"clusters in {len(ZONES)} time zones" in said
    assert "Mon 08:00" in page(client, f"{PAGE}/window?window=week")
    assert "own clock, in 12 time zones" in page(client, f"{PAGE}/window?window=week")
    assert "Tue 09:00" in page(client, f"{PAGE}?cluster=pago-pago").partition("rules-title")[2]


def test_a_policy_whose_clusters_have_all_its_windows_has_no_errors(
    file: Path, git: Git, serve: Serve
) -> None:
    """What it says for all clusters is no policy then, and every cluster has one."""
    head, _, _ = POLICY.partition("  windows:\n")
    own = "{windows: {own: {opens: Mon 08:00, duration: 1h}}}"
    file.write_text(f"{head}  clusters:\n    a: {own}\n    b: {own}\n")
    git("commit", "--quiet", "--all", "--message=own")
    client = serve(at=EVENING)
    said = page(client, PAGE)
    assert "The policy has errors" not in said
    assert 'id="calendar-title"' in said
    assert "windows.own" in page(client, f"{PAGE}?cluster=a").partition("rules-title")[2]

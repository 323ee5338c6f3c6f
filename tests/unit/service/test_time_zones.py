"""Now and today on twelve clusters in twelve time zones, by REST and on the pages."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from effort import mostly_slow
from twelve_zones import POLICY, ZONES, local

Client = Any
Git = Any
Serve = Any
Zoned = Callable[..., Client]
PAGE = "/ui/policies/flux-system/week"
# In UTC and east of it, it is another day than in America.
EVENING = datetime(2026, 11, 25, 1, 30, 20, tzinfo=UTC)


@pytest.fixture
def zoned(commit: Callable[..., str], serve: Serve) -> Callable[..., Client]:
    def start(text: str = POLICY) -> Client:
        commit({"clusters/week.yaml": text})
        return serve(at=EVENING)

    return start


def page(client: Client, target: str) -> str:
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    text: str = unescape(answer.body.decode())
    return text


@pytest.mark.parametrize("cluster", mostly_slow(ZONES, every=6))
def test_pages_of_a_cluster_are_of_its_zone(cluster: str, zoned: Zoned) -> None:
    client = zoned()
    others = {zone for zone in ZONES.values() if zone != ZONES[cluster]}
    for target in ("?", "/window?window=week&", "/window?"):
        text = page(client, f"{PAGE}{target}cluster={cluster}")
        # The clusters of another zone can be ticked by it.
        text = re.sub(r"(?s)<legend>Applies to.*?</fieldset>", "", text)
        assert ZONES[cluster] in text, target
        assert not [zone for zone in others if zone in text], target
    text = page(client, f"{PAGE}?cluster={cluster}&days=1")
    assert f"{local(EVENING, cluster):%a %Y-%m-%d}" in text
    text = page(client, f"{PAGE}/override?cluster={cluster}")
    assert f"({cluster}: {ZONES[cluster]})" in text


@pytest.mark.parametrize("target", ["/", PAGE])
def test_no_row_of_a_map_ends_sooner_than_others(target: str, zoned: Zoned) -> None:
    text = page(zoned(), target)
    assert 'class="track-svg"' in text
    assert 'class="outside"' not in text


def test_a_page_is_of_its_cluster_or_of_all(zoned: Zoned) -> None:
    times = "state: Open, starts: 2026-11-24T00:00, ends: 2026-11-30T18:00"
    own = f"overrides: {{%s: {{{times}, reason: %s}}}}"
    only = "windows: {only: {opens: Sun 01:00, duration: 1h}}"
    text = POLICY.replace("  clusters:\n", f"  {own % ('every', 'each')}\n  clusters:\n")
    text = text.replace("berlin: {}", f"berlin: {{{own % ('berlins', 'here')}, {only}}}")
    later = "Pacific/Pago_Pago, windows: {week: {opens: Tue 09:00}}}"
    client = zoned(text.replace("Pacific/Pago_Pago}", later))
    for cluster in ZONES:
        said = page(client, f"{PAGE}?cluster={cluster}")
        listed = said.partition('id="overrides-title"')[2].partition("</section>")[0]
        assert "until <time" in listed
        assert "Mon 2026-11-30 18:00" in listed
        assert {zone for zone in ZONES.values() if zone in listed} == {ZONES[cluster]}
        assert ("berlins" in listed) is (cluster == "berlin")
        assert ("Tue 09:00" in said.partition("rules-title")[2]) is (cluster == "pago-pago")
    said = page(client, PAGE)
    every = said.partition('id="overrides-title"')[2]
    assert "from the first cluster to the last" in every
    assert "berlins" in every
    rules = said.partition('id="rules-title"')[2]
    listed = re.findall(r"<strong>(\w+)</strong>(?: <span class=\"faint\">(.*?)</span>)?", rules)
    assert sorted(listed) == [
        ("only", "on berlin"),
        ("week", "except on pago-pago"),
        ("week", "on pago-pago"),
    ]
    assert rules.count("Tue 09:00") == 1
    assert f"clusters in {len(ZONES)} time zones" in said
    form = page(client, f"{PAGE}/window?window=week")
    assert "Mon 08:00" in form
    assert "own clock, in 12 time zones" in form


def test_a_policy_whose_clusters_have_all_its_windows_has_no_errors(zoned: Zoned) -> None:
    """What it says for all clusters is no policy then, and every cluster has one."""
    head, _, _ = POLICY.partition("  windows:\n")
    own = "{windows: {own: {opens: Mon 08:00, duration: 1h}}}"
    client = zoned(f"{head}  clusters:\n    a: {own}\n    b: {own}\n")
    said = page(client, PAGE)
    assert "The policy has errors" not in said
    assert 'id="calendar-title"' in said
    assert "<strong>own</strong>" in page(client, f"{PAGE}?cluster=a").partition("rules-title")[2]

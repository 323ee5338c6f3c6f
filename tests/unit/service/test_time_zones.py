"""Now and today on twelve clusters in twelve time zones, by REST and on the pages."""

from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from effort import mostly_slow
from twelve_zones import POLICY, ZONES, local

Client = Any
Git = Any
Serve = Any
PAGE = "/ui/policies/flux-system/week"
# In UTC and east of it, it is another day than in America.
EVENING = datetime(2026, 11, 25, 1, 30, 20, tzinfo=UTC)


@pytest.fixture
def file(repository: Path, git: Git) -> Path:
    file: Path = repository / "clusters/week.yaml"
    file.write_text(POLICY)
    git("commit", "--quiet", "--all", "--message=zones")
    return file


def page(client: Client, target: str) -> str:
    answer = client.ask("GET", target)
    assert answer.status == 200, answer.body
    text: str = unescape(answer.body.decode())
    return text


@pytest.mark.parametrize("cluster", mostly_slow(ZONES, every=6))
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

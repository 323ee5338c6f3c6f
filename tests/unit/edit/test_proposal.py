"""What is audited of a change, and what of one that is urgent."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from krm_windows.edit import overrides
from krm_windows.edit.overrides import OverrideRequest
from krm_windows.edit.proposal import Proposal, View, propose
from krm_windows.inventory import no_resources
from krm_windows.krm import KubeObject
from krm_windows.preview.calendar import Period

# On north a freeze takes all hours of the window: an error of the audit before any change.
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [apps]}]
  windows:
    week: {opens: Mon 08:00, closes: Thu 17:00}
  clusters:
    north: {windows: {sunday: {opens: Sun 02:00, closes: Sun 03:00}}, freezes: {
      sundays: {starts: Sun 00:00, ends: Mon 00:00, reason: rest}}}
    south: {}
    east: {}
"""
NOW = datetime(2026, 12, 14, 12, tzinfo=UTC)


def overridden(cluster: str | None, *, urgent: bool, length: int = 2) -> Proposal:
    old = KubeObject.parse(POLICY.encode())
    wanted = OverrideRequest(
        "closed", "stop", timedelta(hours=length), cluster=cluster, name="stop"
    )
    new = overrides.made(old, wanted, NOW)
    return propose(old, new, no_resources, View(NOW, Period(NOW, 7), urgent))


def told(proposal: Proposal) -> set[tuple[tuple[str, ...], str]]:
    return {
        (report.clusters, result.tags["rule"])
        for report in proposal.reports
        for result in report.results
    }


NORTH = (("north",), "window-never-opens")


@pytest.mark.parametrize(
    ("cluster", "audited"),
    [("south", {("south",)}), ("north", {("north",)}), (None, {("north",), ("south", "east")})],
)
def test_of_what_is_urgent_the_clusters_that_it_changes_are_audited(
    cluster: str | None, audited: set[tuple[str, ...]]
) -> None:
    urgent, whole = (overridden(cluster, urgent=urgent) for urgent in (True, False))
    assert {report.clusters for report in urgent.reports} == audited
    kept = {each for each in told(whole) if each[0] in audited}
    assert told(urgent) == kept
    assert NORTH in told(whole)
    assert urgent.differences == whole.differences
    assert urgent.turns == whole.turns


def test_what_an_override_brings_about_is_found() -> None:
    proposal = overridden("south", urgent=True, length=24 * 60)
    assert {clusters for clusters, _ in told(proposal)} == {("south",)}
    assert "closed-long" in {rule for _, rule in told(proposal)}


def test_clusters_that_a_change_leaves_alone_have_no_difference() -> None:
    found = {each.cluster: each.changes for each in overridden("south", urgent=True).differences}
    assert list(found) == ["north", "south", "east"]
    assert [len(changes) for changes in found.values()] == [0, 1, 0]


@pytest.mark.parametrize(
    ("freezes", "days", "said"),
    [
        # Beyond four weeks, and the next one.
        ("x: {starts: 2026-12-21, ends: 2027-01-17, reason: r}", 35, []),
        ("x: {starts: 2027-08-02, ends: 2027-08-03, reason: r}", 233, []),
        (
            "x: {starts: 2026-12-19, ends: 2026-12-20, reason: r}",
            28,
            ["already closed then (Sat 2026-12-19 00:00), as no window is open"],
        ),
        (
            "x: {starts: 2026-12-25, ends: 2026-12-25, reason: r}",
            28,
            ["already closed then (Fri 2026-12-25 00:00), by the freeze fri (rest)"],
        ),
        (
            "x: {starts: 2029-02-05, ends: 2029-02-06, reason: r}",
            28,
            ["The freeze x (r) first holds on Mon 2029-02-05 00:00"],
        ),
        (
            "x: {starts: 2099-12-24, ends: 2099-12-27, reason: r}",
            28,
            ["The freeze x (r) first holds on Thu 2099-12-24 00:00"],
        ),
        ("x: {starts: 2025-12-22, ends: 2025-12-22, reason: r}", 28, ["The freeze x (r) is over"]),
        # Nothing the first time, which is on a Friday.
        ("x: {starts: 0 0 25 * *, ends: 0 0 26 * *, reason: r}", 366, []),
    ],
)
def test_the_hours_of_a_change_are_all_counted_or_it_is_said_why_none_moves(
    freezes: str, days: int, said: list[str]
) -> None:
    known = "fri: {starts: Fri 00:00, ends: Sat 00:00, reason: rest}, "
    known += "cut: {starts: 2027-03-03, ends: 2027-03-03, reason: r}"
    text = POLICY.partition("  clusters:")[0]
    old, new = (
        KubeObject.parse(f"{text}  freezes: {{{each}}}\n".encode())
        for each in (known, f"{known}, {freezes}")
    )
    proposal = propose(old, new, no_resources, View(NOW))
    assert (proposal.differences[0].days, proposal.unmoved) == (days, said)
    # What was found before is no news.
    before = propose(old, old, no_resources, View(NOW))
    assert before.found
    assert before.results == []


def test_what_a_change_brings_to_another_cluster_is_news() -> None:
    cut = "freezes: {cut: {starts: 2026-12-21, ends: 2026-12-21, reason: r}}"
    text = POLICY.partition("  clusters:")[0] + "  clusters:\n"
    old, new = (
        KubeObject.parse(f"{text}    north: {{{cut}}}\n    south: {{{each}}}\n".encode())
        for each in ("", cut)
    )
    assert propose(old, old, no_resources, View(NOW)).results == []
    found = propose(old, new, no_resources, View(NOW)).results
    assert [each.path for each in found] == ["spec.freezes.cut"]


def test_in_a_few_lines_an_override_says_what_it_moves_and_where_it_is_for_nothing() -> None:
    """As it will be when it begins: now is no answer where that is later."""
    old = KubeObject.parse(POLICY.encode())
    stop = OverrideRequest("closed", "stop", until="Thu 12:00", cluster="south", name="stop")
    stopped = KubeObject.parse(overrides.made(old, stop, NOW).span)
    request = OverrideRequest("open", "fix", until="Thu 09:00", name="fix", starts="Thu 08:00")
    made = overrides.made(stopped, request, NOW)
    late = overrides.made(old, replace(request, starts="Thu 20:00", until="22:00"), NOW)
    nothing, then = "nothing opens or closes", "then (Thu 2026-12-17 08:00)"
    wins = "which wins until it ends"
    when = "Thu 2026-12-17 20:00 until Thu 2026-12-17 22:00 (Europe/Berlin), 2 h"
    for before, after, *said in (
        (
            stopped,
            made,
            f"{nothing} on north, east; already open {then}, by the window week",
            f"{nothing} on south; still closed {then}, by the override (stop), {wins}",
        ),
        (old, late, f"opens on north, south, east {when}: the override (fix)"),
        (late, old, f"closes on north, south, east {when}: no longer the override (fix)"),
    ):
        proposal = propose(before, after, no_resources, View(NOW, urgent=True))
        assert proposal.brief_turns == "".join(f"  {each}\n" for each in said)

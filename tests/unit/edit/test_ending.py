"""Overrides that are taken out at one place, while others of the same name stay."""

from datetime import UTC, datetime

import pytest

from krm_windows.edit import overrides
from krm_windows.edit.overrides import OverrideRequest
from krm_windows.edit.patches import AbsentError, rules_on
from krm_windows.krm import InputError, KubeObject

NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
WHOLE = "{state: Open, ends: 2026-11-23T20:00, reason: All}"
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: UTC
  targets: [{kind: Kustomization, names: [apps]}]
  windows: {day: {opens: Mon 08:00, closes: Thu 17:00}}
"""


def policy(everywhere: str, north: str) -> KubeObject:
    """A policy whose override `fix` is on all clusters and on one, as far as it is."""
    for_all = f"  overrides: {{fix: {everywhere}}}\n" if everywhere else ""
    for_one = f"{{overrides: {{fix: {north}}}}}" if north else "{}"
    text = f"{POLICY}{for_all}  clusters: {{north: {for_one}, south: {{}}}}\n"
    return KubeObject.parse(text.encode())


def held(config: KubeObject) -> list[str]:
    """The clusters on which `fix` is."""
    return [each for each in ("north", "south") if "fix" in rules_on(config, "overrides", each)]


SHORTER = "{ends: 2026-11-23T09:00}"
OWN = "{state: Open, ends: 2026-11-23T09:00, reason: Own}"


@pytest.mark.parametrize("own", ["", SHORTER, OWN])
def test_what_is_ended_on_a_cluster_does_not_come_back_from_all(own: str) -> None:
    ended = overrides.ended(policy(WHOLE, own), "fix", ["north"])
    assert held(ended) == ["south"]
    assert [each.record()["exceptClusters"] for each in overrides.listed(ended, NOW)] == [["north"]]
    assert [each.place for each in overrides.listed(ended, NOW)] == ["all clusters except north"]
    with pytest.raises(AbsentError):
        overrides.ended(ended, "fix", ["north"])


def test_what_is_over_on_a_cluster_does_not_come_back_when_it_is_cleaned_up() -> None:
    assert held(overrides.pruned(policy(WHOLE, SHORTER), NOW)) == ["south"]


@pytest.mark.parametrize(("own", "left"), [("null", []), (SHORTER, []), (OWN, ["north"])])
def test_what_only_changes_that_of_all_goes_with_it(own: str, left: list[str]) -> None:
    ended = overrides.ended(policy(WHOLE, own), "fix", [None])
    assert held(ended) == left
    # It is the same policy without it, and not one that is wrong.
    assert [each.cluster for each in overrides.listed(ended, NOW)] == left
    assert ("fix" in str(ended.get())) is bool(left)


def test_one_of_a_cluster_alone_is_taken_out() -> None:
    ended = overrides.ended(policy("", OWN), "fix", ["north"])
    assert ended.get("spec", "clusters") == {"north": {}, "south": {}}


@pytest.mark.parametrize(
    ("everywhere", "north", "place", "taken"),
    [
        (WHOLE, "", "north", "all clusters"),
        (WHOLE, "null", "north", "all clusters"),
        ("", OWN, None, "north"),
        ("", OWN, "north", "north"),
        ("", OWN, "south", None),
        ("", "null", None, None),
    ],
)
def test_no_two_overrides_become_one(
    everywhere: str, north: str, place: str | None, taken: str | None
) -> None:
    """What a cluster has of a name changes what all have of it."""
    request = OverrideRequest("closed", "r", until="20:00", name="fix", cluster=place)
    if taken is None:
        overrides.made(policy(everywhere, north), request, NOW)
        return
    with pytest.raises(InputError, match=f"override 'fix' already exists on {taken}: give"):
        overrides.made(policy(everywhere, north), request, NOW)

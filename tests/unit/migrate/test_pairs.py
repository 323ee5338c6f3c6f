"""Which closing belongs to which opening."""

import pytest
from repositories import RELEASE, job, rules, run

from krm_windows.migrate import Migration


def migrated(*edges: tuple[str, str]) -> Migration:
    """Migrate CronJobs given as name and schedule; the name's first word is the verb."""
    verbs = {"open": "resume", "close": "suspend"}
    lines = {name: f"flux {verbs[name.partition('-')[0]]} helmrelease shop" for name, _ in edges}
    files = {f"{name}.yaml": job(name, schedule, lines[name]) for name, schedule in edges}
    return run({**files, "shop.yaml": RELEASE})


def windows(*edges: tuple[str, str]) -> set[tuple[str, str]]:
    [policy] = migrated(*edges).policies
    return {(each.opens, each.closes) for each in policy.clusters[None].windows}


@pytest.mark.parametrize(
    ("edges", "wanted"),
    [
        (
            [("open", "*/10 * * * *"), ("close", "5-59/10 * * * *")],
            {("*/10 * * * *", "5-59/10 * * * *")},
        ),
        ([("open", "0 8 * * MON"), ("close", "0 17 * * THU")], {("0 8 * * MON", "0 17 * * THU")}),
        (
            [
                ("open-a", "0 1 * * *"),
                ("close-a", "0 6 * * *"),
                ("open-b", "0 2 * * *"),
                ("close-b", "0 5 * * *"),
            ],
            {("0 1 * * *", "0 5 * * *"), ("0 2 * * *", "0 5 * * *")},
        ),
        ([("open", "0 8 * * 1,3"), ("close", "0 18 * * *")], {("0 8 * * 1,3", "0 18 * * *")}),
    ],
)
def test_an_opening_is_paired_with_what_closes_first(
    edges: list[tuple[str, str]], wanted: set[tuple[str, str]]
) -> None:
    """Two that overlap are two windows that end at the first closing."""
    assert windows(*edges) == wanted


def test_a_closing_that_changes_nothing_is_left_out() -> None:
    found = migrated(("open", "0 8 * * *"), ("close", "0 17 * * *"), ("close-again", "0 18 * * *"))
    assert rules(found) == []
    assert len(found.policies) == 1


@pytest.mark.parametrize(
    ("edges", "rule"),
    [
        ([("open", "0 8 * * *"), ("close", "0 17 31 2 *")], "migrate-untranslated"),
        ([("open", "0 8 * * 7"), ("close", "0 17 * * *")], "migrate-untranslated"),
        ([("open", "@every 10m"), ("close", "0 17 * * *")], "migrate-untranslated"),
        ([("open", "TZ=Europe/Oslo 0 8 * * *"), ("close", "0 17 * * *")], "migrate-untranslated"),
        (
            [("open", "0 8 * * *"), ("close", "0 8 1 * *"), ("close-b", "0 17 * * *")],
            "migrate-race",
        ),
        (
            [("open", "0 8 * * *"), ("close", "0 17 1-15 * *"), ("close-b", "0 18 16-31 * *")],
            "migrate-untranslated",
        ),
    ],
)
def test_what_makes_no_window_is_refused(edges: list[tuple[str, str]], rule: str) -> None:
    found = migrated(*edges)
    assert set(rules(found)) == {rule}
    assert (found.policies, found.files) == ((), {})
    assert all(result.file and result.tags["line"] for result in found.results)


def test_targets_with_the_same_times_share_a_policy() -> None:
    files = {}
    for name, hour in (("a", 8), ("b", 8), ("c", 9)):
        files[f"open-{name}.yaml"] = job(
            f"open-{name}", f"0 {hour} * * *", f"flux resume ks {name}"
        )
        files[f"close-{name}.yaml"] = job(f"close-{name}", "0 17 * * *", f"flux suspend ks {name}")
    policies = run(files).policies
    assert [
        sorted(target.name for target in policy.clusters[None].targets) for policy in policies
    ] == [["a", "b"], ["c"]]

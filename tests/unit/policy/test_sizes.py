"""How much a policy may hold: too many entries are reported before any of them is read."""

import pytest
from calls import broken, loaded
from work import growth

from krm_windows.krm import KubeObject
from krm_windows.policy import sizes
from krm_windows.policy.load import load

HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
"""
WINDOW = "{opens: Mon 08:00, duration: 1h}"
TARGETS = "  targets: [{kind: Kustomization, names: [apps]}]\n"
BASE = f"{HEAD}{TARGETS}  windows: {{week: {WINDOW}}}\n"
FREEZE = "{starts: '2026-12-24', ends: '2026-12-26', reason: x}"
OVERRIDE = "{state: Open, ends: '2026-12-26', reason: x}"


def many(field: str, entry: str, number: int) -> str:
    return f"  {field}:\n" + "".join(f"    e{i}: {entry}\n" for i in range(number))


def named(field: str, number: int) -> str:
    names = [f"{field[0]}{i}" for i in range(number)]
    lists = (names[: number // 2], names[number // 2 :])
    return f"  {field}:\n" + "".join(
        f"  - {{kind: Kustomization, names: [{', '.join(each)}]}}\n" for each in lists
    )


RULES = HEAD + TARGETS
CASES = {
    "windows": (sizes.MOST_RULES, lambda n: RULES + many("windows", WINDOW, n)),
    "freezes": (sizes.MOST_RULES, lambda n: BASE + many("freezes", FREEZE, n)),
    "overrides": (sizes.MOST_RULES, lambda n: BASE + many("overrides", OVERRIDE, n)),
    "targets": (sizes.MOST_TARGETS, lambda n: BASE.replace(TARGETS, named("targets", n))),
    "released": (sizes.MOST_TARGETS, lambda n: BASE + named("released", n)),
    "clusters": (sizes.MOST_CLUSTERS, lambda n: BASE + many("clusters", "{interval: 5m}", n)),
}


@pytest.mark.parametrize("field", CASES)
def test_one_entry_too_many_is_refused(field: str) -> None:
    most, document = CASES[field]
    [result] = loaded(document(most + 1)).results
    assert result.field is not None
    assert (result.rule, result.path) == ("too-many", f"spec.{field}")
    assert result.field.current_value == str(most + 1)
    assert f"at most {most} entries: " in result.message
    # The limit itself is fine; so many clusters take long to be read.
    if field != "clusters":
        assert broken(document(most)) == []


def test_clusters_times_entries_are_limited() -> None:
    """A hundred clusters of a thousand windows are a hundred thousand to be read."""
    clusters = many("clusters", "{interval: 5m}", 201)
    found = loaded(f"{RULES}{many('windows', WINDOW, 999)}{clusters}  buildFor: e7\n")
    [result] = found.results
    assert (result.rule, result.path) == ("too-many", "spec.clusters")
    assert result.message.startswith(f"must have at most {sizes.MOST_VERSIONS} ")
    assert (found.clusters, found.policy) == ({}, None)


def test_the_patch_of_a_cluster_counts_too() -> None:
    windows = "{windows: {" + ", ".join(f"e{i}: {WINDOW}" for i in range(sizes.MOST_RULES)) + "}}"
    [result] = loaded(f"{BASE}  clusters: {{edge: {windows}}}\n").results
    assert result.rule == "too-many"
    assert result.path.startswith("spec.clusters.edge")


@pytest.mark.parametrize("field", [field for field in CASES if field != "released"])
def test_work_grows_with_the_entries(field: str) -> None:
    _, document = CASES[field]
    documents = {n: KubeObject.parse(document(n).encode()).node for n in (30, 60)}
    assert growth(lambda n: load(documents[n]), 30) < 2.3

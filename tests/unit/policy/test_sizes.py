"""How much a policy may hold: at most so many entries.

Reported with field, number and fix before any of them is read.
"""

import pytest
from work import growth

from krm_windows.krm import KubeObject
from krm_windows.policy import sizes
from krm_windows.policy.load import Loaded, load
from krm_windows.results import Result

HEAD = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
"""
WINDOW = "{opens: Mon 08:00, duration: 1h}"
TARGETS = "  targets: [{kind: Kustomization, names: [apps]}]\n"
WINDOWS = f"  windows: {{week: {WINDOW}}}\n"
FREEZE = "{starts: '2026-12-24', ends: '2026-12-26', reason: x}"
OVERRIDE = "{state: Open, ends: '2026-12-26', reason: x}"


def many(field: str, entry: str, number: int) -> str:
    """Return a field with so many entries."""
    return f"  {field}:\n" + "".join(f"    e{i}: {entry}\n" for i in range(number))


def named(field: str, number: int) -> str:
    """Return a list of targets with so many names in two selectors."""
    names = [f"a{i}" for i in range(number)]
    lists = (names[: number // 2], names[number // 2 :])
    return f"  {field}:\n" + "".join(
        f"  - {{kind: Kustomization, names: [{', '.join(each)}]}}\n" for each in lists
    )


def loaded(*fields: str) -> Loaded:
    """Load a policy with these fields."""
    return load(KubeObject.parse((HEAD + "".join(fields)).encode()).node)


def reported(*fields: str) -> list[tuple[str, str | None]]:
    """Return field and number of each finding."""
    return [
        (found.path, found.current_value)
        for result in loaded(*fields).results
        if (found := _field(result))
    ]


def _field(result: Result) -> object:
    assert result.tags["rule"] == "too-many"
    return result.field


CASES = {
    "windows": (sizes.MOST_RULES, lambda n: (TARGETS, many("windows", WINDOW, n))),
    "freezes": (sizes.MOST_RULES, lambda n: (TARGETS, WINDOWS, many("freezes", FREEZE, n))),
    "overrides": (sizes.MOST_RULES, lambda n: (TARGETS, WINDOWS, many("overrides", OVERRIDE, n))),
    "targets": (sizes.MOST_TARGETS, lambda n: (WINDOWS, named("targets", n))),
    "released": (
        sizes.MOST_TARGETS,
        lambda n: (TARGETS, WINDOWS, named("released", n).replace("[a0", "[b0", 1)),
    ),
    "clusters": (
        sizes.MOST_CLUSTERS,
        lambda n: (TARGETS, WINDOWS, many("clusters", "{interval: 5m}", n)),
    ),
}


@pytest.mark.parametrize("field", CASES)
def test_one_entry_too_many_is_refused(field: str) -> None:
    """What is wrong, where, how much it is, and the likely fix.

    Nothing else is reported beside it.
    """
    most, fields = CASES[field]
    assert reported(*fields(most + 1)) == [(f"spec.{field}", str(most + 1))]
    [result] = loaded(*fields(most + 1)).results
    assert f"at most {most} entries: " in result.message


@pytest.mark.parametrize("field", [field for field in CASES if field != "clusters"])
def test_as_many_as_are_allowed_are_read(field: str) -> None:
    """The limit itself is fine."""
    most, fields = CASES[field]
    found = loaded(*fields(most))
    assert found.policy is not None
    assert found.results == ()


def test_clusters_times_entries_are_limited() -> None:
    """A hundred clusters of a thousand windows are a hundred thousand; each has to be read."""
    windows = many("windows", WINDOW, 999)
    found = loaded(TARGETS, windows, many("clusters", "{interval: 5m}", 201))
    assert [result.field.path for result in found.results if result.field] == ["spec.clusters"]
    assert found.results[0].message.startswith(f"must have at most {sizes.MOST_VERSIONS} ")
    assert found.clusters == {}
    assert found.policy is None


def test_the_patch_of_a_cluster_counts_too() -> None:
    """A patch brings in no more than the policy itself may have."""
    windows = "{windows: {" + ", ".join(f"e{i}: {WINDOW}" for i in range(sizes.MOST_RULES)) + "}}"
    [result] = loaded(TARGETS, WINDOWS, f"  clusters: {{edge: {windows}}}\n").results
    assert result.tags["rule"] == "too-many"
    assert result.field is not None
    assert result.field.path.startswith("spec.clusters.edge")


def test_a_policy_refused_for_its_size_is_refused_alone_for_its_cluster() -> None:
    """That its cluster was not read is not reported as if it were unknown."""
    fields = (
        TARGETS,
        many("windows", WINDOW, 999),
        many("clusters", "{interval: 5m}", 201),
        "  buildFor: e7\n",
    )
    assert [result.tags["rule"] for result in loaded(*fields).results] == ["too-many"]


@pytest.mark.parametrize("field", [field for field in CASES if field != "released"])
def test_work_grows_with_the_entries(field: str) -> None:
    """Twice as many entries are twice the work, and not four times."""
    _, fields = CASES[field]
    documents = {n: KubeObject.parse((HEAD + "".join(fields(n))).encode()).node for n in (30, 60)}
    assert growth(lambda n: load(documents[n]), 30) < 2.3

"""Which sources the gate reads, and of which targets it never learns what waits."""

from types import SimpleNamespace
from typing import Any, cast

from krm_windows.gate.timetable import Target
from krm_windows.plan import revisions

UNSEEN = cast("Any", SimpleNamespace(find=lambda *_: None))
OTHER = cast(
    "Any",
    SimpleNamespace(row=SimpleNamespace(group="example.com", kind="Line"), path="spec.targets[0]"),
)


def test_a_release_that_is_not_seen_may_have_any_source_of_its_namespace() -> None:
    release = Target("helm.toolkit.fluxcd.io", "", "HelmRelease", "shop", "web")
    line = Target("example.com", "", "Line", "shop", "seven")
    found = revisions.read([release, line], UNSEEN)
    assert {each.namespace for each in found} == {"shop"}
    assert {each.name for each in found} == {""}
    assert {"HelmChart", "OCIRepository", "HelmRepository"} <= {each.kind for each in found}


def test_a_kind_that_notes_no_revision_is_warned_of() -> None:
    assert len(list(revisions.check(OTHER, UNSEEN))) == 1
    assert len(list(revisions.check_applied(OTHER))) == 1

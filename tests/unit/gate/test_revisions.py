"""What a status of Flux says of what is applied, installed, and where it comes from."""

import pytest

from krm_windows.gate.revisions import Source, chart, deployed, reconciled

FAILED = {"status": "failed", "version": 8, "chartVersion": "2.0.0", "ociDigest": "sha256:2"}
INSTALLED = {"status": "deployed", "version": 7, "chartVersion": "1.9.0", "ociDigest": "sha256:1"}
EARLIER = {"status": "superseded", "version": 6, "chartVersion": "1.8.0", "ociDigest": "sha256:0"}


def of(**status: object) -> dict[str, object]:
    """Make an object with such a status."""
    return {"status": status}


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([INSTALLED, EARLIER], ("1.9.0", "sha256:1")),
        # An upgrade that failed comes first, and another release is still installed.
        ([FAILED, INSTALLED, EARLIER], ("1.9.0", "sha256:1")),
        ([FAILED, EARLIER], ("", "")),
        ([], ("", "")),
        (None, ("", "")),
        ("deployed", ("", "")),
    ],
)
def test_the_chart_that_is_installed(history: object, expected: tuple[str, str]) -> None:
    """It is that of the release which Helm says is deployed, wherever it is in the history."""
    assert deployed(of(history=history)) == expected


def test_a_release_without_a_history() -> None:
    """Nothing is installed before helm-controller has seen to it."""
    assert deployed({}) == ("", "")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"lastAppliedRevision": "main@sha1:1"}, "main@sha1:1"),
        # A Kustomization has a history, too, which is another one.
        ({"lastAppliedRevision": "main@sha1:1", "history": [{"digest": "2"}]}, "main@sha1:1"),
        # Of a release the newest entry, whether it failed or not.
        ({"history": [FAILED, INSTALLED]}, "8 2.0.0 sha256:2 None"),
        ({"history": []}, ""),
        ({"history": "none"}, ""),
        ({}, ""),
    ],
)
def test_what_was_reconciled_last(status: dict[str, object], expected: str) -> None:
    """That is the revision of a Kustomization, and the newest release of a HelmRelease."""
    assert reconciled(of(**status)) == expected


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (
            of(helmChart="flux-system/apps-podinfo"),
            Source("HelmChart", "flux-system", "apps-podinfo"),
        ),
        (of(helmChart="podinfo"), None),
        (of(), None),
    ],
)
def test_where_a_release_has_its_chart_from(live: object, expected: Source | None) -> None:
    """It is unknown until helm-controller has made the HelmChart."""
    assert chart(live, "apps") == expected

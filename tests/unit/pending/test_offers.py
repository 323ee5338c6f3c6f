"""What is applied and what is offered, for every kind of target and of source."""

import json

import pytest

from krm_windows.gate.annotations import CLOSED_BY, annotation
from krm_windows.gate.timetable import Target
from krm_windows.pending import offers
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.revisions import Revision, Sources, queries
from krm_windows.status.objects import LiveObject, by_address
from krm_windows.system.kubectl import Query

OLD, NEW = "a" * 40, "b" * 40
SINCE = "2026-11-20T13:03:11Z"
SOURCE = "source.toolkit.fluxcd.io"
KUSTOMIZE = "kustomize.toolkit.fluxcd.io"
HELM = "helm.toolkit.fluxcd.io"


def target(kind: str, group: str, name: str = "apps") -> Target:
    return Target(group, f"{kind.lower()}s", kind, "shop", name)


def live(kind: str, group: str, name: str, spec: object = None, **status: object) -> LiveObject:
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"namespace": "shop", "name": name, "generation": 4},
        "spec": spec or {},
        "status": status,
    }


def source(kind: str, revision: str, spec: object = None, **metadata: str) -> LiveObject:
    artifact = {"revision": revision, "lastUpdateTime": SINCE, "metadata": metadata}
    return live(kind, SOURCE, "fleet", spec, artifact=artifact)


def kustomization(kind: str, applied: str, **status: object) -> LiveObject:
    spec = {"suspend": True, "sourceRef": {"kind": kind, "name": "fleet"}}
    return live("Kustomization", KUSTOMIZE, "apps", spec, lastAppliedRevision=applied, **status)


def read(of: Target, found: LiveObject, *sources: LiveObject, **more: object) -> Offer:
    return offers.read(of, found, Sources(by_address(sources), {}, **more))


APPS = target("Kustomization", KUSTOMIZE)


@pytest.mark.parametrize(
    ("kind", "applied", "offered", "waits"),
    [
        ("GitRepository", f"main@sha1:{OLD}", f"main@sha1:{NEW}", Waits.YES),
        ("GitRepository", f"main@sha1:{OLD}", f"main@sha1:{OLD}", Waits.NO),
        # A tag that names the same commit is another revision to kustomize-controller.
        ("GitRepository", f"main@sha1:{OLD}", f"v2@sha1:{OLD}", Waits.YES),
        ("OCIRepository", f"latest@sha256:{OLD}", f"2@sha256:{OLD}", Waits.NO),
        ("Bucket", f"sha256:{OLD}", f"sha256:{NEW}", Waits.YES),
        ("GitRepository", "", f"main@sha1:{NEW}", Waits.YES),
    ],
)
def test_a_kustomization_of_every_source(
    kind: str, applied: str, offered: str, waits: Waits
) -> None:
    found = read(APPS, kustomization(kind, applied), source(kind, offered))
    assert (found.waits, found.source) == (waits, f"{kind} shop/fleet")
    assert found.offered is not None
    assert (found.offered.text, str(found.offered.since)) == (offered, "2026-11-20 13:03:11+00:00")
    assert (found.applied.text if found.applied else "") == applied


def test_the_commit_that_an_artifact_was_made_of() -> None:
    origin = {"org.opencontainers.image.revision": f"main@sha1:{NEW}"}
    found = read(
        APPS,
        kustomization(
            "OCIRepository", f"1@sha256:{'0' * 64}", lastAppliedOriginRevision=f"main@sha1:{OLD}"
        ),
        source("OCIRepository", f"2@sha256:{'1' * 64}", **origin),
    )
    assert found.applied
    assert found.offered
    assert (found.applied.commit, found.offered.commit) == (OLD, NEW)


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        (f"main@sha1:{OLD}", OLD),
        (f"sha1:{OLD}", OLD),
        (f"latest@sha256:{'0' * 64}", ""),
        ("1.2.3", ""),
        (f"main@sha1:{OLD}\n", ""),
    ],
)
def test_the_commit_of_a_revision(text: str, commit: str) -> None:
    assert Revision(text).commit == commit


def test_a_source_that_is_not_known() -> None:
    here = kustomization("GitRepository", f"main@sha1:{OLD}")
    assert read(APPS, here).notes == ("GitRepository shop/fleet not found among the objects",)
    address = (SOURCE, "GitRepository", "shop", "fleet")
    refused = offers.read(APPS, here, Sources({}, {address: "kubectl: forbidden"}))
    assert (refused.waits, refused.notes) == (Waits.UNKNOWN, ("kubectl: forbidden",))
    empty = read(APPS, here, live("GitRepository", SOURCE, "fleet"))
    assert empty.notes == ("GitRepository shop/fleet has no artifact",)


@pytest.mark.parametrize(
    ("of_source", "spec", "note"),
    [
        ({"conditions": [{"type": "Ready", "status": "False"}]}, {}, "is not ready"),
        ({"observedGeneration": 3}, {}, "has changed since it was fetched"),
        ({}, {"postBuild": {"substituteFrom": [{"name": "a"}]}}, "postBuild.substituteFrom"),
        ({}, {"valuesFrom": [{"name": "a"}]}, "valuesFrom"),
    ],
)
def test_what_may_wait_all_the_same(
    of_source: dict[str, object], spec: dict[str, object], note: str
) -> None:
    revision = f"main@sha1:{OLD}"
    here, fleet = kustomization("GitRepository", revision), source("GitRepository", revision)
    assert read(APPS, here, fleet).waits is Waits.NO
    here["spec"] |= spec
    fleet["status"] |= of_source
    found = read(APPS, here, fleet)
    assert (found.waits, note in " ".join(found.notes)) == (Waits.UNKNOWN, True)


@pytest.mark.parametrize(("generation", "waits"), [(3, Waits.NO), (2, Waits.YES), (None, Waits.NO)])
def test_a_kustomization_that_was_edited(generation: int | None, waits: Waits) -> None:
    """Its spec waits, too: the condition says of which generation it is, the status does not."""
    revision = f"main@sha1:{OLD}"
    ready = {"type": "Ready", "status": "True", "observedGeneration": generation}
    here = kustomization("GitRepository", revision, conditions=[ready], observedGeneration=4)
    found = read(APPS, here, source("GitRepository", revision))
    assert found.waits is waits
    assert found.notes == ("its spec has changed since it was reconciled",) * (waits is Waits.YES)


@pytest.mark.parametrize(
    ("suspend", "noted", "waits"),
    [(True, 4, Waits.NO), (True, 3, Waits.YES), (True, "4", Waits.NO), (False, 3, Waits.NO)],
)
def test_a_kustomization_whose_close_is_noted(
    *, suspend: bool, noted: object, waits: Waits
) -> None:
    """What the gate has noted says more than the condition, while it is closed."""
    revision = f"main@sha1:{OLD}"
    ready = {"type": "Ready", "status": "True", "observedGeneration": 4 - suspend}
    here = kustomization("GitRepository", revision, conditions=[ready])
    here["spec"]["suspend"] = suspend
    said = {"policy": "shop/p", "reason": "", "since": None, "until": None, "generation": noted}
    here["metadata"]["annotations"] = {f"{CLOSED_BY}0": "[", annotation("shop/p"): json.dumps(said)}
    found = read(APPS, here, source("GitRepository", revision))
    assert found.waits is waits


def test_a_revision_that_was_tried() -> None:
    """It waits for whoever repairs it, and for no window."""
    offered = f"main@sha1:{NEW}"
    failed = [{"type": "Ready", "status": "False"}]
    here = kustomization(
        "GitRepository", f"main@sha1:{OLD}", lastAttemptedRevision=offered, conditions=failed
    )
    found = read(APPS, here, source("GitRepository", offered))
    assert (found.waits, found.notes) == (
        Waits.YES,
        ("it was tried, but could not be applied",),
    )


BRANCH = {"ref": {"branch": "main"}}


@pytest.mark.parametrize(
    ("spec", "head", "waits"),
    [
        (BRANCH, NEW, Waits.YES),
        (BRANCH, OLD, Waits.NO),
        (BRANCH, "", Waits.UNKNOWN),
        ({"ref": {"branch": "main", "tag": "v1"}}, NEW, Waits.UNKNOWN),
        ({}, NEW, Waits.UNKNOWN),
    ],
)
def test_a_source_that_is_suspended(spec: dict[str, object], head: str, waits: Waits) -> None:
    """It looks for nothing: only a repository at hand can say what it would find."""
    asked: list[tuple[str, str]] = []

    def branch(name: str, commit: str) -> str:
        asked.append((name, commit))
        return head

    of = target("GitRepository", SOURCE, "fleet")
    suspended = source("GitRepository", f"main@sha1:{OLD}", {**spec, "suspend": True})
    here = read(of, suspended, head=branch)
    below = read(APPS, kustomization("GitRepository", f"main@sha1:{OLD}"), suspended, head=branch)
    assert (here.waits, below.waits) == (waits, waits)
    assert all("is suspended" in " ".join(each.notes) for each in (here, below))
    assert set(asked) <= {("main", OLD)}
    if waits is Waits.YES:
        assert here.offered == below.offered == Revision(f"main@sha1:{NEW}")


@pytest.mark.parametrize("kind", ["GitRepository", "HelmRepository"])
def test_a_source_that_is_open(kind: str) -> None:
    found = read(target(kind, SOURCE, "fleet"), source(kind, "sha256:1"))
    assert (found.waits, found.applied) == (Waits.NO, found.offered)
    empty = read(target(kind, SOURCE, "fleet"), live(kind, SOURCE, "fleet"))
    assert (empty.waits, empty.notes) == (Waits.UNKNOWN, ("it has no artifact",))


RELEASE = target("HelmRelease", HELM, "web")
CHART = {"spec": {"chart": "web", "version": ">=1.0.0"}}


def release(version: str, spec: object = None, **status: object) -> LiveObject:
    history = [{"status": "deployed", "chartVersion": version}]
    noted = {"helmChart": "shop/fleet", "history": history, "lastAttemptedGeneration": 3}
    spec = spec or {"chart": CHART, "suspend": True}
    return live("HelmRelease", HELM, "web", spec, **{**noted, **status})


def chart(version: str) -> LiveObject:
    return source("HelmChart", version, CHART["spec"])


@pytest.mark.parametrize(
    ("suspend", "attempted", "offered", "waits"),
    [
        (True, 3, "1.0.0", Waits.NO),
        (True, 3, "2.0.0", Waits.YES),
        # Its values changed; to suspend it is a change, too, that counts for nothing.
        (True, 2, "1.0.0", Waits.YES),
        (False, 4, "1.0.0", Waits.NO),
        (False, 3, "1.0.0", Waits.YES),
    ],
)
def test_a_release(*, suspend: bool, attempted: int, offered: str, waits: Waits) -> None:
    spec = {"chart": CHART, "suspend": suspend}
    here = release("1.0.0", spec, lastAttemptedGeneration=attempted)
    found = read(RELEASE, here, chart(offered))
    assert (found.waits, found.source) == (waits, "HelmChart shop/fleet")
    assert (found.applied, found.offered and found.offered.text) == (Revision("1.0.0"), offered)


def test_a_release_whose_upgrade_failed() -> None:
    failed, deployed = {"status": "failed", "chartVersion": "2.0.0"}, {"status": "deployed"}
    history = [failed, {**deployed, "chartVersion": "1.0.0"}]
    found = read(RELEASE, release("", history=history), chart("2.0.0"))
    assert (found.waits, found.applied) == (Waits.YES, Revision("1.0.0"))


def test_a_release_that_asks_for_another_chart() -> None:
    """Its HelmChart is changed when it opens, and only then is the chart fetched."""
    spec = {"chart": {"spec": {"chart": "web", "version": "3.x"}}, "suspend": True}
    found = read(RELEASE, release("1.0.0", spec, lastAttemptedGeneration=2), chart("1.0.0"))
    assert (found.waits, found.notes) == (
        Waits.YES,
        (
            "it now asks for chart web 3.x, which is fetched when it opens",
            "its spec has changed since it was reconciled (for example its values)",
        ),
    )


@pytest.mark.parametrize(
    ("noted", "offered", "waits"),
    [
        (f"sha256:{OLD}", f"1.0.0@sha256:{OLD}", Waits.NO),
        (f"sha256:{OLD}", f"1.0.0@sha256:{NEW}", Waits.YES),
        (f"latest@sha256:{OLD}", f"latest@sha256:{NEW}", Waits.YES),
    ],
)
def test_a_release_of_an_oci_repository(noted: str, offered: str, waits: Waits) -> None:
    """helm-controller notes the digest beside a version of its own; of another tag all of it."""
    spec = {"chartRef": {"kind": "OCIRepository", "name": "fleet"}, "suspend": True}
    history = [{"status": "deployed", "chartVersion": "1.0.0+aaaa", "ociDigest": noted}]
    here = release("", spec, history=history, helmChart="")
    found = read(RELEASE, here, source("OCIRepository", offered))
    assert (found.waits, found.source) == (waits, "OCIRepository shop/fleet")


def test_what_has_no_revision() -> None:
    found = read(RELEASE, live("HelmRelease", HELM, "web"))
    assert (found.waits, found.notes[0][:23]) == (Waits.UNKNOWN, "it has no HelmChart yet")
    found = read(target("CronJob", "batch"), live("CronJob", "batch", "apps"))
    assert (found.waits, found.notes) == (
        Waits.UNKNOWN,
        ("the status of a CronJob has no pending revision",),
    )


@pytest.mark.parametrize("nonsense", [None, [], "text", {"artifact": []}, {"history": {}}, 7])
def test_objects_of_any_form(nonsense: object) -> None:
    for of, found in (
        (APPS, kustomization("GitRepository", "x")),
        (RELEASE, release("1.0.0")),
        (target("GitRepository", SOURCE, "fleet"), source("GitRepository", "x")),
    ):
        for key in ("spec", "status"):
            spoilt = {**found, key: nonsense}
            list(offers.wanted(of, spoilt))
            assert isinstance(
                read(of, spoilt, {**source("GitRepository", "x"), key: nonsense}), Offer
            )


def test_what_kubectl_is_asked_for() -> None:
    git, other = "GitRepository", "ExternalArtifact"
    addresses = [
        (SOURCE, git, "shop", "a"),
        (SOURCE, git, "shop", "b"),
        (SOURCE, git, "shop", "a"),
        (SOURCE, other, "shop", "a"),
        (SOURCE, "Secret", "shop", "a"),
        (SOURCE, git, "flux-system", "a"),
    ]
    assert [query for query, _ in queries(addresses)] == [
        Query(f"gitrepositories.{SOURCE}", "shop", names=("a", "b")),
        Query(f"externalartifacts.{SOURCE}", "shop", names=("a",)),
        Query(f"gitrepositories.{SOURCE}", "flux-system", names=("a",)),
    ]

"""Hooks only where a target has something to apply: what is compared, and what cannot be told.

Objects are as Flux's controllers write them.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from api_server import Api, Fault, Json, closed_by, managed, said, status
from hook_runs import BOTH, HOUR, NOON, OURS, POLICY, Lab, file

from krm_windows.gate import pending
from krm_windows.gate.annotations import HOLD
from krm_windows.gate.timetable import Target

SOURCE = "source.toolkit.fluxcd.io"
FIRST, SECOND = "main@sha1:1", "main@sha1:2"
SKIPPED = {"action": "HooksSkipped", "message": "no target has anything to apply"}
READY: Json = {"type": "Ready", "status": "True", "reason": "Succeeded"}
RELEASE = Target(
    "helm.toolkit.fluxcd.io",
    "helmreleases",
    "HelmRelease",
    "flux-system",
    "app",
    "v2",
    applied=("history",),
)


class Flux(Lab):
    parts = {"pending": pending}  # noqa: RUF012

    def source(  # noqa: PLR0913 - what may be wrong with one
        self,
        kind: str = "GitRepository",
        name: str = "fleet",
        *,
        revision: str | None = FIRST,
        spec: Json | None = None,
        ready: bool = True,
        observed: int = 4,
    ) -> None:
        found: Json = {"observedGeneration": observed, "conditions": [READY] if ready else []}
        if revision is not None:
            found["artifact"] = {"revision": revision}
        metadata = {"name": name, "namespace": "flux-system", "generation": 4}
        live: Json = {"kind": kind, "metadata": metadata, "spec": spec or {}, "status": found}
        self.api.store(source_path(kind, name), live)

    def target(
        self,
        name: str = "apps",
        *,
        applied: str | None = FIRST,
        generation: int = 8,
        spec: Json | None = None,
        ready: bool = True,
        **annotations: str,
    ) -> None:
        """Put a Kustomization there that a run has closed: that was its eighth generation."""
        found: Json = {"conditions": [READY] if ready else []}
        if applied is not None:
            found["lastAppliedRevision"] = applied
        reference = {"kind": "GitRepository", "name": "fleet"}
        self.api.add(
            name,
            {"suspend": True, "sourceRef": reference, **(spec or {})},
            annotations={OURS: noting(), **annotations},
            by="krm-windows",
            status=found,
        )
        metadata = self.api.object(name)["metadata"]
        assert isinstance(metadata, dict)
        metadata["generation"] = generation

    def release(
        self,
        *,
        version: str = "1.0.0",
        digest: str | None = None,
        generation: int = 8,
        spec: Json | None = None,
        chart: str = "flux-system/flux-system-app",
    ) -> None:
        snapshot = {"status": "deployed", "chartVersion": version}
        if digest:
            snapshot["ociDigest"] = digest
        found: Json = {"conditions": [READY], "history": [snapshot], "helmChart": chart}
        metadata: Json = {
            "name": "app",
            "namespace": "flux-system",
            "generation": generation,
            "annotations": {OURS: noting()},
        }
        noted: Json = {"metadata": {"annotations": {OURS: ""}}}
        metadata["managedFields"] = [managed("krm-windows", noted)]
        self.api.store(
            "/apis/helm.toolkit.fluxcd.io/v2/namespaces/flux-system/helmreleases/app",
            {
                "kind": "HelmRelease",
                "metadata": metadata,
                "spec": {"suspend": True, **(spec or {})},
                "status": found,
            },
        )

    def reasons(self) -> list[str]:
        return [str(line["pending"]) for line in self.log if "pending" in line]


def noting(generation: object = 8) -> str:
    return closed_by("flux-system/p", generation=generation)


def source_path(kind: str, name: str) -> str:
    plural = {
        "GitRepository": "gitrepositories",
        "OCIRepository": "ocirepositories",
        "HelmChart": "helmcharts",
        "HelmRepository": "helmrepositories",
        "ExternalArtifact": "externalartifacts",
    }
    return f"/apis/{SOURCE}/v1/namespaces/flux-system/{plural[kind]}/{name}"


@pytest.fixture
def flux(api: Api, port: int, account: Path) -> Flux:
    flux = Flux(api, port, account)
    group = {"kind": "APIGroup", "preferredVersion": {"version": "v1"}}
    api.objects[f"/apis/{SOURCE}"] = group
    flux.source()
    flux.target()
    return flux


def test_nothing_new(flux: Flux) -> None:
    flux.runs("", opened=True, stage="MayOpen")
    assert SKIPPED in flux.log
    flux.api.asked.clear()
    flux.runs("", opened=True)
    assert not [line for line in flux.api.asked if SOURCE in line]
    flux.runs("", opened=False, stage="Closed", at=NOON)


def test_a_commit(flux: Flux) -> None:
    flux.source(revision=SECOND)
    for _ in range(2):
        flux.runs("before-open", opened=True)
    words = f"GitRepository flux-system/fleet has {SECOND}, but {FIRST} is applied"
    assert flux.reasons() == [words]
    flux.runs("before-open after-close", opened=False, at=NOON)


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_commit_while_it_is_open(flux: Flux, *, is_seen: bool) -> None:
    """No hook runs late; where no run saw the close, what is open stays open without hooks."""
    flux.run()
    flux.source(revision=SECOND)
    flux.runs("", opened=True)
    if is_seen:
        flux.runs("", opened=False, at=NOON)
    kinds = "before-open" if is_seen else ""
    for _ in range(2):
        flux.runs(kinds, opened=True, stage="MayOpen", at=NOON + 2 * HOUR)
    kinds = "before-open after-close" if is_seen else ""
    flux.runs(kinds, opened=False, stage="Closed", at=NOON + 5 * HOUR)


def test_one_target_of_two(flux: Flux) -> None:
    flux.target("infra", applied=SECOND)
    flux.runs("before-open", opened=True, timetable=BOTH)
    assert flux.open("infra")


def test_a_target_that_is_let_go_later(flux: Flux) -> None:
    flux.target("infra", **{HOLD: "ann"})
    assert flux.run(BOTH)
    for applied, kinds in ((FIRST, ""), ("main@sha1:0", "before-open")):
        flux.target("infra", applied=applied)
        flux.runs(kinds, opened=True, timetable=BOTH)
        assert flux.open("infra")
    flux.runs("before-open after-close", opened=False, at=NOON, timetable=BOTH)


def test_a_hook_after_the_close_alone(flux: Flux) -> None:
    text = file("afterClose")
    flux.runs("", opened=True, text=text)
    flux.runs("", opened=False, at=NOON, text=text)
    flux.source(revision=SECOND)
    flux.runs("", opened=True, at=NOON + 2 * HOUR, text=text)
    flux.runs("after-close", opened=False, at=NOON + 5 * HOUR, text=text)


def test_two_runs_at_once(flux: Flux) -> None:
    flux.api.fault("PATCH", "apps", lambda _: sleep(0.2) is not None)
    with ThreadPoolExecutor() as pool:
        assert all(pool.map(lambda _: flux.run(), range(2)))
    assert (flux.open(), flux.kinds()) == (True, [])


def test_a_commit_between_two_runs(flux: Flux) -> None:
    flux.api.fault("PATCH", "apps", lambda _: flux.source(revision=SECOND) is not None)
    for _ in range(2):
        flux.runs("", opened=True)


def test_always(flux: Flux) -> None:
    flux.runs("before-open", opened=True, parts={})
    assert not [line for line in flux.api.asked if SOURCE in line]


def cases() -> Iterator[tuple[str, Callable[[Flux], object]]]:
    git = source_path("GitRepository", "fleet")
    yield "is suspended", lambda flux: flux.source(spec={"suspend": True})
    yield "is not ready", lambda flux: flux.source(ready=False)
    yield "has changed since", lambda flux: flux.source(observed=3)
    yield "has no artifact", lambda flux: flux.source(revision=None)
    yield "404", lambda flux: flux.api.objects.pop(git)
    yield "403", fault_of_source(status(403))
    yield "another object", fault_of_source(said({"metadata": {"name": "other"}}))
    yield "is not an object", fault_of_source(said([]))
    yield "is not ready", lambda flux: flux.target(ready=False)
    yield "nothing is applied", lambda flux: flux.target(applied=None)
    yield "spec has changed", lambda flux: flux.target(generation=9)
    yield "spec has changed", lambda flux: flux.target(generation=6)
    yield (
        "postBuild.substituteFrom",
        lambda flux: flux.target(
            spec={"postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "a"}]}}
        ),
    )
    for name in ("../../../../secrets/a", "a/b", "", "A?x=1"):
        reference = {"kind": "GitRepository", "name": name}
        yield (
            "is not a Flux source",
            lambda flux, reference=reference: flux.target(spec={"sourceRef": reference}),
        )
    # As of an earlier release, or of a target that was closed before it was reconciled.
    for generation in (None, "8", [8]):
        texts = {OURS: noting(generation)}
        yield "nothing notes that its spec was", lambda flux, texts=texts: flux.target(**texts)
    yield "nothing notes that its spec was", unrecorded
    secret = {"kind": "Secret", "name": "fleet"}
    yield "is not a Flux source", lambda flux: flux.target(spec={"sourceRef": secret})
    yield "is not a Flux source", lambda flux: flux.target(spec={"sourceRef": "fleet"})


def unrecorded(flux: Flux) -> None:
    metadata = flux.api.object("apps")["metadata"]
    assert isinstance(metadata, dict)
    del metadata["managedFields"]


def fault_of_source(fault: Fault) -> Callable[[Flux], object]:
    return lambda flux: flux.api.fault("GET", "fleet", fault)


@pytest.mark.parametrize(("words", "change"), list(cases()))
def test_what_cannot_be_told(flux: Flux, words: str, change: Callable[[Flux], object]) -> None:
    change(flux)
    flux.runs("before-open", opened=True)
    [reason] = flux.reasons()
    assert words in reason


def test_another_kind(flux: Flux) -> None:
    """A gated source does not say what it would find."""
    source = Target(SOURCE, "gitrepositories", "GitRepository", "flux-system", "fleet", "v1")
    flux.source(spec={"suspend": True})
    metadata = flux.api.objects[source_path("GitRepository", "fleet")]["metadata"]
    assert isinstance(metadata, dict)
    metadata["annotations"] = {OURS: closed_by("flux-system/p")}
    assert flux.run(POLICY._replace(targets=(source,)))
    assert flux.kinds() == ["before-open"]


@pytest.mark.parametrize(
    ("applied", "offered", "waits"),
    [
        ("latest@sha256:1", "latest@sha256:1", False),
        ("latest@sha256:1", "v2@sha256:1", False),
        ("latest@sha256:1", "latest@sha256:2", True),
        ("sha256:1", "sha256:1", False),
        ("sha256:1", "sha256:2", True),
        ("main@sha1:1", "next@sha1:1", True),
        ("main@sha1:1", "sha1:1", True),
        ("main/1", "main@sha1:1", True),
    ],
)
def test_revisions(flux: Flux, applied: str, offered: str, waits: bool) -> None:  # noqa: FBT001
    """As Flux writes them for Git, OCI artifacts and buckets."""
    flux.source("OCIRepository", revision=offered)
    flux.target(applied=applied, spec={"sourceRef": {"kind": "OCIRepository", "name": "fleet"}})
    assert flux.run()
    assert flux.kinds() == ["before-open"] * waits


def test_an_artifact_that_nobody_reconciles(flux: Flux) -> None:
    """An ExternalArtifact has no generation that is observed: what it has is what it says."""
    flux.source("ExternalArtifact", observed=0, ready=False)
    flux.target(spec={"sourceRef": {"kind": "ExternalArtifact", "name": "fleet"}})
    assert flux.run()
    assert flux.kinds() == []


WITH_RELEASE = POLICY._replace(targets=(RELEASE,))
CHARTS: Json = {"sourceRef": {"kind": "HelmRepository", "name": "charts"}}


def chart(flux: Flux, revision: str = "1.0.0", **more: object) -> None:
    flux.source("HelmChart", "flux-system-app", revision=revision, spec=CHARTS)
    flux.source("HelmRepository", "charts", revision="sha256:1", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("", chart),
        # A repository of type oci is only named, and never reconciled, so it has no status.
        ("", lambda flux: chart(flux, ready=False, spec={"type": "oci"})),
        ("has 2.0.0, but 1.0.0 is applied", lambda flux: chart(flux, "2.0.0")),
        ("HelmRepository flux-system/charts is not ready", lambda flux: chart(flux, ready=False)),
        ("spec has changed", lambda flux: flux.release(generation=9)),
        ("no chart yet", lambda flux: flux.release(chart="")),
        ("(valuesFrom)", lambda flux: flux.release(spec={"valuesFrom": [{"name": "a"}]})),
        ("404", lambda flux: flux.api.objects.pop(source_path("HelmRepository", "charts"))),
        ("403", lambda flux: flux.api.fault("GET", "flux-system-app", status(403))),
    ],
)
def test_a_release(flux: Flux, words: str, change: Callable[[Flux], object]) -> None:
    chart(flux)
    flux.release()
    change(flux)
    assert flux.run(WITH_RELEASE)
    assert flux.kinds() == ["before-open"] * bool(words)
    assert words in " ".join(flux.reasons())


@pytest.mark.parametrize(
    ("digest", "offered", "waits"),
    [
        ("sha256:1", "6.6.2@sha256:1", False),
        ("latest@sha256:1", "latest@sha256:1", False),
        ("sha256:1", "6.6.3@sha256:2", True),
        (None, "6.6.2@sha256:1", True),
    ],
)
def test_a_release_of_an_artifact(
    flux: Flux,
    digest: str | None,
    offered: str,
    waits: bool,  # noqa: FBT001
) -> None:
    """helm-controller notes the digest of a tag that is a version, else the whole revision."""
    flux.source("OCIRepository", "app", revision=offered)
    reference = {"chartRef": {"kind": "OCIRepository", "name": "app"}}
    flux.release(version="6.6.2+1", digest=digest, spec=reference)
    assert flux.run(WITH_RELEASE)
    assert flux.kinds() == ["before-open"] * waits


def test_a_failure_aborts(flux: Flux) -> None:
    flux.source(revision=SECOND)
    flux.api.ends["before-open"] = "Failed"
    flux.runs("before-open rollback", opened=False, well=False, stage="Aborted")


def test_a_note_of_left_out_hooks(flux: Flux) -> None:
    flux.note(stage="MayOpen", skipped=True)
    flux.runs("", opened=True)
    flux.target()
    flux.note(stage="MayOpen", skipped=True)
    flux.runs("before-open", opened=True, parts={})

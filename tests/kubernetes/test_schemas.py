"""What is emitted is what Kubernetes takes."""

import json
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from effort import mostly_slow
from packaging.version import Version
from restricted import OLDEST, RELEASES, ROOT, Object, breaches

from krm_windows.cli import main
from krm_windows.emit.admission import KINDS

POLICIES = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "examples").rglob("*.yaml")
    if "kind: WindowPolicy\n" in path.read_text() and "\n  targets:" in path.read_text()
)

# ValidatingAdmissionPolicy is v1 from this release on.
ADMISSION = Version("1.30")


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[Object]]:
    # What lies beside an output is read, so each has a folder of its own around it.
    return {
        policy: list(rendered(policy, tmp_path_factory.mktemp("rendered") / "windows"))
        for policy in POLICIES
    }


def rendered(policy: Path, folder: Path) -> Iterator[Object]:
    # What is printed does not matter here, so no program of its own is started for each policy.
    assert main(["render", str(ROOT / policy), "--output-dir", str(folder)]) == 0
    for path in sorted(folder.rglob("*.yaml")):
        for found in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
            if found["kind"] != "Kustomization":
                yield found
                yield from hooks(found)


def hooks(found: Object) -> Iterator[Object]:
    text = found.get("data", {}).get("hooks.json", '{"hooks": {}}')
    for hook in json.loads(text)["hooks"].values():
        metadata = {**hook["metadata"], "name": hook["name"]}
        yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": hook["spec"]}


def test_there_are_examples() -> None:
    assert len(POLICIES) >= 6
    assert Version(RELEASES[0]).minor == OLDEST.minor


@pytest.mark.parametrize("release", mostly_slow(RELEASES, every=len(RELEASES) - 1))
def test_strict_schema(
    emitted: dict[Path, list[Object]], extras: list[Object], server: list[Object], release: str
) -> None:
    """Clusters from before admission policies have `admissionPolicy: Disabled`."""
    assert all(emitted.values())
    # It is no kind of Kubernetes; promtool reads its rules in `test_alerts`.
    left_out = {"PrometheusRule", *(KINDS if Version(release) < ADMISSION else ())}
    for found in [*chain(*emitted.values()), *extras, *server]:
        if found["kind"] not in left_out:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the validator's own open files
                kubernetes_validate.validate(found, release, strict=True)


def pods(objects: list[Object]) -> Iterator[Object]:
    for found in objects:
        if found["kind"] == "CronJob":
            yield found["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        elif found["kind"] == "Job":
            yield found["spec"]["template"]["spec"]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_pod_security_restricted(emitted: dict[Path, list[Object]], policy: Path) -> None:
    """And harder: a numeric user, a read-only root, limits, no shell, nothing to be expanded."""
    found = list(pods(emitted[policy]))
    assert found
    for pod in found:
        assert list(breaches(pod)) == []
        for container in pod["containers"]:
            context = {**pod.get("securityContext", {}), **container["securityContext"]}
            assert context["runAsUser"] > 0
            assert context["readOnlyRootFilesystem"] is True
            assert container["resources"]["limits"]["memory"]
            words = [*container.get("command", []), *container.get("args", [])]
            assert "sh" not in {Path(word).name for word in words}
            assert not any("$" in word for word in words)


def test_hooks_are_among_them(emitted: dict[Path, list[Object]]) -> None:
    jobs = [
        found
        for objects in emitted.values()
        for found in objects
        if "ttlSecondsAfterFinished" in found.get("spec", {})
    ]
    assert len(jobs) == 7
    for job in jobs:
        assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (0, 86400)
        assert job["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
        assert len(job["metadata"]["name"]) <= 63 - 24

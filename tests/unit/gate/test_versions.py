"""Versions of the program on one target: commit 7a38b35a's, as rendered then, and today's.

Today's is in the ConfigMap, or in the image.

What one of them has closed the other opens, after an upgrade and after a downgrade, and neither
opens what it must not.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from api_server import Api, Json, managed
from effort import mostly_slow

from krm_windows.cli import main
from krm_windows.gate.annotations import HOLD, annotation
from krm_windows.gate.objects import HOLDER, dig

EARLIER = Path(__file__).parents[2] / "fixtures/rendered-7a38b35a"
OURS = annotation("flux-system/earlier")
KUSTOMIZATION = ("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", "Kustomization")
HELM_RELEASE = ("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease")
OVERRIDE = {"name": "overrides.stop", "begins": "2020-01-01T00:00", "ends": "2035-01-01T00:00"}
CLOSING = {"freezes": [], "overrides": [OVERRIDE | {"state": "Closed", "reason": "Stop"}]}
OPENING = {"overrides": [OVERRIDE | {"state": "Open", "reason": "Hotfix"}]}
OPEN = {"state": "Open"}
Kind = tuple[str, str, str, str]
Changed = dict[str, object]


class Lab:
    def __init__(self, api: Api, folder: Path, account: Path, environment: dict[str, str]) -> None:
        self.api, self.folder, self.account = api, folder, account
        self.environment = environment
        self.group, self.version, self.resource, self.kind = KUSTOMIZATION
        self.path = ""

    def add(self, kind: Kind = KUSTOMIZATION) -> None:
        self.group, self.version, self.resource, self.kind = kind
        self.path = f"/apis/{self.group}/{self.version}/namespaces/flux-system/{self.resource}/apps"
        spec: Json = {"interval": "10m"}
        metadata: Json = {"name": "apps", "namespace": "flux-system", "uid": "1"}
        metadata["creationTimestamp"] = "2020-01-01T00:00:00Z"
        metadata["managedFields"] = [managed("kustomize-controller", {"spec": spec}, "Apply")]
        status = {"lastAppliedRevision": "1", "history": [{"version": 1}]}
        live = {"kind": self.kind, "metadata": metadata, "spec": spec, "status": status}
        self.api.store(self.path, live)

    def run(self, version: str, **changed: object) -> list[dict[str, object]]:
        place = self.folder / version / "timetable.json"
        data = json.loads(place.with_suffix(".orig").read_text())
        [target] = data["targets"]
        target |= {
            "group": self.group,
            "version": self.version,
            "resource": self.resource,
            "kind": self.kind,
            "applied": ["lastAppliedRevision"] if self.kind == "Kustomization" else ["history"],
        }
        if changed.pop("releases", False):
            data |= {"targets": [], "released": [target]}
        if version != "earlier":
            changed |= _days(data, changed)
        place.write_text(json.dumps(data | changed))
        command = [getattr(sys, "_base_executable", sys.executable), "-I", self.folder / version]
        if version == "image":
            # That of the image has the package installed.
            module = ["-m", "krm_windows.gate", "--files", place.parent]
            command = [sys.executable, "-I", *module]
        done = subprocess.run(
            [*command, "--account", self.account],
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert not done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    @property
    def state(self) -> tuple[bool, bool]:
        live = self.api.objects[self.path]
        annotations = dig(live, "metadata", "annotations") or {}
        assert isinstance(annotations, dict)
        return dig(live, "spec", "suspend") is True, OURS in annotations


def _days(data: dict[str, dict[str, str]], changed: Changed) -> Changed:
    """Say with a table of days what the format of the earlier version says with rules."""
    changed.pop("freezes", None)
    rules = changed.pop("overrides", None)
    if not isinstance(rules, list):
        return {}
    [rule] = rules
    closed = "closed " if rule["state"] == "Closed" else ""
    return {
        "patterns": {"A": [f"00:00-24:00 {closed}{rule['name']}"]},
        "days": {day: "A" if row else "" for day, row in data["days"].items()},
        "dates": {},
    }


def lay_out(rendered: Path, folder: Path) -> None:
    [job] = rendered.glob("job_*.yaml")
    [config_map] = rendered.glob("configmap_*.yaml")
    data = yaml.safe_load(config_map.read_text())["data"]
    pod = yaml.safe_load(job.read_text())["spec"]["template"]["spec"]
    source = pod["volumes"][0]["configMap"]
    for item in source.get("items", [{"key": key, "path": key} for key in data]):
        path = folder / item["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data[item["key"]])
    shutil.copy(folder / "timetable.json", folder / "timetable.orig")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    policy = (EARLIER / "policy.yaml").read_text()
    actuator = f"\n  actuator: {{program: Image, image: 'i@sha256:{'0' * 64}'}}\n  clusters:"
    for version, text in (("today", policy), ("image", policy.replace("\n  clusters:", actuator))):
        written = folder / f"{version}.yaml"
        written.write_text(text)
        rendered = folder / "rendered" / version
        command = ["render", written, "--cluster", "east", "--output-dir", rendered]
        assert main(list(map(str, command))) == 0
        lay_out(rendered, folder / version)
    lay_out(EARLIER / "rendered", folder / "earlier")
    return folder


@pytest.fixture
def lab(api: Api, port: int, account: Path, programs: Path) -> Lab:
    environment = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}
    return Lab(api, programs, account, environment)


WAYS = [("earlier", "today"), ("earlier", "image"), ("today", "earlier"), ("image", "today")]
BOTH_WAYS = pytest.mark.parametrize("versions", mostly_slow(WAYS, every=2), ids=" to ".join)
TURNS: dict[str, tuple[Kind, Changed, Changed]] = {
    "state": (KUSTOMIZATION, {}, OPEN),
    "HelmRelease": (HELM_RELEASE, {}, OPEN),
    "override": (KUSTOMIZATION, {}, OPENING),
    "released": (KUSTOMIZATION, {}, {"releases": True}),
    "override over": (KUSTOMIZATION, CLOSING, OPEN),
}


@BOTH_WAYS
@pytest.mark.parametrize("turn", mostly_slow(TURNS, every=4))
def test_what_one_has_closed_the_other_opens(
    lab: Lab, versions: tuple[str, str], turn: str
) -> None:
    first, second = versions
    kind, closed_by, opened_by = TURNS[turn]
    lab.add(kind)
    lab.run(first, **closed_by)
    assert lab.state == (True, True)
    lab.run(second, **closed_by)
    assert lab.state == (True, True)
    lab.run(second, **opened_by)
    assert lab.state == (False, False)


@BOTH_WAYS
def test_what_a_person_suspended_stays_so(lab: Lab, versions: tuple[str, str]) -> None:
    lab.add()
    lab.api.merge(lab.path, {"spec": {"suspend": True}}, "kubectl-patch")
    for version in versions:
        lab.run(version)
        lab.run(version, **OPEN)
        assert lab.state == (True, False)


@BOTH_WAYS
def test_a_run_that_is_late_changes_nothing_for_long(lab: Lab, versions: tuple[str, str]) -> None:
    first, second = versions
    lab.add()
    lab.run(first)
    lab.run(second, **OPEN)
    lab.run(first)
    assert lab.state == (True, True)
    lab.run(second, **OPEN)
    assert lab.state == (False, False)


@BOTH_WAYS
@pytest.mark.parametrize("by", mostly_slow([HOLDER, "kubectl-annotate"], every=2))
def test_what_a_person_holds_stays_closed(lab: Lab, versions: tuple[str, str], by: str) -> None:
    first, second = versions
    lab.add()
    lab.run(first)
    lab.api.merge(lab.path, {"metadata": {"annotations": {HOLD: "ann"}}}, by)
    for version in (second, first):
        lab.run(version, **OPEN)
        assert lab.state == (True, True)
    lab.api.merge(lab.path, {"metadata": {"annotations": {HOLD: None}}}, by)
    lab.run(second, **OPEN)
    assert lab.state == (False, False)


def test_what_a_hold_has_suspended_an_earlier_version_takes_for_a_persons(lab: Lab) -> None:
    """It knows no such manager: before a downgrade a hold has to be released."""
    lab.add()
    held: Json = {"spec": {"suspend": True}, "metadata": {"annotations": {HOLD: "ann"}}}
    lab.api.merge(lab.path, held, HOLDER)
    lab.api.merge(lab.path, {"metadata": {"annotations": {HOLD: None}}}, HOLDER)
    lab.run("earlier", **OPEN)
    assert lab.state == (True, False)
    lab.run("today", **OPEN)
    assert lab.state == (False, False)

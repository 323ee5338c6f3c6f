"""`init`: from a Flux repository that nobody prepared to a policy that renders."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import APPS, SYNC, Ended, Run
from jsonschema import Draft202012Validator

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: shop}
spec:
  interval: 10m
  chart:
    spec:
      chart: web
      version: "VERSION"
      sourceRef: {kind: HelmRepository, name: charts, namespace: flux-system}
"""
FIXED = RELEASE.replace("VERSION", "6.0.1")
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, namespace: shop}\n"
BELOW = "clusters/production"
POLICY = f"{BELOW}/deploy-windows.yaml"
Init = Callable[..., Ended]


def kustomization(name: str, more: str = "") -> str:
    return APPS.replace("name: apps", f"name: {name}").replace("./apps", f"./{name}") + more


def write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "fleet"
    for cluster in ("production", "staging"):
        sync = SYNC.replace("clusters/north", f"clusters/{cluster}")
        flux = f"clusters/{cluster}/flux-system"
        files = {"gotk-sync.yaml": sync, "kustomization.yaml": "resources: [gotk-sync.yaml]\n"}
        write(place, {f"{flux}/{name}": text for name, text in files.items()})
        write(place, {f"clusters/{cluster}/apps.yaml": APPS})
    write(place, {"apps/release.yaml": FIXED, "apps/config.yaml": CONFIG})
    return place


@pytest.fixture
def init(run: Run) -> Init:
    return lambda place, *options: run("init", place, "--time-zone", "UTC", *options)


def policy_of(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / POLICY).read_text())


def targets_of(repository: Path) -> list[dict[str, Any]]:
    return policy_of(repository)["spec"]["targets"]


def test_the_policy_gates_all_but_what_delivers_it(repository: Path, init: Init) -> None:
    """A release of one version is closed by its Kustomization."""
    code, out, err = init(repository)
    assert (code, err) == (0, "")
    assert targets_of(repository) == [{"kind": "Kustomization", "names": ["apps"]}]
    assert "using cluster production of production, staging" in out
    assert init(repository, "--cluster", "staging").code == 0
    assert (repository / POLICY.replace("production", "staging")).exists()
    # An editor finds its schema beside it.
    path = repository / POLICY
    first = path.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    schema = json.loads((path.parent / first.partition("=")[2]).read_text())
    Draft202012Validator(schema).validate(policy_of(repository))


@pytest.mark.parametrize("alone", [False, True])
def test_what_git_suspends_is_left_out(repository: Path, init: Init, *, alone: bool) -> None:
    write(repository, {f"{BELOW}/apps.yaml": f"{APPS}  suspend: true\n"})
    if not alone:
        write(repository, {f"{BELOW}/jobs.yaml": kustomization("jobs"), "jobs/config.yaml": CONFIG})
    code, out, err = init(repository)
    assert code == alone
    assert f"apps, until `suspend` is removed from {BELOW}/apps.yaml: what Git says" in out + err
    assert alone or targets_of(repository) == [{"kind": "Kustomization", "names": ["jobs"]}]


def test_what_only_the_cluster_names_is_left_out(repository: Path, init: Init) -> None:
    """A policy needs the name; that it stays open is said."""
    variables = "  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}\n"
    write(repository, {f"{BELOW}/apps.yaml": f"{APPS}{variables}"})
    write(repository, {"apps/more.yaml": APPS.replace("name: apps", 'name: "${TENANT}-jobs"')})
    left_out = "left out: Kustomization flux-system/${TENANT}-jobs, whose name is known only in"
    assert left_out in init(repository).out
    assert targets_of(repository) == [{"kind": "Kustomization", "names": ["apps"]}]


def test_the_commands_that_it_names_work(repository: Path, init: Init, run: Run) -> None:
    path = repository / BELOW / "kustomization.yaml"
    path.write_text("resources:\n- flux-system\n- apps.yaml\n")
    code, out, _ = init(repository)
    assert code == 0
    add = f"  add `- deploy-windows` to `resources` in {BELOW}/kustomization.yaml, or it is not "
    assert f"{add}applied\n" in out
    path.write_text(path.read_text() + "- deploy-windows\n")
    commands = [line.split() for line in out.splitlines() if line.startswith("  krm-windows ")]
    assert [command[1] for command in commands] == ["calendar", "check", "render"]
    for _, *arguments in commands:
        command = [sys.executable, "-P", "-m", "krm_windows", *arguments]
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "error" not in done.stderr
        assert "warning" not in done.stderr
    code, found, _ = run("check", "--repo", repository, "-o", "json")
    assert code == 0
    assert {each["severity"] for each in json.loads(found)["results"]} <= {"info"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster", "berlin"], "cluster berlin not found; found: production, staging"),
        (["--clusters", "nowhere/*"], "no directory matches nowhere/*: use --clusters GLOB"),
        (["--time-zone", "Europe/Berln"], "spec.timeZone must be an IANA time zone such as"),
        (["--opens", "Mon 25:00"], "spec.windows.working-hours.opens must have a time from"),
        (["--name", "Not A Name"], "metadata.name must be a valid Kubernetes name"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    repository: Path, options: list[str], said: str, run: Run
) -> None:
    before = sorted(repository.rglob("*"))
    zone = [] if "--time-zone" in options else ["--time-zone", "UTC"]
    code, out, err = run("init", repository, *zone, *options)
    assert code == 1
    assert said in err
    assert "targets in cluster" not in out
    assert sorted(repository.rglob("*")) == before


def test_a_second_run_keeps_the_policy(repository: Path, init: Init) -> None:
    init(repository)
    path = repository / POLICY
    path.write_text(path.read_text().replace("16:00", "12:00"))
    edited = path.read_bytes()
    code, _, err = init(repository)
    assert code == 1
    assert "already gated by flux-system/deploy-windows; edit that" in err
    assert path.read_bytes() == edited


@pytest.mark.parametrize(("version", "as_list"), [("1.2.3", False), ("1.x", True)])
def test_releases_of_the_root_are_gated(
    version: str, *, as_list: bool, repository: Path, init: Init, run: Run
) -> None:
    """Nothing else would close them; of the others their Kustomization does."""
    web = RELEASE.replace("VERSION", version)
    nowhere = web.replace("name: web", "name: nowhere").replace(", namespace: shop", "", 1)
    texts = [web, web.replace("name: web", "name: db"), nowhere]
    text = "---\n".join(texts)
    if as_list:
        entries = list(map(yaml.safe_load, texts))
        inner = {"apiVersion": "v1", "kind": "List", "items": entries[1:]}
        text = yaml.safe_dump({**inner, "items": [entries[0], inner]}, sort_keys=False)
    instance = FIXED.replace("chart: web", "chart: flux-instance").replace("e: web", "e: flux")
    files = {
        f"{BELOW}/releases.yaml": text,
        f"{BELOW}/flux.yaml": instance,
        "apps/release.yaml": FIXED.replace("web", "shop"),
    }
    write(repository, files)
    code, out, err = init(repository)
    assert (code, err) == (0, "")
    assert targets_of(repository) == [
        {"kind": "HelmRelease", "namespace": "shop", "names": ["db", "web"]},
        {"kind": "Kustomization", "names": ["apps"]},
    ]
    assert "HelmRelease nowhere, whose" in out
    assert "[error]" not in run("check", "--repo", repository).err


def test_another_cluster_is_not_closed_from_here(repository: Path, init: Init) -> None:
    """A Job reaches what is here: the Kustomization, and nothing of what it applies there."""
    shutil.rmtree(repository / "clusters/staging")
    remote = "  kubeConfig: {secretRef: {name: spoke}}\n"
    files = {
        f"{BELOW}/spoke.yaml": kustomization("spoke", remote),
        f"{BELOW}/config.yaml": CONFIG.replace("shop", "both"),
        "spoke/config.yaml": CONFIG.replace("shop", "both"),
        "spoke/there.yaml": kustomization("there"),
        "there/release.yaml": RELEASE.replace("web", "far").replace("VERSION", "1.x"),
    }
    write(repository, files)
    assert init(repository).code == 0
    assert targets_of(repository) == [{"kind": "Kustomization", "names": ["apps", "spoke"]}]


def test_a_target_of_a_base_need_not_be_among_the_resources(repository: Path, init: Init) -> None:
    """The root applies it, but no file of the directory that `--resources` names has it."""
    (repository / BELOW / "apps.yaml").rename(repository / "apps.yaml")
    files = {
        f"{BELOW}/kustomization.yaml": "resources: [flux-system, ../../base]\n",
        "base/kustomization.yaml": "resources: [apps.yaml]\n",
        "base/apps.yaml": APPS,
    }
    write(repository, files)
    assert init(repository).code == 0
    found = targets_of(repository)
    assert found == [{"kind": "Kustomization", "names": ["apps"], "mustExist": False}]


def test_a_repository_without_flux_is_said(init: Init) -> None:
    code, _, err = init(".")
    assert (code, "no file contains a Flux Kustomization" in err) == (1, True)


def test_a_directory_that_nothing_applies(repository: Path, init: Init, run: Run) -> None:
    files = {
        "flux/apps/a.yaml": kustomization("a"),
        "flux/own.yaml": kustomization("flux-system").replace("./flux-system", "./own"),
        "a/config.yaml": CONFIG,
        "own/config.yaml": CONFIG.replace("shop", "own"),
    }
    write(repository, files)
    options = ("--clusters", "flux", "--source", "fleet=.")
    code, out, _ = init(repository, *options)
    assert code == 0
    assert "nothing in the repository applies flux\n" in out
    assert "\n  krm-windows check --repo . --clusters flux --source fleet=.\n" in out
    found = yaml.safe_load((repository / "flux/deploy-windows.yaml").read_text())
    assert found["spec"]["targets"] == [{"kind": "Kustomization", "names": ["a"]}]
    # Both are looked at: neither is taken for what applies the directory.
    checked = run("check", "--repo", repository, *options).out
    assert "1 cluster, 3 of 7 Kustomizations" in checked


@pytest.mark.parametrize("name", ["a\nspec: {state: Open}\n#", "a: b", "ä ö", "x\x1b[31m", "'q'"])
def test_a_directory_of_any_name_makes_no_other_policy(
    repository: Path, name: str, init: Init
) -> None:
    hostile = repository / "clusters" / name
    shutil.move(repository / BELOW, hostile)
    shutil.rmtree(repository / "clusters/staging")
    init(repository)
    found = yaml.safe_load((hostile / "deploy-windows.yaml").read_text())
    assert set(found) == {"apiVersion", "kind", "metadata", "spec"}
    assert "state" not in found["spec"]


def test_a_file_where_its_directory_belongs_is_to_be_moved(repository: Path, init: Init) -> None:
    """Nobody named that directory, so another name is no advice; and nothing is written."""
    (repository / ".krm-windows").write_text("")
    before = sorted(repository.rglob("*"))
    code, _, said = init(repository)
    assert code == 1
    assert ".krm-windows is in the way: it is not a directory; move it away" in said
    assert sorted(repository.rglob("*")) == before


@pytest.mark.parametrize("path", [BELOW, POLICY, f"{BELOW}/deploy-windows", ".krm-windows"])
def test_nothing_is_written_through_a_link(
    repository: Path, path: str, tmp_path_factory: pytest.TempPathFactory, init: Init
) -> None:
    """A repository's author would choose where: a directory, or a file that dangles."""
    outside = tmp_path_factory.mktemp("outside")
    if (repository / path).exists():
        shutil.move(repository / path, outside / "target")
    elif path != POLICY:
        (outside / "target").mkdir()
    before = {each: each.is_file() and each.read_bytes() for each in outside.rglob("*")}
    (repository / path).symlink_to(outside / "target")
    init(repository, "--cluster", "production")
    after = {each: each.is_file() and each.read_bytes() for each in outside.rglob("*")}
    assert after == before

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
from jsonschema import Draft202012Validator

from krm_windows.cli import main
from krm_windows.flux import Hints, Survey, survey
from krm_windows.flux.builds import Builds
from krm_windows.system.checkout import Checkout

Capture = pytest.CaptureFixture[str]
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
{more}
"""
SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: ssh://git@example.com/fleet}
---
""" + KUSTOMIZATION.format(name="flux-system", path="clusters/{cluster}", more="")
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
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop, namespace: shop}\n"


def write(root: Path, files: dict[str, str]) -> None:
    """Write files by path."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with two clusters, as `flux bootstrap` and its users leave it."""
    for cluster in ("production", "staging"):
        below = f"clusters/{cluster}"
        sync = SYNC.replace("{cluster}", cluster).replace("{{", "{").replace("}}", "}")
        write(
            tmp_path,
            {
                f"{below}/flux-system/gotk-sync.yaml": sync,
                f"{below}/flux-system/kustomization.yaml": "resources: [gotk-sync.yaml]\n",
                f"{below}/apps.yaml": KUSTOMIZATION.format(name="apps", path="apps", more=""),
            },
        )
    write(
        tmp_path,
        {
            "apps/release.yaml": RELEASE.replace("VERSION", "6.0.1"),
            "apps/config.yaml": CONFIG,
        },
    )
    return tmp_path


def called(capture: Capture, *arguments: str) -> tuple[int, str, str]:
    """Call a command in this process; give its exit code and what it printed."""
    code = main(list(arguments))
    said = capture.readouterr()
    return code, said.out, said.err


def init(capture: Capture, place: Path, *options: str) -> tuple[int, str, str]:
    """Call the command."""
    zone = () if "--time-zone" in options else ("--time-zone", "UTC")
    return called(capture, "init", str(place), *zone, *options)


def policy_of(repository: Path, cluster: str = "production") -> dict[str, Any]:
    """Read the policy of a cluster."""
    path = repository / "clusters" / cluster / "deploy-windows.yaml"
    return yaml.safe_load(path.read_text())


def test_the_policy_gates_all_but_what_delivers_it(repository: Path, capsys: Capture) -> None:
    """A release of one version is closed by its Kustomization."""
    code, out, err = init(capsys, repository)
    assert (code, err) == (0, "")
    assert policy_of(repository)["spec"]["targets"] == [
        {"kind": "Kustomization", "names": ["apps"]}
    ]
    assert "crossNamespaceTargets" not in policy_of(repository)["spec"]
    assert "using cluster production of production, staging" in out


@pytest.mark.parametrize("alone", [False, True])
def test_what_git_suspends_is_left_out(repository: Path, capsys: Capture, *, alone: bool) -> None:
    """The file is named that has to be changed first; without another target nothing is written."""
    below = "clusters/production"
    more = "  suspend: true"
    write(
        repository,
        {f"{below}/apps.yaml": KUSTOMIZATION.format(name="apps", path="apps", more=more)},
    )
    if not alone:
        write(
            repository,
            {f"{below}/jobs.yaml": KUSTOMIZATION.format(name="jobs", path="jobs", more="")},
        )
        write(repository, {"jobs/config.yaml": CONFIG.replace("shop", "jobs")})
    code, out, err = init(capsys, repository)
    assert code == alone
    assert f"apps, until `suspend` is removed from {below}/apps.yaml: what Git says" in out + err
    if not alone:
        targets = policy_of(repository)["spec"]["targets"]
        assert targets == [{"kind": "Kustomization", "names": ["jobs"]}]


def test_what_only_the_cluster_names_is_left_out(repository: Path, capsys: Capture) -> None:
    """A policy needs the name; that it stays open is said."""
    apps = KUSTOMIZATION.format(
        name="apps",
        path="apps",
        more="  postBuild: {substituteFrom: [{kind: Secret, name: vars}]}",
    )
    more = KUSTOMIZATION.format(name='"${TENANT}-jobs"', path="jobs", more="")
    write(
        repository,
        {
            "clusters/production/apps.yaml": apps,
            "apps/more.yaml": more,
            "jobs/config.yaml": CONFIG,
            "apps/release.yaml": RELEASE.replace("VERSION", "6.0.1"),
        },
    )
    code, out, err = init(capsys, repository)
    assert (code, err) == (0, "")
    left_out = "left out: Kustomization flux-system/${TENANT}-jobs, whose name is known only in"
    assert left_out in out
    targets = policy_of(repository)["spec"]["targets"]
    assert targets == [{"kind": "Kustomization", "names": ["apps"]}]


def test_the_commands_that_it_names_work(repository: Path, capsys: Capture) -> None:
    """Run as they are printed, they find nothing but notes."""
    _, out, _ = init(capsys, repository)
    commands = [line.split() for line in out.splitlines() if line.startswith("  krm-windows ")]
    assert [command[1] for command in commands] == ["calendar", "check", "render"]
    for _, *arguments in commands:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "krm_windows", *arguments],
            cwd=repository,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "error" not in done.stderr
        assert "warning" not in done.stderr
    code, found, _ = called(capsys, "check", "--repo", str(repository), "-o", "json")
    assert code == 0
    severities = {each["severity"] for each in json.loads(found)["results"]}
    assert severities <= {"info"}


def test_the_schema_that_it_names_is_there_and_accepts_the_policy(
    repository: Path, capsys: Capture
) -> None:
    """An editor finds it beside the policy."""
    init(capsys, repository)
    path = repository / "clusters/production/deploy-windows.yaml"
    first = path.read_text().splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    schema = json.loads((path.parent / first.partition("=")[2]).read_text())
    Draft202012Validator(schema).validate(policy_of(repository))


def test_a_kustomization_that_lists_its_resources_has_to_list_the_windows(
    repository: Path, capsys: Capture
) -> None:
    """It is said, and `check` says so too."""
    path = repository / "clusters/production/kustomization.yaml"
    path.write_text("resources:\n- flux-system\n- apps.yaml\n")
    code, out, _ = init(capsys, repository)
    assert code == 0
    assert (
        "  add `- deploy-windows` to `resources` in clusters/production/kustomization.yaml, or it "
        "is not applied\n"
    ) in out
    path.write_text(path.read_text() + "- deploy-windows\n")
    assert called(capsys, "check", "--repo", str(repository), "--no-cache")[0] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cluster", "berlin"], "cluster berlin not found; found: production, staging"),
        (
            ["--clusters", "nowhere/*"],
            "no directory matches nowhere/*: use --clusters GLOB",
        ),
        (
            ["--time-zone", "Europe/Berln"],
            "spec.timeZone must be an IANA time zone such as",
        ),
        (
            ["--opens", "Mon 25:00"],
            "spec.windows.working-hours.opens must have a time from 00:00 to",
        ),
        (["--name", "Not A Name"], "metadata.name must be a valid Kubernetes name"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    repository: Path, options: list[str], said: str, capsys: Capture
) -> None:
    """Each with what would be right."""
    before = sorted(repository.rglob("*"))
    code, out, err = init(capsys, repository, *options)
    assert code == 1
    assert said in err
    assert "targets in cluster" not in out
    assert sorted(repository.rglob("*")) == before


def test_a_second_run_keeps_the_policy(repository: Path, capsys: Capture) -> None:
    """What somebody edited is theirs."""
    init(capsys, repository)
    path = repository / "clusters/production/deploy-windows.yaml"
    path.write_text(path.read_text().replace("16:00", "12:00"))
    edited = path.read_bytes()
    code, _, err = init(capsys, repository)
    assert code == 1
    assert "already gated by flux-system/deploy-windows; edit that" in err
    assert path.read_bytes() == edited


def in_list(*texts: str) -> str:
    """Put objects into a list in a list."""
    entries = [yaml.safe_load(text) for text in texts]
    inner = {"apiVersion": "v1", "kind": "List", "items": entries[1:]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [entries[0], inner]}
    return str(yaml.safe_dump(outer, sort_keys=False))


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("version", ["1.2.3", "1.x"])
def test_releases_of_the_root_are_gated(
    version: str, *, as_list: bool, repository: Path, capsys: Capture
) -> None:
    """Nothing else would close them; of the others their Kustomization does."""
    web = RELEASE.replace("VERSION", version)
    texts = [web, web.replace("name: web", "name: db"), web.replace("name: web", "name: nowhere")]
    texts[2] = texts[2].replace(", namespace: shop", "", 1)
    path = repository / "clusters/production/releases.yaml"
    path.write_text(in_list(*texts) if as_list else "---\n".join(texts))
    instance = RELEASE.replace("VERSION", "1.2.3").replace("chart: web", "chart: flux-instance")
    write(
        repository,
        {
            "clusters/production/flux.yaml": instance.replace("name: web", "name: flux"),
            "apps/release.yaml": RELEASE.replace("VERSION", "6.0.1").replace("web", "shop"),
        },
    )
    code, out, err = init(capsys, repository)
    assert (code, err) == (0, "")
    assert policy_of(repository)["spec"]["targets"] == [
        {"kind": "HelmRelease", "namespace": "shop", "names": ["db", "web"]},
        {"kind": "Kustomization", "names": ["apps"]},
    ]
    assert "HelmRelease nowhere, whose" in out
    _, _, err = called(capsys, "check", "--repo", str(repository))
    assert "[error]" not in err


@pytest.fixture
def kustomize(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The PATH has it; without it the test skips, or fails where tools are required."""
    monkeypatch.setenv("PATH", str(tool("kustomize").parent), prepend=":")


def test_another_cluster_is_not_closed_from_here(repository: Path, capsys: Capture) -> None:
    """A Job reaches what is here: the Kustomization, and nothing of what it applies there."""
    below = "clusters/production"
    shutil.rmtree(repository / "clusters/staging")
    remote = "  kubeConfig: {secretRef: {name: spoke}}"
    spoke = KUSTOMIZATION.format(name="spoke", path="spoke", more=remote)
    there = KUSTOMIZATION.format(name="there", path="there", more="")
    write(
        repository,
        {
            f"{below}/spoke.yaml": spoke,
            f"{below}/config.yaml": CONFIG.replace("shop", "both"),
            "spoke/config.yaml": CONFIG.replace("shop", "both"),
            "spoke/there.yaml": there,
            "there/release.yaml": RELEASE.replace("web", "far").replace("VERSION", "1.x"),
        },
    )
    code, out, _ = init(capsys, repository)
    assert code == 0
    assert policy_of(repository)["spec"]["targets"] == [
        {"kind": "Kustomization", "names": ["apps", "spoke"]},
    ]
    assert "left out: Kustomization flux-system/spoke" not in out


def test_the_check_that_it_names_is_of_the_cluster_that_was_chosen(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it was told of sources."""
    monkeypatch.chdir(repository)
    _, out, _ = init(capsys, Path(), "--source", "flux-system/flux-system=.")
    check = "  krm-windows check --repo . --clusters clusters/production"
    assert f"{check} --source flux-system/flux-system=.\n" in out


def test_a_target_of_a_base_need_not_be_among_the_resources(
    repository: Path, capsys: Capture
) -> None:
    """The root applies it, but no file of the directory that `--resources` names has it."""
    below = "clusters/production"
    apps = KUSTOMIZATION.format(name="apps", path="apps", more="")
    (repository / below / "apps.yaml").unlink()
    write(
        repository,
        {
            f"{below}/kustomization.yaml": "resources: [flux-system, ../../base]\n",
            "base/kustomization.yaml": "resources: [apps.yaml]\n",
            "base/apps.yaml": apps,
        },
    )
    write(repository, {"apps/release.yaml": RELEASE.replace("VERSION", "6.0.1")})
    assert init(capsys, repository)[0] == 0
    found = policy_of(repository)["spec"]["targets"]
    assert found == [{"kind": "Kustomization", "names": ["apps"], "mustExist": False}]


def test_only_the_cluster_that_is_chosen_is_built(
    repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet has hundreds, and the policy is for one."""
    followed: list[list[str]] = []

    def noted(tree: Checkout, directories: list[str], builds: Builds, hints: Hints) -> Survey:
        followed.append(directories)
        return survey(tree, directories, builds, hints)

    monkeypatch.setattr("krm_windows.cli.init.survey", noted)
    assert init(capsys, repository)[0] == 0
    assert followed == [["clusters/production"]]


def test_a_repository_without_flux_is_said(tmp_path: Path, capsys: Capture) -> None:
    """With the option that helps."""
    write(tmp_path, {"deployment.yaml": CONFIG})
    code, _, err = init(capsys, tmp_path)
    assert code == 1
    assert "no file contains a Flux Kustomization" in err
    assert "docs/how-to/start.md" in err


def test_a_directory_that_nothing_applies(repository: Path, capsys: Capture) -> None:
    """It is said, and whatever has the usual name of a root is no target of the build."""
    files = {
        "flux/apps/a.yaml": KUSTOMIZATION.format(name="a", path="a", more=""),
        "flux/own.yaml": KUSTOMIZATION.format(name="flux-system", path="own", more=""),
        "a/config.yaml": CONFIG,
        "own/config.yaml": CONFIG.replace("shop", "own"),
    }
    write(repository, files)
    arguments = (
        "init",
        str(repository),
        "--time-zone",
        "UTC",
        "--clusters",
        "flux",
        "--source",
        "flux-system=.",
    )
    code, out, _ = called(capsys, *arguments)
    assert code == 0
    assert "nothing in the repository applies flux\n" in out
    [targets] = yaml.safe_load((repository / "flux/deploy-windows.yaml").read_text())["spec"][
        "targets"
    ]
    assert targets == {"kind": "Kustomization", "names": ["a"]}
    # Both are looked at: neither is taken for what applies the directory.
    main(["check", "--repo", str(repository), "--clusters", "flux", "--source", "flux-system=."])
    assert "1 cluster, 3 of 7 Kustomizations" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["a\nspec: {state: Open}\n#", "a: b", "ä ö", "x\x1b[31m", "'q'"])
def test_a_directory_of_any_name_makes_no_other_policy(
    repository: Path, name: str, capsys: Capture
) -> None:
    """Neither in a comment nor in a value."""
    hostile = repository / "clusters" / name
    shutil.move(repository / "clusters/production", hostile)
    shutil.rmtree(repository / "clusters/staging")
    init(capsys, repository)
    found = yaml.safe_load((hostile / "deploy-windows.yaml").read_text())
    assert set(found) == {"apiVersion", "kind", "metadata", "spec"}
    assert "state" not in found["spec"]


def test_a_file_where_its_directory_belongs_is_to_be_moved(
    repository: Path, capsys: Capture
) -> None:
    """Nobody named that directory, so another name is no advice; and nothing is written."""
    (repository / ".krm-windows").write_text("")
    before = sorted(repository.rglob("*"))
    code, _, said = init(capsys, repository)
    assert code == 1
    assert ".krm-windows is in the way: it is not a directory; move it away" in said
    assert sorted(repository.rglob("*")) == before


def test_nothing_is_written_through_a_link(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    """A repository's author would choose where."""
    outside = tmp_path_factory.mktemp("outside")
    shutil.move(repository / "clusters/production", outside / "production")
    (repository / "clusters/production").symlink_to(outside / "production")
    init(capsys, repository, "--cluster", "production")
    assert not (outside / "production/deploy-windows.yaml").exists()


@pytest.mark.slow  # calls it for each of its paths
def test_nothing_is_written_through_any_link(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, capsys: Capture
) -> None:
    """Whichever path of what it writes or edits is one: a directory, a file, one that dangles."""
    place = tmp_path_factory.mktemp("copies")
    arguments = ("--time-zone", "UTC", "--cluster", "production")
    made = place / "made"
    shutil.copytree(repository, made)
    assert init(capsys, made, *arguments)[0] == 0
    paths = [path.relative_to(made) for path in sorted(made.rglob("*"))]
    assert Path("clusters/production/deploy-windows/kustomization.yaml") in paths
    for number, path in enumerate(paths):
        copy, outside = place / f"{number}", place / f"{number}-outside"
        shutil.copytree(repository, copy)
        outside.mkdir()
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        if (copy / path).exists():
            (copy / path).rename(outside / "target")
        before = {each: each.is_file() and each.read_bytes() for each in outside.rglob("*")}
        (copy / path).symlink_to(outside / "target")
        init(capsys, copy, *arguments)
        after = {each: each.is_file() and each.read_bytes() for each in outside.rglob("*")}
        assert after == before, path

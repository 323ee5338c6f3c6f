"""`render` for many clusters: a base, and a patch of it for each, kept as the policies say."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import APPS
from fleets import CLUSTERS, POLICY, built, contents, window

from krm_windows.cli import main

Run = Callable[..., int]
Caught = pytest.CaptureFixture[str]
KUSTOMIZATION = "clusters/berlin/reconciliation-window/kustomization.yaml"
SECOND = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: sources, namespace: flux-system}
spec:
  timeZone: Europe/Paris
  targets: [{kind: HelmRelease, names: [db]}]
  windows:
    sunday: {opens: Sun 04:00, duration: 2h}
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)

    def command(*argv: str, policies: tuple[str, ...] = ("policy.yaml",)) -> int:
        return main(["render", *policies, "--all-clusters", "--output-dir", "tree", *argv])

    return command


def test_the_base_runs_nothing(run: Run, tool: Callable[[str], Path]) -> None:
    """Whoever applies it by mistake gets suspended CronJobs and Jobs, and no timetable."""
    run()
    base = built(tool("kustomize"), Path("tree/reconciliation-window/change"))
    jobs = [one for (kind, _, _), one in base.items() if kind in ("CronJob", "Job")]
    assert len(jobs) == 5
    assert all(job["spec"]["suspend"] is True for job in jobs)
    assert {job["spec"].get("schedule") for job in jobs} == {"* * * * *", None}
    [config] = [one for (kind, _, _), one in base.items() if kind == "ConfigMap"]
    assert "timetable.json" not in config["data"]


def test_one_cluster_changes_and_no_other(run: Run) -> None:
    run()
    before = contents(Path("tree"))
    times = {path: path.stat().st_mtime_ns for path in Path("tree").rglob("*.yaml")}
    changed = POLICY.replace("Europe/Berlin", "Europe/Paris")
    Path("policy.yaml").write_text(f"{changed}    aachen: {{timeZone: Europe/Berlin}}\n")
    assert run() == 0
    after = contents(Path("tree"))
    assert {path for path in before if before[path] != after[path]} == {KUSTOMIZATION}
    written = {path for path, time in times.items() if path.stat().st_mtime_ns != time}
    assert written == {Path("tree", KUSTOMIZATION)}
    assert window(Path("tree"), "aachen").is_dir()


def test_a_cluster_that_is_gone_goes(run: Run) -> None:
    run()
    (Path("tree/clusters/berlin") / "apps.yaml").write_text("theirs\n")
    Path("tree/clusters/dallas").mkdir()
    Path("tree/clusters/dallas/apps.yaml").write_text("theirs\n")
    policy = re.sub(r"    berlin:\n.*\n", "", POLICY)
    Path("policy.yaml").write_text(policy.replace("    chicago:", "    chemnitz:"))
    assert run("--check") == 1
    assert run() == 0
    assert sorted(map(str, Path("tree/clusters").glob("*/*"))) == [
        "tree/clusters/berlin/apps.yaml",
        "tree/clusters/chemnitz/reconciliation-window",
        "tree/clusters/dallas/apps.yaml",
        "tree/clusters/singapore/reconciliation-window",
    ]


def test_of_a_cluster_that_is_gone_is_said_what_stays_closed(run: Run, capsys: Caught) -> None:
    """A name that was mistyped would leave a cluster without windows, and nobody would see it."""
    run()
    Path("policy.yaml").write_text(POLICY.replace("    chicago:", "    chemnitz:"))
    capsys.readouterr()
    for option, code in (("--check", 1), ("--strict", 1), ("", 0)):
        assert run(*option.split()) == code
        said = capsys.readouterr().err
        assert "spec.clusters: no longer names chicago, so its windows there are removed" in said
        assert "[chicago] (cluster-dropped)" in said
        assert Path("tree/clusters/chicago").exists() == bool(option)
    assert run() == 0
    assert "cluster-dropped" not in capsys.readouterr().err


def test_the_base_of_a_cluster_that_keeps_its_files_stays(
    run: Run, tool: Callable[[str], Path]
) -> None:
    """Whatever takes its place: without it the cluster could not be built any more."""
    run()
    Path("second.yaml").write_text(SECOND + "  clusters: {berlin: {}, chicago: {}}\n")
    # Two of three demand `formerNames`, and the third is no more.
    assert run(policies=("second.yaml",)) == 1
    assert not Path("tree/clusters/singapore").exists()
    assert Path("tree/reconciliation-window/change").exists()
    assert built(tool("kubectl"), window(Path("tree"), "berlin"))
    renamed = SECOND.replace("spec:\n", "spec:\n  formerNames: [flux-system/change]\n")
    released = "  released: [{kind: Kustomization, names: [apps, infra]}]\n"
    released += "  clusters: {berlin: {}}\n"
    Path("second.yaml").write_text(renamed + released)
    assert run(policies=("second.yaml",)) == 0
    assert not Path("tree/reconciliation-window/change").exists()


@pytest.mark.parametrize(
    ("place", "stays"),
    [(KUSTOMIZATION, True), ("reconciliation-window/change/cronjob_change-resync.yaml", False)],
)
def test_an_edit_by_hand_is_noticed(run: Run, place: str, capsys: Caught, *, stays: bool) -> None:
    run()
    before, path = contents(Path("tree")), Path("tree", place)
    path.write_text(f"{path.read_text()}# edited\n")
    if not stays:
        path.unlink()
    capsys.readouterr()
    assert run("--check", "--diff") == 1
    said = capsys.readouterr().out
    assert f"\n  tree/{place}\n" in said
    assert f"+++ b/{place}" in said
    assert run() == 0
    assert contents(Path("tree")) == before
    assert run("--check") == 0


def test_what_only_a_cluster_says_is_said_each_time(run: Run, capsys: Caught) -> None:
    held = POLICY.replace("    berlin:\n", "    berlin:\n      state: Closed\n")
    Path("policy.yaml").write_text(held)
    for _ in range(2):
        assert run() == 0
        assert capsys.readouterr().err.count("(state-held)") == 1
    before = contents(Path("tree"))
    Path("policy.yaml").write_text(held.replace("Closed", "Open"))
    assert run("--strict") == 1
    assert contents(Path("tree")) == before


def test_an_error_in_one_cluster_is_reported_with_its_name(run: Run, capsys: Caught) -> None:
    wrong = POLICY.replace("timeZone: Europe/Berlin", "timeZone: Europe/Atlantis")
    Path("policy.yaml").write_text(wrong)
    assert run() == 1
    assert "spec.clusters.berlin.timeZone" in capsys.readouterr().err
    assert sorted(path.name for path in Path("tree/clusters").iterdir()) == ["chicago", "singapore"]


def test_what_a_change_forgets_is_demanded(run: Run, capsys: Caught) -> None:
    Path("second.yaml").write_text(SECOND)
    run(policies=("policy.yaml", "second.yaml"))
    capsys.readouterr()
    assert run() == 1
    said = capsys.readouterr().err
    assert 'must list "flux-system/sources", the policy\'s former name' in said
    assert "[berlin, chicago, singapore]" in said
    Path("second.yaml").write_text(SECOND.replace("spec:\n", "spec:\n  state: Open\n"))
    run(policies=("policy.yaml", "second.yaml"))
    assert run() == 0


def test_resources_of_each_cluster(run: Run, capsys: Caught) -> None:
    infra = APPS.replace("name: apps", "name: infra")
    for cluster in CLUSTERS:
        Path(f"tree/clusters/{cluster}").mkdir(parents=True)
        every = APPS if cluster == "berlin" else f"{APPS}---\n{infra}"
        Path(f"tree/clusters/{cluster}/all.yaml").write_text(every)
    for _ in range(2):
        assert run("--resources", "tree/clusters/{cluster}") == 1
        said = capsys.readouterr().err
        assert "Kustomization flux-system/infra not found in the resources; found: apps" in said
        assert said.count("[error]") == 1
        assert "[berlin]" in said


@pytest.mark.parametrize(
    ("clusters", "policies", "said"),
    [
        ("[north, south]", ("second.yaml",), "spec.clusters: must be a map"),
        ("{north: , south: ~}", ("second.yaml",), "spec.clusters.north: must be a map"),
        ("{}", ("second.yaml",), "no cluster found"),
        ("{}", ("policy.yaml", "policy.yaml"), "a policy is given twice"),
    ],
)
def test_clusters_that_cannot_be_rendered(
    run: Run, clusters: str, policies: tuple[str, ...], said: str, capsys: Caught
) -> None:
    Path("second.yaml").write_text(f"{SECOND}  clusters: {clusters}\n")
    assert run(policies=policies) == 1
    assert said in capsys.readouterr().err

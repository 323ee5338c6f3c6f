"""`render` for many clusters: both layouts build to the same objects.

A tree is kept as the policies say.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fleets import CLUSTERS, POLICY, built, contents, window

from krm_windows.cli import main

Run = Callable[..., int]
KUSTOMIZATION = "clusters/berlin/reconciliation-window/kustomization.yaml"
TEMPLATE = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: reconciliation-window, namespace: flux-system}
spec:
  interval: 10m
  path: ./windows
  sourceRef: {kind: GitRepository, name: flux-system}
"""
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
    """Run `render` in a folder with a policy, for all clusters into `tree`."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)

    def command(
        *argv: str, policies: tuple[str, ...] = ("policy.yaml",), clusters: str = "--all-clusters"
    ) -> int:
        output = () if "--output-dir" in argv else ("--output-dir", "tree")
        return main(["render", *policies, *clusters.split(), *output, *argv])

    return command


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["kustomize", "kubectl"])
def test_both_layouts_build_to_the_same_objects(
    run: Run, engine: str, tool: Callable[[str], Path]
) -> None:
    """And to what `render --cluster` writes: no suspended placeholder is left in any cluster."""
    assert run() == run("--layout", "flat", "--output-dir", "flat") == 0
    for cluster in CLUSTERS:
        assert (
            main(["render", "policy.yaml", "--cluster", cluster, "--output-dir", f"one/{cluster}"])
            == 0
        )
        objects = built(tool(engine), window(Path("tree"), cluster))
        assert (
            objects
            == built(tool(engine), window(Path("flat"), cluster))
            == built(tool(engine), Path("one", cluster))
        )


def test_the_base_runs_nothing(run: Run, tool: Callable[[str], Path]) -> None:
    """Whoever applies it by mistake gets CronJobs and a Job that are suspended.

    The gate has no timetable.
    """
    run()
    base = built(tool("kustomize"), Path("tree/reconciliation-window/change"))
    jobs = [one for (kind, _, _), one in base.items() if kind in ("CronJob", "Job")]
    assert len(jobs) == 5
    assert all(job["spec"]["suspend"] is True for job in jobs)
    assert {job["spec"].get("schedule") for job in jobs} == {"* * * * *", None}
    [config] = [one for (kind, _, _), one in base.items() if kind == "ConfigMap"]
    assert "timetable.json" not in config["data"]


def test_a_patch_reads_like_what_it_says(run: Run) -> None:
    """Schedule, time zone, and no more of a CronJob than that."""
    run()
    text = Path("tree", KUSTOMIZATION).read_text()
    assert (
        """\
- patch: |
    apiVersion: batch/v1
    kind: CronJob
    metadata:
      name: change-open-change
      namespace: flux-system
      annotations:
        krm-windows.dev/window: "opens change: Monday to Thursday 08:00 until 17:00, Europe/Berlin"
    spec:
      schedule: "0 8 * * 1-4"
      timeZone: Europe/Berlin
      suspend: false
"""
        in text
    )
    # 146 of them are the months of the table, and 25 the changes of the clock in them.
    assert text.count("\n") <= 312


def test_one_cluster_changes_and_no_other(run: Run) -> None:
    """The files of others, and those of the base, are not even written again."""
    run()
    before, written = (
        contents(Path("tree")),
        {path: path.stat().st_mtime_ns for path in Path("tree").rglob("*.yaml")},
    )
    Path("policy.yaml").write_text(POLICY.replace("Europe/Berlin", "Europe/Paris"))
    assert run() == 0
    changed = {path for path, content in contents(Path("tree")).items() if before[path] != content}
    assert changed == {KUSTOMIZATION}
    assert {path for path, time in written.items() if path.stat().st_mtime_ns != time} == {
        Path("tree", KUSTOMIZATION)
    }


def test_a_cluster_that_is_new_changes_no_other(run: Run) -> None:
    """Nor the base, though it comes first."""
    run()
    before = contents(Path("tree"))
    Path("policy.yaml").write_text(f"{POLICY}    aachen: {{timeZone: Europe/Berlin}}\n")
    assert run() == 0
    assert before.items() <= contents(Path("tree")).items()
    assert window(Path("tree"), "aachen").is_dir()


def test_a_cluster_that_is_gone_goes(run: Run) -> None:
    """Only files that were rendered; what else lies in its directory stays."""
    run()
    (Path("tree/clusters/berlin") / "apps.yaml").write_text("theirs\n")
    Path("tree/clusters/dallas").mkdir()
    Path("tree/clusters/dallas/apps.yaml").write_text("theirs\n")
    Path("policy.yaml").write_text(
        re.sub(r"    berlin:\n.*\n", "", POLICY).replace("    chicago:", "    chemnitz:")
    )
    assert run("--check") == 1
    assert run() == 0
    assert sorted(map(str, Path("tree/clusters").glob("*/*"))) == [
        "tree/clusters/berlin/apps.yaml",
        "tree/clusters/chemnitz/reconciliation-window",
        "tree/clusters/dallas/apps.yaml",
        "tree/clusters/singapore/reconciliation-window",
    ]


def test_of_a_cluster_that_is_gone_is_said_what_stays_closed(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_a_cluster_that_was_opened_for_ever_goes_without_a_word(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has closed nothing that would stay closed."""
    Path("policy.yaml").write_text(
        re.sub("    chicago:.*\n", "    chicago:\n      state: Open\n", POLICY)
    )
    run()
    Path("policy.yaml").write_text(re.sub("    chicago:.*\n(      .*\n)*", "", POLICY))
    capsys.readouterr()
    assert run() == 0
    assert not Path("tree/clusters/chicago").exists()
    assert "cluster-dropped" not in capsys.readouterr().err


@pytest.mark.parametrize("layout", ["overlays", "flat"])
def test_the_base_of_a_cluster_that_keeps_its_files_stays(
    run: Run, layout: str, tool: Callable[[str], Path]
) -> None:
    """Whatever takes its place: without it the cluster could not be built any more."""
    run()
    Path("second.yaml").write_text(SECOND + "  clusters: {berlin: {}, chicago: {}}\n")
    # Two of three demand `formerNames`, and the third is no more.
    assert run("--layout", layout, policies=("second.yaml",)) == 1
    assert not Path("tree/clusters/singapore").exists()
    assert Path("tree/reconciliation-window/change").exists()
    assert built(tool("kubectl"), window(Path("tree"), "berlin"))
    renamed = SECOND.replace("spec:\n", "spec:\n  formerNames: [flux-system/change]\n")
    released = (
        "  released: [{kind: Kustomization, names: [apps, infra]}]\n  clusters: {berlin: {}}\n"
    )
    Path("second.yaml").write_text(renamed + released)
    assert run("--layout", layout, policies=("second.yaml",)) == 0
    assert not Path("tree/reconciliation-window/change").exists()


def test_from_one_layout_to_the_other(run: Run) -> None:
    """Nothing of the former stays."""
    run("--layout", "flat")
    flat = contents(Path("tree"))
    run()
    run("--layout", "flat")
    assert contents(Path("tree")) == flat
    assert not Path("tree/reconciliation-window").exists()


@pytest.mark.parametrize(
    "place", [KUSTOMIZATION, "reconciliation-window/change/cronjob_change-resync.yaml"]
)
@pytest.mark.parametrize("edit", ["line", "comment", "gone"])
def test_an_edit_by_hand_is_noticed(
    run: Run, place: str, edit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By `--check`, and by the next run, which puts it right."""
    run()
    before, path = contents(Path("tree")), Path("tree", place)
    text = path.read_text()
    match edit:
        case "line":
            path.write_text(
                text.replace("* * * *", "1 * * *", 1)
                if "* * * *" in text
                else text.replace("08", "09")
            )
        case "comment":
            path.write_text(f"{text}# edited\n")
        case _:
            path.unlink()
    assert contents(Path("tree")) != before
    capsys.readouterr()
    assert run("--check") == 1
    assert f"\n  tree/{place}\n" in capsys.readouterr().out
    assert run("--check", "--diff") == 1
    assert f"+++ b/{place}" in capsys.readouterr().out
    assert run() == 0
    assert contents(Path("tree")) == before
    assert run("--check") == 0


def test_what_only_a_cluster_says_is_said_each_time(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning does not go because nothing changed, and `--strict` keeps what was there."""
    Path("policy.yaml").write_text(
        POLICY.replace("    berlin:\n", "    berlin:\n      state: Closed\n")
    )
    for _ in range(2):
        assert run() == 0
        assert capsys.readouterr().err.count("(state-held)") == 1
    before = contents(Path("tree"))
    Path("policy.yaml").write_text(
        POLICY.replace("    berlin:\n", "    berlin:\n      state: Open\n")
    )
    assert run("--strict") == 1
    assert contents(Path("tree")) == before


def test_an_error_in_one_cluster_is_reported_with_its_name(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """That cluster keeps its files, and all others are rendered."""
    Path("policy.yaml").write_text(
        POLICY.replace("timeZone: Europe/Berlin", "timeZone: Europe/Atlantis")
    )
    assert run() == 1
    assert "spec.clusters.berlin.timeZone" in capsys.readouterr().err
    assert sorted(path.name for path in Path("tree/clusters").iterdir()) == ["chicago", "singapore"]


@pytest.mark.slow
def test_a_base_that_is_no_policy_by_itself(run: Run, tool: Callable[[str], Path]) -> None:
    """Where every cluster brings its own windows, the first of them stands for all."""
    head, clusters = POLICY.split("  windows:\n", 1)
    named = clusters[clusters.index("  clusters:") :].replace(
        "    berlin:\n", "    berlin:\n      windows: {x: {opens: Mon 08:00, closes: Tue 09:00}}\n"
    )
    Path("policy.yaml").write_text(head + named)
    assert run() == run("--layout", "flat", "--output-dir", "flat") == 0
    for cluster in CLUSTERS:
        engine = tool("kustomize")
        assert built(engine, window(Path("tree"), cluster)) == built(
            engine, window(Path("flat"), cluster)
        )


@pytest.mark.slow
def test_several_policies(run: Run, tool: Callable[[str], Path]) -> None:
    """One that names no clusters reaches all; policies of one name in two namespaces keep apart."""
    Path("second.yaml").write_text(SECOND)
    Path("third.yaml").write_text(
        POLICY.replace("namespace: flux-system", "namespace: tenants").replace("chicago", "dallas")
    )
    policies = ("policy.yaml", "second.yaml", "third.yaml")
    assert (
        run(policies=policies)
        == run("--layout", "flat", "--output-dir", "flat", policies=policies)
        == 0
    )
    for cluster in (*CLUSTERS, "dallas"):
        objects = built(tool("kustomize"), window(Path("tree"), cluster))
        assert objects == built(tool("kustomize"), window(Path("flat"), cluster))
        found = {(namespace, name) for kind, namespace, name in objects if kind == "ConfigMap"}
        gates = {("flux-system", "change-gate"), ("tenants", "change-gate")}
        one = {("tenants" if cluster == "chicago" else "flux-system", "change-gate")}
        assert found == (
            {("flux-system", "sources-gate")}
            | (gates - one if cluster in ("chicago", "dallas") else gates)
        )


@pytest.mark.slow
def test_a_directory_of_policies_or_patches(run: Run, tool: Callable[[str], Path]) -> None:
    """A file or a directory for each cluster.

    What patches the policy yields what `clusters` does.
    """
    run()
    expected = {
        cluster: built(tool("kustomize"), window(Path("tree"), cluster)) for cluster in CLUSTERS
    }
    head, _, patches = POLICY.partition("  clusters:\n")
    Path("policy.yaml").write_text(head)
    kind = (
        "apiVersion: krm-windows.dev/v1alpha1\nkind: WindowPolicy\nmetadata: {name: change}\n"
        "spec:\n"
    )
    for found in re.finditer(r"    (\w+):\n((?:      .*\n)+)", patches):
        path = (
            Path("fleet", found[1], "deep/times.yaml")
            if found[1] == "chicago"
            else Path("fleet", f"{found[1]}.yaml")
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(kind + found[2].replace("      ", "  "))
    Path("fleet/README.md").touch()
    assert run("--output-dir", "patched", clusters="--clusters fleet") == 0
    assert {
        cluster: built(tool("kustomize"), window(Path("patched"), cluster)) for cluster in CLUSTERS
    } == expected
    for cluster in CLUSTERS:
        Path("fleet", f"{cluster}-2.yaml").write_text(SECOND)
    assert run("--output-dir", "own", policies=(), clusters="--clusters fleet") == 1
    # Chicago has a target in another namespace, and nothing says what delivers the windows.
    assert run("--output-dir", "own", "--strict", clusters="--clusters fleet") == 1
    assert run("--output-dir", "own", clusters="--clusters fleet") == 0
    assert len(list(Path("own/clusters").iterdir())) == 6


def test_a_null_that_a_merge_would_drop_is_refused(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster's document that removes below `clusters` would be merged to nothing.

    The line is reported.
    """
    head = "# ours\napiVersion: krm-windows.dev/v1alpha1\nkind: WindowPolicy\n"
    patch = (
        "metadata: {name: change, namespace: flux-system}\nspec:\n  clusters:\n    b:\n"
        "      freezes: null\n"
    )
    Path("plants").mkdir()
    Path("plants/a.yaml").write_text(head + patch)
    assert run(clusters="--clusters plants") == 1
    said = capsys.readouterr().err
    assert "spec.clusters.b.freezes: must not be null in a patch" in said
    assert "(plants/a.yaml:8) [a] (cluster-null-dropped)" in said
    Path("plants/a.yaml").write_text(
        head + patch.replace("  clusters:\n    b:\n      freezes", "  freezes")
    )
    assert run(clusters="--clusters plants") == 0


def test_the_delivery_of_each_cluster(run: Run, tool: Callable[[str], Path]) -> None:
    """A Kustomization with the path of its windows; `prune` unless the template says it."""
    Path("template.yaml").write_text(TEMPLATE)
    assert run("--flux-kustomizations", "template.yaml") == 0
    [found] = built(tool("kustomize"), Path("tree/clusters/berlin/delivery")).values()
    assert found["spec"] == {
        "interval": "10m",
        "path": "./windows/clusters/berlin/reconciliation-window",
        "prune": True,
        "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
    }
    assert run() == 0
    assert not Path("tree/clusters/berlin/delivery").exists()


def test_a_delivery_that_its_windows_would_close(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is rendered that could lock itself out."""
    Path("template.yaml").write_text(f"{TEMPLATE}  dependsOn: [{{name: infra}}]\n")
    assert run("--flux-kustomizations", "template.yaml") == 1
    assert "must not gate Kustomization flux-system/infra" in capsys.readouterr().err
    assert not Path("tree").exists()


def test_what_flux_delivers_already_is_not_delivered_twice(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it was bootstrapped it applies whatever lies there, unless a kustomization lists it."""
    Path("template.yaml").write_text(TEMPLATE)
    Path("tree/clusters/berlin/flux-system").mkdir(parents=True)
    assert run("--flux-kustomizations", "template.yaml") == 1
    assert "delivered twice" in capsys.readouterr().err
    Path("tree/clusters/berlin/kustomization.yaml").write_text("resources: [delivery]\n")
    assert run("--flux-kustomizations", "template.yaml") == 0


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("kind: ConfigMap\n", "must contain exactly one Kustomization, found ConfigMap"),
        (
            TEMPLATE.replace("kustomize.toolkit.fluxcd.io/v1", "kustomize.config.k8s.io/v1"),
            "must be a Kustomization of kustomize.toolkit.fluxcd.io",
        ),
        (TEMPLATE.replace("  interval: 10m\n", ""), "must have spec.interval"),
        (f"{TEMPLATE}---\n{TEMPLATE}", "must contain exactly one Kustomization, found 2"),
    ],
)
def test_no_template(
    run: Run, template: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Flux requires is asked for here."""
    Path("template.yaml").write_text(template)
    assert run("--flux-kustomizations", "template.yaml") == 1
    assert said in capsys.readouterr().err


def test_what_a_change_forgets_is_demanded(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """In each cluster, from what was rendered before; a policy that was held open may go."""
    Path("second.yaml").write_text(SECOND)
    for layout in ("overlays", "flat"):
        run("--layout", layout, policies=("policy.yaml", "second.yaml"))
        before = contents(Path("tree"))
        capsys.readouterr()
        assert run("--layout", layout) == 1
        said = capsys.readouterr().err
        assert 'must list "flux-system/sources", the policy\'s former name' in said
        assert "[berlin, chicago, singapore]" in said
        assert {
            path: content
            for path, content in contents(Path("tree")).items()
            if "sources" not in path
        } == {
            path: content for path, content in before.items() if "sources" not in path
        } or layout == "overlays"
        Path("second.yaml").write_text(SECOND.replace("spec:\n", "spec:\n  state: Open\n"))
        run("--layout", layout, policies=("policy.yaml", "second.yaml"))
        assert run("--layout", layout) == 0
        Path("second.yaml").write_text(SECOND)


def test_resources_of_each_cluster(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """`{cluster}` stands for its name; what was rendered into them before is none."""
    item = TEMPLATE.replace("reconciliation-window", "%s")
    for cluster in CLUSTERS:
        Path(f"tree/clusters/{cluster}").mkdir(parents=True)
        names = ("apps",) if cluster == "berlin" else ("infra", "apps")
        Path(f"tree/clusters/{cluster}/all.yaml").write_text(
            "---\n".join(item % name for name in names)
        )
    for _ in range(2):
        assert run("--resources", "tree/clusters/{cluster}") == 1
        said = capsys.readouterr().err
        assert "Kustomization flux-system/infra not found in the resources; found: apps" in said
        assert said.count("[error]") == 1
        assert "[berlin]" in said


@pytest.mark.parametrize(
    ("clusters", "said"),
    [
        ("[north, south]", "spec.clusters: must be a map"),
        ("north", "spec.clusters: must be a map"),
        ("{north: , south: ~}", "spec.clusters.north: must be a map"),
    ],
)
def test_clusters_that_cannot_be_read(
    run: Run, clusters: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were named, so it is said what is wrong with them, and not that there are none."""
    Path("second.yaml").write_text(f"{SECOND}  clusters: {clusters}\n")
    assert run(policies=("second.yaml",)) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["render", "--output-dir", "x"], "takes one POLICY for one cluster, got 0"),
        (["render", "second.yaml", "--all-clusters", "--output-dir", "x"], "no cluster found"),
        (
            ["render", "policy.yaml", "policy.yaml", "--all-clusters", "--output-dir", "x"],
            "a policy is given twice",
        ),
        (
            ["render", "policy.yaml", "--clusters", "nowhere", "--output-dir", "x"],
            "nowhere: no such directory",
        ),
        (
            ["render", "policy.yaml", "--clusters", "named", "--output-dir", "x"],
            "'Berlin' is not a valid cluster name",
        ),
    ],
)
def test_wrong_calls(
    run: Run, argv: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is reported in one line."""
    assert run
    Path("second.yaml").write_text(SECOND)
    Path("named").mkdir()
    Path("named/Berlin.yaml").touch()
    # Of these, one can be seen from the call alone.
    code = 2 if said.startswith("takes one POLICY") else 1
    assert main(argv) == code
    assert said in capsys.readouterr().err

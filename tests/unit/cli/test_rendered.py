"""What is rendered follows its policy, and where it does not, that is found."""

import json
import shlex
import subprocess
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from effort import mostly_slow

from krm_windows.cli import main
from krm_windows.render import command

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: {name}
  namespace: flux-system
  annotations: {{config.kubernetes.io/local-config: "true"}}
spec:
  timeZone: Europe/Berlin
  targets: [{{kind: Kustomization, names: [{name}]}}]
  windows:
    week: {{opens: Mon-Thu 09:00, closes: "16:00"}}
  clusters: {{north: {{}}, south: {{timeZone: Asia/Tokyo}}}}
"""
TARGET = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  interval: 10m
  path: ./{path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"""
# Every form in which `render` writes windows, by its options behind the policy.
LAYOUTS = {
    "one-directory": "--output-dir clusters/north/win --resources clusters/north",
    "of-a-cluster": "--output-dir clusters/south/win --cluster south",
    "overlays": "--output-dir fleet --all-clusters --resources 'clusters/{cluster}'",
    "delivered": "--output-dir clusters/north/win --flux-kustomization clusters/north/sync.yaml",
    "several": "night.yaml --output-dir fleet --all-clusters",
    "uninstalled": "--output-dir clusters/north/win --uninstall",
}
CHANGES = {
    "set": ["set", "week.yaml", "--patch", '{"spec": {"windows": {"week": {"closes": "15:00"}}}}'],
    "open": ["override", "week.yaml", "open", "--for", "2h", "--reason", "fix", "--name", "fix"],
    "closed": ["override", "week.yaml", "closed", "--for", "2h", "--reason", "stop"],
    "one-cluster": [
        *("override", "week.yaml", "open", "--cluster", "south", "--for", "2h"),
        *("--reason", "fix"),
    ],
}


@pytest.fixture(params=mostly_slow(LAYOUTS.values(), 9), ids=LAYOUTS)
def rendered(request: pytest.FixtureRequest, repository: Path) -> Path:
    """A repository in which a policy is rendered."""
    assert main(["render", "week.yaml", *shlex.split(request.param)]) == 0
    return repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of two clusters with two policies."""
    for cluster in ("north", "south"):
        folder = tmp_path / "clusters" / cluster
        folder.mkdir(parents=True)
        (folder / "sync.yaml").write_text(
            TARGET.format(name="flux-system", path=f"clusters/{cluster}")
        )
        for name in ("week", "night"):
            (tmp_path / name).mkdir(exist_ok=True)
            (folder / f"{name}.yaml").write_text(TARGET.format(name=name, path=name))
    for name in ("week", "night"):
        (tmp_path / f"{name}.yaml").write_text(POLICY.format(name=name))
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    # What is rendered needs no build, which would take most of the time.
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return tmp_path


Found = Callable[..., dict[str, str]]


@pytest.fixture
def found(capsys: pytest.CaptureFixture[str]) -> Found:
    """Return what `check --repo` finds of rendered windows: messages by rule."""

    def run(directory: str = ".") -> dict[str, str]:
        capsys.readouterr()
        main(["check", "--repo", directory, "-o", "json", "--source", "flux-system=."])
        report = json.loads(capsys.readouterr().out)
        named = {result["tags"]["rule"]: result["message"] for result in report["results"]}
        return {
            rule: named[rule] for rule in named if rule in ("windows-stale", "windows-unchecked")
        }

    return run


def edited(repository: Path) -> None:
    """Change the policy as an editor does."""
    file = repository / "week.yaml"
    file.write_text(file.read_text().replace("16:00", "15:00"))


def test_fresh_windows_are_no_finding(rendered: Path, found: Found) -> None:
    """From wherever it is checked."""
    assert found() == {}
    assert found(str(rendered)) == {}


def test_stale_windows_are_found_with_the_command_that_renews_them(
    rendered: Path, found: Found
) -> None:
    """In every layout."""
    edited(rendered)
    message = found()["windows-stale"]
    assert "week.yaml" in message
    words = shlex.split(message.split("`")[1])
    assert words[:2] == ["krm-windows", "render"]
    assert main(words[1:]) == 0
    assert found() == {}


def test_a_file_that_somebody_edited_is_found(rendered: Path, found: Found) -> None:
    """It will be taken back by the next render, and says something else until then."""
    file = next(path for path in sorted(rendered.rglob("kustomization.yaml")))
    file.write_text(f"{file.read_text()}namePrefix: a-\n")
    assert "1 file out of date" in found()["windows-stale"]


def test_windows_whose_policy_is_gone_are_stale(rendered: Path, found: Found) -> None:
    """Nobody can change them any more."""
    (rendered / "week.yaml").rename(rendered / "elsewhere.yaml")
    assert "week.yaml: no such file" in found()["windows-stale"].lower()


def test_windows_of_an_earlier_version_cannot_be_checked(rendered: Path, found: Found) -> None:
    """They do not say how they were rendered."""
    for path in rendered.rglob("kustomization.yaml"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "rendered-by" not in line))
    assert list(found()) == ["windows-unchecked"]


def test_the_line_is_the_same_wherever_it_is_rendered_from(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clones and two directories make the same files."""
    file = repository / "clusters/north/win/kustomization.yaml"
    arguments = shlex.split(LAYOUTS["one-directory"])
    assert main(["render", "week.yaml", *arguments]) == 0
    before = file.read_text()
    assert before.splitlines()[1] == (
        "# krm-windows.dev/rendered-by: krm-windows render ../../../week.yaml --resources .. "
        "--output-dir ."
    )
    monkeypatch.chdir(repository / "clusters")
    absolute = str(repository / "week.yaml")
    arguments = ["--output-dir", "north/win", "--resources", "./north"]
    assert main(["render", absolute, *arguments]) == 0
    assert file.read_text() == before


@pytest.mark.parametrize(
    "words",
    [
        "krm-windows render /etc/passwd --output-dir .",
        "krm-windows render ../../../../outside.yaml --output-dir .",
        "krm-windows render ../../../week.yaml --output-dir /tmp/out",
        "krm-windows render ../../../week.yaml --output-dir ../../../..",
        "krm-windows render ../../../week.yaml --output-dir . --resources /etc",
        "krm-windows render - --output-dir .",
        "krm-windows serve --repo . --output-dir .",
        "rm -rf ../../../week.yaml --output-dir .",
        "krm-windows render ../../../week.yaml --output-dir . --no-such-option",
        "krm-windows render ../../../week.yaml --output-dir . --help",
        "krm-windows render '../../../week.yaml --output-dir .",
        "krm-windows",
        "",
    ],
)
def test_a_line_runs_no_other_command_and_leads_nowhere_else(words: str) -> None:
    """A repository may be anybody's."""
    content = (
        f"# krm-windows.dev/rendered-from: a/b (edit it)\n# krm-windows.dev/rendered-by: {words}\n"
    )
    assert command.read(content.encode(), "clusters/north/win") is None


def test_a_link_leads_nowhere_else(
    repository: Path, found: Found, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What is behind it is not read."""
    assert main(["render", "week.yaml", *shlex.split(LAYOUTS["one-directory"])]) == 0
    outside = tmp_path_factory.mktemp("outside") / "week.yaml"
    (repository / "week.yaml").rename(outside)
    (repository / "week.yaml").symlink_to(outside)
    assert "leads out of the repository" in found()["windows-stale"]


def test_state_says_whether_it_is_rendered(
    rendered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of every layout: current, stale with the one command that heals it, or unknown and why."""
    assert stages(capsys) == (["current"], [False])
    edited(rendered)
    [line], [is_stale] = stages(capsys)
    assert is_stale is True
    _, _, command = line.partition("out of date): run ")
    assert main(shlex.split(command)[1:]) == 0
    assert stages(capsys) == (["current"], [False])
    for path in rendered.rglob("kustomization.yaml"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "rendered-by" not in line))
    lines, [*are_stale] = stages(capsys)
    assert set(are_stale) == {None}
    assert all("nothing in it says how it was rendered" in line for line in lines)


def stages(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[bool | None]]:
    """Return what `state` says of the rendered directories, as text and as JSON."""
    capsys.readouterr()
    assert main(["state", "week.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith("rendered: ")]
    assert main(["state", "week.yaml", "-o", "json"]) == 0
    records = json.loads(capsys.readouterr().out)["rendered"]
    short = ["current" if line.endswith(" is current") else line for line in said]
    return short, [each["stale"] for each in records]


def test_state_does_not_call_rendered_what_it_did_not_find(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was rendered; or nobody could look for it, as the policy has no place."""
    assert stages(capsys) == ([], [])
    main(["state", "week.yaml"])
    assert "\nnot rendered: no directory of this repository" in capsys.readouterr().out
    content = (repository / "week.yaml").read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))
    main(["state", "-", "-o", "json"])
    assert json.loads(capsys.readouterr().out)["rendered"] is None


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_writes_a_policy_renders_it_in_every_layout(
    change: list[str], rendered: Path, found: Found
) -> None:
    """What is written is rendered, and `render` has nothing left to do."""
    before = contents(rendered)
    assert main(change) == 0
    # Not every layout has the one cluster that is opened.
    assert "--cluster" in change or contents(rendered) != before
    assert found() == {}


def test_a_dry_run_says_what_would_be_rendered(
    rendered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it is written."""
    before = {path: path.read_bytes() for path in rendered.rglob("*.yaml")}
    capsys.readouterr()
    assert main([*CHANGES["open"], "--dry-run"]) == 0
    assert capsys.readouterr().out.endswith(": would be rendered again\n")
    assert {path: path.read_bytes() for path in rendered.rglob("*.yaml")} == before


@pytest.mark.slow
def test_what_is_stale_is_rendered_though_the_policy_stays(
    rendered: Path, found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody else changed the file as it is asked for, and rendered nothing."""
    edited(rendered)
    assert main(CHANGES["set"]) == 0
    said = capsys.readouterr().out
    assert "already up to date" in said
    assert "rendered again, " in said
    assert found() == {}


def contents(repository: Path) -> dict[Path, bytes]:
    """Return what is rendered in a repository."""
    every = (path for path in repository.rglob("*.yaml") if "rendered-from" in path.read_text())
    return {path: path.read_bytes() for path in every}


@pytest.mark.slow
def test_to_end_and_to_prune_overrides_is_rendered_too(rendered: Path, found: Found) -> None:
    """What was rendered is what it was before the override."""
    before = contents(rendered)
    assert main(CHANGES["open"]) == 0
    assert main(["override", "week.yaml", "--end", "fix"]) == 0
    assert contents(rendered) == before
    over = '{"spec": {"overrides": {"old": {"starts": "2026-01-01T00:00:00Z", "until": '
    over += '"2026-01-02T00:00:00Z", "state": "open", "reason": "x"}}}}'
    main(["set", "week.yaml", "--patch", over])
    assert main(["override", "week.yaml", "--prune"]) == 0
    assert found() == {}


@pytest.mark.slow
def test_from_another_directory(
    rendered: Path, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository is found from the policy, and not from where one is."""
    monkeypatch.chdir(rendered / "clusters")
    assert main(["set", "../week.yaml", *CHANGES["set"][2:]]) == 0
    assert found(str(rendered)) == {}


def test_an_error_of_render_leaves_everything_as_it_was(
    rendered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would have no effect in the cluster; a change that is not urgent is not written."""
    (rendered / "clusters/north/win").mkdir(exist_ok=True)
    if "--uninstall" in "".join(map(Path.read_text, rendered.rglob("kustomization.yaml"))):
        return  # to uninstall names its targets whatever they are
    before = (rendered / "week.yaml").read_bytes(), contents(rendered)
    patch = '{"spec": {"targets": [{"kind": "Kustomization", "names": ["other"]}]}}'
    assert main(["set", "week.yaml", "--patch", patch]) == 1
    assert "not written because of the errors above" in capsys.readouterr().out
    assert ((rendered / "week.yaml").read_bytes(), contents(rendered)) == before


def test_what_cannot_be_rendered_is_said_with_the_command(
    repository: Path, found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    """At 3 a.m. the policy is written all the same, and the exit code says that more is to do."""
    assert main(["render", "week.yaml", *shlex.split(LAYOUTS["one-directory"])]) == 0
    (repository / "clusters/north").rename(repository / "clusters/moved")
    (repository / "clusters/moved/win").rename(repository / "win")
    (repository / "clusters/north").mkdir()
    (repository / "win").rename(repository / "clusters/north/win")
    (repository / "clusters/north/bad.yaml").write_text("{")
    capsys.readouterr()
    assert main(CHANGES["open"]) == 1
    said = capsys.readouterr().out
    assert "week.yaml: written" in said
    assert "clusters/north/win: stale" in said
    assert "krm-windows render week.yaml --resources clusters/north --output-dir" in said
    assert "fix:" in (repository / "week.yaml").read_text()
    assert "windows-stale" in found()


def test_windows_that_say_no_command_are_said_to_be_stale(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They were rendered by an earlier version."""
    assert main(["render", "week.yaml", *shlex.split(LAYOUTS["one-directory"])]) == 0
    file = repository / "clusters/north/win/kustomization.yaml"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:1]))
    assert main(CHANGES["open"]) == 1
    assert "clusters/north/win: stale" in capsys.readouterr().out


def test_one_commit_has_the_policy_and_what_is_rendered(
    rendered: Path, tool: Callable[[str], Path]
) -> None:
    """And nothing that was staged beside it."""
    git = [str(tool("git")), "-C", str(rendered)]
    (rendered / ".git").rmdir()
    subprocess.run([*git, "init", "--quiet", "-b", "main"], check=True)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
        subprocess.run([*git, "config", name, value], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "first"], check=True)
    (rendered / "staged").write_text("")
    subprocess.run([*git, "add", "staged"], check=True)
    assert main([*CHANGES["open"], "--commit"]) == 0
    status = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True)
    assert status.stdout == b"A  staged\n"
    names = ["show", "--name-only", "--format=", "HEAD"]
    shown = subprocess.run([*git, *names], check=True, capture_output=True, text=True)
    assert "week.yaml" in shown.stdout.split()
    assert len(shown.stdout.split()) > 1


def test_a_policy_of_the_same_name_in_another_file_is_another(
    repository: Path, found: Found
) -> None:
    """As `init` names them: each cluster has its own `deploy-windows`."""
    for cluster in ("north", "south"):
        file = repository / f"clusters/{cluster}/week-policy.yaml"
        file.write_text((repository / "week.yaml").read_text())
        output = ["--output-dir", f"clusters/{cluster}/win", "--cluster", cluster]
        assert main(["render", str(file), *output]) == 0
    south = contents(repository / "clusters/south")
    assert main(["set", "clusters/north/week-policy.yaml", *CHANGES["set"][2:]]) == 0
    assert contents(repository / "clusters/south") == south
    assert found() == {}

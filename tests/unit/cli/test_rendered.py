"""What is rendered follows its policy, and where it does not, that is found."""

import json
import shlex
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from calls import APPS, Run, spec
from effort import mostly_slow
from past import Past

from krm_windows.render import command

POLICY = spec(clusters="{north: {}, south: {timeZone: Asia/Tokyo}}")
# Every form in which `render` writes windows, by its options behind the policy.
LAYOUTS = {
    "one-directory": "--output-dir clusters/north/win --resources clusters/north",
    "of-a-cluster": "--output-dir clusters/south/win --cluster south",
    "overlays": "--output-dir fleet --all-clusters --resources 'clusters/{cluster}'",
    "delivered": "--output-dir clusters/north/win --flux-kustomization clusters/north/sync.yaml",
    "several": "night.yaml --output-dir fleet --all-clusters",
    "uninstalled": "--output-dir clusters/north/win --uninstall",
}
PATCH = '{"spec": {"windows": {"office": {"closes": "Thu 15:00"}}}}'
CHANGES = {
    "set": ["set", "week.yaml", "--patch", PATCH],
    "open": ["override", "week.yaml", "open", "--for=2h", "--reason=fix", "--name=fix"],
    "closed": ["override", "week.yaml", "closed", "--for=2h", "--reason=stop"],
    "one-cluster": ["override", "week.yaml", "open", "--cluster=south", "--for=2h", "--reason=fix"],
}


@pytest.fixture(params=mostly_slow(LAYOUTS.values(), 9), ids=LAYOUTS)
def rendered(request: pytest.FixtureRequest, repository: Path, run: Run) -> Path:
    assert run("render", "week.yaml", *shlex.split(request.param)).code == 0
    return repository


@pytest.fixture
def one(repository: Path, run: Run) -> Path:
    assert run("render", "week.yaml", *shlex.split(LAYOUTS["one-directory"])).code == 0
    return repository / "clusters/north/win"


@pytest.fixture
def repository(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    assert run
    for cluster in ("north", "south"):
        folder = tmp_path / "clusters" / cluster
        folder.mkdir(parents=True)
        own = APPS.replace("name: apps", "name: flux-system")
        (folder / "sync.yaml").write_text(own.replace("./apps", f"./clusters/{cluster}"))
        for name in ("week", "night"):
            (tmp_path / name).mkdir(exist_ok=True)
            (folder / f"{name}.yaml").write_text(APPS.replace("apps\n", f"{name}\n"))
    for name in ("week", "night"):
        text = POLICY.replace("name: week", f"name: {name}").replace("- apps", f"- {name}")
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "policy.yaml").unlink()
    (tmp_path / ".git").mkdir()
    # What is rendered needs no build, which would take most of the time.
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return tmp_path


Found = Callable[..., dict[str, str]]


@pytest.fixture
def found(run: Run) -> Found:
    def findings(directory: str = ".") -> dict[str, str]:
        checked = run("check", "--repo", directory, "-o", "json", "--source", "fleet=.")
        results = json.loads(checked.out)["results"]
        named = {each["tags"]["rule"]: each["message"] for each in results}
        return {key: named[key] for key in ("windows-stale", "windows-unchecked") if key in named}

    return findings


def edited(repository: Path) -> None:
    file = repository / "week.yaml"
    file.write_text(file.read_text().replace("17:00", "15:00"))


def unsigned(directory: Path) -> None:
    """Leave of what is rendered what an earlier version wrote: not how it was rendered."""
    for path in directory.rglob("kustomization.yaml"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(line for line in lines if "rendered-by" not in line))


def test_stale_windows_are_found_with_the_command_that_renews_them(
    rendered: Path, found: Found, run: Run
) -> None:
    assert found() == found(str(rendered)) == {}
    edited(rendered)
    message = found()["windows-stale"]
    assert "week.yaml" in message
    words = shlex.split(message.split("`")[1])
    assert words[:2] == ["krm-windows", "render"]
    assert run(*words[1:]).code == 0
    assert found() == {}


def test_what_else_is_not_as_it_would_be_rendered(one: Path, found: Found) -> None:
    file = one / "kustomization.yaml"
    content = file.read_text()
    file.write_text(f"{content}namePrefix: a-\n")
    assert "1 file out of date" in found()["windows-stale"]
    file.write_text(content)
    Path("week.yaml").rename("elsewhere.yaml")
    assert "week.yaml: no such file" in found()["windows-stale"].lower()
    unsigned(one)
    assert list(found()) == ["windows-unchecked"]


def test_the_line_is_the_same_wherever_it_is_rendered_from(
    one: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    file = one / "kustomization.yaml"
    before = file.read_text()
    assert before.splitlines()[1] == (
        "# krm-windows.dev/rendered-by: krm-windows render ../../../week.yaml --resources .. "
        "--output-dir ."
    )
    absolute = str(Path("week.yaml").absolute())
    monkeypatch.chdir("clusters")
    arguments = ["--output-dir", "north/win", "--resources", "./north"]
    assert run("render", absolute, *arguments).code == 0
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


@pytest.mark.usefixtures("one")
def test_a_link_leads_nowhere_else(
    repository: Path, found: Found, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "week.yaml"
    (repository / "week.yaml").rename(outside)
    (repository / "week.yaml").symlink_to(outside)
    assert "leads out of the repository" in found()["windows-stale"]


def test_state_says_whether_it_is_rendered(rendered: Path, run: Run) -> None:
    assert stages(run) == (["current"], [False])
    edited(rendered)
    [line], [is_stale] = stages(run)
    assert is_stale is True
    _, _, command = line.partition("out of date): run ")
    assert run(*shlex.split(command)[1:]).code == 0
    assert stages(run) == (["current"], [False])
    unsigned(rendered)
    lines, [*are_stale] = stages(run)
    assert set(are_stale) == {None}
    assert all("nothing in it says how it was rendered" in line for line in lines)


def stages(run: Run) -> tuple[list[str], list[bool | None]]:
    said = [line for line in run("state", "week.yaml").out.splitlines() if "rendered: " in line]
    records = json.loads(run("state", "week.yaml", "-o", "json").out)["rendered"]
    short = ["current" if line.endswith(" is current") else line for line in said]
    return short, [each["stale"] for each in records]


def test_state_does_not_call_rendered_what_it_did_not_find(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\nnot rendered: no directory of this repository" in run("state", "week.yaml").out
    content = (repository / "week.yaml").read_bytes()
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))
    assert json.loads(run("state", "-", "-o", "json").out)["rendered"] is None


@pytest.mark.parametrize("change", mostly_slow(CHANGES.values(), 2))
def test_what_writes_a_policy_renders_it_in_every_layout(
    change: list[str], rendered: Path, found: Found, run: Run
) -> None:
    before = contents(rendered)
    assert run(*change).code == 0
    # Not every layout has the one cluster that is opened.
    assert "--cluster=south" in change or contents(rendered) != before
    assert found() == {}


def test_a_dry_run_says_what_would_be_rendered(one: Path, run: Run) -> None:
    before = contents(one)
    code, out, _ = run(*CHANGES["open"], "--dry-run")
    assert (code, out.endswith(": would be rendered again\n")) == (0, True)
    assert contents(one) == before


@pytest.mark.usefixtures("one")
def test_what_is_stale_is_rendered_though_the_policy_stays(
    repository: Path, found: Found, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(repository)
    monkeypatch.chdir("clusters")
    code, out, _ = run("set", "../week.yaml", "--patch", PATCH)
    assert code == 0
    assert "already up to date" in out
    assert "rendered again, " in out
    assert found(str(repository)) == {}


def contents(repository: Path) -> dict[Path, bytes]:
    every = (path for path in repository.rglob("*.yaml") if "rendered-from" in path.read_text())
    return {path: path.read_bytes() for path in every}


@pytest.mark.slow
def test_ended_and_pruned_overrides_are_rendered_too(
    rendered: Path, found: Found, run: Run
) -> None:
    before = contents(rendered)
    assert run(*CHANGES["open"]).code == 0
    assert run("override", "week.yaml", "--end", "fix").code == 0
    assert contents(rendered) == before
    over = {"state": "Open", "starts": "2025-01-01T10:00", "ends": "12:00", "reason": "x"}
    patch = json.dumps({"spec": {"overrides": {"old": over}}})
    assert run("set", "week.yaml", "--patch", patch).code == 0
    assert run("override", "week.yaml", "--prune").code == 0
    assert found() == {}


def test_an_error_of_render_leaves_everything_as_it_was(
    one: Path, repository: Path, run: Run
) -> None:
    """It would have no effect in the cluster; a change that is not urgent is not written."""
    before = (repository / "week.yaml").read_bytes(), contents(one)
    patch = '{"spec": {"targets": [{"kind": "Kustomization", "names": ["other"]}]}}'
    code, out, _ = run("set", "week.yaml", "--patch", patch)
    assert (code, "not written because of the errors above" in out) == (1, True)
    assert ((repository / "week.yaml").read_bytes(), contents(one)) == before


def test_what_cannot_be_rendered_is_said_with_the_command(
    one: Path, repository: Path, found: Found, run: Run
) -> None:
    """At 3 a.m. the policy is written all the same, and the exit code says that more is to do."""
    (one.parent / "bad.yaml").write_text("{")
    code, out, _ = run(*CHANGES["open"])
    assert code == 1
    assert "week.yaml: written" in out
    assert "clusters/north/win: stale" in out
    assert "krm-windows render week.yaml --resources clusters/north --output-dir" in out
    assert "fix:" in (repository / "week.yaml").read_text()
    assert "windows-stale" in found()
    # Windows of an earlier version say no command.
    unsigned(one)
    code, out, _ = run(*CHANGES["closed"])
    assert (code, "clusters/north/win: stale" in out) == (1, True)


@pytest.mark.usefixtures("one")
def test_one_commit_has_the_policy_and_what_is_rendered(
    repository: Path, tool: Callable[[str], Path], run: Run
) -> None:
    (repository / ".git").rmdir()
    past = Past(tool("git"), repository)
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
        past("config", name, value)
    past.commit("2026-01-01T00:00Z", {})
    (repository / "staged").touch()
    past("add", "staged")
    assert run(*CHANGES["open"], "--commit").code == 0
    assert past("status", "--porcelain") == "A  staged"
    shown = past("show", "--name-only", "--format=", "HEAD").split()
    assert "week.yaml" in shown
    assert len(shown) > 1


def test_a_policy_of_the_same_name_in_another_file_is_another(
    repository: Path, found: Found, run: Run
) -> None:
    """As `init` names them: each cluster has its own `deploy-windows`."""
    for cluster in ("north", "south"):
        file = repository / f"clusters/{cluster}/week-policy.yaml"
        file.write_text((repository / "week.yaml").read_text())
        output = ["--output-dir", f"clusters/{cluster}/win", "--cluster", cluster]
        assert run("render", file, *output).code == 0
    south = contents(repository / "clusters/south")
    assert run("set", "clusters/north/week-policy.yaml", "--patch", PATCH).code == 0
    assert contents(repository / "clusters/south") == south
    assert found() == {}

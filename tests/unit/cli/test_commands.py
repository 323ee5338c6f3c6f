"""The commands: what they print and write, and with which code they end."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, call, program, spec, wire
from differences import assert_same_files

from krm_windows import __version__
from krm_windows.cli import main
from krm_windows.cli.commands import COMMANDS
from krm_windows.schedule import zones

ROOT = Path(__file__).resolve().parents[3]
HEADER = "# krm-windows.dev/rendered-from: flux-system/week (edit the policy, not this file)\n"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


RENDERED = Ended(0, "", f"krm-windows: 15 files written, zone rules {zones.release()}\n")
UNCHANGED = Ended(0, "", f"krm-windows: no file changed, zone rules {zones.release()}\n")
FRESH = Ended(0, "", f"krm-windows: all files up to date, zone rules {zones.release()}\n")
Run = Callable[..., Ended]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in a folder with a policy and what it gates.

    The policy is `policy.yaml`, what it gates is `resources/apps.yaml`.
    """
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(APPS)

    def command(*argv: object) -> Ended:
        code = main([str(argument) for argument in argv])
        return Ended(code, *capsys.readouterr())

    return command


@pytest.mark.parametrize(
    "call",
    [
        "render policy.yaml --output-dir a --cluster north --cluster south",
        "render policy.yaml --output-dir a --output-dir b",
        "calendar policy.yaml -o json --output text",
        "calendar policy.yaml --days 3 --days 4",
        "state policy.yaml --at 2026-12-01T00:00Z --at 2026-12-02T00:00Z",
        "check --repo . --repo resources",
        "check --repo . --clusters a/* --clusters b/*",
        "migrate . --output-dir out --clusters a --clusters b",
    ],
)
def test_an_option_with_two_values_is_a_wrong_call(run: Run, call: str) -> None:
    """The last one would win, and what the first one names be forgotten."""
    ended = run(*call.split())
    assert (ended.code, ended.out) == (2, "")
    assert "takes only one value, but was given two" in ended.err
    assert sorted(path.name for path in Path().iterdir()) == ["policy.yaml", "resources"]


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("--source flux-system=nope", "directory not found"),
        ("--source a=. --source a=resources", "--source a: is given twice, as . and resources"),
        ("--source a=. --source b/a=resources", ""),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        "check --repo .",
        "migrate . --output-dir out",
        "init . --time-zone UTC",
        "pending policy.yaml --repo . --base HEAD",
    ],
)
def test_a_source_that_cannot_be_is_said(run: Run, call: str, sources: str, said: str) -> None:
    """Else every path in it would be called missing, or one of two be forgotten."""
    ended = run(*call.split(), *sources.split())
    assert ended.code == 2 or not said
    assert said in ended.err
    assert ("--source" in ended.err) is bool(said)


def rendered(folder: str = "out") -> dict[str, dict[str, object]]:
    """Return the rendered objects by the names of their files."""
    return {
        path.name: yaml.load(path.read_text(), yaml.CSafeLoader)
        for path in sorted(Path(folder).iterdir())
    }


def names(folder: str = "out") -> list[str]:
    """Return the names of the rendered files, without the hash of the Job."""
    return sorted(name.partition("-apply-")[0] for name in rendered(folder))


# help, version, wrong calls


def test_help(run: Run) -> None:
    """It names every command, and each command explains itself."""
    helped = run("--help")
    assert (helped.code, helped.err) == (0, "")
    for name in ("render", "verify", "calendar", "schema", "install"):
        assert name in helped.out
        assert run(name, "--help").out.startswith(f"usage: krm-windows {name} ")
    for command in COMMANDS:
        assert f"\n    {command} " in helped.out


def test_version(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the commit where it was built from one."""
    known = f"zone data {zones.release()}, Python {platform.python_version()}"
    assert run("--version").out == f"krm-windows {__version__}, {known}\n"
    monkeypatch.setattr("krm_windows.cli.version.COMMIT", "b1946ac9")
    assert run("-v").out == f"krm-windows {__version__} (commit b1946ac9), {known}\n"


@pytest.mark.parametrize(
    "argv",
    [
        ["frobnicate"],
        ["render"],
        ["render", "policy.yaml"],
        ["render", "policy.yaml", "--output-dir", "out", "--no-such-option"],
        ["calendar", "policy.yaml", "--from", "2026-02-30"],
        ["calendar", "policy.yaml", "--days", "0"],
        ["calendar", "policy.yaml", "--days", "9999"],
        ["schema", "-o", "toml"],
        ["install"],
        ["one", "two"],
    ],
    ids=" ".join,
)
def test_a_wrong_call(run: Run, argv: list[str]) -> None:
    """It is the caller's error, not a failure of ours, and is said on standard error."""
    ended = run(*argv)
    assert (ended.code, ended.out) == (2, "")
    assert "usage: krm-windows" in ended.err


@pytest.mark.parametrize(
    "argv",
    [
        ["render", "policy.yaml", "--output-dir", "out", "--cluster", "north", "--all-clusters"],
        ["check", "policy.yaml", "--cluster", "north", "--all-clusters"],
        ["check", "--repo", ".", "--cluster", "north"],
        ["check", "--repo", ".", "--all-clusters"],
        ["calendar", "policy.yaml", "--cluster", "north", "--all-clusters"],
    ],
    ids=" ".join,
)
def test_one_cluster_and_more_of_them_are_a_wrong_call(run: Run, argv: list[str]) -> None:
    """Neither of the two is silently left out, whatever the files hold, and nothing is written."""
    ended = run(*argv)
    assert (ended.code, ended.out) == (2, "")
    said = ("cannot be used together", "need a POLICY", "not allowed with argument")
    assert any(each in ended.err for each in said)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["calendar", "nope.yaml"], "nope.yaml: No such file or directory"),
        (["calendar", "resources"], "resources: is a directory, not a file"),
        (
            ["calendar", "resources/apps.yaml"],
            (
                "resources/apps.yaml:1:1: [error] must contain exactly one WindowPolicy, found "
                "Kustomization"
            ),
        ),
        (
            ["calendar", "two.yaml"],
            "two.yaml:16:1: [error] must contain exactly one WindowPolicy, found 2; put each",
        ),
        (["calendar", "broken.yaml"], "broken.yaml:1:5: [error] "),
        (["calendar", "latin.yaml"], "latin.yaml:1:4: [error] the input is not UTF-8"),
        (
            ["render", "policy.yaml", "--output-dir", "policy.yaml"],
            "policy.yaml is in the way: it is not a directory",
        ),
        (
            ["render", "policy.yaml", "--output-dir", "policy.yaml/out"],
            "policy.yaml is in the way: it is not a directory",
        ),
        (
            ["render", "policy.yaml", "--output-dir", "out", "--resources", "nope"],
            "nope: no such file or directory",
        ),
        (
            ["render", "policy.yaml", "--output-dir", "out", "--resources", "broken.yaml"],
            "broken.yaml:1:5: [error] ",
        ),
        (["verify", "nope", "--policy", "policy.yaml"], "nope: no such file or directory"),
        (
            ["install", "--plugin-home", "policy.yaml"],
            "policy.yaml is in the way: it is not a directory",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_files_that_are_not_as_they_should_be(run: Run, argv: list[str], said: str) -> None:
    """One line names the file and what is wrong with it."""
    Path("two.yaml").write_text(f"{POLICY}---\n{POLICY}")
    Path("broken.yaml").write_text("a: {{ .Values }}\n")
    Path("latin.yaml").write_bytes(b"a: \xe9\n")
    ended = run(*argv)
    assert (ended.code, ended.out) == (1, "")
    [line] = [line for line in ended.err.splitlines() if not line.startswith("[warning]")]
    # Findings, and what cannot be read, begin with file and line; all else with the program.
    assert line.startswith("krm-windows: ") == ("[error]" not in said)
    assert said in line


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("rendr policy.yaml", "invalid choice: 'rendr'"),
        ("check policy.yaml --stict", "unrecognized arguments: --stict"),
        ("explain policy.yaml more", "unrecognized arguments: more"),
        ("calendar policy.yaml -o pdf", "argument -o/--output: invalid choice: 'pdf'"),
        ("render policy.yaml -o windows", "required: --output-dir"),
        ("calendar policy.yaml --day 3", "unrecognized arguments: --day"),
        (
            "check resources",
            "resources: is a directory, not a policy; `krm-windows check --repo re",
        ),
    ],
)
def test_what_is_wrong_with_a_call_is_said(run: Run, call: str, said: str) -> None:
    """Of commands, options and values; nothing is abbreviated."""
    ended = run(*call.split())
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


# render


def test_render(run: Run) -> None:
    """Every object has a file that says where it comes from, and a kustomization lists them all."""
    ended = run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert ended == RENDERED
    assert names() == [
        "configmap_week-gate.yaml",
        "cronjob_week-close-office.yaml",
        "cronjob_week-edge-utc-06.yaml",
        "cronjob_week-edge-utc-15.yaml",
        "cronjob_week-open-office.yaml",
        "cronjob_week-resync.yaml",
        "job_week",
        "kustomization.yaml",
        "role_week-gate.yaml",
        "rolebinding_week-gate.yaml",
        "serviceaccount_week-gate.yaml",
        "validatingadmissionpolicy_flux-system.week-gate-annotations.yaml",
        "validatingadmissionpolicy_flux-system.week-gate.yaml",
        "validatingadmissionpolicybinding_flux-system.week-gate-annotations.yaml",
        "validatingadmissionpolicybinding_flux-system.week-gate.yaml",
    ]
    assert all(path.read_text().startswith(HEADER) for path in Path("out").iterdir())
    assert sorted(rendered()["kustomization.yaml"]["resources"]) == sorted(
        set(rendered()) - {"kustomization.yaml"}
    )
    assert Path("resources/apps.yaml").read_text() == APPS


def test_render_yields_what_the_function_adds(run: Run) -> None:
    """The same objects, but for the annotations that say where an orchestrator shall write them."""
    run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    place = ("internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index")
    added = call(wire(APPS)).objects[1:]
    for item in added:
        for key in place:
            del item["metadata"]["annotations"][key]
    got = [item for name, item in rendered().items() if name != "kustomization.yaml"]
    assert sorted(got, key=str) == sorted(added, key=str)


def test_render_without_resources(run: Run) -> None:
    """What is not visible is warned about, which fails under --strict.

    Before and behind the command.
    """
    ended = run("render", "policy.yaml", "--output-dir", "out")
    assert ended.code == 0
    assert "(target-unseen)" in ended.err
    assert run("render", "policy.yaml", "--output-dir", "strict", "--strict").code == 1
    assert run("--strict", "render", "policy.yaml", "--output-dir", "strict").code == 1
    assert not Path("strict").exists()


def test_render_again(run: Run) -> None:
    """Nothing is written twice; what the policy no longer yields goes; what is not ours stays."""
    run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    Path("out/README.md").write_text("ours? no\n")
    before = {path: path.stat().st_ino for path in Path("out").iterdir()}
    run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert {path: path.stat().st_ino for path in Path("out").iterdir()} == before
    Path("policy.yaml").write_text(spec(windows="{night: {opens: 'daily 01:00', closes: '04:00'}}"))
    run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert not Path("out/cronjob_week-open-office.yaml").exists()
    assert Path("out/cronjob_week-open-night.yaml").exists()
    assert Path("out/README.md").read_text() == "ours? no\n"


def test_render_beside_the_resources(run: Run) -> None:
    """The folder may lie below the resources: what was rendered before is ours."""
    render = (
        "render",
        "policy.yaml",
        "--output-dir",
        "resources/windows",
        "--resources",
        "resources",
    )
    assert run(*render) == RENDERED
    assert run(*render) == UNCHANGED


def test_render_over_files_of_others(run: Run) -> None:
    """A file that is in the way is named, and nothing is written."""
    Path("out").mkdir()
    Path("out/kustomization.yaml").write_text("resources: []\n")
    ended = run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert ended.code == 1
    assert "out/kustomization.yaml is in the way" in ended.err
    assert [path.name for path in Path("out").iterdir()] == ["kustomization.yaml"]


def test_render_check(run: Run) -> None:
    """It writes nothing, and exits 1 with the files if the committed files are stale."""
    render = ("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    missing = run(*render, "--check")
    assert missing.code == 1
    assert "\n  out/cronjob_week-resync.yaml\n" in missing.out
    assert not Path("out").exists()
    run(*render)
    assert run(*render, "--check") == FRESH
    Path("policy.yaml").write_text(POLICY.replace("Thu 17:00", "Thu 18:00"))
    stale = run(*render, "--check", "--diff")
    assert stale.code == 1
    assert '-  schedule: "0 17 * * 4"\n+  schedule: "0 18 * * 4"\n' in stale.out


def test_render_edits_nothing(run: Run) -> None:
    """`suspend: false` on a target is an error that names the file and the change."""
    Path("resources/apps.yaml").write_text(f"{APPS}  suspend: false\n")
    ended = run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert ended.code == 1
    assert "remove this line in resources/apps.yaml" in ended.err
    assert "(render-read-only)" in ended.err
    assert not Path("out").exists()


def test_render_adopts_nothing(run: Run) -> None:
    """Nor does it take over a base: that is an error, too, and names the file."""
    base = (
        "apiVersion: batch/v1\nkind: CronJob\n"
        "metadata: {name: open-window, namespace: flux-system}\nspec: {}\n"
    )
    Path("resources/base.yaml").write_text(base)
    windows = "{w: {opens: Mon 08:00, closes: Thu 17:00, cronJobs: {open: open-window}}}"
    Path("policy.yaml").write_text(spec(windows=windows))
    ended = run("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")
    assert ended.code == 1
    assert "remove this CronJob in resources/base.yaml" in ended.err


def test_render_for_a_cluster(run: Run) -> None:
    """The cluster's own times; an unknown one is an error that names those that are known."""
    Path("policy.yaml").write_text(
        spec(clusters="{north: {windows: {office: {opens: Mon 06:00}}}}")
    )
    run("render", "policy.yaml", "--output-dir", "out", "--cluster", "north")
    assert rendered()["cronjob_week-open-office.yaml"]["spec"]["schedule"] == "0 6 * * 1"
    run("render", "policy.yaml", "--output-dir", "out")
    assert rendered()["cronjob_week-open-office.yaml"]["spec"]["schedule"] == "0 8 * * 1"
    unknown = run("render", "policy.yaml", "--output-dir", "out", "--cluster", "nroth")
    assert unknown.code == 1
    assert 'did you mean "north"' in unknown.err


def test_render_uninstall(run: Run) -> None:
    """One Job, with the rights and the timetable to lift what is ours.

    No CronJob, and every target released.
    """
    run("render", "policy.yaml", "--output-dir", "out")
    ended = run("render", "policy.yaml", "--output-dir", "out", "--uninstall", "--strict")
    assert ended.code == 0
    kinds = sorted(item["kind"] for item in rendered().values())
    held = [*["ValidatingAdmissionPolicy"] * 2, *["ValidatingAdmissionPolicyBinding"] * 2]
    assert kinds == [
        "ConfigMap",
        "Job",
        "Kustomization",
        "Role",
        "RoleBinding",
        "ServiceAccount",
        *held,
    ]
    timetable = json.loads(rendered()["configmap_week-gate.yaml"]["data"]["timetable.json"])
    assert timetable["state"] == "Open"
    assert "targets" not in timetable
    assert [target["objects"] for target in timetable["released"]] == [[["flux-system", "apps"]]]
    assert rendered()["role_week-gate.yaml"]["rules"][0]["resourceNames"] == ["apps"]


def test_render_from_standard_input(run: Run) -> None:
    """A build's output can be piped in as the resources."""
    assert run
    answer = program(
        APPS,
        "render",
        Path("policy.yaml").absolute(),
        "--output-dir",
        Path("out").absolute(),
        "--resources",
        "-",
    )
    assert (answer.code, answer.out, answer.err.strip()) == (
        0,
        b"",
        RENDERED.err.strip(),
    )
    assert Path("out/cronjob_week-resync.yaml").exists()


# calendar


def test_calendar_needs_to_know_how_early_it_closes(run: Run) -> None:
    """What depends on resources that are not visible is an error, not a guess."""
    Path("policy.yaml").write_text(spec(closesEarly="auto"))
    ended = run("calendar", "policy.yaml")
    assert (ended.code, ended.out) == (1, "")
    assert "(timeout-unknown)" in ended.err


# schema, install


@pytest.mark.parametrize(
    ("form", "file"),
    [
        ("json", "function-config/windowpolicy.schema.json"),
        ("definition", "function-config/windowpolicy.definition.yaml"),
    ],
)
def test_schema(run: Run, form: str, file: str) -> None:
    """What is printed is what is committed."""
    ended = run("schema", "-o", form)
    assert (ended.code, ended.err) == (0, "")
    command = "make generate"
    assert_same_files({file: ended.out}, {file: (ROOT / file).read_text()}, command)


def test_install(run: Run) -> None:
    """kustomize calls the plugin with a file and a stream, from any folder.

    Whatever modules lie there.
    """
    ended = run("install", "--plugin-home", "home")
    plugin = Path("home/krm-windows.dev/v1alpha1/windowpolicy/WindowPolicy")
    classes = Path("home/krm-windows.dev/v1alpha1/changeclasses/ChangeClasses")
    assert ended == Ended(0, f"{plugin}\n{classes}\n", "")
    assert classes.read_text() == plugin.read_text()
    Path("krm_windows.py").write_text("raise SystemExit('not this one')\n")
    Path("yaml.py").write_text("raise SystemExit('nor this one')\n")
    done = subprocess.run(
        [plugin.absolute(), "policy.yaml"], input=APPS, capture_output=True, text=True, check=True
    )
    kinds = [item["kind"] for item in yaml.load_all(done.stdout, yaml.CSafeLoader)]
    assert kinds[:2] == ["Kustomization", "ValidatingAdmissionPolicy"]
    assert run("install", "--plugin-home", "home").code == 0


def test_render_a_renamed_policy(run: Run) -> None:
    """`formerNames` is demanded, and takes the files over.

    What was closed under the old name would stay closed.
    """
    run("render", "policy.yaml", "--output-dir", "out")
    renamed = Path("policy.yaml").read_text().replace("name: week", "name: working-week")
    Path("policy.yaml").write_text(renamed)
    refused = run("render", "policy.yaml", "--output-dir", "out")
    assert (refused.code, "(former-name)" in refused.err) == (1, True)
    assert "cronjob_week-resync.yaml" in names()
    Path("policy.yaml").write_text(
        renamed.replace("spec:\n", "spec:\n  formerNames: [flux-system/week]\n")
    )
    assert run("render", "policy.yaml", "--output-dir", "out").code == 0
    assert all("working-week" in name for name in names() if name != "kustomization.yaml")


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("urllib3", ["merge-gate", "policy.yaml", "--forge", "github", "--repo", "a/b"], "forge"),
        ("starlette", ["serve"], "server"),
        ("holidays", ["import", "--holidays", "DE"], "holidays"),
        ("icalendar", ["import", "events.ics"], "ics"),
    ],
)
def test_what_is_not_installed_is_named(
    missing: str, arguments: list[str], extra: str, tmp_path: Path
) -> None:
    """With what installs it: most commands need none of it, so most people have none of it."""
    (tmp_path / "policy.yaml").write_text(POLICY)
    code = "import sys; sys.modules[sys.argv[1]] = None; del sys.argv[1]\n"
    code += "from krm_windows.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, missing, *arguments],
        cwd=tmp_path,
        env=os.environ | {"GITHUB_TOKEN": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "internal error" not in done.stderr

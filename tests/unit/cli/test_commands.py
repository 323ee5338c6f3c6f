"""The commands: what they print and write, and with which code they end."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import commands_page
import pytest
import yaml
from calls import APPS, POLICY, Ended, Run, call, program, spec, wire

from krm_windows import __version__
from krm_windows.cli.commands import COMMANDS
from krm_windows.schedule import zones

ROOT = Path(__file__).resolve().parents[3]
HEADER = "# krm-windows.dev/rendered-from: flux-system/week (edit the policy, not this file)\n"
RENDERED = Ended(0, "", f"krm-windows: 15 files written, zone rules {zones.release()}\n")
FRESH = Ended(0, "", f"krm-windows: all files up to date, zone rules {zones.release()}\n")
# `out` beside a policy, with what it gates.
RENDER = ("render", "policy.yaml", "--output-dir", "out", "--resources", "resources")


@pytest.fixture(autouse=True)
def resources(run: Run) -> None:
    assert run
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(APPS)


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ("--source flux-system=nope", "directory not found"),
        ("--source a=. --source a=resources", "--source a: is given twice, as . and resources"),
        ("--source a=. --source b/a=resources", ""),
    ],
)
def test_a_source_that_cannot_be_is_said(run: Run, sources: str, said: str) -> None:
    """Else every path in it would be called missing, or one of two be forgotten."""
    ended = run("check", "--repo", ".", *sources.split())
    assert ended.code == 2 or not said
    assert said in ended.err
    assert ("--source" in ended.err) is bool(said)


def rendered() -> dict[str, dict[str, object]]:
    return {
        path.name: yaml.load(path.read_text(), yaml.CSafeLoader)
        for path in sorted(Path("out").iterdir())
    }


def names() -> list[str]:
    return sorted(name.partition("-apply-")[0] for name in rendered())


def test_help(run: Run) -> None:
    helped = run("--help")
    assert (helped.code, helped.err) == (0, "")
    for command in COMMANDS:
        assert f"\n    {command} " in helped.out
        assert all(action.help for action in commands_page.parser(command)._actions)
    assert run("render", "--help").out.startswith("usage: krm-windows render ")


def test_version(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    known = f"zone data {zones.release()}, Python {platform.python_version()}"
    assert run("--version").out == f"krm-windows {__version__}, {known}\n"
    monkeypatch.setattr("krm_windows.cli.version.COMMIT", "b1946ac9")
    assert run("-v").out == f"krm-windows {__version__} (commit b1946ac9), {known}\n"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("rendr policy.yaml", "did you mean render?"),
        ("render", "required: POLICY, --output-dir"),
        ("render policy.yaml -o windows", "required: --output-dir"),
        ("check policy.yaml --stict", "unrecognized arguments: --stict"),
        ("calendar policy.yaml --day 3", "unrecognized arguments: --day"),
        ("calendar policy.yaml --from 2026-02-30", "argument --from"),
        ("calendar policy.yaml --days 0", "argument --days"),
        ("calendar policy.yaml --days 9999", "argument --days"),
        ("install", "required: --plugin-home"),
        ("check resources", "resources: is a directory, not a policy; `krm-windows check"),
        ("render policy.yaml --output-dir o --diff", "--diff needs --check"),
        ("state policy.yaml --timeout 2h", "--timeout needs --wait"),
        ("state policy.yaml --wait open --at 2026-12-16", "cannot be used with --at"),
        ("status - -f -", "can be used for the policy or the objects, but not for both"),
        # A variable that is not set: kubectl would ask whichever cluster is current.
        ("status policy.yaml --context=", "must not be empty"),
        ("status policy.yaml --kubeconfig=", "must not be empty"),
        ("pending policy.yaml --base main", "--base needs --repo DIR"),
        ("pending policy.yaml --repo . --head main", "--head needs --base"),
        ("pending policy.yaml --repo . --base main --context a", "--base does not read a cluster"),
        ("history policy.yaml --repo . --from 1969-12-31", "must be in 1970 or later"),
        ("history policy.yaml --repo . --from 0d", "got '0d'"),
        ("simulate policy.yaml --repo . --from someday", "must be"),
        # The last of two would win, and what the first one names be forgotten.
        ("render policy.yaml --output-dir o --cluster a --cluster b", "takes only one value"),
        # Neither of one cluster and more is silently left out.
        ("render policy.yaml --output-dir o --cluster a --all-clusters", "cannot be used together"),
        ("check policy.yaml --cluster a --all-clusters", "not allowed with"),
        ("check --repo . --cluster a", "need a POLICY"),
        ("check --repo . --all-clusters", "need a POLICY"),
        ("check", "needs either a POLICY or --repo DIR"),
        ("check --repo . --jobs 0", "must be a number of builds"),
        ("check --repo . --source apps", "'apps' must be a source such as flux-system=."),
        ("check policy.yaml --years=0", "must be a number of years from 1 to 20, got '0'"),
        ("check policy.yaml --max-closed=-1", "must be a number of days from 1 to 99999, got '-1'"),
        ("calendar policy.yaml -o json --width 400", "--width needs `-o svg`"),
        ("migrate . --output-dir o --adopt-until soon", "must be a date such as 2026-12-20, got"),
        # Every command looks at its sources.
        ("migrate . --output-dir o --source flux-system=nope", "directory not found"),
        ("init . --time-zone UTC --source flux-system=nope", "directory not found"),
        ("pending policy.yaml --repo . --base HEAD --source a=nope", "directory not found"),
    ],
)
def test_a_wrong_call(run: Run, call: str, said: str) -> None:
    ended = run(*call.split())
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert sorted(path.name for path in Path().iterdir()) == ["policy.yaml", "resources"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("calendar nope.yaml", "nope.yaml: No such file or directory"),
        (
            "calendar nope",
            "nope: no such file, nor is this directory in a repository, where policies have names",
        ),
        ("calendar resources", "resources: is a directory, not a file"),
        ("calendar /dev/zero", "/dev/zero: is a device or a socket, not a file"),
        ("render policy.yaml --output-dir out --resources nope", "nope: no such file or directory"),
        ("verify nope --policy policy.yaml", "nope: no such file or directory"),
    ],
)
def test_files_that_are_not_there(run: Run, call: str, said: str) -> None:
    ended = run(*call.split())
    assert (ended.code, ended.out) == (1, "")
    assert f"krm-windows: {said}\n" in ended.err


# render


def test_render(run: Run) -> None:
    assert run(*RENDER) == RENDERED
    assert all(path.read_text().startswith(HEADER) for path in Path("out").iterdir())
    found = rendered()
    listed = found.pop("kustomization.yaml")
    assert sorted(listed["resources"]) == sorted(found)
    # They are what the function adds, without where an orchestrator shall write it.
    added = call(wire(APPS)).objects[1:]
    for item in added:
        for key in ("path", "index"):
            del item["metadata"]["annotations"][f"internal.config.kubernetes.io/{key}"]
    assert sorted(found.values(), key=str) == sorted(added, key=str)
    assert Path("resources/apps.yaml").read_text() == APPS


def test_render_without_resources(run: Run) -> None:
    ended = run(*RENDER[:4])
    assert ended.code == 0
    assert "(target-unseen)" in ended.err
    assert run("render", "policy.yaml", "--output-dir", "strict", "--strict").code == 1
    assert run("--strict", "render", "policy.yaml", "--output-dir", "strict").code == 1
    assert not Path("strict").exists()


def test_render_below_the_resources(run: Run) -> None:
    render = ("render", "policy.yaml", "--output-dir", "resources/w", "--resources", "resources")
    assert run(*render) == RENDERED
    assert run(*render).err == f"krm-windows: no file changed, zone rules {zones.release()}\n"


def test_render_check(run: Run) -> None:
    missing = run(*RENDER, "--check")
    assert missing.code == 1
    assert missing.out.startswith("out of date:\n")
    assert "\n  out/cronjob_week-resync.yaml\n" in missing.out
    assert not Path("out").exists()
    run(*RENDER)
    assert run(*RENDER, "--check") == FRESH
    Path("policy.yaml").write_text(POLICY.replace("Thu 17:00", "Thu 18:00"))
    stale = run(*RENDER, "--check")
    assert stale.code == 1
    shown = run(*RENDER, "--check", "--diff").out
    assert '-  schedule: "0 17 * * 4"\n+  schedule: "0 18 * * 4"\n' in shown
    assert shown.endswith(stale.out)


def test_render_check_of_a_fleet(run: Run) -> None:
    render = (*RENDER[:4], "--all-clusters")
    Path("policy.yaml").write_text(spec(clusters="{a: {}, b: {}}"))
    assert run(*render).code == 0
    Path("policy.yaml").write_text(spec(clusters="{b: {}, c: {}}"))
    ended = run(*render, "--check")
    assert ended.code == 1
    assert {line.split("/")[2] for line in ended.out.splitlines()[1:]} == {"a", "c"}
    many = ", ".join(f"c{number}: {{}}" for number in range(30))
    Path("policy.yaml").write_text(spec(clusters=f"{{{many}}}"))
    said = run(*render, "--check").out
    assert len(said.splitlines()) == 22
    assert said.endswith(" more\n")


BASE = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: open, namespace: flux-system}\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"{APPS}  suspend: false\n", "remove this line in resources/apps.yaml"),
        (f"{APPS}---\n{BASE}spec: {{}}\n", "remove this CronJob in resources/apps.yaml"),
    ],
)
def test_render_edits_and_adopts_nothing(run: Run, content: str, said: str) -> None:
    Path("resources/apps.yaml").write_text(content)
    windows = "{w: {opens: Mon 08:00, closes: Thu 17:00, cronJobs: {open: open}}}"
    Path("policy.yaml").write_text(spec(windows=windows) if BASE in content else POLICY)
    ended = run(*RENDER)
    assert ended.code == 1
    assert said in ended.err
    assert not Path("out").exists()


def test_render_for_a_cluster(run: Run) -> None:
    patch = "{north: {windows: {office: {opens: Mon 06:00}}}}"
    Path("policy.yaml").write_text(spec(clusters=patch))
    run(*RENDER, "--cluster", "north")
    assert rendered()["cronjob_week-open-office.yaml"]["spec"]["schedule"] == "0 6 * * 1"
    run(*RENDER)
    assert rendered()["cronjob_week-open-office.yaml"]["spec"]["schedule"] == "0 8 * * 1"
    unknown = run(*RENDER, "--cluster", "nroth")
    assert unknown.code == 1
    assert 'did you mean "north"' in unknown.err


def test_render_uninstall(run: Run) -> None:
    run(*RENDER[:4])
    assert run(*RENDER[:4], "--uninstall", "--strict").code == 0
    kinds = {item["kind"] for item in rendered().values()}
    held = {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    gate = {"ConfigMap", "Job", "Role", "RoleBinding", "ServiceAccount"}
    assert kinds == held | gate | {"Kustomization"}
    timetable = json.loads(rendered()["configmap_week-gate.yaml"]["data"]["timetable.json"])
    assert timetable["state"] == "Open"
    assert "targets" not in timetable
    assert [target["objects"] for target in timetable["released"]] == [[["flux-system", "apps"]]]
    assert rendered()["role_week-gate.yaml"]["rules"][0]["resourceNames"] == ["apps"]


def test_render_from_standard_input() -> None:
    policy, out = Path("policy.yaml").absolute(), Path("out").absolute()
    answer = program(APPS, "render", policy, "--output-dir", out, "--resources", "-")
    assert (answer.code, answer.out, answer.err) == (0, b"", RENDERED.err)
    assert Path("out/cronjob_week-resync.yaml").exists()


def test_render_a_renamed_policy(run: Run) -> None:
    """What was closed under the old name would stay closed: `formerNames` takes the files over."""
    run(*RENDER[:4])
    renamed = POLICY.replace("name: week", "name: working-week")
    Path("policy.yaml").write_text(renamed)
    refused = run(*RENDER[:4])
    assert (refused.code, "(former-name)" in refused.err) == (1, True)
    assert "cronjob_week-resync.yaml" in names()
    former = "spec:\n  formerNames: [flux-system/week]\n"
    Path("policy.yaml").write_text(renamed.replace("spec:\n", former))
    assert run(*RENDER[:4]).code == 0
    assert all("working-week" in name for name in names() if name != "kustomization.yaml")


@pytest.mark.parametrize(
    ("form", "file"),
    [("json", "windowpolicy.schema.json"), ("definition", "windowpolicy.definition.yaml")],
)
def test_schema(run: Run, form: str, file: str) -> None:
    committed = (ROOT / "function-config" / file).read_text()
    assert run("schema", "-o", form) == Ended(0, committed, "")


def test_install(run: Run) -> None:
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


@pytest.mark.parametrize(
    ("missing", "call", "extra"),
    [
        ("urllib3", "merge-gate policy.yaml --forge github --repo a/b", "forge"),
        ("starlette", "serve", "server"),
        ("holidays", "import --holidays DE", "holidays"),
        ("icalendar", "import events.ics", "ics"),
    ],
)
def test_what_is_not_installed_is_named(missing: str, call: str, extra: str) -> None:
    code = "import sys; sys.modules[sys.argv[1]] = None; del sys.argv[1]\n"
    code += "from krm_windows.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-P", "-c", code, missing, *call.split()]
    environment = os.environ | {"GITHUB_TOKEN": "none"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "internal error" not in done.stderr

"""Where commands write: only where their user said, and never where a repository's link leads."""

import argparse
import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import CLASSES, POLICY
from effort import crossed
from repositories import pair

from krm_windows.cli import destinations
from krm_windows.cli.arguments import parser as parser_of
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.main import main
from krm_windows.system.directories import Directory

# Every option that names what is written, in a call that would write.
WRITES = {
    "render": ["render", "policy.yaml", "--output-dir"],
    "render --all-clusters": ["render", "fleet.yaml", "--all-clusters", "--output-dir"],
    "split": ["split", "base.yaml", "--classes", "classes.yaml", "--output-dir"],
    "migrate": ["migrate", "by-hand", "--output-dir"],
    "install": ["install", "--plugin-home"],
}
# What only reads there must not be led elsewhere either.
READS = {
    "render --check": [*WRITES["render"][:-1], "--check", "--output-dir"],
    "render --all-clusters --check": [
        "render",
        "fleet.yaml",
        "--all-clusters",
        "--check",
        "--output-dir",
    ],
    "split --check": [*WRITES["split"][:-1], "--check", "--output-dir"],
}


CALLS = {**WRITES, **READS}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "here"
    (place / "fleet").mkdir(parents=True)
    (place / "by-hand").mkdir()
    (tmp_path / "outside").mkdir()
    config = {
        "policy.yaml": POLICY,
        "classes.yaml": CLASSES,
        "base.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "fleet.yaml": f"{POLICY}  clusters: {{one: {{}}, two: {{}}}}\n",
        **{f"by-hand/{name}": text for name, text in pair("0 8 * * 1", "0 17 * * 4").items()},
    }
    for name, text in config.items():
        (place / name).write_text(text)
    monkeypatch.chdir(place)
    return place


def everything(folder: Path) -> dict[str, str | bytes]:
    return {
        str(path): path.read_bytes()
        if path.is_file() and not path.is_symlink()
        else oct(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
    }


def test_these_are_all() -> None:
    found = set()
    for command in COMMANDS:
        parser = parser_of(COMMANDS, [command])
        [commands] = [
            action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
        ]
        for action in commands.choices[command]._actions:
            if action.type is destinations.directory:
                found.add((command, action.option_strings[0]))
            elif action.dest in ("output", "plugin_home"):
                assert action.choices, f"{command} takes any text for {action.dest}"
    assert found == {(argv[0], argv[-1]) for argv in WRITES.values()}


@pytest.mark.parametrize("argv", WRITES.values(), ids=WRITES)
def test_it_writes_where_it_is_asked_to(here: Path, argv: list[str]) -> None:
    """So that what is refused below would have been written; a second run changes nothing."""
    assert main([*argv, "deep/out"]) == 0
    written = everything(here / "deep")
    assert any(isinstance(content, bytes) for content in written.values())
    assert not any(name.endswith(".krm-windows") for name in written)
    if argv[0] != "migrate":
        assert main([*argv, "deep/out"]) == 0
        assert everything(here / "deep") == written


@pytest.mark.parametrize("named", ["", " ", "\t"])
def test_an_empty_name_is_none(here: Path, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is often a variable that is not set, and would fill the directory that one is in."""
    before = everything(here)
    assert main([*CALLS["render"], named]) == 2
    assert "must be a directory" in capsys.readouterr().err
    assert everything(here) == before


STANDS: dict[str, Callable[[Path], str]] = {
    "a link to a directory": lambda here: _link(here, "../outside") or "link",
    "a link above it that dangles": lambda here: _link(here, "../new") or "link/deep/out",
    "a pipe": lambda here: os.mkfifo(here / "pipe") or "pipe",
    "a file above it": lambda _: "policy.yaml/out",
    "a device": lambda _: "/dev/null",
}


def _link(here: Path, target: str) -> None:
    (here / "link").symlink_to(target)


@pytest.mark.parametrize(("call", "stands"), crossed(CALLS, STANDS))
def test_nothing_is_followed(
    here: Path, call: str, stands: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = STANDS[stands](here)
    before = everything(here.parent)
    assert main([*CALLS[call], named]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("krm-windows: ") or "\nkrm-windows: " in printed.err
    assert "is in the way" in printed.err
    assert printed.out == ""
    assert everything(here.parent) == before


@pytest.mark.parametrize("is_kind", [Path.is_dir, Path.is_file])
@pytest.mark.parametrize("argv", WRITES.values(), ids=WRITES)
def test_nothing_is_written_through_what_lies_inside(
    here: Path, argv: list[str], is_kind: Callable[[Path], bool]
) -> None:
    target = here.parent / "outside/target"
    assert main([*argv, "out"]) == 0
    path = next(filter(is_kind, sorted((here / "out").rglob("*"))), here / "out")
    path.rename(target)
    before = everything(target.parent)
    path.symlink_to(target)
    code = main([*argv, "out"])
    assert everything(target.parent) == before
    # Where it was replaced, that is as good.
    assert code == 1 or not path.is_symlink()


EDITS = {
    "set": ["--patch", '{"spec": {"closesEarly": "15m"}}'],
    "set --dry-run": ["--dry-run", "--patch", '{"spec": {"closesEarly": "15m"}}'],
    "override": ["open", "--for", "2h", "--reason", "fix"],
    "override --end": ["--end", "fix"],
    "override --prune": ["--prune"],
}
OVERRIDES = """\
  overrides:
    fix: {state: Open, starts: "2025-01-01T10:00", ends: "12:00", reason: past}
"""


@pytest.fixture
def policies(here: Path) -> Path:
    for place in (here, here.parent / "outside"):
        (place / ".git").mkdir()
        (place / "deep").mkdir()
        (place / "deep/week.yaml").write_text(f"{POLICY.rstrip()}\n{OVERRIDES}")
    return here


def edited(call: str, path: str) -> int:
    return main([call.split(maxsplit=1)[0], path, *EDITS[call]])


@pytest.mark.parametrize(
    ("call", "way", "around"),
    [
        ("set", "deep/link.yaml", "a repository"),
        ("set", "link/week.yaml", "a directory"),
        ("set", "chain.yaml", "a directory named in whole"),
        ("set", "up.yaml", "a repository"),
        ("set", "absolute.yaml", "a repository"),
        *((call, "deep/link.yaml", "a repository") for call in EDITS),
    ],
)
def test_no_policy_is_edited_through_a_link_out_of_the_repository(
    policies: Path, call: str, way: str, around: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may write into it would choose which other file is changed by who runs this."""
    (policies / "link").symlink_to("../outside/deep")
    (policies / "deep/link.yaml").symlink_to("../../outside/deep/week.yaml")
    (policies / "absolute.yaml").symlink_to(policies.parent / "outside/deep/week.yaml")
    (policies / "chain.yaml").symlink_to("deep/link.yaml")
    (policies / "up.yaml").symlink_to("link/../deep/week.yaml")
    if around != "a repository":
        (policies / ".git").rmdir()
    before = everything(policies.parent)
    assert edited(call, str(policies / way) if around.endswith("whole") else way) == 1
    assert "leads out of" in capsys.readouterr().err
    assert everything(policies.parent) == before


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("link.yaml", "deep/week.yaml", "link.yaml"),
        ("fleet/link.yaml", "../deep/week.yaml", "fleet/link.yaml"),
        ("link", "deep", "link/week.yaml"),
        ("link", "deep", "link/../deep/week.yaml"),
        ("link.yaml", "/deep/week.yaml", "link.yaml"),
        ("../link.yaml", "here/deep/week.yaml", "../link.yaml"),
        ("../link", "here", "../link/deep/week.yaml"),
    ],
)
def test_what_a_link_within_the_repository_leads_to_is_edited(
    policies: Path, link: str, target: str, path: str
) -> None:
    """As kustomize reads through it; and a link outside of any repository is the user's own."""
    if target.startswith("/"):
        target = f"{policies}{target}"
    (policies / link).symlink_to(target)
    before = (policies / "deep/week.yaml").read_bytes()
    assert edited("set", path) == 0
    assert (policies / link).is_symlink()
    assert (policies / link).readlink() == Path(target)
    assert (policies / "deep/week.yaml").read_bytes() != before


@pytest.mark.parametrize("target", ["missing.yaml", "../outside/new.yaml", "link.yaml"])
def test_a_link_that_leads_nowhere_is_no_policy(policies: Path, target: str) -> None:
    (policies / "link.yaml").symlink_to(target)
    before = everything(policies.parent)
    assert edited("override", "link.yaml") == 1
    assert everything(policies.parent) == before


def test_a_link_of_a_repository_inside_another_is_of_the_inner_one(
    policies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its author is another one: of a submodule, say."""
    (policies / "deep/.git").write_text("gitdir: elsewhere\n")
    (policies / "deep/link.yaml").symlink_to("../policy.yaml")
    before = everything(policies)
    assert edited("override", "deep/link.yaml") == 1
    assert "leads out of" in capsys.readouterr().err
    assert everything(policies) == before


def test_two_runs_at_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["render", "fleet.yaml", "--all-clusters", "--output-dir", "out"]
    assert main(call) == 0
    before = everything(here)
    with Directory.named(Path("out")).alone():
        assert main(call) == 1
        assert "another run" in capsys.readouterr().err
        assert main([*call, "--check"]) == 0
    assert main(call) == 0
    assert everything(here) == before


def test_plugins_replace_what_they_were(here: Path) -> None:
    plugin = here / "home/krm-windows.dev/v1alpha1/windowpolicy/WindowPolicy"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("old")
    inode = plugin.stat().st_ino
    assert main(["install", "--plugin-home", "home"]) == 0
    assert plugin.stat().st_mode & 0o777 == 0o755
    assert plugin.stat().st_ino != inode


def test_inputs_may_be_pipes(here: Path) -> None:
    call = "-m krm_windows state <(cat policy.yaml) --at 2026-12-21T12:00Z -o json"
    command = ["bash", "-c", f"{sys.executable} {call}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=here)
    assert json.loads(done.stdout)["open"] is True


@pytest.mark.parametrize("argv", WRITES.values(), ids=WRITES)
def test_a_full_disk_is_said_in_one_line(
    here: Path, argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fchmod` stands for what is done with an open file, of which an error has no name."""
    out = here / "room/out"
    out.parent.mkdir()

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fchmod", fail)
        assert main([*argv, str(out)]) == 1
    said = capsys.readouterr().err
    last = said.splitlines()[-1]
    assert last.startswith(f"krm-windows: {out}"), said
    assert "cannot be written: No space left on device; free some space there" in last
    assert "Traceback" not in said
    assert everything(out.parent) == {}

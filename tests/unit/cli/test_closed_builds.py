"""What builds in a command is confined, with a cache only where that was meant."""

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from calls import ALL_WAIT
from conftest import lacking
from listening import Listener

from krm_windows.cli import builds, main
from krm_windows.system import kustomize, programs
from krm_windows.system.kustomize import Builder, Inputs
from krm_windows.system.programs import Ended
from krm_windows.system.sandbox.confinement import Confinement, NotConfinedError

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n"
FIRES = Path(__file__).parents[2] / "fixtures/repositories/object-shared/fires"


@pytest.fixture(autouse=True)
def building(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tool('kustomize').parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home/cache"))


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def split(root: Path, base: str, *arguments: str) -> int:
    write(root, {"classes.yaml": ALL_WAIT})
    classes, output = str(root / "classes.yaml"), str(root / "out")
    return main(
        ["split", str(root / base), "--classes", classes, "--output-dir", output, *arguments]
    )


def written(root: Path) -> str:
    return "".join(path.read_text() for path in sorted((root / "out").rglob("*.yaml")))


@pytest.mark.parametrize("name", ["kustomize", "kubectl"])
def test_builds_are_confined_here(
    name: str, tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that all other tests mean something; where every tool is required, the kernel is one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).symlink_to(tool(name))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    try:
        found = Builder.find()
    except NotConfinedError as error:
        lacking(str(error))
    assert found
    assert found.version.startswith(name)


def test_kustomize_itself_opens_nothing_outside_of_its_copy(tmp_path: Path) -> None:
    """Given a kustomization as nobody has read it: whatever field it is, the kernel refuses it."""
    write(tmp_path, {"secret": "text=do-not-print-me\n"})
    fields = [
        "configMapGenerator: [{{name: a, files: ['{}']}}]",
        "patches: [{{path: '{}', target: {{kind: A}}}}]",
        "openapi: {{path: '{}'}}",
        "resources: ['{}']",
        (
            "generators: ['{{apiVersion: builtin, kind: ConfigMapGenerator, "
            'metadata: {{name: a}}, files: ["{}"]}}\']'
        ),
    ]
    builder = Builder.find() or pytest.fail("no kustomize")
    with Listener(tmp_path) as listener:
        secret = f"{tmp_path}/secret"
        places = (secret, "../" * 30 + secret[1:], "/dev/zero", f"{listener.url}/a")
        for place, field in product(places, fields):
            inputs = Inputs("a", {"a/kustomization.yaml": field.format(place).encode()})
            with pytest.raises(kustomize.BuildError) as failed:
                builder.build(inputs)
            assert "do-not-print-me" not in str(failed.value)
        assert listener.met == 0


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    started: list[str] = []
    run = programs.run

    def noting(command: list[str], **options: object) -> Ended:
        ended = run(command, **options)  # type: ignore[arg-type]
        started.append(command[1])
        return ended

    monkeypatch.setattr(programs, "run", noting)
    return started


def unconfined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    def refuse(_: Confinement) -> None:
        raise NotConfinedError("this system cannot confine a program")

    monkeypatch.setattr(Confinement, "enter", refuse)
    return noted(monkeypatch)


HARMLESS = {
    "base/kustomization.yaml": "resources: [../other, a.yaml]\nnamePrefix: x-\n"
    "labels: [{pairs: {a: b}}]\n"
    "configMapGenerator: [{name: g, files: [key=text.txt], envs: [a.env]}]\n"
    "patches: [{path: patch.yaml}]\n",
    "base/a.yaml": CONFIG_MAP % "a",
    "base/text.txt": "text",
    "base/a.env": "a=b",
    "base/patch.yaml": CONFIG_MAP % "a",
    "other/kustomization.yaml": "resources: [b.yaml]\n",
    "other/b.yaml": CONFIG_MAP % "b",
    ".git/config": "",
}


def test_where_nothing_confines_a_build_it_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = unconfined(monkeypatch)
    tree = write(tmp_path / "tree", HARMLESS)
    assert split(tree, "base") == 1
    assert "--trust" in capsys.readouterr().err
    policy = str(FIRES / "clusters/north/policy.yaml")
    for command in (["check", "--repo"], ["verify", "--policy", policy]):
        assert main([*command, str(tree / "base")]) == 1
        assert "cannot confine" in capsys.readouterr().err
    assert "build" not in started
    assert split(tree, "base", "--trust") == 0, capsys.readouterr()
    assert "name: x-b" in written(tree)
    assert started.count("build") == 1


def test_a_base_in_no_repository_reaches_itself_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path: text for path, text in HARMLESS.items() if not path.startswith(".git")}
    tree = write(tmp_path / "tree", files)
    assert split(tree, "base") == 1
    assert "../other leads out" in capsys.readouterr().err


@pytest.mark.parametrize("below", ["cache", "fleet", "."])
def test_a_cache_in_what_is_checked_is_not_used(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write(tmp_path / "tree", {".git/config": "", "fleet/a.yaml": CONFIG_MAP % "a"})
    (tmp_path / "link").symlink_to(tree)
    for place in (tree, tmp_path / "link"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(place / below))
        assert builds.cache(tree / "fleet") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert builds.cache(tree / "fleet") is not None


def test_a_cache_is_used_again_but_for_what_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = tmp_path / "krm-windows"
    check = ["check", "--repo", str(write(tmp_path / "tree", with_a_build()))]
    first = (main(check), capsys.readouterr().out)
    entries = [path for path in cache.iterdir() if len(path.name) == 64]
    assert entries
    started = noted(monkeypatch)
    assert (main(check), capsys.readouterr().out) == first
    assert set(started) == {"version"}
    for entry in entries:
        entry.write_bytes(b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: planted}\n")
    assert (main(check), capsys.readouterr().out) == first
    assert started.count("build") == len(entries)


def with_a_build() -> dict[str, str]:
    files = {path.relative_to(FIRES).as_posix(): path.read_text() for path in FIRES.rglob("*.yaml")}
    files["windowed/kustomization.yaml"] = "resources: [both.yaml]\nlabels: [{pairs: {a: b}}]\n"
    return files


def test_a_script_in_the_place_of_the_program_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It finds nothing of what it would start, so it is of no use here."""
    script = write(tmp_path, {"bin/kustomize": "#!/usr/bin/env no-such-shell\n"}) / "bin/kustomize"
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))
    assert split(write(tmp_path / "tree", HARMLESS), "base") == 1
    assert "put the program itself first in PATH" in capsys.readouterr().err


def test_resources_are_read_where_they_lie(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {"secret.yaml": CONFIG_MAP % "secret"})
    tree = write(
        tmp_path / "tree",
        {"base/a.yaml": CONFIG_MAP % "a", "base/.git/b.yaml": CONFIG_MAP % "hidden"},
    )
    (tree / "base/link.yaml").symlink_to(tmp_path / "secret.yaml")
    (tree / "base/inner.yaml").symlink_to(".git/b.yaml")
    (tree / "base/zero.yaml").symlink_to("/dev/zero")
    assert split(tree, "base") == 0
    assert "name: a" in written(tree)
    assert "secret" not in written(tree)
    assert "hidden" not in written(tree)
    assert main(["check", str(tree / "base/zero.yaml")]) == 1
    assert "is a device" in capsys.readouterr().err

"""kpt, for real: pipelines that write files in place, and the functions in a pipe."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from engines import POLICY, Kpt, ours, package, read, run, write

pytestmark = pytest.mark.slow  # kustomize, kpt and containers


def added_and_removed(before: dict[str, str], after: dict[str, str], name: str) -> list[str]:
    lines = difflib.ndiff(before[name].splitlines(), after[name].splitlines())
    return [line for line in lines if line[0] in "+-"]


APP = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: &app {name}
  namespace: flux-system
spec:
  path: ./apps/{name}
  suspend: false
  commonMetadata:
    labels:
      app.kubernetes.io/name: *app
"""


def test_K06_files_that_use_one_anchor_each_for_itself(kpt: Kpt, tmp_path: Path) -> None:
    """As many repositories have them: an alias belongs to the nearest anchor before it."""
    folder = package(tmp_path, kpt, POLICY.replace("[infra, apps]", "[one, two]"))
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(APP.format(name=name))
    done = kpt.render(folder)
    assert done.returncode == 0, done.stderr
    for name in ("one", "two"):
        text = (folder / f"{name}.yaml").read_text()
        assert f"name: &app {name}" in text
        assert "*app" in text
        assert "suspend" not in text


def test_K06_render_twice(kpt: Kpt, tmp_path: Path) -> None:
    folder = package(tmp_path, kpt)
    before = read(folder)
    first = kpt.render(folder)
    assert first.returncode == 0, first.stderr
    written = read(folder)
    # What the function adds lies together, not scattered by namespace.
    [added] = {Path(name).parent for name in written.keys() - before.keys()}
    assert added != Path()
    assert ours("---\n".join(text for name, text in written.items() if name != "Kptfile"))
    second = kpt.render(folder)
    assert second.returncode == 0, second.stderr
    assert read(folder) == written


def test_K06_policy_that_shrinks(kpt: Kpt, tmp_path: Path) -> None:
    more = POLICY.replace(
        "  freezes:\n", "    sunday:\n      opens: Sun 01:00\n      duration: 2h\n  freezes:\n"
    )
    folder = package(tmp_path / "shrunk", kpt, more)
    assert kpt.render(folder).returncode == 0
    assert "open-sunday" in "".join(read(folder).values())
    (folder / "policy.yaml").write_text(POLICY)
    assert kpt.render(folder).returncode == 0
    fresh = package(tmp_path / "fresh", kpt)
    assert kpt.render(fresh).returncode == 0
    assert read(folder) == read(fresh)


def test_K02_failing_policy_under_kpt(kpt: Kpt, tmp_path: Path) -> None:
    folder = package(tmp_path, kpt, POLICY.replace("Mon 08:00", "Fry 08:00"))
    before = read(folder)
    done = kpt.render(folder)
    assert done.returncode == 1
    assert "[error]" in done.stderr
    assert "spec.windows.working-week.opens" in done.stderr
    assert read(folder) == before


def test_T06_comments_stay_and_only_intended_lines_change(kpt: Kpt, tmp_path: Path) -> None:
    echo = Kpt(kpt.program, "exec: cat", ("--exec", "cat"), ("--allow-exec",))
    folder, untouched = package(tmp_path / "ours", kpt), package(tmp_path / "echo", echo)
    assert kpt.render(folder).returncode == 0
    assert echo.render(untouched).returncode == 0
    before, after = read(untouched), read(folder)
    assert {name for name in before if before[name] != after[name]} == {"Kptfile", "flux.yaml"}
    governed = ["+   annotations:", "+     krm-windows.dev/governed-by: flux-system/office-hours"]
    assert sorted(added_and_removed(before, after, "flux.yaml")) == sorted(
        [*governed * 2, "-   suspend: false"]
    )


def test_K07_eval(kpt: Kpt, tmp_path: Path) -> None:
    rendered, folder = package(tmp_path / "rendered", kpt), package(tmp_path / "package", kpt)
    assert kpt.render(rendered).returncode == 0
    done = kpt.fn("eval", folder, *kpt.flags, "--fn-config", folder / "policy.yaml")
    assert done.returncode == 0, done.stderr
    assert read(folder) == read(rendered)


def test_K08_source_function_sink(kpt: Kpt, function: Path, tmp_path: Path) -> None:
    rendered, folder = package(tmp_path / "rendered", kpt), package(tmp_path / "package", kpt)
    assert kpt.render(rendered).returncode == 0
    source = kpt.fn("source", folder, "--fn-config", folder / "policy.yaml")
    assert source.returncode == 0, source.stderr
    transformed = run(function, stdin=source.stdout)
    assert transformed.returncode == 0, transformed.stderr
    sink = kpt.fn("sink", tmp_path / "sunk", stdin=transformed.stdout)
    assert sink.returncode == 0, sink.stderr
    sunk = read(tmp_path / "sunk")
    wanted = read(rendered)
    assert ours("---\n".join(sunk.values())) == ours("---\n".join(wanted.values()))
    # kpt's sink drops the comment that ends a file.
    wanted["flux.yaml"] = sunk["flux.yaml"]
    assert sunk == wanted


@pytest.fixture
def podman_without_network(podman: Path, tmp_path: Path) -> str:
    """The first container with a network would change the machine: bridge, filter, parameters."""
    text = '#!/bin/sh\n[ "$1" = run ] && shift && set -- run --network=none "$@"\n'
    write(tmp_path, {"bin/podman": f'{text}exec {podman} "$@"\n'})
    (tmp_path / "bin/podman").chmod(0o755)
    return f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"


def test_P08_doc_asks_for_help(
    tool: Callable[[str], Path], image: str, podman_without_network: str
) -> None:
    kept = {"KPT_FN_RUNTIME": "podman", "PATH": podman_without_network}
    done = run(tool("kpt"), "fn", "doc", "--image", image, environment=kept)
    assert done.returncode == 0, done.stderr
    assert "WindowPolicy" in done.stdout + done.stderr

"""Each example, copied elsewhere and built as it is, yields what is checked in beside it."""

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import call
from differences import assert_same_files
from golden import (
    ALONE,
    BUILDS,
    EXAMPLES,
    FLEET,
    PIPELINE,
    SPLITS,
    build,
    contents,
    fleet,
    printed,
    render,
    split,
)

GENERATE = ".venv/bin/python tests/golden.py"
PLACE = ("internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index")
Tool = Callable[[str], Path]


@pytest.fixture(scope="module")
def plugin_home(function: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("plugins")
    printed(function, "install", "--plugin-home", home)
    return home


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["kubectl", "kustomize"])
@pytest.mark.parametrize("folder", BUILDS)
def test_builds_to_the_same_bytes(
    folder: str, engine: str, tool: Tool, plugin_home: Path, tmp_path: Path
) -> None:
    example, _, rest = folder.partition("/")
    shutil.copytree(EXAMPLES / example, tmp_path / "copy")
    done = build(tool(engine), tmp_path / "copy" / rest, plugin_home)
    assert (done.returncode, done.stderr) == (0, "")
    name = BUILDS[folder]
    assert_same_files({name: done.stdout}, {name: (EXAMPLES / name).read_text()}, GENERATE)


@pytest.mark.parametrize("example", ALONE)
def test_yields_the_same_objects_without_kustomize(example: str) -> None:
    folder, name = EXAMPLES / example, BUILDS[example]
    kustomization = yaml.load((folder / "kustomization.yaml").read_text(), yaml.CSafeLoader)
    [policy], items = (
        [found for name in kustomization[field] for found in documents(folder / name)]
        for field in ("transformers", "resources")
    )
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    answer = call(json.dumps({**head, "items": items, "functionConfig": policy}))
    same_objects(name, map(unplaced, answer.objects), documents(EXAMPLES / name))


@pytest.mark.slow
@pytest.mark.parametrize("way", ["exec", "image"])
def test_the_kpt_package_renders_to_the_expected_files(
    way: str, tool: Tool, function: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if way == "exec":
        rendered = render(tool("kpt"), tmp_path / "package", f"exec: {function}", "--allow-exec")
    else:
        image = f"image: {request.getfixturevalue('image')}"
        rendered = render(tool("kpt"), tmp_path / "package", image, "--image-pull-policy", "never")
    assert_same_files(rendered, contents(PIPELINE / "expected"), GENERATE)


@pytest.mark.slow
@pytest.mark.parametrize("base", SPLITS)
def test_a_split_is_what_is_checked_in(base: str, tool: Tool, tmp_path: Path) -> None:
    examples = shutil.copytree(EXAMPLES / "change-classes", tmp_path / "change-classes").parent
    done = split(base, examples, "--check", "--strict")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "krm-windows: all files up to date\n"
    folders = [examples / SPLITS[base] / name for name in ("live", "window")]
    whole, *parts = (
        list(yaml.load_all(printed(tool("kustomize"), "build", folder), yaml.CSafeLoader))
        for folder in [examples / "change-classes" / base, *folders]
    )
    assert all(parts)
    same_objects(base, (item for part in parts for item in part), whole)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["kubectl", "kustomize"])
def test_each_cluster_of_the_fleet_builds_to_the_expected_objects(
    engine: str, tool: Tool, tmp_path: Path
) -> None:
    """Patches keep the order of the base, so the order may differ."""
    # A directory of its own: what other tests rendered is beside `tmp_path`, and would be compared.
    for name, built in fleet(tool(engine), tmp_path / "fleet").items():
        same_objects(name, yaml.load_all(built, yaml.CSafeLoader), documents(FLEET / name))


def test_every_example_is_a_case() -> None:
    """What is to be migrated, the service and what forges run are built by nothing of ours."""
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    others = {PIPELINE.name, FLEET.name, "by-hand", "server", "merge-gate"}
    assert folders == {folder.split("/")[0] for folder in BUILDS} | others


def same_objects(name: str, found: Iterable[Any], expected: Iterable[Any]) -> None:
    def identity(item: dict[str, Any]) -> tuple[str, str]:
        return item["kind"], item["metadata"]["name"]

    texts = [
        yaml.dump_all(sorted(each, key=identity), Dumper=yaml.CSafeDumper, width=100)
        for each in (found, expected)
    ]
    assert_same_files({name: texts[0]}, {name: texts[1]}, GENERATE)


def documents(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_dir():
        kustomization = yaml.load((path / "kustomization.yaml").read_text(), yaml.CSafeLoader)
        for name in kustomization["resources"]:
            yield from documents(path / name)
    else:
        yield from yaml.load_all(path.read_text(), yaml.CSafeLoader)


def unplaced(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    notes = {key: text for key, text in metadata.get("annotations", {}).items() if key not in PLACE}
    return {**item, "metadata": {**metadata, "annotations": notes}} if notes else item

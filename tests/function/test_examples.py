"""Each example, copied elsewhere and built as it is, yields what is checked in beside it."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from differences import assert_same_files, assert_same_objects
from golden import (
    BUILDS,
    ENGINES,
    EXAMPLES,
    FLEET,
    PIPELINE,
    SPLITS,
    Build,
    build,
    contents,
    render,
    render_fleet,
    split,
)

GENERATE = ".venv/bin/python tests/golden.py"
PLACE = ("internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index")


@pytest.fixture(scope="module")
def plugin_home(function: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("plugins")
    subprocess.run([function, "install", "--plugin-home", home], check=True, capture_output=True)
    return home


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["kubectl", "kustomize"])
@pytest.mark.parametrize("case", BUILDS, ids=str)
def test_builds_to_the_same_bytes(
    case: Build, engine: str, tool: Callable[[str], Path], plugin_home: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(EXAMPLES / case.folder.split("/")[0], tmp_path / "copy")
    done = build(tool(engine), copy.joinpath(*case.folder.split("/")[1:]), plugin_home)
    assert (done.returncode, done.stderr) == (0, "")
    expected = (EXAMPLES / case.expected).read_text()
    assert_same_files({case.expected: done.stdout}, {case.expected: expected}, GENERATE)


@pytest.mark.parametrize("case", [case for case in BUILDS if "/" not in case.folder], ids=str)
def test_yields_the_same_objects_without_kustomize(case: Build, function: Path) -> None:
    folder = EXAMPLES / case.folder
    kustomization = yaml.load((folder / "kustomization.yaml").read_text(), yaml.CSafeLoader)
    [policy] = [
        found for name in kustomization["transformers"] for found in documents(folder / name)
    ]
    items = [found for name in kustomization["resources"] for found in documents(folder / name)]
    wire = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": items,
        "functionConfig": policy,
    }
    done = subprocess.run(
        [function], input=json.dumps(wire), capture_output=True, text=True, check=True
    )
    got = [unplaced(item) for item in yaml.load(done.stdout, yaml.CSafeLoader)["items"]]
    expected = sorted(documents(EXAMPLES / case.expected), key=identity)
    assert_same_objects(case.expected, sorted(got, key=identity), expected, GENERATE)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["exec", "image"])
def test_the_kpt_package_renders_to_the_expected_files(
    way: str,
    tool: Callable[[str], Path],
    function: Path,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    if way == "exec":
        rendered = render(tool("kpt"), tmp_path / "package", f"exec: {function}", "--allow-exec")
    else:
        image = f"image: {request.getfixturevalue('image')}"
        rendered = render(tool("kpt"), tmp_path / "package", image, "--image-pull-policy", "never")
    assert_same_files(rendered, contents(PIPELINE / "expected"), GENERATE)


@pytest.mark.slow
@pytest.mark.parametrize("base", SPLITS)
def test_a_split_is_what_is_checked_in(
    base: str, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    examples = shutil.copytree(EXAMPLES / "change-classes", tmp_path / "change-classes").parent
    done = split(base, examples, "--check", "--strict")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "krm-windows: all files up to date\n"
    folders = [examples / SPLITS[base] / name for name in ("live", "window")]
    built = [
        subprocess.run(
            [tool("kustomize"), "build", folder], capture_output=True, text=True, check=True
        ).stdout
        for folder in [examples / "change-classes" / base, *folders]
    ]
    whole, *parts = [list(yaml.load_all(text, yaml.CSafeLoader)) for text in built]
    assert sorted((item for part in parts for item in part), key=identity) == sorted(
        whole, key=identity
    )
    assert all(parts)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["kubectl", "kustomize"])
def test_each_cluster_of_the_fleet_builds_to_the_expected_objects(
    engine: str, tool: Callable[[str], Path], tmp_path: Path
) -> None:
    # A directory of its own: what other tests rendered is beside `tmp_path`, and would be compared.
    tree = tmp_path / "fleet"
    render_fleet(tree)
    for folder in (tree / "clusters").iterdir():
        command = [tool(engine), *ENGINES[engine], folder / "reconciliation-window"]
        built = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found = sorted(yaml.load_all(built, yaml.CSafeLoader), key=identity)
        name = f"expected/{folder.name}.yaml"
        expected = sorted(documents(FLEET / name), key=identity)
        assert_same_objects(name, found, expected, GENERATE)


def test_every_example_is_a_case() -> None:
    """What is to be migrated, the service and what forges run are built by nothing of ours."""
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert folders == {case.folder.split("/")[0] for case in BUILDS} | {
        PIPELINE.name,
        FLEET.name,
        "by-hand",
        "server",
        "merge-gate",
    }


def documents(path: Path) -> Iterator[dict[str, object]]:
    if path.is_dir():
        for name in yaml.load((path / "kustomization.yaml").read_text(), yaml.CSafeLoader)[
            "resources"
        ]:
            yield from documents(path / name)
    else:
        yield from yaml.load_all(path.read_text(), yaml.CSafeLoader)


def unplaced(item: dict[str, object]) -> dict[str, object]:
    metadata = item["metadata"]
    annotations = {
        key: value for key, value in metadata.get("annotations", {}).items() if key not in PLACE
    }
    return {**item, "metadata": {**metadata, "annotations": annotations}} if annotations else item


def identity(item: dict[str, object]) -> tuple[str, str]:
    return str(item["kind"]), str(item["metadata"]["name"])

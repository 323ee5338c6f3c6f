"""Large manifests that nobody here wrote leave the function as they came, byte for byte."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from modules import MODULES, files

pytestmark = pytest.mark.slow  # megabytes, through the program

FUNCTION = Path(sys.executable).with_name("krm-windows")

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: office-hours
  namespace: flux-system
  annotations:
    config.kubernetes.io/local-config: "true"
spec:
  timeZone: Europe/Berlin
  targets:
  - kind: Kustomization
    names: [infra]
  windows:
    working-week:
      opens: Mon 08:00
      closes: Thu 17:00
"""
BESIDE_A_CAT = (
    "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: crds\npipeline:\n  mutators:\n"
    "  - exec: {}\n"
)


@pytest.fixture(scope="session")
def manifests(tool: Callable[[str], Path]) -> dict[str, list[Path]]:
    assert tool("go")
    return {name: files(name) for name in MODULES}


def documents(path: Path) -> list[str]:
    """Return a file's documents as text, those that hold only comments left out."""
    parts = re.split(r"^---.*\n", path.read_text(), flags=re.MULTILINE)
    return [part for part in parts if re.search(r"^kind: (?!Kustomization)", part, re.MULTILINE)]


def item(document: str) -> str:
    """Return a document as an item of a sequence, every line as it was but for its indentation."""
    lines = document.rstrip("\n").split("\n")
    return (
        "- " + "\n".join(f"  {line}" if line else line for line in lines).removeprefix("  ") + "\n"
    )


def run(*command: str | Path, stdin: str = "", **environment: str) -> str:
    everything = {**os.environ, **environment}
    return subprocess.check_output(command, input=stdin, env=everything, text=True)


@pytest.mark.parametrize("module", MODULES)
def test_T01_every_byte_of_every_item(manifests: dict[str, list[Path]], module: str) -> None:
    """All that was in the list is in the output, unchanged and in its order; ours come after it."""
    items = "".join(item(document) for path in manifests[module] for document in documents(path))
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
    config = "functionConfig:\n" + "".join(f"  {line}\n" for line in POLICY.splitlines())
    out = run(FUNCTION, stdin=f"{head}{items}{config}")
    assert out.startswith(f"{head}{items}")
    assert out.endswith(config) or f"{config}results:" in out
    assert out.count("kind: CronJob") > 1


def test_T03_plain_equals_sign_of_a_real_crd(manifests: dict[str, list[Path]]) -> None:
    """The manifests hold the plain `=` that crashes a YAML 1.1 loader."""
    texts = [
        path.read_text() for path in manifests["github.com/prometheus-operator/prometheus-operator"]
    ]
    assert any(re.search(r"^ *- =$", text, re.MULTILINE) for text in texts)


@pytest.fixture
def everything(manifests: dict[str, list[Path]]) -> dict[str, str]:
    found = {
        f"{number:02}-{path.name}": path
        for number, path in enumerate(path for m in manifests.values() for path in m)
    }
    texts = {name: "---\n".join(documents(path)) for name, path in found.items()}
    return {name: text for name, text in texts.items() if text}


def test_T09_through_kustomize(
    everything: dict[str, str], tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """kustomize builds CRDs with and without the function: no other line differs."""
    for name, text in everything.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "policy.yaml").write_text(POLICY)
    plugins = tmp_path / "plugins"
    run(FUNCTION, "install", "--plugin-home", plugins)
    resources = f"sortOptions: {{order: fifo}}\nresources: {json.dumps(sorted(everything))}\n"
    build = [tool("kubectl"), "kustomize", "--enable-alpha-plugins", tmp_path]
    (tmp_path / "kustomization.yaml").write_text(resources)
    plain = run(*build)
    (tmp_path / "kustomization.yaml").write_text(f"{resources}transformers: [policy.yaml]\n")
    windowed = run(*build, KUSTOMIZE_PLUGIN_HOME=str(plugins))
    assert plain.count("kind: CustomResourceDefinition\n") >= 50
    assert len(plain) > 1_500_000
    assert windowed.startswith(plain)
    assert windowed.count("kind: CronJob") > 1


def test_T01_files_in_a_kpt_package(
    everything: dict[str, str], tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """Under kpt every file is what a function that only echoes leaves of it."""
    results = []
    for name, pipeline in {
        "cat": "cat",
        "ours": f"{FUNCTION}\n    configPath: policy.yaml",
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        for file, text in everything.items():
            (folder / file).write_text(text)
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "Kptfile").write_text(BESIDE_A_CAT.format(pipeline))
        run(tool("kpt"), "fn", "render", folder, "--allow-exec")
        results.append({file: (folder / file).read_text() for file in everything})
    assert results[0] == results[1]

"""The ways in which orchestrators call the function, and the repository they are shown."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

REPOSITORY = Path(__file__).with_name("repository")
POLICY = (REPOSITORY / "policy.yaml").read_text()
RESOURCES = {name: (REPOSITORY / name).read_text() for name in ("flux.yaml", "web.yaml")}
KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: cluster # this one
pipeline:
  mutators:
  - {function}
    configPath: policy.yaml
"""

Objects = dict[tuple[str, str, str], dict[str, object]]


@dataclass(frozen=True)
class Engine:
    command: tuple[str | Path, ...]
    annotation: str = ""
    """The value of `config.kubernetes.io/function`.

    It is empty for the legacy plugin, which is found by kind.
    """
    environment: Mapping[str, str] = field(default_factory=dict)

    def policy(self, text: str = POLICY) -> str:
        if not self.annotation:
            return text
        return annotated(text, "config.kubernetes.io/function", self.annotation)

    def build(self, folder: Path) -> subprocess.CompletedProcess[str]:
        return run(*self.command, "--enable-alpha-plugins", folder, environment=self.environment)

    def built(self, folder: Path) -> str:
        done = self.build(folder)
        assert done.returncode == 0, done.stderr
        return done.stdout


@dataclass(frozen=True)
class Kpt:
    program: Path
    kptfile: str
    """How a Kptfile names the function."""
    flags: tuple[str, ...]
    """How `kpt fn eval` names it."""
    permission: tuple[str, ...]
    """What kpt needs to be given before it starts such a function."""

    def render(self, folder: Path) -> subprocess.CompletedProcess[str]:
        return self.fn("render", folder, *self.permission)

    def fn(self, *arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        environment = {"KPT_FN_RUNTIME": "podman"}
        # kpt gives Podman five seconds to say its version, which a busy machine may not have.
        for _ in range(10):
            done = run(self.program, "fn", *arguments, environment=environment, stdin=stdin)
            if "signal: killed\npodman must be installed" not in re.sub(r"\n +", "\n", done.stderr):
                break
        return done


def run(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    folder: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    everything = {**os.environ, **(environment or {})}
    return subprocess.run(
        command,
        input=stdin,
        cwd=folder,
        env=everything,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def read(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def package(folder: Path, kpt: Kpt, policy: str = POLICY) -> Path:
    return write(
        folder,
        {"Kptfile": KPTFILE.format(function=kpt.kptfile), "policy.yaml": policy, **RESOURCES},
    )


def kustomization(*, slot: str = "transformers", entry: str = "policy.yaml", more: str = "") -> str:
    resources = "".join(f"- {name}\n" for name in RESOURCES)
    return f"resources:\n{resources}{slot}:\n- {entry}\n{more}"


def annotated(policy: str, key: str, value: str) -> str:
    return policy.replace("  annotations:\n", f"  annotations:\n    {key}: {value!r}\n", 1)


def objects(text: str) -> Objects:
    return {
        (found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]): found
        for found in yaml.load_all(text, Loader=yaml.CSafeLoader)
        if found
    }


def ours(text: str) -> Objects:
    return {
        key: found
        for key, found in objects(text).items()
        if "krm-windows.dev/policy" in labels(found)
    }


def labels(found: Mapping[str, object]) -> Mapping[str, str]:
    metadata = found["metadata"]
    return metadata.get("labels") or {} if isinstance(metadata, dict) else {}


def kinds(found: Objects) -> set[str]:
    return {kind for kind, _, _ in found}

"""Calls of the function as an orchestrator makes them, in this process or as a program."""

import difflib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import yaml

from krm_windows import function, krm
from krm_windows.policy.load import Loaded, load

V1, V1BETA1 = "config.kubernetes.io/v1", "config.kubernetes.io/v1beta1"
HEAD = f"apiVersion: {V1}\nkind: ResourceList\n"

POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week
  namespace: flux-system
spec:
  timeZone: Europe/Berlin
  targets:
  - kind: Kustomization
    names: [apps]
  windows:
    office:
      opens: Mon 08:00
      closes: Thu 17:00
"""

APPS = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 10m
  path: ./apps
  prune: true
  sourceRef:
    kind: GitRepository
    name: fleet
"""

# A cluster's own Kustomization with the source of both, as `flux bootstrap` writes them.
SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet, namespace: flux-system}
spec: {interval: 1m, url: ssh://git@example.com/fleet}
---
""" + APPS.replace("name: apps", "name: flux-system").replace("./apps", "./clusters/north")

# Everything waits for POLICY but, in the second one, ConfigMaps.
ALL_WAIT = """\
apiVersion: krm-windows.dev/v1alpha1
kind: ChangeClasses
metadata: {name: classes}
spec:
  classes: [{name: live}, {name: window, policy: flux-system/week}]
  default: window
"""
CLASSES = f"{ALL_WAIT}  rules: [{{class: live, kinds: [ConfigMap]}}]\n"


class TextLoader(yaml.CSafeLoader):
    """Reads every scalar as the text that is there, so that no YAML version has a say."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - what PyYAML calls it


@dataclass(frozen=True)
class Answer:
    code: int
    out: bytes
    err: str

    @cached_property
    def document(self) -> dict[str, object]:
        return yaml.load(self.out, TextLoader)  # noqa: S506 - a safe loader with fewer types

    @property
    def items(self) -> list[dict[str, object]]:
        return self.document["items"]

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        return list(yaml.load(self.out, yaml.CSafeLoader)["items"])

    @property
    def results(self) -> list[dict[str, object]]:
        _, found, listed = self.out.decode().rpartition("\nresults:\n")
        # A safe loader with fewer types.
        return yaml.load(listed, TextLoader) if found else []  # noqa: S506

    @property
    def rules(self) -> list[str]:
        return [result["tags"]["rule"] for result in self.results]

    def of(self, *kinds: str) -> list[dict[str, object]]:
        return [item for item in self.items if item["kind"] in kinds]

    def named(self, kind: str, name: str) -> dict[str, object]:
        [found] = [item for item in self.of(kind) if item["metadata"]["name"] == name]
        return found


class Ended(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


def wire(*items: str, config: str = POLICY, head: str = HEAD, results: str = "") -> str:
    """Write a ResourceList in the layout of kustomize, with each item's text as it is."""
    listed = "".join(as_item(item) for item in items)
    config = "functionConfig:\n" + indented(config) if config else ""
    return f"{head}items:{'' if items else ' []'}\n{listed}{config}{results}"


def as_item(text: str) -> str:
    return "- " + indented(text)[2:]


def indented(text: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))


def call(data: str | bytes, *argv: str, **environ: str) -> Answer:
    stdin = BytesIO(data.encode() if isinstance(data, str) else data)
    stdout, stderr = BytesIO(), StringIO()
    code = krm.run(
        function.process, argv=argv, stdin=stdin, stdout=stdout, stderr=stderr, environ=environ
    )
    return Answer(code, stdout.getvalue(), stderr.getvalue())


def program(data: str | bytes, *argv: object, timeout: float = 60, **environ: str) -> Answer:
    """Its environment has nothing but this and what Python needs."""
    command = [sys.executable, "-m", "krm_windows", *map(str, argv)]
    kept = {
        name: os.environ[name] for name in ("PATH", "COVERAGE_PROCESS_START") if name in os.environ
    }
    stdin = data.encode() if isinstance(data, str) else data
    done = subprocess.run(
        command,
        input=stdin,
        capture_output=True,
        env={**kept, **environ},
        timeout=timeout,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr.decode())


def emitted(config: str, *kinds: str) -> list[dict[str, Any]]:
    answer = call(wire(config=config))
    assert answer.code == 0, answer.err
    return [item for item in answer.objects if not kinds or item["kind"] in kinds]


def spec(**fields: str) -> str:
    """Return the policy with fields of its spec added or replaced; a text is YAML."""
    read = yaml.load(POLICY, yaml.CSafeLoader)
    read["spec"] |= {name: yaml.load(text, yaml.CSafeLoader) for name, text in fields.items()}
    return yaml.dump(read, Dumper=yaml.CSafeDumper, sort_keys=False)


def loaded(policy: str) -> Loaded:
    return load(krm.KubeObject.parse(policy.encode()).node)


def broken(policy: str) -> list[str]:
    return [found.rule for found in loaded(policy).results]


def lines_apart(before: bytes, after: bytes) -> Iterable[str]:
    diff = difflib.unified_diff(
        before.decode().splitlines(), after.decode().splitlines(), lineterm="", n=0
    )
    return [line for line in diff if not line.startswith(("---", "+++", "@@"))]

"""What these tests share: the schemas of Kubernetes, and what is compared with them."""

import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml
from calls import POLICY, call, wire
from kubernetes_validate import utils
from restricted import ROOT, Object


@pytest.fixture(scope="session", autouse=True)
def schemas() -> Iterator[None]:
    """Each file is read once: the validator reads a megabyte of them for every object."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(utils, "schema_contents", cache(utils.schema_contents))
        yield


@pytest.fixture(scope="session")
def policy() -> str:
    return f"""{POLICY}\
  extras: [NetworkPolicy, PrometheusRule, StateMetrics]
  hooks: {{namespace: maintenance, afterClose: {{image: "i:1"}}}}
  released:
  - {{kind: HelmRelease, names: [old]}}
  - {{kind: Cluster, names: [one]}}
  - {{kind: CronJob, names: [nightly]}}
  - kind: Widget
    names: [it]
    apiVersion: example.com/v1
    resource: widgets
    suspendField: spec.off
    trueMeans: Closed
"""


@pytest.fixture(scope="session")
def extras(policy: str) -> list[Object]:
    items: list[Object] = call(wire(config=policy)).objects
    return items


@pytest.fixture(scope="session")
def server(tool: Callable[[str], Path]) -> list[Object]:
    command = [tool("kustomize"), "build", ROOT / "examples/server"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))

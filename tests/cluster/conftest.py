"""A test's own namespace and repository in the cluster that `make e2e` brings up."""

import os
import re
import time
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from environment import Environment, forget, repository
from lab.api import Api
from lab.settings import ADMIN, BIN


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest; as a worker is given two at first, a short one follows each."""
    long = [item for item in items if item.get_closest_marker("long")]
    short = [item for item in items if item not in long]
    items[:] = [item for pair in zip_longest(long, short) for item in pair if item]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes more than two minutes, so it is begun first")
    config.addinivalue_line("markers", "disruptive: changes what other tests need, and runs alone")


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    """Skips where no cluster is up, and fails there within `make e2e`."""
    if not ADMIN.exists() or Api.unreachable():
        required = os.environ.get("KRM_WINDOWS_REQUIRE_TOOLS") == "1"
        (pytest.fail if required else pytest.skip)("no cluster is up (make e2e brings one up)")
    yield (administrator := Api())
    administrator.close()


@pytest.fixture
def env(api: Api, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Environment]:
    yield from prepared(api, request.node.name.removeprefix("test_"), tmp_path / "tree")


@pytest.fixture
def kubectl(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """What the commands of a page find: a kubectl that asks the cluster."""
    monkeypatch.setenv("KUBECONFIG", str(ADMIN))
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    return monkeypatch


@pytest.fixture
def neighbour(api: Api, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Environment]:
    yield from prepared(api, f"{request.node.name.removeprefix('test_')}-2", tmp_path / "neighbour")


def prepared(api: Api, title: str, tree: Path) -> Iterator[Environment]:
    """The name is cut, and unique, so that tests can run again in the same cluster."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower())[:34].strip("-")
    name = f"{words}-{time.time_ns() // 10**6 % 10**5:05}"
    enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.create("namespaces", None, {"metadata": {"name": name, "labels": enforce}})
    repository(name, tree)
    made = Environment(api, name, tree)
    yield made
    forget(made)

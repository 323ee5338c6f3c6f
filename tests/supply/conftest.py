"""What these tests share."""

import subprocess

import pytest
from releases import ROOT, Release, copy, release


@pytest.fixture(scope="session")
def tracked() -> list[str]:
    """The paths that Git knows or would take, as they are in the work tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


@pytest.fixture(scope="session")
def tidy(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Release:
    sources = tmp_path_factory.mktemp("tidy")
    copy(tracked, sources, mode=0o644)
    return release(sources, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}, umask=0o022)


@pytest.fixture(scope="session")
def untidy(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Release:
    """From another folder, with other modes and times, and files that nobody wants to ship."""
    sources = tmp_path_factory.mktemp("untidy") / "deeper" / "than the other"
    copy(reversed(tracked), sources, mode=0o600)
    for path in (
        ".env",
        "id_rsa",
        "notes/README.md",
        "notes/krm_windows/secret.py",
        "krm_windows/.env",
        "krm_windows/token.txt",
        "krm_windows/cli/.render.py.swp",
        "krm_windows/cli/render.py.orig",
        "krm_windows/cli/__pycache__/render.cpython-311.pyc",
        "krm_windows/gate/core",
        "function-config/kubeconfig",
        "build/lib/krm_windows/old.py",
    ):
        stray = sources / path
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_text("stray")
    environment = {
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "2",
        "HOME": str(sources.parent),
    }
    return release(sources, environment, umask=0o077)

"""The wheel and the source archive: the same bytes wherever they are built."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from calls import POLICY, wire
from checks.words import files

from krm_windows import __version__
from krm_windows.cli.commands import COMMANDS

pytestmark = pytest.mark.slow  # builds releases

TOP_LEVEL = {".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "pyproject.toml"}
MADE = {"PKG-INFO"}
STRAYS = [
    ".env",
    "id_rsa",
    "notes/krm_windows/secret.py",
    "krm_windows/.env",
    "krm_windows/cli/.render.py.swp",
    "krm_windows/cli/__pycache__/render.cpython-311.pyc",
    "krm_windows/gate/core",
    "function-config/kubeconfig",
    "build/lib/krm_windows/old.py",
]
ROOT = Path(__file__).resolve().parents[2]
EPOCH = "1790000000"


@dataclass(frozen=True)
class Release:
    sources: Path
    wheel: Path
    sdist: Path


def copy(paths: Iterable[str], sources: Path, mode: int) -> None:
    for number, path in enumerate(paths):
        target = sources / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target)
        target.chmod(mode)
        os.utime(target, (number * 86400, number * 86400))


def build(
    sources: Path, output: Path, *options: str, surroundings: Mapping[str, str], umask: int = 0o022
) -> None:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", output]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, **surroundings}
    done = subprocess.run(
        [*command, *options, sources],
        env=environment,
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def release(sources: Path, surroundings: Mapping[str, str], umask: int) -> Release:
    output = sources.parent / f"{sources.name} built"
    build(sources, output, surroundings=surroundings, umask=umask)
    [wheel], [sdist] = output.glob("*.whl"), output.glob("*.tar.gz")
    return Release(sources, wheel, sdist)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    return files()


@pytest.fixture(scope="module")
def tidy(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Release:
    sources = tmp_path_factory.mktemp("tidy")
    copy(tracked, sources, mode=0o644)
    return release(sources, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}, umask=0o022)


@pytest.fixture(scope="module")
def untidy(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Release:
    sources = tmp_path_factory.mktemp("untidy") / "deeper" / "than the other"
    copy(reversed(tracked), sources, mode=0o600)
    for path in STRAYS:
        stray = sources / path
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_text("stray")
    other = {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"}
    return release(sources, {**other, "HOME": str(sources.parent)}, umask=0o077)


def members(sdist: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(sdist) as archive:
        return {member.name.split("/", 1)[1]: member for member in archive.getmembers()}


def test_the_same_sources_are_the_same_bytes(tidy: Release, untidy: Release) -> None:
    assert tidy.wheel.name == untidy.wheel.name
    assert tidy.wheel.read_bytes() == untidy.wheel.read_bytes()
    assert tidy.sdist.read_bytes() == untidy.sdist.read_bytes()


def test_the_source_archive_has_what_git_has_and_nothing_else(
    untidy: Release, tracked: list[str]
) -> None:
    shipped = {path for path in tracked if path.startswith(("krm_windows/", "function-config/"))}
    assert set(members(untidy.sdist)) == shipped | TOP_LEVEL | MADE


def test_files_in_the_source_archive_are_plain_and_nobodys(untidy: Release) -> None:
    for path, each in members(untidy.sdist).items():
        owner = (each.uid, each.gid, each.uname, each.gname)
        found = (each.isfile(), each.mode, owner, each.mtime)
        assert found == (True, 0o644, (0, 0, "", ""), int(EPOCH)), path


def test_the_wheel_has_the_package_and_nothing_else(untidy: Release, tracked: list[str]) -> None:
    with zipfile.ZipFile(untidy.wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert found == {path for path in tracked if path.startswith("krm_windows/")}


def test_the_source_archive_builds_the_same_wheel(tidy: Release, tmp_path: Path) -> None:
    """`build` has made the wheel from the source archive; made from the tree it is the same."""
    build(tidy.sources, tmp_path / "built", "--wheel", surroundings={})
    assert (tmp_path / "built" / tidy.wheel.name).read_bytes() == tidy.wheel.read_bytes()


def test_a_release_is_made_from_the_commit(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, clone], check=True)
    first, second = tmp_path / "first", tmp_path / "second"
    dist(clone, first)
    (clone / "krm_windows/stray.py").write_text("stray = True\n")
    with (clone / "krm_windows/__init__.py").open("a") as changed:
        changed.write("changed = True\n")
    dist(clone, second)
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert [path.rpartition(".")[2] for path in names] == ["SHA256SUMS", "json", "whl", "gz"]
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    subprocess.run(
        ["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=first, check=True
    )
    [bom] = first.glob("*.cdx.json")
    assert json.loads(bom.read_text())["metadata"]["component"]["name"] == "krm-windows"


def test_the_version_is_that_of_the_tag(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-tags", ROOT, clone], check=True)
    commit = git(clone, "rev-parse", "HEAD")
    dist(clone, tmp_path / "untagged")
    [wheel] = (tmp_path / "untagged").glob("*.whl")
    assert wheel.name.split("-")[1] == f"{__version__}.dev0+g{commit[:12]}"
    git(clone, "tag", f"v{__version__}")
    dist(clone, tmp_path / "tagged")
    [wheel] = (tmp_path / "tagged").glob("*.whl")
    assert wheel.name.split("-")[1] == __version__
    [bom] = (tmp_path / "tagged").glob("*.cdx.json")
    assert json.loads(bom.read_text())["metadata"]["component"]["version"] == __version__
    git(clone, "tag", "v99.0.0")
    done = dist(clone, tmp_path / "wrong", check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"dist: the tag v99.0.0 is on a commit whose source says {__version__}\n"
    )


def test_the_wheel_is_enough_for_a_bare_environment(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    dist(clone, tmp_path / "dist")
    [wheel] = (tmp_path / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "bare"], check=True)
    pip = [tmp_path / "bare/bin/python", "-m", "pip", "install", "--quiet", "--no-deps"]
    hashed = ["--require-hashes", "--only-binary", ":all:", "-r", ROOT / "requirements/image.txt"]
    subprocess.run([*pip, *hashed], check=True)
    subprocess.run([*pip, "--no-index", wheel], check=True)
    program = tmp_path / "bare/bin/krm-windows"

    def run(*arguments: str, stdin: str | None = None) -> str:
        command = [program, *arguments]
        return subprocess.check_output(command, input=stdin, cwd=tmp_path, text=True)

    built_from = f"{wheel.name.split('-')[1]} (commit {git(clone, 'rev-parse', 'HEAD')})"
    assert run("--version").startswith(f"krm-windows {built_from}, ")
    (tmp_path / "policy.yaml").write_text(POLICY)
    assert "flux-system/week" in run("calendar", "policy.yaml", "-o", "html")
    run("render", "policy.yaml", "--output-dir", "rendered")
    run("verify", "rendered", "--policy", "policy.yaml")
    assert "kind: CronJob" in run(stdin=wire(config=POLICY))
    for name in COMMANDS:
        assert run(name, "--help").startswith(f"usage: krm-windows {name} ")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", "-C", folder, *arguments], text=True).strip()


def dist(clone: Path, output: Path, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "supply.dist", "--output", output]
    environment = {**os.environ, "PYTHONPATH": str(clone / ".ci")}
    return subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, check=check
    )

"""A tree gives what lies in it: nothing outside, nothing hidden, nothing but files."""

import os
import socket
from pathlib import Path

import pytest

from krm_windows.system import directories
from krm_windows.system.checkout import Checkout
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.reading import Budget, kustomizations, manifests


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    (tmp_path / "tree/deep").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.yaml").write_text("out")
    (tmp_path / "tree/deep/a.yaml").write_text("in")
    for name, target in {
        "in": "deep",
        "out": "../outside",
        "secret.yaml": "../outside/secret.yaml",
        "gone": "nowhere",
        "round": "round",
    }.items():
        (tmp_path / "tree" / name).symlink_to(target)
    return Checkout.at(tmp_path / "tree")


@pytest.mark.parametrize(
    ("path", "real", "content"),
    [
        ("deep/a.yaml", "deep/a.yaml", b"in"),
        ("in/a.yaml", "deep/a.yaml", b"in"),
        (".", ".", None),
        ("deep/b.yaml", "deep/b.yaml", None),
        ("gone", "nowhere", None),
        ("out/secret.yaml", None, None),
        ("secret.yaml", None, None),
        ("../outside/secret.yaml", None, None),
        ("/etc/hostname", None, None),
    ],
)
def test_a_path_is_what_it_leads_to(
    tree: Checkout, path: str, real: str | None, content: bytes | None
) -> None:
    assert (tree.real(path), tree.read(path)) == (real, content)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("../outside/secret.yaml", "leads out"),
        ("out", "leads out"),
        ("secret.yaml", "leads out"),
        (".git/config", "is in a hidden directory"),
        (".hidden/b.yaml", "is in a hidden directory"),
        ("pipe.yaml", "is neither a file nor a directory"),
        ("socket.yaml", "is neither a file nor a directory"),
        ("to-pipe.yaml", "is neither a file nor a directory"),
        ("null.yaml", "leads out"),
        ("deep/a.yaml", None),
        ("nothing", None),
        ("a\0b", "leads out"),
    ],
)
def test_what_is_not_read_is_refused_in_words(
    tree: Checkout, path: str, refusal: str | None
) -> None:
    root = Path(tree.root)
    for name in (".git", ".hidden"):
        (root / name).mkdir()
    for name in (".git/config", ".hidden/b.yaml"):
        (root / name).write_text("a: b\n")
    for name, target in {"to-pipe.yaml": "pipe.yaml", "null.yaml": "/dev/null"}.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe.yaml")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(root / "socket.yaml"))
        found = tree.refusal(path)
        assert (found or "").startswith(refusal or "")
        assert bool(found) == bool(refusal)
        if refusal is not None:
            assert tree.read(path) is None
            assert not tree.is_directory(path)
        assert {"pipe.yaml", "socket.yaml", "null.yaml"}.isdisjoint(
            path.name for path in manifests(root)
        )


def test_a_link_that_takes_the_place_of_a_directory_leads_nowhere(tree: Checkout) -> None:
    root = Directory.at(Path(tree.root))
    assert root.read("deep/a.yaml") == b"in"
    for path in ("in/a.yaml", "out/secret.yaml", "secret.yaml", "deep/../in/a.yaml", ""):
        assert root.read(path) is None
    Path(tree.root, "deep/a.yaml").unlink()
    Path(tree.root, "deep").rmdir()
    Path(tree.root, "deep").symlink_to("../outside")
    assert tree.read("deep/secret.yaml") is None


def test_what_is_read_has_an_end(tree: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(tree.root, "huge.yaml").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(WorkspaceError, match=r"huge\.yaml: is larger than 64 MiB"):
        tree.read("huge.yaml")
    monkeypatch.setattr(directories, "MOST", 1)
    with pytest.raises(WorkspaceError, match=r"deep/a\.yaml: is larger"):
        tree.read("deep/a.yaml")
    budget = Budget(10)
    for _ in range(3):
        budget.spend(Path("root"), "a", b"x" * 6)
    with pytest.raises(WorkspaceError, match="most that is read"):
        budget.spend(Path("root"), "b", b"x" * 6)


def test_a_pattern_finds_no_directory_elsewhere(tree: Checkout) -> None:
    (Path(tree.root) / ".hidden/deep").mkdir(parents=True)
    (Path(tree.root) / "deep/up").symlink_to("..")
    assert [
        tree.directories(each) for each in ("/etc", "../*", "out/*", ".hidden/*", "*/../../*")
    ] == [[]] * 5
    assert tree.directories("*/*") == []
    assert tree.directories("*") == ["deep"]
    assert tree.is_directory("in")
    assert not any(map(tree.is_directory, ("out", "round", "deep/a.yaml")))
    assert tree.directories("d*p") == ["deep"]
    assert tree.directories("d[a-e]?p") == ["deep"]


def test_a_tree_of_any_depth_is_walked(tmp_path: Path) -> None:
    made = [tmp_path]
    try:
        for _ in range(300):
            made.append(made[-1] / "a")
            made[-1].mkdir()
        (made[-1] / "kustomization.yaml").write_text("a: b\n")
        (made[150] / "a.yaml").write_text("a: b\n")
        tree = Checkout.at(tmp_path)
        assert tree.directories("*/" * 300) == []
        assert [path.count("/") for path in tree.manifests()] == [150]
        assert list(kustomizations(tmp_path)) == []
        deep = "a/" * 300 + "kustomization.yaml"
        assert (tree.read(deep), tree.read("a/" * 150 + "a.yaml")) == (None, b"a: b\n")
        assert "deep" in (tree.refusal(deep) or "")
    finally:
        (made[-1] / "kustomization.yaml").unlink(missing_ok=True)
        (made[150] / "a.yaml").unlink(missing_ok=True)
        for folder in reversed(made[1:]):
            folder.rmdir()

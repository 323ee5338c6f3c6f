"""A tree gives what lies in it, and nothing that a link leads to outside."""

from pathlib import Path

import pytest

from krm_windows.workspace.checkout import Checkout


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    """A tree with links in and out of it."""
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
        ("./deep/../in/a.yaml", "deep/a.yaml", b"in"),
        (".", ".", None),
        ("", ".", None),
        ("deep", "deep", None),
        ("deep/b.yaml", "deep/b.yaml", None),
        ("gone", "nowhere", None),
        ("out", None, None),
        ("out/secret.yaml", None, None),
        ("secret.yaml", None, None),
        ("..", None, None),
        ("../outside/secret.yaml", None, None),
        ("/etc/hostname", None, None),
    ],
)
def test_a_path_is_what_it_leads_to(tree: Checkout, path: str, real: str | None, content: bytes | None) -> None:
    """Inside; outside there is nothing."""
    assert (tree.real(path), tree.read(path)) == (real, content)


def test_directories_lie_inside(tree: Checkout) -> None:
    """By a pattern, in order; a link is none, wherever it leads."""
    assert tree.directories("*") == ["deep"]
    assert [tree.is_directory(path) for path in (".", "in", "out", "round", "deep/a.yaml")] == [True, True] + [
        False
    ] * 3


def test_manifests_are_files_of_the_tree(tree: Checkout) -> None:
    """Each once, without what a link to a directory leads to."""
    (Path(tree.root) / ".hidden").mkdir()
    (Path(tree.root) / ".hidden/b.yaml").write_text("")
    assert list(tree.manifests()) == ["secret.yaml", "deep/a.yaml"]

"""Directories that are made with their files."""

from pathlib import Path

import pytest

from krm_windows.system.directories import create
from krm_windows.system.errors import WorkspaceError


def test_a_directory_is_made_with_all_files(tmp_path: Path) -> None:
    files = {"a.yaml": b"a", "deep/er/b.yaml": b"b"}
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "new/er", tmp_path / "empty"):
        create(path, files)
        assert {name: (path / name).read_bytes() for name in files} == files


def test_what_stands_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/a.yaml").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(WorkspaceError, match="not the path of a file"):
        create(tmp_path / "out", {"deep/../../a.yaml": b""})
    assert not (tmp_path / "out").exists()
    for name in ("file", "full", "link"):
        with pytest.raises(WorkspaceError, match="is in the way"):
            create(tmp_path / name, {"a.yaml": b"new"})
    assert (tmp_path / "full/a.yaml").read_text() == "mine"

"""What was built is kept for its user alone."""

import os
import stat
from pathlib import Path

import pytest

from krm_windows.system.cache import Cache
from krm_windows.system.errors import WorkspaceError

NAME, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache/krm-windows"


def written(place: Path, content: bytes = b"built") -> Cache:
    cache = Cache(place)
    cache.write(NAME, content)
    assert cache.read(NAME) == content
    return cache


def test_nobody_else_may_read_or_write(place: Path) -> None:
    place.mkdir(parents=True, mode=0o755)
    old = os.umask(0)
    try:
        written(place)
    finally:
        os.umask(old)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (place, place / NAME)]
    assert modes == [0o700, 0o600]


def test_a_part_of_an_entry_is_none(place: Path) -> None:
    written(place)
    good = (place / NAME).read_bytes()
    for content in (good[:-1] + b"T", good + b"x", good[:-1], b"", b"planted"):
        (place / NAME).write_bytes(content)
        assert Cache(place).read(NAME) is None
    # Nobody waits for a pipe.
    os.mkfifo(place / OTHER)
    assert Cache(place).read(OTHER) is None


def test_no_link_is_followed(place: Path, tmp_path: Path) -> None:
    cache = written(place)
    (tmp_path / "elsewhere").write_bytes((place / NAME).read_bytes())
    (place / NAME).unlink()
    (place / NAME).symlink_to(tmp_path / "elsewhere")
    assert cache.read(NAME) is None
    cache.write(NAME, b"new")
    assert not (place / NAME).is_symlink()
    assert (tmp_path / "elsewhere").read_bytes().endswith(b"built")
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(WorkspaceError, match="is no directory"):
        Cache(tmp_path / "link")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_what_others_may_write_to_is_refused(mode: int, place: Path) -> None:
    written(place)
    place.chmod(mode)
    with pytest.raises(WorkspaceError, match="is writable by others"):
        Cache(place)


def test_what_is_another_users_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(place)
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    with pytest.raises(WorkspaceError, match="belongs to another user"):
        Cache(place)


def test_it_is_pruned_by_age_and_by_size(place: Path) -> None:
    written(place)
    names = [f"{number:064x}" for number in range(5)]
    for number, name in enumerate(names):
        (place / name).write_bytes(b" " * 100)
        os.utime(place / name, (2_000_000_000 + number, 2_000_000_000 + number))
    os.utime(place / NAME, (0, 0))
    (place / "notes.txt").write_text("mine")
    os.utime(place / "notes.txt", (0, 0))
    Cache(place, 250)
    left = {path.name for path in place.iterdir()}
    assert left == {"notes.txt", *names[-2:]}


def test_what_is_used_stays(place: Path) -> None:
    cache = written(place)
    os.utime(place / NAME, (0, 0))
    assert cache.read(NAME)
    assert (place / NAME).stat().st_mtime > 0

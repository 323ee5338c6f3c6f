"""What was built is kept for its user alone, and believed only where it was written by the same."""

import os
import stat
from pathlib import Path

import pytest

from krm_windows.system.cache import Cache, Kept
from krm_windows.system.errors import WorkspaceError

NAME, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where it lies."""
    return tmp_path / "cache/krm-windows"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Where the user's key lies."""
    return tmp_path / "state/key"


def written(place: Path, key: Path, content: bytes = b"built") -> Cache:
    """Return a cache with an entry."""
    cache = Cache(place, key)
    cache.write(NAME, content)
    assert cache.read(NAME) == content
    return cache


def test_another_run_of_the_user_reads_it(place: Path, key: Path) -> None:
    """And an entry that is not there is none."""
    written(place, key)
    assert Cache(place, key).read(NAME) == b"built"
    assert Cache(place, key).read(OTHER) is None


def test_nobody_else_may_read_or_write(place: Path, key: Path) -> None:
    """Whatever the mask of the user; a directory of an earlier version is closed to others."""
    place.mkdir(parents=True, mode=0o755)
    old = os.umask(0)
    try:
        written(place, key)
    finally:
        os.umask(old)
    modes = {
        path: stat.S_IMODE(path.stat().st_mode) for path in (place, place / NAME, key, key.parent)
    }
    assert modes == {place: 0o700, place / NAME: 0o600, key: 0o600, key.parent: 0o700}
    assert key.stat().st_size == 32


def test_an_entry_that_somebody_else_wrote_is_not_believed(
    place: Path, key: Path, tmp_path: Path
) -> None:
    """Whether he has a key of his own, takes the entry of another name, or changes a byte."""
    written(place, key, b"built")
    theirs = Cache(tmp_path / "theirs", tmp_path / "their/key")
    theirs.write(OTHER, b"planted")
    planted = (tmp_path / "theirs" / OTHER).read_bytes()
    good = (place / NAME).read_bytes()
    changed = [good[:-1] + b"T", good + b"x", good[:-1], b"", b"planted", bytes(32) + b"planted"]
    for content in (planted, good, *(planted, *changed)):
        (place / OTHER).write_bytes(content)
        assert Cache(place, key).read(OTHER) is None
    for content in changed:
        (place / NAME).write_bytes(content)
        assert Cache(place, key).read(NAME) is None


def test_no_link_is_followed(place: Path, key: Path, tmp_path: Path) -> None:
    """Of an entry, the directory or the key."""
    cache = written(place, key)
    (tmp_path / "elsewhere").write_bytes((place / NAME).read_bytes())
    (place / NAME).unlink()
    (place / NAME).symlink_to(tmp_path / "elsewhere")
    assert cache.read(NAME) is None
    cache.write(NAME, b"new")
    assert not (place / NAME).is_symlink()
    assert (tmp_path / "elsewhere").read_bytes().endswith(b"built")
    (tmp_path / "link").symlink_to(place)
    with pytest.raises(WorkspaceError, match=r"\b[Nn]ot a directory"):
        Cache(tmp_path / "link", key)
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "other/key").symlink_to(key)
    with pytest.raises(WorkspaceError, match="cannot be read"):
        Cache(place, tmp_path / "other/key")


def test_a_pipe_is_no_entry(place: Path, key: Path) -> None:
    """Nobody waits for it."""
    cache = written(place, key)
    os.mkfifo(place / OTHER)
    assert cache.read(OTHER) is None


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
@pytest.mark.parametrize("which", ["cache/krm-windows", "state", "state/key"])
def test_what_others_may_write_to_is_refused(
    which: str, mode: int, place: Path, key: Path, tmp_path: Path
) -> None:
    """The directory, that of the key, or the key."""
    written(place, key)
    (tmp_path / which).chmod(mode)
    with pytest.raises(WorkspaceError, match="is writable by others"):
        Cache(place, key)


def test_what_is_another_users_is_refused(
    place: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He may have filled it."""
    written(place, key)
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    with pytest.raises(WorkspaceError, match="belongs to another user"):
        Cache(place, key)


def test_a_key_that_is_cut_off_is_refused(place: Path, key: Path) -> None:
    """An empty one would be known to all."""
    written(place, key)
    key.write_bytes(b"")
    with pytest.raises(WorkspaceError, match="must contain 32 bytes"):
        Cache(place, key)


def test_it_is_pruned_by_age_and_by_size(place: Path, key: Path) -> None:
    """The last used ones stay; what is not an entry is left alone."""
    written(place, key)
    names = [f"{number:064x}" for number in range(5)]
    for number, name in enumerate(names):
        (place / name).write_bytes(b" " * 100)
        os.utime(place / name, (2_000_000_000 + number, 2_000_000_000 + number))
    os.utime(place / NAME, (0, 0))
    (place / "notes.txt").write_text("mine")
    os.utime(place / "notes.txt", (0, 0))
    small = Cache(place, key, Kept(days=30, size=250))
    small.write(OTHER, b"new")
    left = {path.name for path in place.iterdir()}
    assert left == {"notes.txt", *names[-2:]}


def test_what_is_used_stays(place: Path, key: Path) -> None:
    """Its time is that of its last use."""
    cache = written(place, key)
    os.utime(place / NAME, (0, 0))
    assert cache.read(NAME)
    assert (place / NAME).stat().st_mtime > 0

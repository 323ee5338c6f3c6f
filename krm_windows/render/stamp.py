"""Freshness: whether files are what was rendered from the same input, without rendering them again.

A stamp is the last line of a cluster's kustomization: one digest of all that went in (this program
too) and all that came out. It is taken from contents, never from times: a file that somebody edited
does not match it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import krm_windows

_STAMP = "# Unchanged while it matches input and files: sha256:"

# The release of the zone data, as a timetable has it: `"release": "2026a"`.
_RELEASE = re.compile(rb'krm-windows\.dev/zone-data: "?\d{4}[a-z]+"?')
# `\Z` and not `$`: a stamp is the very last line.
_LINE = re.compile(re.escape(_STAMP).encode() + rb"[0-9a-f]{32}\n\Z")


def key(*parts: bytes) -> str:
    """Return the digest of everything that an output depends on.

    This program and its time zones included.
    """
    return _digest([program(), *parts])


@cache
def program() -> bytes:
    """Return what stands for this program: a digest of its sources, whatever its version says."""
    # Sources and not the version: between two releases the version stays the same.
    parts = [version("tzdata").encode()]
    root = Path(krm_windows.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts += [path.relative_to(root).as_posix().encode(), path.read_bytes()]
    return _digest(parts).encode()


def seal(
    files: Mapping[str, bytes],
    place: str,
    key: str,
) -> dict[str, bytes]:
    """Return files with the stamp at the end of the one at `place`."""
    parts = [key.encode()]
    for path in sorted(files):
        parts += [path.encode(), files[path]]
    # 128 bits are enough against chance, and the line fits a screen.
    line = f"{_STAMP}{_digest(parts)[:32]}\n"
    return {**files, place: files[place] + line.encode()}


def without(files: Mapping[str, bytes], place: str) -> dict[str, bytes]:
    """Return files without the stamp of the one at `place`.

    Another release says the same under another stamp.
    """
    found = dict(files)
    if place in found:
        found[place] = _LINE.sub(b"", found[place])
    return found


def kept(
    older: Mapping[str, bytes],
    files: Mapping[str, bytes],
    place: str,
) -> Mapping[str, bytes]:
    """Return the older files where only the release of the zone data, or the stamp, is new.

    A release that changes nothing for the zones of a tree changes no file in it.
    """
    before, after = without(older, place), without(files, place)
    # Nothing but the release is new: the files stay, and so does their stamp. Where they are the
    # same but for the stamp, the input has changed, and the new stamp says so.
    if before != after and _of_any_release(before) == _of_any_release(after):
        return older
    return files


def _of_any_release(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path: _RELEASE.sub(b"", content) for path, content in files.items()}


def is_fresh(files: Mapping[str, bytes], place: str, key: str) -> bool:
    """Whether files bear the stamp of their own contents and of this input."""
    # The stamp is of the files as they were before it was added.
    return place in files and seal(without(files, place), place, key) == files


def _digest(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of parts, each with its length, so that none can pass for two."""
    total = hashlib.sha256()
    for part in parts:
        total.update(f"{len(part)}:".encode())
        total.update(part)
    return total.hexdigest()

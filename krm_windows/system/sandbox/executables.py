"""Programs on the PATH, and the files that the kernel and the loader open to start one."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import programs

_LIMITS = programs.Limits(seconds=20, output=1024 * 1024)
# The ELF header and program headers of 64 bits, lower bytes first (elf(5)).
_MAGIC = b"\x7fELF\x02\x01"
_HEADERS, _HEADER_SIZE_AND_COUNT, _INTERPRETER = 0x20, 0x36, 3
# The loader of glibc looks up libraries here (ld.so(8)).
_LOADER_CACHE = "/etc/ld.so.cache"


@dataclass(frozen=True, slots=True)
class Executable:
    """A program: its path without links, what is started with it, and what these read."""

    path: str
    runs: tuple[str, ...]
    reads: tuple[str, ...]


def find(name: str) -> Executable | None:
    """Return the program of a name, or at a path; None where it is not installed."""
    found = programs.find(name)
    if found is None:
        return None
    # Landlock rules are for files: a link in the path would be another one.
    path = os.path.realpath(found)
    loader = _loader(path)
    # A statically linked program, as most of Go are, opens nothing else to start. One that is
    # damaged, or whose loader is missing, does not start, which the sandbox says.
    if loader is None or not Path(loader).is_file():
        return Executable(path, (path,), ())
    # The loader itself lists what it would load; `ldd` is a script around this (ldd(1)).
    listed = programs.run([loader, "--list", path], environment={}, limits=_LIMITS)
    libraries = set(_libraries(listed.output.decode(errors="replace")))
    loader = os.path.realpath(loader)
    reads = sorted(libraries - {loader})
    if Path(_LOADER_CACHE).is_file():
        reads.append(_LOADER_CACHE)
    return Executable(path, (path, loader), tuple(reads))


def _libraries(listed: str) -> Iterator[str]:
    """Yield the paths of libraries in what a loader lists.

    `libc.so.6 => /lib/libc.so.6 (0x00007f…)`, one a line.
    """
    # Also `/lib64/ld-linux-x86-64.so.2 (0x…)` without an arrow; `linux-vdso.so.1` is no file.
    for line in listed.splitlines():
        place, _, _ = line.rpartition("=> ")[2].strip().partition(" (0x")
        if place.startswith("/"):
            yield os.path.realpath(place)


def _loader(path: str) -> str | None:
    """Return the loader that a program names; None where it needs none, or is damaged."""
    try:
        return _named_loader(path)
    except (struct.error, ValueError, OverflowError):
        # Such as a download that was cut off: no offset in it can be relied on.
        return None


def _named_loader(path: str) -> str | None:
    with Path(path).open("rb") as file:
        head = file.read(64)
        if not head.startswith(_MAGIC):
            return None  # a script, or a program of another system: what it needs is not known
        # Three fields of the header: where the table is, how large an entry is, and how many there
        # are.
        (place,) = struct.unpack_from("<Q", head, _HEADERS)
        size, count = struct.unpack_from("<HH", head, _HEADER_SIZE_AND_COUNT)
        file.seek(place)
        table = file.read(size * count)
        for begin in range(0, size * count, size):
            (kind,) = struct.unpack_from("<I", table, begin)
            # PT_INTERP: its segment is the path of the loader.
            if kind == _INTERPRETER:
                offset, _, _, length = struct.unpack_from("<QQQQ", table, begin + 8)
                file.seek(offset)
                return file.read(length).rstrip(b"\0").decode()
    return None

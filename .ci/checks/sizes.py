"""The gate program stays small enough to be read in one sitting before it is trusted.

Its parts stay small, too.
"""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What decides and acts, without the parts.
CORE = 2800
PARTS = {
    # Shipped only where a policy uses it (docs/decisions/0013).
    ("hooks.py", "jobs.py", "notes.py"): 1090,
    ("pending.py", "revisions.py"): 330,
    ("verification.py",): 260,
    ("events.py",): 200,
    # Each is read, and can be trusted, by itself: TLS and HTTP; threads; POSIX rules of time
    # zones; the clocks of others.
    ("connection.py", "answers.py"): 390,
    ("threads.py",): 50,
    ("zones.py",): 350,
    ("image.py", "clocks.py"): 220,
}


def lines(path: Path) -> int:
    """Return how many lines a file has."""
    return len(path.read_text().splitlines())


def problems() -> Iterator[str]:
    """Yield a sentence for everything that has grown too long."""
    files = {path.name: lines(path) for path in (ROOT / "krm_windows/gate").rglob("*.py")}
    for part, limit in PARTS.items():
        length = sum(files.pop(name) for name in part)
        if length >= limit:
            names = " and ".join(part)
            yield f"krm_windows/gate: {names} have {length} lines in all, less than {limit}"
    total = sum(files.values())
    if total >= CORE:
        yield f"the core of krm_windows/gate has {total} lines in all, less than {CORE} are allowed"

"""The gate program stays what can be read in one sitting before it is trusted, and its parts stay small."""

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GATE = 3200
# What is shipped with the gate only where a policy uses it (docs/decisions/0013).
PARTS = {("hooks.py", "notes.py"): 800, ("events.py",): 220}


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
    if total >= GATE:
        yield f"krm_windows/gate has {total} lines in all, less than {GATE} are allowed"

"""How often a caller may come."""

import threading
import time
from collections import Counter

_SECONDS = 60.0


class Rate:
    """So many calls a minute for each key."""

    def __init__(self, a_minute: int) -> None:
        """Allow so many calls a minute; 0 is any number."""
        self._most = a_minute
        self._lock = threading.Lock()
        # Of this minute alone, so that it does not grow with those who ever came.
        self._taken: Counter[str] = Counter()
        self._began = 0.0

    def take(self, key: str) -> float:
        """Count a call; return 0, or in how many seconds the next one is let in."""
        with self._lock:
            now = time.monotonic()
            if now - self._began >= _SECONDS:
                self._taken.clear()
                self._began = now
            self._taken[key] += 1
            if not self._most or self._taken[key] <= self._most:
                return 0.0
            return self._began + _SECONDS - now

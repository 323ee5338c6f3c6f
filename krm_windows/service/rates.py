"""How often a caller may come: a bucket of permits that fills at a steady pace."""

import threading
import time
from collections import OrderedDict

# So many callers are remembered; who has not come for longest is forgotten, with a full bucket.
_MOST = 10_000


class Rate:
    """So many calls a minute for each key, all of which may come at once."""

    def __init__(self, a_minute: int) -> None:
        """Allow so many calls a minute; 0 is any number."""
        self._most = a_minute
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take a permit; return 0, or in how many seconds there will be one."""
        if not self._most:
            return 0.0
        now = time.monotonic()
        with self._lock:
            left, since = self._left.pop(key, (float(self._most), now))
            # It fills while nobody takes from it, and never beyond its rim.
            left = min(left + (now - since) * self._most / 60, float(self._most))
            wait = 0.0
            if left >= 1:
                left -= 1
            else:
                wait = (1 - left) * 60 / self._most
            self._left[key] = (left, now)
            if len(self._left) > _MOST:
                self._left.popitem(last=False)
        return wait

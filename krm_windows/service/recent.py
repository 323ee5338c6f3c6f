"""What was asked for most recently, kept up to a bound."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Kept = TypeVar("_Kept")


class Recent(Generic[_Kept]):
    """What was asked for most recently, up to a sum of sizes; the size is 1 if nobody says more."""

    def __init__(self, most: int) -> None:
        """Keep entries that have so much size in all."""
        self._most = most
        self._sum = 0
        self._kept: OrderedDict[Hashable, tuple[_Kept, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> _Kept | None:
        """Return an entry, which then is the most recent one."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            # At the end are those that were asked for last.
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, entry: _Kept, size: int = 1) -> None:
        """Keep an entry, and let go of those that nobody has asked for in the longest time."""
        with self._lock:
            before = self._kept.pop(key, None)
            if before is not None:
                self._sum -= before[1]
            self._kept[key] = (entry, size)
            self._sum += size
            while self._sum > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._sum -= gone

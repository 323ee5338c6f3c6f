"""What a service says of itself: a line for each change and each refusal, and counts of all."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Record = Mapping[str, object]
Write = Callable[[Record], None]
# Upper bounds in seconds: from a cached state to a change that is pushed.
_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)


def discard(_: Record) -> None:
    """Write nothing."""


@dataclass(slots=True)
class Log:
    """Lines of an audit log, one for each change and each refusal; and metrics of all requests."""

    write: Write = discard
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    buckets: Counter[tuple[str, float]] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self.requests[operation, status] += 1
            self.seconds[operation] += seconds  # type: ignore[assignment]  # a Counter of floats
            # Buckets of a histogram are cumulative: each counts those below it, too.
            for bound in _BUCKETS:
                if seconds <= bound:
                    self.buckets[operation, bound] += 1

    def record(self, event: str, **parts: object) -> None:
        """Write a line: what happened, when, and by whom. No token is ever a part of it."""
        # What is not known is left out: `null` would say that there is none.
        found = {name: part for name, part in parts.items() if part is not None}
        # RFC 3339, in UTC, to the millisecond.
        now = time.time()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
        self.write({"time": f"{stamp}.{int(now % 1 * 1000):03d}Z", "event": event, **found})

    def metrics(self) -> list[str]:
        """Return the counts as lines that Prometheus reads (text format 0.0.4)."""
        with self._lock:
            requests = sorted(self.requests.items())
            buckets = sorted(self.buckets.items())
            seconds = sorted(self.seconds.items())
        return [*_requests(requests), *_durations(requests, buckets, seconds)]


def _requests(requests: Iterable[tuple[tuple[str, int], int]]) -> Iterator[str]:
    yield "# HELP krm_windows_requests_total Requests by operation and status."
    yield "# TYPE krm_windows_requests_total counter"
    for (operation, status), number in requests:
        labels = f'operation="{operation}",status="{status}"'
        yield f"krm_windows_requests_total{{{labels}}} {number}"


def _durations(
    requests: Iterable[tuple[tuple[str, int], int]],
    buckets: Sequence[tuple[tuple[str, float], int]],
    seconds: Iterable[tuple[str, float]],
) -> Iterator[str]:
    """Yield a histogram for each operation: its buckets, then its sum and its count."""
    counted: Counter[str] = Counter()
    for (operation, _), number in requests:
        counted[operation] += number
    name = "krm_windows_request_duration_seconds"
    yield f"# HELP {name} How long requests took."
    yield f"# TYPE {name} histogram"
    for operation, total in seconds:
        label = f'operation="{operation}"'
        for (each, bound), number in buckets:
            if each == operation:
                yield f'{name}_bucket{{{label},le="{bound:g}"}} {number}'
        yield f'{name}_bucket{{{label},le="+Inf"}} {counted[operation]}'
        yield f"{name}_sum{{{label}}} {total:g}"
        yield f"{name}_count{{{label}}} {counted[operation]}"

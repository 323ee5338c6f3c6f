"""What a service says of itself: a line for each change and each refusal, and counts of all."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

# When each series began, which would be as many lines again.
disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotation

Record = Mapping[str, object]
Write = Callable[[Record], None]
# Upper bounds in seconds: from a cached state to a change that is pushed.
_BUCKETS = (0.001, 0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0)


def discard(_: Record) -> None:
    """Write nothing."""


class Log:
    """Lines of an audit log, one for each change and each refusal; and metrics of all requests."""

    def __init__(self, write: Write = discard) -> None:
        """Write lines, and count from nothing."""
        self.write = write
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "krm_windows_requests_total",
            "Requests by operation and status.",
            ("operation", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "krm_windows_request_duration_seconds",
            "How long requests took.",
            ("operation",),
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(operation, status).inc()
        self._seconds.labels(operation).observe(seconds)

    def record(self, event: str, **parts: object) -> None:
        """Write a line: what happened, when, and by whom. No token is ever a part of it."""
        # What is not known is left out: `null` would say that there is none.
        found = {name: part for name, part in parts.items() if part is not None}
        # RFC 3339, in UTC, to the millisecond.
        now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds")
        self.write({"time": now.replace("+00:00", "Z"), "event": event, **found})

"""What recurs within a day, folded: `every 10 m, 1,008 times` in place of so many lines."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Protocol, TypeVar

from krm_windows.preview import clock

# Fewer are read at a glance, and what comes once a day is one line of a day.
_FEWEST = 6
_LONGEST_STEP = timedelta(hours=12)


class HalfOpen(Protocol):
    """The half-open UTC interval [`begins`, `ends`)."""

    @property
    def begins(self) -> datetime:
        """Its first instant."""

    @property
    def ends(self) -> datetime:
        """The instant behind it."""

    @property
    def grouping_key(self) -> Hashable:
        """What else it says: spans with another are not folded together."""


S = TypeVar("S", bound=HalfOpen)


@dataclass(frozen=True, slots=True)
class Run(Generic[S]):
    """Spans of one length that begin at equal distances; alone, `step` is nothing."""

    first: S
    last: S
    count: int = 1
    step: timedelta = timedelta()

    @property
    def is_folded(self) -> bool:
        """Whether it stands for several spans."""
        return self.count > 1


def fold(spans: Iterable[S]) -> list[Run[S]]:
    """Fold spans, in order; what recurs too rarely, or too slowly, stays by itself."""
    folded: list[Run[S]] = []
    for group in _alike(spans):
        if len(group) < _FEWEST:
            folded += [Run(span, span) for span in group]
            continue
        step = group[1].begins - group[0].begins
        folded.append(Run(group[0], group[-1], len(group), step))
    return folded


def _alike(spans: Iterable[S]) -> Iterator[list[S]]:
    """Yield the spans in groups in which each follows the one before it by the same step."""
    group: list[S] = []
    for span in spans:
        if not group or _follows(group, span):
            group.append(span)
            continue
        yield group
        # The last one may be the first of another rhythm.
        group = [span]
    if group:
        yield group


def _follows(group: list[S], span: S) -> bool:
    last = group[-1]
    step = span.begins - last.begins
    if step > _LONGEST_STEP or span.grouping_key != last.grouping_key:
        return False
    if span.ends - span.begins != last.ends - last.begins:
        return False
    return len(group) == 1 or step == group[1].begins - group[0].begins


def recurring(run: Run[S]) -> str:
    """Say how often something recurs: `, every 10 m, 1,008 times`; nothing of what does not."""
    if not run.is_folded:
        return ""
    return f", every {clock.span(run.step)}, {run.count:,} times"

"""What was open when: the timetables of all versions of a policy, one after the other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from krm_windows.checks.facts import end_of
from krm_windows.history.revisions import Request, Revision, VersionState
from krm_windows.preview import exceptions
from krm_windows.schedule.timeline import timeline
from krm_windows.schedule.timetable import Rule, Timetable

_Said: TypeAlias = tuple[Rule, Request]


@dataclass(frozen=True, slots=True)
class Stretch:
    """The UTC interval [`begins`, `ends`) in which one version was in force, or no policy was."""

    begins: datetime
    ends: datetime
    revision: Revision | None

    @property
    def timetable(self) -> Timetable | None:
        """When it was open, None where there was no policy."""
        if self.revision is None:
            return None
        return self.revision.timetable


@dataclass(frozen=True, slots=True)
class Opening:
    """The UTC interval [`begins`, `ends`) that was open by some rules of a version.

    Where a version ends that was open, the opening ends; the next version may begin another one.
    """

    begins: datetime
    ends: datetime
    rules: tuple[str, ...]
    revision: Revision


@dataclass(frozen=True, slots=True)
class Override:
    """An override as versions of the policy had it, from the one that made it.

    `ended` is the version that changed it or took it out. `spans` are the UTC intervals in which it
    was in force. `cluster` is where alone it held, None if that is wherever the account is about.
    """

    rule: Rule
    request: Request
    made: Revision
    ended: Revision | None
    spans: tuple[tuple[datetime, datetime], ...]
    cluster: str | None = None

    @property
    def ending(self) -> str:
        """What the version that `ended` it did."""
        if self.ended is None:
            return ""
        if self.made.timetable and end_of(self.made.timetable, self.rule) <= self.ended.at:
            return "cleaned up"
        return "changed" if self.rule.key in self.ended.requests else "ended"


@dataclass(frozen=True)
class Account:
    """What was open in the UTC interval [`begins`, `ends`).

    `revisions` are those of this time, and before them the last one that was there already; `last`
    is how the last one in force has the policy.
    """

    path: str
    head: str
    last: Timetable
    begins: datetime
    ends: datetime
    revisions: tuple[Revision, ...]
    stretches: tuple[Stretch, ...]
    openings: tuple[Opening, ...]
    overrides: tuple[Override, ...]

    @property
    def zone(self) -> ZoneInfo:
        """The clock that the reader lives by."""
        return self.last.zone

    @property
    def open_for(self) -> timedelta:
        """How long it was open."""
        # Openings of one timetable never overlap, nor do versions.
        lengths = (opening.ends - opening.begins for opening in self.openings)
        return sum(lengths, timedelta())

    @property
    def without(self) -> timedelta:
        """How long there was no policy, so that nothing was gated."""
        lengths = (each.ends - each.begins for each in self.stretches if each.timetable is None)
        return sum(lengths, timedelta())


def account(
    path: str,
    head: str,
    revisions: Sequence[Revision],
    begins: datetime,
    ends: datetime,
) -> Account | None:
    """Account for a UTC interval; None where there was no policy in all of it.

    Raises `LookupError` without the rules of a zone.
    """
    stretches = tuple(_stretches(revisions, begins, ends))
    found = [stretch.timetable for stretch in stretches if stretch.timetable is not None]
    if not found:
        return None
    openings: list[Opening] = []
    for stretch in stretches:
        if stretch.revision is not None and stretch.timetable is not None:
            # The evaluator, asked about this time alone.
            apart = frozenset(rule.name for rule in stretch.timetable.overrides)
            openings += (
                Opening(each.begins, each.ends, each.rules, stretch.revision)
                for each in timeline(stretch.timetable, stretch.begins, stretch.ends, apart=apart)
                if each.open
            )
    # In force since before the beginning, one is the first version of this time.
    first = [stretches[0].revision] if stretches[0].revision is not None else []
    return Account(
        path=path,
        head=head,
        last=found[-1],
        begins=begins,
        ends=ends,
        revisions=(*first, *(each for each in revisions if begins < each.at < ends)),
        stretches=stretches,
        openings=tuple(openings),
        overrides=tuple(_overrides(revisions, begins, ends)),
    )


def with_own(of: Account, clusters: Mapping[str, Sequence[Revision]]) -> Account:
    """Return an account with the overrides of some clusters, too, in the order of their making."""
    found = list(of.overrides)
    # A cluster has those of all clusters as well.
    general = [(each.rule, each.request) for each in found]
    for cluster, revisions in clusters.items():
        found += (
            replace(each, cluster=cluster)
            for each in _overrides(revisions, of.begins, of.ends)
            if (each.rule, each.request) not in general
        )
    # Of one version by name, so that the output is the same each time.
    found.sort(key=lambda each: (each.made.at, each.rule.key, each.cluster or ""))
    return replace(of, overrides=tuple(found))


def effective(revisions: Iterable[Revision]) -> Iterator[tuple[Revision, Revision | None]]:
    """Yield each version with the one that is in force since: None where no policy is."""
    held: Revision | None = None
    for revision in revisions:
        if revision.state is VersionState.READ:
            held = revision
        # Of what cannot be read nothing is rendered, and what was rendered stays.
        elif revision.state is not VersionState.UNREADABLE:
            held = None
        yield revision, held


def _stretches(
    revisions: Iterable[Revision],
    begins: datetime,
    ends: datetime,
) -> Iterator[Stretch]:
    """Yield what was in force, from the beginning to the end without a gap."""
    # Before the first version there was no policy.
    since, held = begins, None
    for revision, now in effective(revisions):
        if revision.at >= ends:
            break
        # A version that cannot be read changes nothing.
        if now is held:
            continue
        at = max(revision.at, begins)
        # Two versions of one second, or before the beginning: the first was never in force here.
        if since < at:
            yield Stretch(since, at, held)
        since, held = at, now
    yield Stretch(since, ends, held)


def _overrides(
    revisions: Iterable[Revision],
    begins: datetime,
    ends: datetime,
) -> Iterator[Override]:
    """Yield every override that a version had in an interval."""
    # By all that it says: one that is changed has ended, and another one began.
    standing: dict[_Said, Revision] = {}
    found: list[tuple[_Said, Revision, Revision | None]] = []
    for revision, now in effective(revisions):
        held = dict.fromkeys(_said(now), revision)
        found += [(each, standing[each], revision) for each in standing if each not in held]
        # Made by the first of the versions that have it one after the other.
        standing = {each: standing.get(each, revision) for each in held}
    found += [(each, made, None) for each, made in standing.items()]
    for (rule, request), made, ended in found:
        # In this time, and only while a version had it.
        first = max(made.at, begins)
        last = ends if ended is None else min(ended.at, ends)
        if first < last and made.timetable is not None:
            # In the zone of the version that made it.
            every = exceptions.spans(made.timetable, first, last)
            spans = tuple(
                (max(span.begins, first), min(span.ends, last))
                for span in every
                if span.rule == rule
            )
            yield Override(rule, request, made, ended, spans)


def _said(revision: Revision | None) -> Iterator[_Said]:
    """Yield the overrides of a version, each with who asked for it."""
    if revision is not None and revision.timetable is not None:
        for rule in revision.timetable.overrides:
            yield rule, revision.requests.get(rule.key, Request())

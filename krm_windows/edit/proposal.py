"""A change of a policy before it is written: what is found of it, and which hours it moves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, product

from krm_windows import escape, rules
from krm_windows.checks import overlap
from krm_windows.checks.audit import Scope
from krm_windows.checks.report import Report
from krm_windows.edit.patches import clusters_of
from krm_windows.fleet import audit
from krm_windows.gate.timetable import Decision
from krm_windows.inventory import Resources, no_resources, ref_of
from krm_windows.krm import KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.plan.given import Given
from krm_windows.policy.findings import Finding, closest
from krm_windows.preview import changed_rules, changes, sentences
from krm_windows.preview.calendar import Period
from krm_windows.preview.difference import Difference
from krm_windows.preview.successions import Gated, nothing_gated, successions
from krm_windows.preview.versions import Choice, PolicySource, once
from krm_windows.results import Result, fails, sort
from krm_windows.schedule import wallclock
from krm_windows.schedule.timeline import decide
from krm_windows.schedule.timetable import Timetable


@dataclass(frozen=True, slots=True)
class View:
    """What is looked at of a change: the audit begins with the day of the instant `at`.

    The hours of the `period` are compared, else those from that minute on that the change reaches;
    and what holds `at` that instant. Of what is `urgent` those clusters alone are audited that it
    changes.
    """

    at: datetime
    period: Period | None = None
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What a change is on a cluster: the hours that it moves, and what holds before and after.

    It `changes` the policy there, or leaves it as it is; `old` is the timetable before. Of an
    override to come they are what holds when that `begins`, which is else None.
    """

    old: Timetable
    timetable: Timetable
    changes: bool
    difference: Difference
    was: Decision
    now: Decision
    begins: datetime | None

    @property
    def unmoved(self) -> Iterator[str]:
        """Why what the change makes or takes out moves no hour."""
        return changed_rules.unmoved(self.old, self.timetable, self.difference.begins)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A policy as it is and as it is to be.

    `reports` are those of an audit of the new one, `compiled` what was found when both were
    compiled, with what the change has forgotten (such as `released`). What is `known` was found of
    the old one, and on which clusters. `turns` has one entry for each cluster; there are none where
    either of the two policies is wrong, so that its hours are not known.
    """

    old: KubeObject
    new: KubeObject
    reports: tuple[Report, ...]
    compiled: tuple[Result, ...]
    turns: tuple[Turn, ...]
    known: frozenset[tuple[str, ...]] = frozenset()

    @property
    def differences(self) -> list[Difference]:
        """The hours that the change moves, of each cluster."""
        return [turn.difference for turn in self.turns]

    @property
    def unmoved(self) -> list[str]:
        """Why the change moves no hour, where it moves none."""
        if any(each.changes for each in self.differences):
            return []
        return sorted(set(chain.from_iterable(turn.unmoved for turn in self.turns)))

    @property
    def changed(self) -> Sequence[Turn]:
        """The clusters whose policy becomes another one; all of them where it does on none."""
        return [turn for turn in self.turns if turn.changes] or self.turns

    @property
    def results(self) -> list[Result]:
        """What the change brings about on any cluster, and all errors, each finding once."""
        news = {each[1:] for each in _said(self.reports) - self.known}
        old = {each[1:] for each in self.known} - news
        return [each for each in self.found if fails([each]) or _key(each) not in old]

    @property
    def found(self) -> list[Result]:
        """All that was found, each finding once."""
        found: list[Result] = []
        for report in self.reports:
            found.extend(report.results)
        # What is said of the old policy alone is over with it.
        if self.turns or not self.old.source:
            found.extend(self.compiled)
        # The audit compiles the new policy as well, and finds the same of it.
        return sort(once(found))

    def fails(self, *, strict: bool, urgent: bool) -> bool:
        """Say whether it must not be written: for an error, when `strict` for a warning, too.

        What is `urgent` waits for no finding of an audit of years to come: a line that has to be
        stopped for a day may cost a window its only hours. What does not build is not written.
        """
        if urgent:
            return fails(self.compiled, strict=strict)
        return fails(self.found, strict=strict)

    @property
    def changes_text(self) -> bool:
        """Whether there is anything to write."""
        return self.new.span != self.old.span

    @property
    def content(self) -> bytes:
        """The whole file with the changed policy in place of the old one."""
        # Bytes outside the policy stay: comments, other documents, line ends.
        source = self.old.source
        return source[: self.old.start] + self.new.span + source[self.old.end :]

    @property
    def spoken_turns(self) -> str:
        """What holds through the change on the clusters that it changes, and what else would."""
        return sentences.turns(
            (turn.old, turn.timetable, turn.was, turn.now, turn.begins) for turn in self.changed
        )

    @property
    def brief_turns(self) -> str:
        """The hours that open and close, or why none does, once for all clusters that are alike."""
        groups: dict[object, list[Turn]] = {}
        for turn in self.changed:
            same = replace(turn.difference, cluster=None)
            groups.setdefault(same if same.changes else tuple(turn.unmoved), []).append(turn)
        lines: list[str] = []
        for alike in groups.values():
            names = [each.timetable.cluster for each in alike if each.timetable.cluster]
            lines += changes.brief(alike[0].difference, names, alike[0].unmoved)
        return escape.lines(f"  {each}" for each in lines)


def propose(
    old: KubeObject,
    new: KubeObject,
    resources: Resources,
    view: View,
    gated: Gated = nothing_gated,
) -> Proposal:
    """Audit a changed policy, and compare it with the old one.

    Among the `resources` of a cluster the policy's targets may be; `gated` gives what policies
    gate in a cluster, but for those of some names.
    """
    at = view.at
    scope = Scope(Today(at))
    pairs, results = successions(
        PolicySource(old, resources), PolicySource(new, resources), None, gated
    )
    alone: set[str | None] = set()
    if view.urgent:
        # What an audit says of them it said before: the change did not bring it about.
        alone = {pair.new.timetable.cluster for pair in pairs if not pair.changes}
    reports = audit.reports(new, resources, Choice(every=True), scope, without=alone)
    turns: list[Turn] = []
    both = [(pair.old.timetable, pair.new.timetable) for pair in pairs]
    differences = changed_rules.differences(both, at, view.period)
    for pair, (was, now), difference in zip(pairs, both, differences, strict=True):
        begins = _begins(was, now, at)
        held, holds = decide(was, begins or at), decide(now, begins or at)
        turns.append(Turn(was, now, pair.changes, difference, held, holds, begins))
    results += _added(old, new)
    proposal = Proposal(old, new, tuple(reports), tuple(results), tuple(turns))
    if all(fails([each]) for each in proposal.found):
        return proposal
    before = audit.reports(old, resources, Choice(every=True), scope, without=alone)
    return replace(proposal, known=_said(before))


def _begins(was: Timetable, now: Timetable, at: datetime) -> datetime | None:
    """Return when the first override begins that a change is about; None for at once."""
    about = {*was.overrides} ^ {*now.overrides}
    begins = [each.begins for each in about if isinstance(each.begins, datetime)]
    first = min((wallclock.utc(each, now.zone) for each in begins), default=at)
    return first if first > at else None


def _added(old: KubeObject, new: KubeObject) -> Iterator[Result]:
    """Yield a warning for each cluster that a change adds to those of a policy."""
    known = clusters_of(old)
    for name in clusters_of(new) if known else ():
        if name not in known:
            must, near = f"{name} is a new cluster", closest(name, known)
            finding = Finding(rules.CLUSTER_ADDED, must, proposed=near)
            yield finding.result(f"spec.clusters.{name}", ref_of(new), None)


def _said(reports: Iterable[Report]) -> frozenset[tuple[str, ...]]:
    """Return what was found, each with a cluster in front: "" is a policy that names none."""
    found: set[tuple[str, ...]] = set()
    for report in reports:
        every = product(report.clusters or ("",), report.results)
        found.update((cluster, *_key(result)) for cluster, result in every)
    return frozenset(found)


def _key(result: Result) -> tuple[str, ...]:
    """Return what a finding says, wherever in the file it is."""
    return result.rule, result.path, result.message


def introduce(new: KubeObject, at: datetime, others: Iterable[Given]) -> Proposal:
    """Audit a policy that is new beside others, from the day of the instant `at` on."""
    reports = audit.reports(new, no_resources, Choice(every=True), Scope(Today(at)))
    found = overlap.given(Given.of(new), others, [])
    return Proposal(KubeObject.parse(b""), new, tuple(reports), tuple(found), ())

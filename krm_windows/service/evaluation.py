"""Whether policies are open, and their calendars, from tables that are made once.

What is kept is bounded, whatever callers ask for.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from krm_windows.edit.patches import others
from krm_windows.krm import InputError
from krm_windows.plan.clocks import Today
from krm_windows.policy import load
from krm_windows.policy.document import Tree
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview import ics, records
from krm_windows.preview.calendar import Period, alike, calendars, described
from krm_windows.preview.versions import PolicySource
from krm_windows.results import Result, fails
from krm_windows.schedule import timeline
from krm_windows.schedule.table import rules_of
from krm_windows.schedule.timetable import Timetable
from krm_windows.service.bodies import ICS
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, findings, json_body
from krm_windows.service.rendering import Renderer

# Policies as they were read: one of a thousand clusters takes a megabyte.
_MOST_SOURCES = 100
# Names of clusters, which most questions need, and tables: some ten kilobytes each.
_MOST_NAMED = 2000
_MOST_TIMETABLES = 2000

# A calendar that is subscribed to: of so many days, and of so many groups of clusters.
_YEAR = 366
_MOST_ALIKE = 12


class _Named(NamedTuple):
    """The clusters that a policy names, each with the first one that has the same patch."""

    build_for: str | None
    alike: Mapping[str, str]


class Evaluator:
    """Decides, and draws calendars, for any number of threads."""

    def __init__(self, renderer: Renderer | None, tip: Callable[[], str]) -> None:
        """Begin with nothing worked out.

        Targets are looked for among what was rendered with, at a commit that moves.
        """
        self._renderer = renderer
        self._tip = tip
        self._source = lru_cache(_MOST_SOURCES)(_read)
        self._named = lru_cache(_MOST_NAMED)(self._names)
        self._timetable = lru_cache(_MOST_TIMETABLES)(self._compiled)

    def clusters(self, stored: Stored) -> tuple[str, ...]:
        """Return the clusters that a policy names."""
        return tuple(self._named(stored).alike)

    def patches(self, stored: Stored) -> Mapping[str, Tree]:
        """Return what a policy changes for each cluster that it names."""
        return self._source(stored).patches

    def alike(self, stored: Stored) -> list[tuple[str, ...]]:
        """Return the clusters of a policy, together those that cannot differ in their hours.

        One that names none has one group without names.
        """
        each_has_its_own = stored.config.mentions("auto")  # as `timetable` says
        groups: dict[str, list[str]] = {}
        for name, first in self._named(stored).alike.items():
            groups.setdefault(name if each_has_its_own else first, []).append(name)
        return list(map(tuple, groups.values())) or [()]

    def policy(self, stored: Stored, cluster: str | None) -> WindowPolicy:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        found, results = self._source(stored).version(cluster)
        if found is None:
            raise _wrong(results, stored)
        return found

    def check(self, stored: Stored, cluster: str | None) -> None:
        """Raise Problem for a cluster that a policy does not name."""
        named = self._named(stored).alike
        if cluster is not None and cluster not in named:
            detail = f"{stored.title} has no cluster {cluster!r} {others(cluster, named)}"
            raise Problem(HTTPStatus.NOT_FOUND, detail)

    def timetable(self, stored: Stored, cluster: str | None) -> Timetable:
        """Return when a policy is open on a cluster, or on that which it is built for.

        Raises Problem for a cluster that it does not name, and where it is wrong.
        """
        self.check(stored, cluster)
        build_for, alike = self._named(stored)
        # As a build does: the policy may say which cluster it is for.
        name = cluster or build_for
        # What its hours depend on is the cluster's patch, of which a fleet has few.
        same, commit = alike.get(name or "", name), ""
        if stored.config.mentions("auto"):
            # And the targets, which each cluster may have of its own, at a commit.
            same, commit = name, self._tip()
        try:
            found = self._timetable(stored, same, commit)
        except Problem:
            if same == name:
                raise
            # What is wrong is said of the cluster that was asked for.
            return self._compiled(stored, name, commit)
        return found if found.cluster == name else found._replace(cluster=name)

    def record(self, stored: Stored, cluster: str | None, at: datetime) -> dict[str, object]:
        """Return what holds at an instant; raises Problem where the policy is wrong."""
        timetable = self.timetable(stored, cluster)
        return {
            "policy": stored.title,
            "cluster": timetable.cluster,
            "clustersMayDiffer": self._differing(stored, timetable),
            "timeZone": timetable.zone.key,
            **records.state(timeline.decide(timetable, at), timetable.zone),
            # From the branch alone: no cluster was asked.
            "inGit": True,
            "inCluster": None,
        }

    def calendar(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        media_type: str,
    ) -> bytes:
        """Return the calendar of some days, as JSON or iCalendar."""
        timetable = self.timetable(stored, cluster)
        differing = self._differing(stored, timetable)
        [drawn] = calendars([timetable], period)
        if media_type == ICS:
            return ics.render([[drawn]], differing).encode()
        return json_body({**records.calendar(drawn), "clustersMayDiffer": differing})

    def subscribed(self, stored: Stored, cluster: str | None, at: datetime) -> bytes:
        """Return a year of a policy, or of a cluster, from the day of an instant on, as iCalendar.

        Raises Problem where its clusters differ so much that nobody could read it.
        """
        names = (cluster,) if cluster is not None else self.clusters(stored) or (None,)
        timetables: list[Timetable] = []
        differing: set[Timetable] = set()
        for name in names:
            timetables.append(self.timetable(stored, name))
            differing.add(rules_of(timetables[-1]))
            # Before the year of each is worked out.
            if len(differing) > _MOST_ALIKE:
                detail = f"the clusters of {stored.title} differ too much: subscribe to one of them"
                raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
        groups = alike(calendars(timetables, Period(Today(at), _YEAR)))
        # The first speaks for all, of which there may be a thousand.
        for group in groups:
            spec = self.policy(stored, group[0].timetable.cluster).spec
            group[0] = described(group[0], spec)
        return ics.render(groups).encode()

    def _differing(self, stored: Stored, shown: Timetable) -> list[str]:
        """Return the clusters that may have other hours than are shown of no cluster."""
        return [] if shown.cluster else self._source(stored).differing

    def _names(self, stored: Stored) -> _Named:
        source = self._source(stored)
        first: dict[str, str] = {}
        alike = {
            name: first.setdefault(json.dumps(patch, sort_keys=True), name)
            for name, patch in source.patches.items()
        }
        return _Named(source.build_for, alike)

    def _compiled(self, stored: Stored, cluster: str | None, commit: str) -> Timetable:
        policy, found = self._source(stored).version(cluster)
        # Without the targets, `auto` is an error, and nobody is told of wrong hours.
        source = PolicySource(stored.config)
        if self._renderer is not None and policy is not None and policy.spec.closes_early == "auto":
            items = self._renderer.resources(commit, stored, cluster)
            source = PolicySource(stored.config, lambda _: items)
        versions, results = source.compile([(cluster, policy, found)])
        if not versions:
            raise _wrong(results, stored)
        return versions[0].timetable


def _read(stored: Stored) -> load.PolicyDocument:
    try:
        # As it was read: the nodes, which take most of the memory, are not kept.
        return load.read(stored.config.as_read().node)
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, f"{stored.file}: {error}") from error


def _wrong(results: Iterable[Result], stored: Stored) -> Problem:
    # Warnings do not keep anybody from knowing the hours.
    errors = [result for result in results if fails([result])]
    detail = f"{stored.title} has errors in {stored.file}, so its hours are not known"
    return Problem(HTTPStatus.CONFLICT, detail, findings(errors, stored.config, stored.file))

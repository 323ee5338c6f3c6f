"""Whether policies are open, and their calendars, from tables that are made once.

What is kept is bounded, whatever callers ask for.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

from krm_windows import rules
from krm_windows.gate.timetable import Decision
from krm_windows.krm import InputError, KubeObject
from krm_windows.policy import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview import html, ics, records
from krm_windows.preview.calendar import Period, calendars, described
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.schedule import timeline
from krm_windows.schedule.timetable import Timetable
from krm_windows.service.bodies import HTML, ICS
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, findings, json_body
from krm_windows.service.recent import Recent
from krm_windows.service.rendering import Renderer
from krm_windows.system.git_branch import File

# Bytes of the policies as they were read that are kept, and of their tables, of which there is one
# for each patch, so that a service has a bound whatever it is asked.
_MOST_SOURCES = 128 << 20
_MOST_TIMETABLES = 128 << 20
_MOST_NAMED = 128 << 20
# Measured: what Python takes for a policy that was read, beside its characters and for each; and
# for the names and patches of its clusters.
_VERSION = 10 << 10
_GROWTH = 25
_NAMED = 4


class _Named(NamedTuple):
    """The clusters that a policy names, each with its patch as JSON; what most questions need."""

    build_for: str | None
    patches: Mapping[str, str]


class Evaluator:
    """Decides, and draws calendars, for any number of threads."""

    def __init__(self, renderer: Renderer | None, tip: Callable[[], str]) -> None:
        """Begin with nothing worked out.

        Targets are looked for where they are for what is rendered, at a commit that moves.
        """
        self._renderer = renderer
        self._tip = tip
        self._sources: Recent[load.Source] = Recent(_MOST_SOURCES)
        self._timetables: Recent[Timetable] = Recent(_MOST_TIMETABLES)
        self._named: Recent[_Named] = Recent(_MOST_NAMED)

    def clusters(self, stored: Stored) -> tuple[str, ...]:
        """Return the clusters that a policy names."""
        return tuple(self._names(stored).patches)

    def policy(self, stored: Stored, cluster: str | None) -> WindowPolicy:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        found, results = self._source(stored).version(cluster)
        if found is None:
            raise _wrong(results, stored)
        return found

    def check(self, stored: Stored, cluster: str | None) -> None:
        """Raise Problem for a cluster that a policy does not name."""
        named = self._names(stored).patches
        if cluster is not None and cluster not in named:
            detail = f"(it has {', '.join(named) or 'none'})"
            raise Problem(
                HTTPStatus.NOT_FOUND, f"{stored.title} has no cluster {cluster!r} {detail}"
            )

    def timetable(self, stored: Stored, cluster: str | None) -> Timetable:
        """Return when a policy is open on a cluster, or on that which it is built for.

        Raises Problem for a cluster that it does not name, and where it is wrong.
        """
        self.check(stored, cluster)
        named = self._names(stored)
        # As a build does: the policy may say which cluster it is for.
        name = cluster or named.build_for
        files: tuple[File, ...] = ()
        if self._renderer is not None and stored.may_close_by_targets:
            files = self._renderer.resource_files(self._tip(), stored, name)
        # What its hours depend on is the cluster's patch, of which a fleet has few.
        key = (stored.identity, named.patches.get(name or "", name), files)
        found = self._timetables.get(key)
        if found is None:
            source = self._source(stored)
            found = self._compiled(stored, source, name, files)
            self._timetables.put(key, found, _VERSION + _GROWTH * _own_length(source))
        # Another cluster with the same patch has the same hours.
        return found if found.cluster == name else found._replace(cluster=name)

    def record(self, stored: Stored, cluster: str | None, at: datetime) -> dict[str, object]:
        """Return what holds at an instant; raises Problem where the policy is wrong."""
        timetable = self.timetable(stored, cluster)
        return state_record(stored, timetable, timeline.decide(timetable, at))

    def calendar(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        media_type: str,
    ) -> bytes:
        """Return the calendar of some days, as JSON, iCalendar or a page."""
        [drawn] = calendars([self.timetable(stored, cluster)], period)
        # Of the forms, the page alone has what the policy says about its windows.
        if media_type == HTML:
            drawn = described(drawn, self.policy(stored, cluster).spec)
            return html.render([drawn]).encode()
        if media_type == ICS:
            return ics.render([drawn]).encode()
        return json_body(records.calendar(drawn))

    def _compiled(
        self,
        stored: Stored,
        source: load.Source,
        cluster: str | None,
        files: tuple[File, ...],
    ) -> Timetable:
        policy, found = source.version(cluster)
        items: list[KubeObject] = []
        # Else hours follow from the policy alone.
        if self._renderer is not None and policy is not None and policy.spec.closes_early == "auto":
            try:
                items = self._renderer.resources(files)
            except InputError as error:
                raise Problem(HTTPStatus.CONFLICT, f"{stored.title}: {error}") from error
        whole = Source(stored.config, items)
        versions, results = whole.compile([(cluster, policy, found)])
        if not versions:
            raise _wrong(results, stored)
        return versions[0].timetable

    def _names(self, stored: Stored) -> "_Named":
        found = self._named.get(stored.identity)
        if found is None:
            source = self._source(stored)
            patches = {
                name: json.dumps(patch, sort_keys=True) for name, patch in source.patches.items()
            }
            found = _Named(source.build_for, patches)
            self._named.put(stored.identity, found, _VERSION + _NAMED * len(stored.config.span))
        return found

    def _source(self, stored: Stored) -> load.Source:
        found = self._sources.get(stored.identity)
        if found is None:
            try:
                # As it was read: the nodes, which take most of the memory, are not kept.
                found = load.read(stored.config.as_read().node)
            except InputError as error:
                raise Problem(HTTPStatus.CONFLICT, f"{stored.file}: {error}") from error
            self._sources.put(stored.identity, found, _VERSION + _GROWTH * len(stored.config.span))
        return found


def state_record(stored: Stored, timetable: Timetable, decision: Decision) -> dict[str, object]:
    """Return what holds as JSON says it, with the policy and the cluster."""
    return {
        "policy": stored.title,
        "cluster": timetable.cluster,
        "timeZone": timetable.zone.key,
        **records.state(decision, timetable.zone),
        # From the branch alone: no cluster was asked.
        "inGit": True,
        "inCluster": None,
    }


def _wrong(results: Iterable[Result], stored: Stored) -> Problem:
    # Warnings do not keep anybody from knowing the hours.
    errors = [result for result in results if fails([result])]
    detail = f"{stored.title} has errors in {stored.file}, so its hours are not known"
    if any(result.rule == rules.TIMEOUT_UNKNOWN.id for result in errors):
        # An answer without them would call open what is about to close.
        detail += (
            "; `closesEarly: auto` needs the resources of its targets, which the service reads "
            "where the policy was rendered with `render --resources`"
        )
    return Problem(HTTPStatus.CONFLICT, detail, findings(errors, stored.config, stored.file))


def _own_length(source: load.Source) -> int:
    """Return about how many characters a policy has without its clusters."""
    spec = source.root.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    return len(json.dumps(source.root)) - len(json.dumps(clusters))

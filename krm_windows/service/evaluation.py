"""Whether policies are open, and their calendars: each worked out once for its text and cluster.

What is kept is bounded by number and by bytes, whatever callers ask for.
"""

import hashlib
import json
from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from http import HTTPStatus

from krm_windows import rules
from krm_windows.gate.timetable import Decision
from krm_windows.krm import InputError, KubeObject
from krm_windows.plan.clocks import Today
from krm_windows.policy import load
from krm_windows.policy.model import WindowPolicy
from krm_windows.preview import html, ics, records
from krm_windows.preview.calendar import Calendar, Period, calendars, described
from krm_windows.preview.versions import Source
from krm_windows.results import Result, fails
from krm_windows.schedule import timeline
from krm_windows.schedule.timetable import Timetable
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, findings, json_body
from krm_windows.service.recent import Recent
from krm_windows.service.resources import NO_FILES, ResourceFiles, Resources

# Bytes of what is kept of each kind, so that a service has a bound whatever it is asked: about
# 400,000 states, 8,000 versions, and calendars of which one for a year as a page has 100 KB.
_MOST_STATES = 256 << 20
_MOST_SOURCES = 128 << 20
_MOST_VERSIONS = 128 << 20
_MOST_CALENDARS = 64 << 20
_MOST_DECIDERS = 64 << 20
# Measured: what Python takes for an answer beside its body, and for a policy that was read, of each
# of its characters and beside them.
_ANSWER = 600
_VERSION = 10 << 10
_GROWTH = 25
# What takes less than a thread needs to begin: so many characters of a policy.
_FEW = 8 << 10
# An answer for now is kept until the next edge, and no longer than this: `since` and `until` are
# only known within 400 days.
_LONGEST = timedelta(hours=6)


class Format(Enum):
    """The forms of a calendar, with their media types."""

    JSON = "application/json"
    ICS = "text/calendar"
    HTML = "text/html"


@dataclass(frozen=True, slots=True)
class Version:
    """A policy as a cluster has it, ready to be asked; or why it cannot be."""

    timetable: Timetable | None
    results: tuple[Result, ...]

    def on(self, cluster: str | None) -> "Version":
        """Return it for a cluster that has the same patch, and so the same hours."""
        if self.timetable is None or self.timetable.cluster == cluster:
            return self
        return replace(self, timetable=self.timetable._replace(cluster=cluster))


@dataclass(frozen=True, slots=True)
class TaggedBody:
    """A body with its entity tag, which holds until an instant."""

    body: bytes
    tag: str
    until: datetime


class Evaluator:
    """Decides, and draws calendars, for any number of threads."""

    def __init__(self, resources: Resources | None = None) -> None:
        """Begin with nothing worked out; targets are looked for among the resources."""
        self._resources = resources
        self._sources: Recent[load.Source] = Recent(_MOST_SOURCES)
        self._versions: Recent[Version] = Recent(_MOST_VERSIONS)
        self._states: Recent[TaggedBody] = Recent(_MOST_STATES)
        self._calendars: Recent[TaggedBody] = Recent(_MOST_CALENDARS)

    def clusters(self, stored: Stored) -> tuple[str, ...]:
        """Return the clusters that a policy names."""
        return tuple(self._source(stored).patches)

    def policy(self, stored: Stored, cluster: str | None) -> WindowPolicy:
        """Return a policy as a cluster has it; raises Problem where it is wrong."""
        found, _ = self._source(stored).version(cluster)
        if found is None:
            raise _wrong(self.version(stored, cluster), stored)
        return found

    def version(self, stored: Stored, cluster: str | None) -> Version:
        """Return a policy for a cluster, or for that which it is built for.

        Raises Problem for a cluster that it does not name.
        """
        source = self._source(stored)
        name = _meant(cluster, source)
        if cluster is not None and cluster not in source.patches:
            _refuse(stored, cluster, source)
        files = self._files(stored, name)
        key = (stored.identity, _patch_of(source, name), files.digest)
        found = self._versions.get(key)
        if found is None:
            found = self._compiled(stored, source, name, files)
            # What is said of a policy that is wrong names the cluster.
            if found.timetable is None:
                return found
            self._versions.put(key, found, _VERSION + _GROWTH * _own_length(source))
        return found.on(name)

    def decide(self, stored: Stored, cluster: str | None, at: datetime) -> Decision:
        """Say what holds at an instant; raises Problem where the policy is wrong."""
        return timeline.decide(self.timetable(stored, cluster), at)

    def timetable(self, stored: Stored, cluster: str | None) -> Timetable:
        """Return when a policy is open; raises Problem where it is wrong."""
        version = self.version(stored, cluster)
        if version.timetable is None:
            raise _wrong(version, stored)
        return version.timetable

    def state_now(self, stored: Stored, cluster: str | None, now: datetime) -> TaggedBody | None:
        """Return the state as it was worked out before, if it still holds; None if it is not."""
        key = self._known_key(stored, cluster)
        if key is None:
            return None
        found = self._states.get(key)
        if found is None or found.until <= now:
            return None
        return found

    def state(
        self,
        stored: Stored,
        cluster: str | None,
        at: datetime,
        *,
        is_now: bool,
    ) -> TaggedBody:
        """Work the state out; that of now is kept up to the next edge."""
        version = self.version(stored, cluster)
        decision = timeline.decide(self.timetable(stored, cluster), at)
        record = state_record(stored, version, decision)
        # It holds up to the next edge, and is then worked out anew.
        until = at + _LONGEST
        if decision.until is not None:
            until = min(until, decision.until)
        answer = _answer(json_body(record), until)
        if is_now:
            self._states.put(self._key(stored, cluster), answer, _size(answer))
        return answer

    def is_quick(self, stored: Stored) -> bool:
        """Say whether a question takes less than a thread does to begin, of any cluster."""
        # Resources are read by processes of Git.
        if _length(stored) > _FEW or self._is_timed_by_targets(stored):
            return False
        return self._sources.get(stored.identity) is not None

    def calendar_known(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        form: Format,
    ) -> TaggedBody | None:
        """Return a calendar that was drawn before; None if it was not."""
        key = self._known_key(stored, cluster)
        if key is None:
            return None
        return self._calendars.get((key, period, form))

    def calendar(
        self,
        stored: Stored,
        cluster: str | None,
        period: Period,
        form: Format,
    ) -> TaggedBody:
        """Return the calendar of some days, in a form."""
        # By content: another commit of the same text draws the same.
        key = (self._key(stored, cluster), period, form)
        found = self._calendars.get(key)
        if found is None:
            [drawn] = calendars([self.timetable(stored, cluster)], period)
            # Of the forms, the page alone has what the policy says about its windows.
            if form is Format.HTML:
                drawn = described(drawn, self.policy(stored, cluster).spec)
            found = _answer(_written(drawn, form), datetime.max.replace(tzinfo=UTC))
            self._calendars.put(key, found, _size(found))
        return found

    def today(self, stored: Stored, cluster: str | None, now: datetime) -> date:
        """Return the day that it is on a cluster."""
        return Today(now).on(self.timetable(stored, cluster).zone)

    def _key(self, stored: Stored, cluster: str | None) -> Hashable:
        """Return what the hours of a cluster depend on: equal where they are the same."""
        name = cluster
        if self._is_timed_by_targets(stored):
            name = _meant(cluster, self._source(stored))
        return stored.identity, cluster, self._files(stored, name).digest

    def _known_key(self, stored: Stored, cluster: str | None) -> Hashable | None:
        """Return the same key; None where Git would have to be asked for it."""
        if self._resources is None or not stored.may_close_by_targets:
            return stored.identity, cluster, NO_FILES.digest
        source = self._sources.get(stored.identity)
        if source is None:
            return None
        name = _meant(cluster, source)
        files = self._resources.known(stored, name)
        if files is None:
            return None
        return stored.identity, cluster, files.digest

    def _is_timed_by_targets(self, stored: Stored) -> bool:
        """Say whether hours may depend on resources, and the service knows where they are."""
        return self._resources is not None and stored.may_close_by_targets

    def _files(self, stored: Stored, cluster: str | None) -> ResourceFiles:
        if self._resources is None:
            return NO_FILES
        return self._resources.files(stored, cluster)

    def _resources_among(self, files: ResourceFiles, stored: Stored) -> list[KubeObject]:
        if self._resources is None:
            return []
        return self._resources.read(files, stored)

    def _compiled(
        self,
        stored: Stored,
        source: load.Source,
        cluster: str | None,
        files: ResourceFiles,
    ) -> Version:
        policy, found = source.version(cluster)
        items: list[KubeObject] = []
        # Else hours follow from the policy alone.
        if policy is not None and policy.spec.closes_early == "auto":
            items = self._resources_among(files, stored)
        whole = Source(stored.config, items)
        versions, results = whole.compile([(cluster, policy, found)], planned=False)
        if not versions:
            return Version(None, tuple(results))
        return Version(versions[0].timetable, tuple(results))

    def _source(self, stored: Stored) -> load.Source:
        found = self._sources.get(stored.identity)
        if found is None:
            found = _source_of(stored)
            self._sources.put(stored.identity, found, _VERSION + _GROWTH * _length(stored))
        return found


def _source_of(stored: Stored) -> load.Source:
    try:
        # As it was read: the nodes, which take most of the memory, are not kept with the policy.
        return load.read(stored.config.as_read().node)
    except InputError as error:
        raise Problem(HTTPStatus.CONFLICT, f"{stored.file}: {error}") from error


def state_record(stored: Stored, version: Version, decision: Decision) -> dict[str, object]:
    """Return what holds as JSON says it, with the policy and the cluster."""
    timetable = version.timetable
    if timetable is None:
        raise _wrong(version, stored)
    return {
        "policy": stored.title,
        "cluster": timetable.cluster,
        "timeZone": timetable.zone.key,
        **records.state(decision, timetable.zone),
        # From the branch alone: no cluster was asked.
        "inGit": True,
        "inCluster": None,
    }


def _meant(cluster: str | None, source: load.Source) -> str | None:
    """Return the cluster that is asked about; where none is named, that of the policy itself."""
    # As a build does: the policy may say which cluster it is for.
    if cluster is None:
        return source.build_for
    return cluster


def _refuse(stored: Stored, cluster: str, source: load.Source) -> None:
    named = ", ".join(source.patches) or "none"
    raise Problem(
        HTTPStatus.NOT_FOUND,
        f"{stored.title} has no cluster {cluster!r} (it has {named})",
    )


def _wrong(version: Version, stored: Stored) -> Problem:
    # Warnings do not keep anybody from knowing the hours.
    errors = [result for result in version.results if fails([result])]
    detail = f"{stored.title} has errors in {stored.file}, so its hours are not known"
    if any(result.rule == rules.TIMEOUT_UNKNOWN.id for result in errors):
        # An answer without them would call open what is about to close.
        detail += (
            "; `closesEarly: auto` needs the resources of its targets, which the service reads "
            "where the policy was rendered with `render --resources`"
        )
    return Problem(HTTPStatus.CONFLICT, detail, findings(errors, stored.config, stored.file))


def _written(drawn: Calendar, form: Format) -> bytes:
    if form is Format.ICS:
        return ics.render([drawn]).encode()
    if form is Format.HTML:
        return html.render([drawn]).encode()
    return json_body(records.calendar(drawn))


def _answer(body: bytes, until: datetime) -> TaggedBody:
    return TaggedBody(body, tag(body), until)


def tag(body: bytes) -> str:
    """Return a strong entity tag of a body (RFC 9110, 8.8.3)."""
    # Short: it is compared with other versions of one thing, and keeps nobody from forging one.
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _size(answer: TaggedBody) -> int:
    return _ANSWER + len(answer.body)


def _patch_of(source: load.Source, cluster: str | None) -> str | None:
    """Return what the hours of a cluster depend on: its patch, of which a fleet has few."""
    if cluster is None or cluster not in source.patches:
        return cluster
    return json.dumps(source.patches[cluster], sort_keys=True)


def _length(stored: Stored) -> int:
    """Return how many bytes a policy has."""
    return stored.config.end - stored.config.start


def _own_length(source: load.Source) -> int:
    """Return about how many characters a policy has without its clusters."""
    spec = source.root.get("spec")
    clusters = spec.get("clusters") if isinstance(spec, dict) else None
    return len(json.dumps(source.root)) - len(json.dumps(clusters))

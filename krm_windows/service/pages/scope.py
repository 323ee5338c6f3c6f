"""Where a change holds: on all clusters of a policy, or on those that somebody ticks.

A form has a field for each cluster, such as `on:berlin`: of two fields with one name only the last
would count.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from krm_windows.edit.patches import patched, patched_clusters
from krm_windows.krm import KubeObject, Value
from krm_windows.service.admission import Call
from krm_windows.service.pages import groups

ALL, SOME = "all", "some"
# So many are shown to choose from; a change of more is one of all clusters, or of one.
_MOST_CHOICES = 1000
_FIELD = "on:"
Part = Callable[[str | None], Value]
"""The merge patch on `spec` for a cluster, and for all of them where that is None."""


@dataclass(frozen=True, slots=True)
class Where:
    """What was chosen: all `clusters`, or `chosen` ones of them; `kind` is empty before that."""

    clusters: tuple[str, ...]
    kind: str
    chosen: tuple[str, ...]

    @property
    def wrong(self) -> str:
        """What is still to be chosen, in a sentence; empty where all is said."""
        if self.kind not in (ALL, SOME):
            return "Choose whether it applies to all clusters, or only to some."
        if self.kind == ALL and self.chosen:
            return "Choose Only some, or untick the clusters."
        if self.kind == SOME and not self.chosen:
            return "Choose at least one cluster."
        return ""

    @property
    def places(self) -> tuple[str | None, ...]:
        """Where the policy is changed: None is what it says for all clusters."""
        return self.chosen if self.kind == SOME else (None,)

    def alike(self, config: KubeObject, field: str, name: str) -> "Where":
        """Return this with all clusters that have the same of a rule as those that are chosen."""
        place = ("spec", "clusters")
        own = {each: config.get(*place, each, field, name) for each in self.clusters}
        same = [own.get(each) for each in self.chosen]
        return replace(self, chosen=tuple(each for each, rule in own.items() if rule in same))

    def applied(self, config: KubeObject, part: Part) -> KubeObject:
        """Return a policy with a part of its `spec` changed at all these places."""
        if self.kind == SOME:
            return patched_clusters(config, {name: part(name) for name in self.chosen})
        return patched(config, {"spec": part(None)})


EVERYWHERE = Where((), ALL, ())
"""The scope of a policy that names no clusters."""


def offered(call: Call, like: str = "") -> Where:
    """Return what a form begins with: the cluster of its address, those `like` one, or all."""
    call.windows.evaluator.check(call.stored(), like or call.cluster)
    clusters = _clusters(call)
    if like and clusters:
        return Where(clusters, SOME, groups.like(call, like))
    if call.cluster is None:
        return Where(clusters, ALL, ())
    return Where(clusters, SOME, (call.cluster,))


def sent(call: Call, fields: Mapping[str, str]) -> Where:
    """Return what was chosen in a form; raises Problem for a cluster that the policy lacks."""
    chosen = tuple(name.removeprefix(_FIELD) for name in fields if name.startswith(_FIELD))
    for name in chosen:
        call.windows.evaluator.check(call.stored(), name)
    clusters = _clusters(call)
    # A policy that names no clusters leaves nothing to choose.
    return Where(clusters, fields.get("scope", "") if clusters else ALL, chosen)


def _clusters(call: Call) -> tuple[str, ...]:
    """Return the clusters to choose from."""
    named = call.windows.evaluator.clusters(call.stored())
    if len(named) <= _MOST_CHOICES:
        return named
    return () if call.cluster is None else (call.cluster,)

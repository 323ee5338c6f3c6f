"""The policies of a fleet: which clusters have them, and as which version."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from krm_windows import rules
from krm_windows.inventory import PATH, about, file_of
from krm_windows.krm import KubeObject
from krm_windows.policy import clusters, load
from krm_windows.policy.load import Source
from krm_windows.results import Result


@dataclass(frozen=True, slots=True)
class Document:
    """A policy, or one that another document patches.

    `config` is where findings point to, `source` what was read.
    """

    config: KubeObject
    source: Source


@dataclass(frozen=True)
class FleetPolicy:
    """A policy of a fleet.

    The document that holds for all clusters, if there is one, and those of single clusters. A
    document of a cluster is a merge patch on the shared one, as kustomize would apply it, and else
    a policy itself.
    """

    shared: KubeObject | None
    own: Mapping[str, KubeObject] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """The policy as `namespace/name`."""
        # The documents of clusters patch one policy, so each of them names it.
        config = self.shared or next(iter(self.own.values()))
        return f"{config.namespace}/{config.name}"

    @cached_property
    def document(self) -> Document | None:
        """The document that holds for all clusters."""
        if self.shared is None:
            return None
        return _document(self.shared)

    @cached_property
    def named(self) -> frozenset[str]:
        """The clusters that the shared document names under `clusters`."""
        if self.document is None:
            return frozenset()
        return frozenset(self.document.source.patches)

    def reaches(self, cluster: str) -> bool:
        """Whether a cluster has this policy: one that names no clusters reaches all."""
        if cluster in self.own or cluster in self.named:
            return True
        return self.shared is not None and not self.named

    def at(self, cluster: str) -> Document:
        """Return the policy of a cluster that it reaches."""
        # Without a document of its own, a cluster has the shared one, with its `clusters`.
        shared = self.document
        if shared is not None and cluster not in self.own:
            return shared
        config = self.own[cluster]
        if shared is None:
            return _document(config)
        return Document(config, shared.source.patched(config.node, file_of(config)))

    def dropped(self, cluster: str) -> list[Result]:
        """Return what a cluster's document has no effect on, though it seems so.

        It would remove that below `clusters` of the shared one, and a merge drops it.
        """
        config = self.own.get(cluster)
        if config is None or self.shared is None:
            return []
        # A node counts its lines from the beginning of its own document.
        above = config.lines_above
        place = config.annotations.get(PATH, "")
        found = []
        for path, line in clusters.dropped(config.node):
            message = f"{clusters.why_dropped(path)} ({place}:{above + line})"
            found.append(rules.CLUSTER_NULL_DROPPED.result(message, path=path))
        return about(config, found)


def _document(config: KubeObject) -> Document:
    """Read a policy."""
    return Document(config, load.read(config.node, file=file_of(config)))

"""Which policies close a Kustomization or an object."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from krm_windows.flux import Cluster, Gate, Kustomization, Object
from krm_windows.flux.model import Identity
from krm_windows.inventory import CHANGE_CLASS, POLICY

LIVE = "live"
HOW_TO_GATE = "(in another namespace with `crossNamespaceTargets: Allow`)"
"""What a build demands of a policy that gates something more; behind the advice to do so."""
Owned = tuple[Kustomization, Object]
"""An object behind the Kustomization that applies it."""


@dataclass(frozen=True)
class GatedCluster:
    """A cluster, and what its policies hold."""

    cluster: Cluster

    @cached_property
    def _gates(self) -> dict[Identity, frozenset[str]]:
        found: dict[Identity, set[str]] = {}
        for gate in self.cluster.gates:
            for identity in gate.identities:
                found.setdefault(identity, set()).add(gate.policy)
        return {identity: frozenset(policies) for identity, policies in found.items()}

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The policies whose targets are not applied before a window opens (`firstApply: Wait`)."""
        return frozenset(gate.policy for gate in self.cluster.gates if gate.waits)

    def applied(self) -> Iterator[Owned]:
        """Yield every object of the cluster behind the Kustomization that applies it."""
        for each in self.cluster.kustomizations.values():
            for item in each.objects:
                yield each, item

    def above(self, kustomization: Kustomization) -> Iterator[Kustomization]:
        """Yield a Kustomization and all that deliver it, up to the root."""
        each: Kustomization | None = kustomization
        while each is not None:
            yield each
            each = self.cluster.kustomizations.get(each.parent or "")

    def suspends(self, kustomization: Kustomization) -> frozenset[str]:
        """Return the policies that suspend a Kustomization itself."""
        return self.gates(kustomization.identity)

    def holds(self, kustomization: Kustomization) -> frozenset[str]:
        """Return the policies that hold new revisions back from a Kustomization.

        By itself, or by its source: without new artifacts of that it has nothing new to apply.
        """
        source = kustomization.source
        return self.suspends(kustomization) | (self.gates(source) if source else frozenset())

    def gates(self, identity: Identity) -> frozenset[str]:
        """Return the policies that gate an object itself."""
        return self._gates.get(identity, frozenset())

    def when(self, kustomization: Kustomization, item: Object) -> frozenset[str]:
        """Return the policies in whose windows an object changes.

        For a Kustomization these are the windows in which what it applies changes.
        """
        # What a Kustomization applies is what changes with it, not its own fields.
        own = self.cluster.kustomizations.get(item.identity.path)
        if own is not None and item.identity == own.identity:
            return self.holds(own)
        return self.holds(kustomization) | self.gates(item.identity)

    def before(self, *applied: Kustomization) -> set[str]:
        """Return the keys of some Kustomizations, and of all that come before on a new cluster."""
        # Each with whether all that it applies has to be ready, too.
        due = [(each.key, False) for each in applied]
        seen: set[tuple[str, bool]] = set()
        while due:
            step = due.pop()
            each = self.cluster.kustomizations.get(step[0])
            if step in seen or each is None:
                continue
            seen.add(step)
            # It is applied by its parent, after what it depends on is ready.
            due.append((each.parent or "", False))
            due += ((key, True) for key in each.depends_on)
            if step[1]:
                due += ((key, True) for key in each.awaits)
        return {key for key, _ in seen}

    def chain(self, gate: Gate) -> list[Kustomization]:
        """Return what delivers a policy, and the root of all."""
        root = self.cluster.first
        by = self.cluster.kustomizations.get(gate.delivered_by or "")
        # The policy may be in the cluster's own directory, or nothing may deliver it.
        if by is None or by is root:
            return [root]
        return [by, root]

    def delivers(self, kustomization: Kustomization) -> bool:
        """Whether a Kustomization delivers windows, so that no policy may close it."""
        return is_windows(kustomization) or any(
            kustomization in self.chain(gate) for gate in self.cluster.gates
        )


def file_of(cluster: Cluster) -> str:
    """Return a file for what is about a whole cluster: any that its root applies."""
    return next((item.file for item in cluster.first.objects if item.file), cluster.root)


def is_live(kustomization: Kustomization) -> bool:
    """Whether a Kustomization says of itself that it is live."""
    own = kustomization.own
    return own is not None and (own.note(CHANGE_CLASS) == LIVE or is_windows(kustomization))


def is_windows(kustomization: Kustomization) -> bool:
    """Whether a Kustomization was rendered, and delivers a part of the windows by itself."""
    return kustomization.own is not None and kustomization.own.note(POLICY) is not None


def described(policies: frozenset[str]) -> str:
    """Say in a word or two when something changes."""
    # Sorted, so that a message is the same in each run.
    return f"in the windows of {' and '.join(sorted(policies))}" if policies else "at once"

"""Two policies on one target of one cluster.

Gated by both it is open only while both are, so the windows of neither hold. What one gates and the
other releases may be opened while it should be closed. Facts in, results out: whoever calls knows
which policies are in force in one cluster.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krm_windows import rules
from krm_windows.gate.timetable import Target
from krm_windows.inventory import about
from krm_windows.krm import KubeObject
from krm_windows.plan.given import Given
from krm_windows.plan.targets import address
from krm_windows.plurals import some
from krm_windows.results import Result
from krm_windows.rules import Rule
from krm_windows.schedule.timeline import Followed

# So many targets are named before "and 12 targets more".
_FEW = 3
_UNCLEAR = (
    "not both say which cluster they are for: if it is the same, remove it from one of them; "
    "otherwise name the cluster in each policy (`clusters: {NAME: {}}`) and render with --cluster"
)


class Claim(NamedTuple):
    """What a policy (`namespace/name`) gates in a cluster, None where it is for none in particular.

    `file` is where it was rendered, empty for a policy that was given. `former_names` are those of
    `formerNames`, and `released` are the targets that it opens.
    """

    policy: str
    cluster: str | None
    targets: tuple[Target, ...]
    file: str = ""
    former_names: tuple[str, ...] = ()
    released: tuple[Target, ...] = ()

    @classmethod
    def of(cls, timetable: Followed, file: str = "") -> "Claim":
        """Return what a timetable claims."""
        return cls(
            policy=timetable.policy,
            cluster=timetable.cluster,
            targets=timetable.targets,
            file=file,
            former_names=timetable.former_names,
            released=timetable.released,
        )

    def only(self, kept: Iterable[Followed]) -> "Claim":
        """Return what some timetables still gate and release of it."""
        targets: set[tuple[str, ...]] = set()
        released: set[tuple[str, ...]] = set()
        for each in kept:
            targets.update(map(address, each.targets))
            released.update(map(address, each.released))
        return self._replace(
            targets=tuple(each for each in self.targets if address(each) in targets),
            released=tuple(each for each in self.released if address(each) in released),
        )


class Conflict(NamedTuple):
    """The targets at a path of a policy, what another policy says of them, and what to do."""

    targets: list[Target]
    path: str
    words: str
    must: str


def disputed(own: Claim, other: Claim) -> Iterator[Conflict]:
    """Yield the targets on which a policy is at odds with another.

    What bears this policy's name, or a former one, is no other. What was rendered under a former
    name is this policy as it was; two given at once are two.
    """
    if other.policy == own.policy or (other.file and other.policy in own.former_names):
        return
    one = "remove it from all but one of them"
    released = "remove it from `released`, or it may be opened while it should be closed"
    for mine, theirs, path, words, must in (
        (own.targets, other.targets, "spec.targets", "gated by", one),
        (own.targets, other.released, "spec.targets", "in `released` of", released),
        (own.released, other.targets, "spec.released", "gated by", released),
    ):
        # By address: a claim may have been rendered with another version of the API.
        addresses = set(map(address, theirs))
        shared = [target for target in mine if address(target) in addresses]
        if shared:
            yield Conflict(shared, path, words, must)


def conflicts(own: Claim, others: Iterable[Claim], unclear: Rule | None = None) -> Iterator[Result]:
    """Yield where a policy is at odds with others of its cluster.

    By the rule `unclear` if they may be for another, which only a person knows.
    """
    on = f" on {own.cluster}" if own.cluster else ""
    for other in others:
        file = f" ({other.file})" if other.file else ""
        for shared, path, words, must in disputed(own, other):
            verb = "is" if len(shared) == 1 else "are"
            # `matchLabels` may select hundreds.
            message = (
                f"{some(list(map(str, shared)), _FEW)} {verb} also {words} the policy "
                f"{other.policy}{on}{file}; {_UNCLEAR if unclear else must}"
            )
            yield (unclear or rules.TWO_POLICIES).result(message, path=path)


def given(own: Given, others: Iterable[Given], items: list[KubeObject]) -> list[Result]:
    """Return where a policy is at odds with others, with each on the first cluster where it is.

    Among the `items` their targets may be. A policy that names no cluster may be for any.
    """
    results: list[Result] = []
    for other in others:
        mine, theirs = own.loaded.clusters, other.loaded.clusters
        unclear = None if mine and theirs else rules.TWO_POLICIES_UNCLEAR
        for cluster in mine or theirs or [None]:
            held, there = own.timetable(cluster, items), other.timetable(cluster, items)
            found = held and there and list(conflicts(Claim.of(held), [Claim.of(there)], unclear))
            if found:
                results += about(own.config, found)
                break
    return results

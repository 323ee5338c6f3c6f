"""Two policies on one target of one cluster.

Gated by both it is open only while both are, so the windows of neither hold. What one gates and the
other releases may be opened while it should be closed. Facts in, results out: whoever calls knows
which policies are in force in one cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from krm_windows import rules
from krm_windows.gate.timetable import Target
from krm_windows.plan.targets import address
from krm_windows.plurals import counted
from krm_windows.results import Result
from krm_windows.rules import Rule
from krm_windows.schedule.timeline import Followed

# So many targets are named before "and 12 targets more".
_FEW = 3


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

    def conflicts(self, other: "Claim") -> list["Conflict"]:
        """Return the targets on which another is at odds with it.

        What bears this policy's name, or a former one, is no other.
        """
        if other.policy == self.policy:
            return []
        # What was rendered under a former name is this policy as it was; two given at once are two.
        if other.file and other.policy in self.former_names:
            return []
        must = "remove it from `released`, or it may be opened while it should be closed"
        every = (
            Conflict(_both(self.targets, other.targets)),
            Conflict(_both(self.targets, other.released), words="in `released` of", must=must),
            Conflict(_both(self.released, other.targets), "spec.released", must=must),
        )
        return [each for each in every if each.targets]


class Conflict(NamedTuple):
    """The targets at a path of a policy, what another policy says of them, and what to do."""

    targets: list[Target]
    path: str = "spec.targets"
    words: str = "gated by"
    must: str = "remove it from all but one of them"


def _both(own: Iterable[Target], others: Iterable[Target]) -> list[Target]:
    # By address: a claim may have been rendered with another version of the API.
    theirs = {address(target) for target in others}
    return [target for target in own if address(target) in theirs]


def conflicts(own: Claim, others: Iterable[Claim]) -> Iterator[Result]:
    """Yield where a policy is at odds with others of its cluster."""
    for other in others:
        for conflict in own.conflicts(other):
            yield _result(rules.TWO_POLICIES, own, other, conflict, conflict.must)


def doubt(
    own: Claim,
    others: Iterable[Claim],
    rule: Rule,
) -> Iterator[Result]:
    """Yield where a policy is at odds with others that may be for another cluster."""
    for other in others:
        for conflict in own.conflicts(other):
            # Whether both are for one cluster only a person knows.
            who = "neither says"
            if own.cluster != other.cluster:
                who = "one of the two does not say"
            must = (
                f"{who} which cluster it is for: if both are for the same cluster, remove it "
                "from one of them; otherwise name the cluster in each policy "
                "(`clusters: {NAME: {}}`) and render with --cluster"
            )
            yield _result(rule, own, other, conflict, must)


def among(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Result]]:
    """Yield what each of some policies of one cluster has in common with those before it."""
    for index, own in enumerate(claims):
        # With those before it only, so that each pair is reported once.
        for result in conflicts(own, claims[:index]):
            yield own, result


def _result(rule: Rule, own: Claim, other: Claim, conflict: Conflict, must: str) -> Result:
    # `matchLabels` may select hundreds.
    shared = conflict.targets
    named = ", ".join(map(str, shared[:_FEW]))
    more = len(shared) - _FEW
    if more > 0:
        named += f" and {counted(more, 'target')} more"
    verb = "are"
    if len(shared) == 1:
        verb = "is"
    gated = f"also {conflict.words} the policy {other.policy}"
    if own.cluster:
        gated += f" on {own.cluster}"
    if other.file:
        gated += f" ({other.file})"
    return rule.result(f"{named} {verb} {gated}; {must}", path=conflict.path)

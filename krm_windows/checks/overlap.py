"""Two policies on one target of one cluster.

It is open only while both are, so the windows of neither hold. Facts in, results out: whoever calls
knows which policies are in force in one cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from krm_windows import rules
from krm_windows.gate.timetable import Target, Timetable
from krm_windows.plan.targets import address
from krm_windows.plurals import counted
from krm_windows.results import Result
from krm_windows.rules import Rule

# So many targets are named before "and 12 targets more".
_FEW = 3
_PATH = "spec.targets"


class Claim(NamedTuple):
    """What a policy (`namespace/name`) gates in a cluster, None where it is for none in particular.

    `file` is where it was rendered, empty for a policy that was given. `former_names` are those of
    `formerNames`.
    """

    policy: str
    cluster: str | None
    targets: tuple[Target, ...]
    file: str = ""
    former_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, timetable: Timetable, file: str = "") -> "Claim":
        """Return what a timetable claims."""
        return cls(
            policy=timetable.policy,
            cluster=timetable.cluster,
            targets=timetable.targets,
            file=file,
            former_names=timetable.former_names,
        )

    def shares(self, other: "Claim") -> list[Target]:
        """Return the targets that another claims as well.

        What bears this policy's name, or a former one, is none.
        """
        if other.policy == self.policy:
            return []
        # What was rendered under a former name is this policy as it was; two given at once are two.
        if other.file and other.policy in self.former_names:
            return []
        # By address: a claim may have been rendered with another version of the API.
        theirs = {address(target) for target in other.targets}
        return [target for target in self.targets if address(target) in theirs]


def check(own: Claim, others: Iterable[Claim]) -> Iterator[Result]:
    """Yield what a policy has in common with others of its cluster, one result for each of them."""
    for other in others:
        if shared := own.shares(other):
            yield _result(
                rules.TWO_POLICIES, own, other, shared, "remove it from all but one of them"
            )


def doubt(
    own: Claim,
    others: Iterable[Claim],
    rule: Rule,
) -> Iterator[Result]:
    """Yield what a policy has in common with others that may be for another cluster."""
    for other in others:
        # Whether both are for one cluster only a person knows.
        if shared := own.shares(other):
            who = "neither says"
            if own.cluster != other.cluster:
                who = "one of the two does not say"
            must = (
                f"{who} which cluster it is for: if both are for the same cluster, remove it "
                "from one of them; otherwise name the cluster in each policy "
                "(`clusters: {NAME: {}}`) and render with --cluster"
            )
            yield _result(rule, own, other, shared, must)


def among(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Result]]:
    """Yield what each of some policies of one cluster has in common with those before it."""
    for index, own in enumerate(claims):
        # With those before it only, so that each pair is reported once.
        for result in check(own, claims[:index]):
            yield own, result


def _result(
    rule: Rule,
    own: Claim,
    other: Claim,
    shared: Sequence[Target],
    must: str,
) -> Result:
    # `matchLabels` may select hundreds.
    named = ", ".join(map(str, shared[:_FEW]))
    more = len(shared) - _FEW
    if more > 0:
        named += f" and {counted(more, 'target')} more"
    verb = "are"
    if len(shared) == 1:
        verb = "is"
    gated = f"also gated by the policy {other.policy}"
    if own.cluster:
        gated += f" on {own.cluster}"
    if other.file:
        gated += f" ({other.file})"
    return rule.result(f"{named} {verb} {gated}; {must}", path=_PATH)

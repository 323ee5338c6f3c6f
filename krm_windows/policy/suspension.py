"""What true means in a field, as its name says: whether it stops reconciliation, or has it go on.

The gate closes a target by writing true, so a field such as `spec.syncPolicy.automated.enabled`
would be switched on by every close. Its type does not distinguish the two, so names are read, and
only those that leave no doubt are believed.
"""

import re
from enum import Enum


class Meaning(Enum):
    """What true in a field does, as far as its name says."""

    CLOSES = "closes"
    OPENS = "opens"
    UNKNOWN = "unknown"


# True in these stops something: spec.suspend of Flux, spec.paused of Cluster API and Fleet, and
# their relatives.
_CLOSING = frozenset(
    """
    suspend suspended suspension pause paused disable disabled stop stopped halt halted freeze
    frozen hold off inactive deactivated hibernate hibernated
    """.split()  # noqa: SIM905
)
# What may be beside them, so that it is no deletion, say, that is stopped: pauseReconciliation,
# syncDisabled.
_STOPPED = frozenset(
    """
    sync reconcile reconciliation reconciling rollout rollouts deploy deployment deployments
    update updates upgrade upgrades schedule scheduling automation controller
    """.split()  # noqa: SIM905
)
# True in these has something go on.
_OPENING = frozenset(
    """
    enable enabled active activate activated on allow allowed permit permitted auto automated
    automatic automatically run running start started resume resumed open opened live online
    sync synced synchronize reconcile reconciled reconciliation apply applied deploy deployed
    continue proceed unpause unpaused unsuspend unsuspended unlock unlocked unfreeze unfrozen
    unblock unblocked schedulable progress
    """.split()  # noqa: SIM905
)
# What turns the meaning of a word around.
_DENYING = frozenset(
    """
    no not non never without skip ignore prevent deny un anti
    """.split()  # noqa: SIM905
)
# A field of this name alone says whether what is above it is there.
_SWITCHES = frozenset({("enabled",), ("enable",), ("active",), ("on",)})
# And of these, whether it is not.
_SWITCHES_OFF = frozenset(
    {("disabled",), ("disable",), ("inactive",), ("deactivated",), ("off",)},
)
# `syncPolicy` is two words, and so is `HTTPRoute`.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def meaning(path: str) -> Meaning:
    """Return what true means at a path such as `spec.rollout.paused`.

    Where the last name only says whether what is above it is there, that one's name counts.
    `pauseEnabled`, `notPaused` and a name without any such word say nothing.
    """
    *above, last = map(_words, path.split(".")[1:])
    if above and last in _SWITCHES_OFF:
        return _switched_off(above[-1])
    if last not in _SWITCHES:
        return _of_words(last)
    if not above:
        # A switch right below the spec is that of the object itself.
        return Meaning.OPENS
    return _of_words(above[-1])


def _switched_off(words: tuple[str, ...]) -> Meaning:
    """Return what true means in a field that switches off what has a name of these words."""
    # `rollout.disabled` and `automated.disabled`, but `webhook.disabled` may be anything.
    if _STOPPED.issuperset(words):
        return Meaning.CLOSES
    turned = {Meaning.CLOSES: Meaning.OPENS, Meaning.OPENS: Meaning.CLOSES}
    return turned.get(_of_words(words), Meaning.UNKNOWN)


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _WORD.findall(name))


def _of_words(words: tuple[str, ...]) -> Meaning:
    closing = _CLOSING.intersection(words)
    others = set(words) - closing
    # Two closing words, such as `unlessPausedStop`, are more than can be read.
    if len(closing) == 1 and others <= _STOPPED:
        return Meaning.CLOSES
    # A word that turns it around, or one that closes beside others: nobody knows.
    if closing or _DENYING.intersection(words):
        return Meaning.UNKNOWN
    if _OPENING.intersection(words):
        return Meaning.OPENS
    return Meaning.UNKNOWN

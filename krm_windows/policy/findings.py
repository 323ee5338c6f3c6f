"""What is wrong with one value of a policy.

Findings, before they know the object they are about.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from typing import NamedTuple, Self

from pydantic_core import PydanticCustomError

from krm_windows.results import File, ResourceRef, Result
from krm_windows.rules import Rule

# To compare two words takes the product of their lengths: what is longer, or is beside more,
# was not mistyped.
LONGEST_WORD = 100
MOST_KNOWN = 100


class Finding(NamedTuple):
    """A rule that fired.

    `must` says what has to hold, `path` is relative to the value that was looked at.
    """

    rule: Rule
    must: str
    current: str | None = None
    proposed: str | None = None
    path: str = ""

    @property
    def message(self) -> str:
        """The finding in words: what must hold, what is there, and the likely fix."""
        message = self.must
        if self.current is not None:
            message += f', got "{self.current}"'
        if self.proposed is not None:
            message += f'; did you mean "{self.proposed}"?'
        return message

    def result(
        self,
        path: str,
        ref: ResourceRef,
        file: File | None,
    ) -> Result:
        """Report the finding at a path of an object."""
        return self.rule.result(
            self.message,
            path=path,
            current=self.current,
            proposed=self.proposed,
            ref=ref,
            file=file,
        )


class RefusedError(PydanticCustomError):
    """A value that rules refuse, with all that is wrong with it; its type is the first rule's id.

    pydantic keeps the context of what a validator raises, and so the findings.
    """

    def __new__(cls, *findings: Finding) -> Self:
        """Take the findings."""
        message = "; ".join(finding.message for finding in findings)
        context = {"findings": findings, "message": message}
        return super().__new__(cls, findings[0].rule.id, "{message}", context)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong."""
        found: tuple[Finding, ...] = (self.context or {})["findings"]
        return found


def raise_for(findings: Iterable[Finding]) -> None:
    """Raise `RefusedError` with all findings, if there are any."""
    found = tuple(findings)
    if found:
        raise RefusedError(*found)


def closest(
    word: str,
    known: Collection[str],
    most: int = MOST_KNOWN,
    alike: float = 0.6,
) -> str | None:
    """Return the known word that a mistyped one most likely stands for.

    Of long words, or many, none is sought. `alike`: the share of letters that they have in common;
    less would be guessed at random.
    """
    if len(word) > LONGEST_WORD or len(known) > most:
        return None
    # The case does not count: `suspendfield` is near to `suspendField`.
    spelled = {name.lower(): name for name in sorted(known) if len(name) <= LONGEST_WORD}
    found = get_close_matches(word.lower(), spelled, n=1, cutoff=alike)
    return spelled[found[0]] if found else None

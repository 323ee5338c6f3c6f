"""Selectors of patches: each field is a regular expression of Go (kustomize, `SelectorRegex`)."""

from dataclasses import dataclass, field

from krm_windows.patterns import go_regexp
from krm_windows.patterns.go_regexp import Budget, Pattern
from krm_windows.patterns.go_syntax import PatternError

# What compiling a state costs beside looking at one.
_TO_COMPILE = 4


@dataclass(frozen=True)
class Selectors:
    """The patterns of one repository: each is compiled once, and all matches share one budget."""

    budget: Budget = field(default_factory=Budget)
    _compiled: dict[str, Pattern] = field(default_factory=dict)

    def matches(self, written: str, held: str) -> bool:
        """Whether a field's pattern matches the whole of what an object has.

        An empty pattern matches everything. Raises PatternError for what kustomize refuses, and
        where the budget is spent.
        """
        if not written:
            return True
        if _is_plain(written):
            return written == held
        pattern = self._pattern(written)
        return pattern.search(held, self.budget)

    def _pattern(self, written: str) -> Pattern:
        known = self._compiled.get(written)
        if known is not None:
            return known
        # Put together as text, as kustomize does: `a)|(?:b` is odd, and right.
        compiled = go_regexp.compile(f"^(?:{written})$")
        self.budget.spend(_TO_COMPILE * len(compiled.states))
        self._compiled[written] = compiled
        return compiled


def _is_plain(written: str) -> bool:
    """Whether a pattern matches its own text alone: no character of it means anything else."""
    letters = written.replace("-", "")
    # `isalnum` is false of an empty text, and `---` is plain, too.
    return letters == "" or (letters.isascii() and letters.isalnum())


__all__ = ["PatternError", "Selectors"]

"""Who may let a change through a closed window."""

from dataclasses import dataclass

import pytest

from krm_windows.forge.exemptions import exempted
from krm_windows.forge.model import PullRequest, State
from krm_windows.forge.policies import Verdict


@pytest.mark.parametrize(
    ("allowed", "setter", "granted"),
    [
        ("Ada", "aDA", True),
        ("ada", "ad\u0430", False),  # the last one is Cyrillic
        ("strasse", "straße", False),
        ("straße", "strasse", False),
        ("straße", "STRASSE", False),
        ("kim", "\u212aim", False),  # the Kelvin sign
        ("sue", "\u017fue", False),  # a long s
        ("ivy", "\u0131vy", False),  # without a dot
        ("ivy", "\u0130vy", False),  # with one
        ("fi", "\ufb01", False),  # a ligature
        ("a", "\uff21", False),  # of full width
        ("\u00e9", "\u00c9", False),
        ("straße", "straße", True),
    ],
)
def test_names_are_compared_in_ascii(
    allowed: str,
    setter: str,
    granted: bool,  # noqa: FBT001 - of a table
) -> None:
    """A name with any other character is equal to itself alone."""
    change = PullRequest(1, "", "Window-Exempt: x", frozenset(), "main")
    closed = Verdict(State.PENDING, "closed")
    assert exempted(Labelled(setter), change, closed, {allowed}).may_land is granted


@dataclass
class Labelled:
    """A forge on which somebody has set the label."""

    setter: str

    def label_setters(self, _change: PullRequest, _label: str) -> frozenset[str]:
        """Return who set it."""
        return frozenset({self.setter})

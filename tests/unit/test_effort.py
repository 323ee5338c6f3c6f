"""How many examples and parameters the quick tests have."""

from effort import FULL, QUICK, examples, mostly_slow
from hypothesis import settings


def test_the_quick_profile_takes_a_quarter_of_the_examples() -> None:
    """Rounded up, so that there is always one; in the full profile a number is what it says."""
    before = settings.get_current_profile_name()
    try:
        settings.load_profile(FULL)
        assert [examples(count) for count in (1, 40, 300)] == [1, 40, 300]
        settings.load_profile(QUICK)
        assert [examples(count) for count in (1, 4, 5, 300)] == [1, 1, 2, 75]
    finally:
        settings.load_profile(before)


def test_one_in_so_many_parameters_is_quick() -> None:
    """Beginning with the first; none is left out."""
    found = list(mostly_slow("abcde", every=2))
    assert [parameter.values for parameter in found] == [(each,) for each in "abcde"]
    assert [[mark.name for mark in parameter.marks] for parameter in found] == [
        [],
        ["slow"],
        [],
        ["slow"],
        [],
    ]

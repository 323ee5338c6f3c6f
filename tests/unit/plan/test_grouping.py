"""What comes with the same key."""

from krm_windows.plan.grouping import grouped


def test_values_of_a_key_are_put_together() -> None:
    """Each once; the keys are in the order in which they come first."""
    pairs = [("b", 1), ("a", 2), ("b", 3), ("b", 1)]
    assert list(grouped(pairs).items()) == [("b", {1, 3}), ("a", {2})]
    assert grouped([]) == {}

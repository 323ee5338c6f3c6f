"""Sets as bits, beside the sets of numbers that they stand for."""

import random

import pytest

from krm_windows.schedule import bits

SEEDS = range(60)


def numbers(number_bits: int) -> set[int]:
    return {number for number in range(number_bits.bit_length()) if number_bits >> number & 1}


def some(chosen: random.Random) -> set[int]:
    return set(chosen.sample(range(40), chosen.choice([0, 1, 3, 20, 37, 40])))


def test_filled() -> None:
    """Each number is carried on for as long as the next one is let through."""
    for seed in SEEDS:
        chosen = random.Random(seed)  # noqa: S311 - nobody guesses
        begins, through = some(chosen), some(chosen)
        want = set(begins)
        for number in range(1, 41):
            if number in through and number - 1 in want:
                want.add(number)
        assert numbers(bits.filled(bits.of(begins), bits.of(through))) == want, seed


@pytest.mark.parametrize("length", [1, 2, 3, 8, 9, 50])
def test_lasting_and_leading(length: int) -> None:
    """Each number comes with those that follow it, or with those before it that there are."""
    for seed in SEEDS:
        given = some(random.Random(seed))  # noqa: S311 - nobody guesses
        lasting = {number + step for number in given for step in range(length)}
        leading = {number - step for number in given for step in range(length) if step <= number}
        assert numbers(bits.lasting(bits.of(given), length)) == lasting, seed
        assert numbers(bits.leading(bits.of(given), length)) == leading, seed

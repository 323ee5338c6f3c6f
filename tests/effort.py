"""How many examples a property is tried with: in `make test`, a tenth of them."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import HealthCheck, settings

T = TypeVar("T")
U = TypeVar("U")
QUICK, FULL = "quick", "full"

# How long an example takes, or is made, says nothing on a busy machine; `make bench` measures.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(QUICK, _UNTIMED, max_examples=10)
settings.register_profile(FULL, _UNTIMED, max_examples=100)


def examples(count: int) -> int:
    """Return as much of a number of examples as the profile asks for, 100 being its own number."""
    return -(-count * settings().max_examples // 100)


def mostly_slow(values: Iterable[object], every: int) -> list[ParameterSet]:
    """Return parameters of which `make test` runs the first and one in so many."""
    return [
        pytest.param(value, marks=[pytest.mark.slow] if number % every else [])
        for number, value in enumerate(values)
    ]


def rows_mostly_slow(rows: Iterable[Sequence[object]], every: int) -> list[ParameterSet]:
    return [
        pytest.param(*row, marks=[pytest.mark.slow] if number % every else [])
        for number, row in enumerate(rows)
    ]


def crossed(calls: Iterable[T], cases: Iterable[U]) -> list[tuple[T, U]]:
    """Return the first call with every case, and every call with the first case."""
    calls, cases = list(calls), list(cases)
    return [(calls[0], case) for case in cases] + [(call, cases[0]) for call in calls[1:]]

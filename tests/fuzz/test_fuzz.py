"""Fuzzing, bounded and repeatable; `make fuzz` runs the same targets for as long as one likes."""

from random import Random

import mutations
import pytest
import seeds
import targets
from effort import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from yaml_strategies import resource_lists

# About 30 seconds in all on a machine of its own. Nothing is shrunk: another seed is no simpler.
COUNTS = {"function": 150, "plugin": 80, "policy": 12, "resources": 12, "calendar": 15, "bytes": 4}
REPEATABLE = settings(
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", COUNTS)
def test_mutated_inputs(name: str) -> None:
    known = seeds.for_target(name)

    @settings(REPEATABLE, max_examples=examples(COUNTS[name]))
    @given(st.sampled_from(known), st.integers(0, 2**32))
    def check(seed: bytes, number: int) -> None:
        random = Random(number)  # noqa: S311 - repeatable is the point
        targets.TARGETS[name](mutations.mutate(seed, random, known))

    check()


@settings(REPEATABLE, max_examples=examples(40))
@given(resource_lists(), st.integers(0, 2**32))
def test_mutated_layouts(text: bytes, number: int) -> None:
    random = Random(number)  # noqa: S311 - likewise
    targets.function(mutations.mutate(text, random, [text], most=2))


@settings(REPEATABLE, max_examples=examples(60))
@given(st.binary(max_size=200))
def test_plain_bytes(text: bytes) -> None:
    targets.function(text)
    targets.plugin(text)

"""Fuzzing, bounded and repeatable; `make fuzz` runs the same targets for as long as one likes."""

import threading
from contextlib import suppress
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
EXAMPLES = {
    "function": 150,
    "plugin": 80,
    "policy": 12,
    "resources": 12,
    "calendar": 15,
    "bytes": 4,
}
PHASES = (Phase.explicit, Phase.generate)


@pytest.mark.parametrize("name", EXAMPLES)
def test_mutated_inputs(name: str) -> None:
    """Real inputs with a few changes: never our failure, never lost, never damaged."""
    known = seeds.for_target(name)

    @settings(
        max_examples=examples(EXAMPLES[name]),
        derandomize=True,
        database=None,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(known), st.integers(0, 2**32))
    def check(seed: bytes, number: int) -> None:
        random = Random(number)  # noqa: S311 - repeatable is the point
        targets.TARGETS[name](mutations.mutate(seed, random, known))

    check()


@settings(
    max_examples=examples(40),
    derandomize=True,
    database=None,
    phases=PHASES,
    suppress_health_check=list(HealthCheck),
)
@given(resource_lists(), st.integers(0, 2**32))
def test_mutated_layouts(text: bytes, number: int) -> None:
    """ResourceLists in every layout, as drawn for the laws of the wire, and then changed."""
    random = Random(number)  # noqa: S311 - likewise
    targets.function(mutations.mutate(text, random, [text], most=2))


@settings(max_examples=examples(60), derandomize=True, database=None)
@given(st.binary(max_size=200))
def test_plain_bytes(text: bytes) -> None:
    """What is no YAML at all."""
    targets.function(text)
    targets.plugin(text)


def test_a_finding_is_found() -> None:
    """The oracle does see what is wrong."""
    with pytest.raises(targets.Finding, match="lost"):
        targets._check_subsequence([{"a": "b"}], [])
    with pytest.raises(targets.Finding, match="exit code 2"):
        targets._said(2, "x")
    with pytest.raises(targets.Finding, match="no YAML"):
        targets._check_syntax(b"a: [")


def test_what_works_for_too_long_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time of the processor counts, not that of the clock; and nothing on the way may catch it."""
    monkeypatch.setattr(targets, "SECONDS", 0.05)

    def work() -> None:
        with targets.bounded():
            while True:
                with suppress(Exception):
                    sum(range(1000))

    with pytest.raises(targets.Finding, match="a hang: it works"):
        work()


def test_what_waits_for_too_long_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor may a call wait for something that does not come."""
    monkeypatch.setattr(targets, "PATIENCE", 0.05)
    with pytest.raises(targets.Finding, match="a hang: it waits"), targets.bounded():
        threading.Event().wait(60)

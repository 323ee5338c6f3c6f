"""Variables are replaced as Flux replaces them, where their values are in Git."""

import json
from pathlib import Path

import pytest
from effort import mostly_slow

from krm_windows.flux.substitution import substitute
from krm_windows.krm import InputError

ANSWERS = Path(__file__).parent / "envsubst.jsonl"
VALUES = (("EMPTY", ""), ("NAME", "shop"))


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("$${NAME}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("${OTHER:=a-${EMPTY:=${NAME}-b}}-c", "a-shop-b-c"),
        ("${OTHER:=$${NAME}}", "$shop"),
        ("$$${NAME}", "$shop"),
        # What Flux refuses, or what is not worked out here.
        ("${NAME^^}-${NAME/sh/h}-${NAME:1:2}", "${NAME^^}-${NAME/sh/h}-${NAME:1:2}"),
        ("${NAME#s*o}", "${NAME#s*o}"),
        ("${OTHER:=${NAME}", "${OTHER:=shop"),
    ],
)
def test_a_variable_has_its_value_or_its_default(text: str, replaced: str) -> None:
    assert substitute(text, VALUES, complete=True) == replaced


def test_it_is_what_flux_makes_of_it() -> None:
    """By fluxcd/pkg/envsubst 1.8.0, of expressions thrown together at random."""
    compared = 0
    for line in ANSWERS.read_text().splitlines():
        row = json.loads(line)
        found = substitute(row["text"], tuple(row["values"].items()), complete=True)
        # What is not worked out stays, and is known by that.
        if "${" not in found:
            assert found == row["result"], row["text"]
            compared += 1
    assert compared > 200


@pytest.mark.parametrize("text", ["${OTHER}", "${OTHER:=plain}", "${OTHER^^}", "${#OTHER}"])
def test_a_variable_that_only_the_cluster_knows_stays(text: str) -> None:
    assert substitute(text, VALUES, complete=False) == text


def test_what_is_known_of_a_default_is_replaced() -> None:
    text = "${OTHER:=${NAME}-${SOME:=${NAME}}}"
    assert substitute(text, VALUES, complete=False) == "${OTHER:=shop-${SOME:=shop}}"


def test_variables_come_to_an_end() -> None:
    with pytest.raises(InputError, match="variables"):
        substitute("${A}" * 10_000, (("A", "x" * 10_000),), complete=True)


@pytest.mark.parametrize("count", mostly_slow([10_000, 100_000], every=2))
@pytest.mark.parametrize("complete", [True, False])
def test_defaults_in_defaults_come_to_an_end(
    complete: bool,  # noqa: FBT001 - a case
    count: int,
) -> None:
    with pytest.raises(InputError, match="variables"):
        substitute("${A:=x" * count + "}" * count, (), complete=complete)
    # What is never closed is read once.
    assert substitute("${A:=x" * count, (), complete=complete) == "${A:=x" * count

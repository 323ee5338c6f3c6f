"""Variables are replaced as Flux replaces them, where their values are in Git."""

import pytest

from krm_windows.flux.substitution import applies, substitute
from krm_windows.krm import InputError

VALUES = (("EMPTY", ""), ("NAME", "shop"))


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("${NAME}", "shop"),
        ("a-${NAME}-b", "a-shop-b"),
        ("${OTHER}", ""),
        ("${OTHER:=plain}", "plain"),
        ("${OTHER:-plain}", "plain"),
        ("${NAME:=plain}", "shop"),
        ("${EMPTY:=plain}", "plain"),
        ("${EMPTY=plain}", "plain"),
        ("${EMPTY-plain}", "plain"),
        ("$${NAME}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("${NAME/a/b}", "${NAME/a/b}"),
    ],
)
def test_a_variable_has_its_value_or_its_default(text: str, replaced: str) -> None:
    """A variable without a value and without a default is empty; what is no variable stays."""
    assert substitute(text, VALUES, complete=True) == replaced


@pytest.mark.parametrize("text", ["${OTHER}", "${OTHER:=plain}"])
def test_a_variable_that_only_the_cluster_knows_stays(text: str) -> None:
    """A value from a ConfigMap that is not in Git could be anything."""
    assert substitute(text, VALUES, complete=False) == text


def test_an_object_can_forbid_it() -> None:
    """What is emitted for a policy does, as it carries code."""
    assert applies("a: ${NAME}")
    assert not applies("kustomize.toolkit.fluxcd.io/substitute: disabled\na: ${NAME}")
    assert not applies("a: $NAME")


def test_variables_come_to_an_end() -> None:
    """A long value that is put in again and again is refused, not held in memory."""
    with pytest.raises(InputError, match="variables"):
        substitute("${A}" * 10_000, (("A", "x" * 10_000),), complete=True)

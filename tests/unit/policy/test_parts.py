"""Parts of the API: what is read of a tree, and the words for what pydantic refuses."""

from typing import Annotated, Literal, Self

import pytest
from pydantic import Field, ValidationInfo, model_validator

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.parts import Context, Leaf, Part, context


def number(value: object) -> int:
    if isinstance(value, str) and value.isdigit():
        return int(value)
    raise RefusedError(Finding(rules.FIELD_VALUE, "must be a number"))


Number = Annotated[int, Leaf(number, {"type": "integer", "pattern": "[0-9]+"})]


class Wheel(Part):
    size: Number = Field(description="Its size.", examples=[3])
    made_of: Literal["Wood", "Steel"] = Field(default="Wood", description="What it is made of.")


class Cart(Part):
    wheels: tuple[Wheel, ...] = Field(min_length=1, description="Its wheels.")
    loads: dict[Number, Number] = Field(default_factory=dict, description="What is on it.")
    spare: Wheel | None = Field(default=None, description="One more.")
    kind: Literal["Cart"] = Field(alias="class", description="What it is.")

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if context(info).time_zone:
            raise RefusedError(Finding(rules.FIELD_VALUE, "must be nowhere", path="spare.size"))
        return self


GOOD = {"wheels": [{"size": "3"}], "class": "Cart"}


def said(tree: object, context: Context | None = None) -> list[str]:
    with pytest.raises(RefusedError) as refused:
        Cart.read(tree, context)
    return [f"{finding.path}: {finding.must}" for finding in refused.value.findings]


def test_a_part_is_what_was_written() -> None:
    cart = Cart.read(GOOD | {"loads": {"1": "2"}})
    assert (cart.wheels, cart.loads, cart.kind) == ((Wheel.read({"size": "3"}),), {1: 2}, "Cart")
    assert (cart.wheels[0].made_of, cart.spare) == ("Wood", None)


def test_all_that_is_wrong_is_said_at_once() -> None:
    tree = {
        "wheels": [{"size": "x", "sise": "1", "madeOf": "wood"}, "round"],
        "loads": {"a": "b"},
        "spare": {},
    }
    assert said(tree) == [
        "wheels[0].size: must be a number",
        "wheels[0].madeOf: must be Wood or Steel",
        'wheels[0].sise: unknown field; did you mean "size"?',
        "wheels[1]: must be a map",
        "loads.a: must be a number",
        "loads.a: must be a number",
        "spare.size: is required",
        "class: is required",
    ]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("cart", ": must be a map"),
        (GOOD | {"wheels": {"size": "1"}}, "wheels: must be a list"),
        (GOOD | {"wheels": []}, "wheels: must not be empty"),
        # The entry that is wrong is an entry.
        (GOOD | {"wheels": ["x"]}, "wheels[0]: must be a map"),
        (GOOD | {"loads": []}, "loads: must be a map"),
        (GOOD | {"class": []}, "class: must be Cart"),
        # A field has the name that users write, and no other.
        (
            GOOD | {"spare": {"size": "1", "made_of": "Wood"}},
            'spare.made_of: unknown field; did you mean "madeOf"?',
        ),
    ],
)
def test_another_shape_is_refused(tree: object, words: str) -> None:
    assert said(tree) == [words]


def test_a_part_is_checked_as_a_whole() -> None:
    where = Context(time_zone="Europe/Berlin")
    assert said(GOOD, where) == ["spare.size: must be nowhere"]
    assert said(GOOD | {"wheels": []}, where) == ["wheels: must not be empty"]

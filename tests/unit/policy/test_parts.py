"""Parts of the API: what is read of a tree, and the words for what pydantic refuses."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

import pytest
import yaml
from pydantic import Field, ValidationInfo, model_validator

from krm_windows import rules
from krm_windows.classes.model import ChangeClasses
from krm_windows.policy import parts
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.model import WindowPolicy
from krm_windows.policy.parts import Context, Leaf, Part, context


def number(value: object) -> int:
    """Read a number."""
    if isinstance(value, str) and value.isdigit():
        return int(value)
    raise RefusedError(Finding(rules.FIELD_VALUE, "must be a number"))


Number = Annotated[int, Leaf(number, {"type": "integer", "pattern": "[0-9]+"})]


class Wheel(Part):
    """A wheel."""

    size: Number = Field(description="Its size.", examples=[3])
    made_of: Literal["Wood", "Steel"] = Field(default="Wood", description="What it is made of.")


class Cart(Part):
    """A cart."""

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
    """Return what is wrong, each with its path."""
    with pytest.raises(RefusedError) as refused:
        Cart.read(tree, context)
    return [f"{finding.path}: {finding.must}" for finding in refused.value.findings]


def test_a_part_is_what_was_written() -> None:
    """With defaults for what was not."""
    cart = Cart.read(GOOD | {"loads": {"1": "2"}})
    assert (cart.wheels, cart.loads, cart.kind) == ((Wheel.read({"size": "3"}),), {1: 2}, "Cart")
    assert (cart.wheels[0].made_of, cart.spare) == ("Wood", None)


def test_all_that_is_wrong_is_said_at_once() -> None:
    """With paths from the root; of a map, the name as well as its value."""
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
        "spare.size: is required; write, for example, `size: 3`",
        "class: is required; write, for example, `class: Cart`",
    ]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("cart", ": must be a map"),
        (GOOD | {"wheels": "a, b"}, "wheels: must be a list"),
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
    """Whatever is where something else belongs."""
    assert said(tree) == [words]


def test_a_part_is_checked_as_a_whole() -> None:
    """Once all of its fields could be read."""
    where = Context(time_zone="Europe/Berlin")
    assert said(GOOD, where) == ["spare.size: must be nowhere"]
    assert said(GOOD | {"wheels": []}, where) == ["wheels: must not be empty"]


def found(part: type[Part]) -> Iterator[type[Part]]:
    """Yield the parts of the program, in whose modules the two APIs are."""
    for each in part.__subclasses__():
        if each.__module__.startswith("krm_windows."):
            yield each
            yield from found(each)


def needed() -> Iterator[tuple[type[Part], str, object]]:
    """Yield each field that is required, or may not be empty, and what is wrong there then."""
    for part in sorted(set(found(Part)), key=str):
        schema = parts.json_schema(part)
        for key, described in schema["properties"].items():
            node = parts.resolved(described, schema.get("$defs", {}))
            if key in schema.get("required", ()):
                yield part, key, None
            if "minItems" in node:
                yield part, key, []
            if "minProperties" in node:
                yield part, key, {}


NEEDED = list(needed())


def test_the_fields_that_are_needed_are_found() -> None:
    """So that the test of each of them means something."""
    assert {ChangeClasses, WindowPolicy} <= {part for part, _, _ in NEEDED}
    keys = {key for _, key, _ in NEEDED}
    assert {"timeZone", "targets", "image", "classes", "names", "spec"} <= keys


@pytest.mark.parametrize(
    ("part", "key", "empty"),
    [each for each in NEEDED if each[1] not in ("metadata", "spec")],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_who_lacks_a_field_is_told_what_to_write(part: type[Part], key: str, empty: object) -> None:
    """A line that is taken as it stands, whatever the field is."""
    with pytest.raises(RefusedError) as refused:
        part.read({} if empty is None else {key: empty})
    (finding,) = [each for each in refused.value.findings if each.path == key]
    told = re.fullmatch(r"([a-z ]+); write, for example, `(.+)`", finding.must)
    assert told is not None, finding.must
    assert told[1] == ("is required" if empty is None else "must not be empty")
    # As it is read from a file: every value is a text (`policy.document`).
    written = yaml.load(told[2], yaml.BaseLoader)  # noqa: S506 - it makes texts only
    assert list(written) == [key]
    with pytest.raises(RefusedError) as refused:
        part.read(written | {"unknown": ""}, Context("Europe/Berlin", "flux-system"))
    paths = [each.path for each in refused.value.findings]
    assert not [path for path in paths if re.split(r"[.\[]", path)[0] == key]

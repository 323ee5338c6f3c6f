"""Parts of the API: what their fields say is what is read, and what a schema says."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import Annotated, Literal

import pytest
import yaml

from krm_windows import rules
from krm_windows.classes.model import ChangeClasses
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.model import WindowPolicy
from krm_windows.policy.parts import Context, Entry, Leaf, Part, entries, field, reader, schema


def number(value: object) -> int:
    """Read a number."""
    if isinstance(value, str) and value.isdigit():
        return int(value)
    raise RefusedError(Finding(rules.FIELD_VALUE, "must be a number"))


Number = Annotated[int, Leaf(number, {"type": "integer", "pattern": "[0-9]+"})]


class Wheel(Part):
    """A wheel."""

    size: Number = field(description="Its size.", example=3)
    made_of: Literal["Wood", "Steel"] = field(default="Wood", description="What it is made of.")


class Cart(Part):
    """A cart."""

    others = MappingProxyType({"colour": {"type": "string"}})

    wheels: tuple[Wheel, ...] = field(filled=True, description="Its wheels.")
    loads: dict[Number, Number] = field(default_factory=dict, description="What is on it.")
    spare: Wheel | None = field(default=None, description="One more.")
    kind: Literal["Cart"] = field(alias="class", description="What it is.")

    def check(self, context: Context) -> Iterator[Finding]:
        """Yield that a zone is known, which no cart needs."""
        if context.time_zone:
            yield Finding(rules.FIELD_VALUE, "must be nowhere", path="spare.size")


GOOD = {"wheels": [{"size": "3"}], "class": "Cart"}


def said(tree: object, context: Context | None = None) -> list[str]:
    """Return what is wrong, each with its path."""
    with pytest.raises(RefusedError) as refused:
        Cart.read(tree, context or Context())
    return [f"{finding.path}: {finding.must}" for finding in refused.value.findings]


def test_a_part_is_what_was_written() -> None:
    """With defaults for what was not."""
    cart = Cart.read(GOOD | {"loads": {"1": "2"}, "colour": "red"})
    assert cart == Cart(wheels=(Wheel(size=3),), loads={1: 2}, kind="Cart")
    assert (cart.wheels[0].made_of, cart.spare) == ("Wood", None)
    assert cart.as_map()["class"] == "Cart"
    assert "spare" not in cart.as_map()
    assert Cart.read(GOOD | {"spare": {"size": "1"}}).as_map()["spare"] == Wheel(size=1).as_map()


def test_all_that_is_wrong_is_said_at_once() -> None:
    """In the order of the fields, with paths from the root; a name in a map before its value."""
    tree = {
        "wheels": [{"size": "x", "sise": "1", "madeOf": "wood"}, "round"],
        "loads": {"a": "b"},
        "spare": {},
    }
    assert said(tree) == [
        "wheels[0].size: must be a number",
        "wheels[0].madeOf: must be Wood or Steel",
        'wheels[0].sise: unknown field; "size" is there already: remove this one',
        "wheels[1]: must be a map, with fields such as `size:` below it",
        "loads.a: must be a number",
        "loads.a: must be a number",
        "spare.size: is required; write, for example, `size: 3`",
        "class: is required; write `class: Cart`",
    ]


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("cart", ": must be a map, with fields such as `wheels:` below it"),
        (GOOD | {"wheels": "a, b"}, "wheels: must be a list, such as [a, b]"),
        (
            GOOD | {"wheels": {"size": "1"}},
            (
                "wheels: must be a list: write `- ` before the first field of each entry, as in "
                "`- size:`"
            ),
        ),
        (
            GOOD | {"wheels": []},
            "wheels: must not be empty; write, for example, `wheels: [{size: 3}]`",
        ),
        (GOOD | {"wheels": {}}, "wheels: must be a list"),
        (GOOD | {"loads": []}, "loads: must be a map"),
        (
            GOOD | {"loads": [{"size": "1"}, {"name": "a"}]},
            (
                "loads: must be a map, not a list: write `a:` with its fields below it instead "
                "of `- name: a`"
            ),
        ),
        (GOOD | {"class": []}, "class: must be Cart"),
    ],
)
def test_another_shape_is_refused(tree: object, words: str) -> None:
    """Whatever is where something else belongs."""
    assert said(tree) == [words]


def parts(part: type[Part]) -> Iterator[type[Part]]:
    """Yield the parts of the program, in whose modules the two APIs are."""
    for each in part.__subclasses__():
        if each.__module__.startswith("krm_windows."):
            yield each
            yield from parts(each)


FOUND = set(parts(Part))


NEEDED = {
    f"{part.__module__}-{part.__name__}.{entry.key}": entry
    for part in sorted(FOUND, key=str)
    for entry in entries(part)
    if entry.required or entry.field.filled
}


def test_the_fields_that_are_needed_are_found() -> None:
    """So that the test of each of them means something."""
    assert {ChangeClasses, WindowPolicy} <= FOUND
    keys = {entry.key for entry in NEEDED.values()}
    assert {"timeZone", "targets", "image", "cidr", "classes", "names", "spec"} <= keys


@pytest.mark.parametrize("entry", NEEDED.values(), ids=NEEDED)
def test_who_lacks_a_field_is_told_what_to_write(entry: Entry) -> None:
    """A line that is taken as it stands, whatever the field is."""
    lacking: list[tuple[object, str]] = []
    if entry.required:
        lacking.append(({}, "is required"))
    if entry.field.filled:
        empty: object = []
        if entry.schema()["type"] == "object":
            empty = {}
        lacking.append(({entry.key: empty}, "must not be empty"))
    for tree, wrong in lacking:
        with pytest.raises(RefusedError) as refused:
            entry.read(tree, Context())
        (finding,) = refused.value.findings
        told = re.fullmatch(r"([a-z ]+); write(?:, for example,)? `(.+)`", finding.must)
        assert told is not None, finding.must
        assert told[1] == wrong
        # As it is read from a file: every value is a text (`policy.document`).
        written = yaml.load(told[2], yaml.BaseLoader)  # noqa: S506 - it makes texts only
        assert list(written) == [entry.key]
        entry.read(written, Context("Europe/Berlin", "flux-system"))


def test_a_field_that_is_needed_has_an_example() -> None:
    """Or the first message that lacks it fails, whatever is written."""

    class Bare(Part):
        """A part whose field nobody can guess."""

        number: Number = field(description="A number.")

    with pytest.raises(TypeError, match="number needs an example"):
        Bare.read({})


def test_a_part_is_checked_as_a_whole() -> None:
    """Once all of its fields could be read."""
    where = Context(time_zone="Europe/Berlin")
    assert said(GOOD, where) == ["spare.size: must be nowhere"]
    (message,) = said(GOOD | {"wheels": []}, where)
    assert message.startswith("wheels: must not be empty")


def test_a_part_is_a_value() -> None:
    """It cannot be changed, is equal to its like, and can be a key, whatever maps are in it."""
    assert len({Wheel(size=1), Wheel(size=1), Wheel(size=2)}) == 2
    loaded, reordered, other = (
        Cart.read(GOOD | {"loads": loads})
        for loads in ({"1": "2", "3": "4"}, {"3": "4", "1": "2"}, {"1": "4", "3": "2"})
    )
    assert (loaded == reordered, loaded == other) == (True, False)
    assert len({loaded, reordered, other}) == 2
    assert Wheel(size=1) != Cart.read(GOOD)
    assert Wheel(size=1, made_of="Steel").replaced(size=2) == Wheel(size=2, made_of="Steel")
    assert repr(Wheel(size=1)) == "Wheel(size=1, made_of='Wood')"
    with pytest.raises(AttributeError, match=r"Wheel\.size cannot be set"):
        setattr(Wheel(size=1), "size", 2)  # noqa: B010 - a type checker refuses the plain one
    with pytest.raises(TypeError, match="size is required"):
        Wheel()  # type: ignore[call-arg]


def test_a_part_is_not_made_with_fields_that_it_does_not_have() -> None:
    """A name that is mistyped in this program is no field left at its default."""
    with pytest.raises(TypeError, match="Wheel has no field color, sise"):
        Wheel(size=1, sise=2, color="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Wheel has no field sise"):
        Wheel(size=1).replaced(sise=2)


def test_a_type_without_a_reader_is_refused() -> None:
    """When a part is first read, so in the first test of it."""
    with pytest.raises(TypeError, match="is not a type of a field"):
        reader(float)


def test_what_a_schema_says() -> None:
    """What is read: fields, what is required, names of maps, no others where they are refused."""
    wheel = {
        "additionalProperties": False,
        "description": "One more.",
        "properties": {
            "size": {
                "description": "Its size.",
                "examples": [3],
                "pattern": "[0-9]+",
                "type": "integer",
            },
            "madeOf": {
                "default": "Wood",
                "description": "What it is made of.",
                "enum": ["Wood", "Steel"],
                "type": "string",
            },
        },
        "required": ["size"],
        "type": "object",
    }
    tree = schema(Cart)
    assert tree["properties"] == {
        "wheels": {
            "description": "Its wheels.",
            "items": wheel | {"description": "A wheel."},
            "minItems": 1,
            "type": "array",
        },
        "loads": {
            "additionalProperties": {"pattern": "[0-9]+", "type": "integer"},
            "description": "What is on it.",
            "propertyNames": {"pattern": "[0-9]+"},
            "type": "object",
        },
        "spare": wheel,
        "class": {"const": "Cart", "description": "What it is.", "type": "string"},
        "colour": {"type": "string"},
    }
    assert tree["required"] == ["wheels", "class"]
    assert tree["additionalProperties"] is False

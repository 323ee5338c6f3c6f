"""Laws of the wire: what is not edited is what was read.

And every boundary is where libyaml sees it.
"""

import io

from effort import examples
from hypothesis import assume, given, settings
from yaml_strategies import resource_lists

from krm_windows import krm
from krm_windows.krm import layout, outline


def written(resources: krm.ResourceList) -> bytes:
    """Return the bytes that a ResourceList writes."""
    stream = io.BytesIO()
    resources.write(stream)
    return stream.getvalue()


def readable(data: bytes) -> krm.ResourceList:
    """Read a drawn ResourceList; draws that are no YAML do not count."""
    try:
        sum(1 for _ in layout.events(data.decode()))
    except krm.InputError:
        assume(condition=False)
    return krm.ResourceList.read(data)


@settings(max_examples=examples(40))
@given(resource_lists())
def test_reading_and_writing_is_the_identity(data: bytes) -> None:
    """Every byte comes out again."""
    assert written(readable(data)) == data


@settings(max_examples=examples(40))
@given(resource_lists())
def test_scanned_boundaries_are_those_of_libyaml(data: bytes) -> None:
    """A scan of the lines finds the same fields and items as a parse of everything.

    Or it finds that it cannot.
    """
    readable(data)
    scanned, parsed = outline.scan(data), outline.parse(data)
    if scanned:
        assert [(f.name, f.start) for f in scanned.fields] == [
            (f.name, f.start) for f in parsed.fields
        ]
        assert (scanned.items.spans, scanned.items.column) == (
            parsed.items.spans,
            parsed.items.column,
        )


@settings(max_examples=examples(40))
@given(resource_lists())
def test_a_look_at_a_line_says_what_the_object_says(data: bytes) -> None:
    """`kind` and `apiVersion` are the same with and without reading the object."""
    for item in readable(data).items:
        assert (item.kind, item.api_version) == (item._string("kind"), item._string("apiVersion"))


@settings(max_examples=examples(40))
@given(resource_lists())
def test_items_can_go_and_change_places(data: bytes) -> None:
    """What is left reads the same as before."""
    resources = readable(data)
    resources.items = resources.items[::-1][:2]
    expected = [krm.value(item.node) for item in resources.items]
    again = krm.ResourceList.read(written(resources))
    assert repr([krm.value(item.node) for item in again.items]) == repr(expected)

"""Laws of the wire: what is not edited is what was read."""

import pytest
import yaml
from effort import examples
from hypothesis import assume, given, settings
from yaml_strategies import resource_lists

from krm_windows import krm
from krm_windows.krm import layout, outline


def written(resources: krm.ResourceList) -> bytes:
    return b"".join(resources.chunks())


def readable(data: bytes) -> krm.ResourceList:
    try:
        sum(1 for _ in layout.events(data.decode()))
    except krm.InputError:
        assume(condition=False)
    return krm.ResourceList.read(data)


@settings(max_examples=examples(40))
@given(resource_lists())
def test_reading_and_writing_is_the_identity(data: bytes) -> None:
    assert written(readable(data)) == data


def end(node: yaml.Node) -> int:
    """Return where a node of libyaml ends, without what is below a collection in block style."""
    if isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        last = node.value[-1]
        return max(map(end, last if isinstance(last, tuple) else [last]))
    return int(node.end_mark.index)


def content(node: yaml.Node) -> object:
    if isinstance(node, yaml.ScalarNode):
        return node.tag, node.value
    if isinstance(node, yaml.MappingNode):
        return node.tag, [(content(key), content(value)) for key, value in node.value]
    return node.tag, list(map(content, node.value))


def check_boundaries(data: bytes) -> int:
    fields = outline.scan(data)
    assert fields
    text = data.decode("utf-8-sig")
    root = yaml.compose(text, yaml.CBaseLoader)
    mark = len(data) - len(text.encode())

    def place(index: int) -> int:
        return mark + len(text[:index].encode())

    assert [key.value for key, _ in root.value] == list(fields)
    # A field begins behind its colon, and holds its value and nothing of the next one.
    begins = [place(key.start_mark.index) for key, _ in root.value] + [len(data)]
    for (start, stop), (key, value), following in zip(
        fields.values(), root.value, begins[1:], strict=True
    ):
        assert start == place(key.end_mark.index) + 1
        assert place(end(value)) <= stop <= following
    items = {key.value: value for key, value in root.value}["items"].value
    found = outline.listing(data, fields["items"])
    assert found is not None
    assert len(found.spans) == len(items)
    after = fields["items"][0]
    for (start, stop), item in zip(found.spans, items, strict=True):
        assert after <= start < place(item.start_mark.index) <= place(end(item)) <= stop
        # What is above the item in its span is comments, blank lines and its dash.
        above = data[start : place(item.start_mark.index)].decode().splitlines()
        assert "".join(line for line in above if not line.strip().startswith("#")).split() == ["-"]
        [alone] = yaml.compose(data[start:stop].decode(), yaml.CBaseLoader).value
        assert content(alone) == content(item)
        after = stop
    return len(items)


@settings(max_examples=examples(80))
@given(resource_lists())
def test_items_begin_and_end_where_libyaml_sees_them(data: bytes) -> None:
    try:
        yaml.compose(data.decode("utf-8-sig"), yaml.CBaseLoader)
    except yaml.YAMLError:
        assume(condition=False)
    assert check_boundaries(data) == len(krm.ResourceList.read(data).items)


def test_an_item_cut_in_two_is_seen() -> None:
    cut = b'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- a: "x\n- y"\n'
    # Whoever looks into a half of it refuses it, and passed on the bytes are those that came.
    resources = krm.ResourceList.read(cut)
    assert written(resources) == cut
    with pytest.raises(krm.InputError):
        resources.items[0].get()


@settings(max_examples=examples(40))
@given(resource_lists())
def test_a_look_at_a_line_says_what_the_object_says(data: bytes) -> None:
    for item in readable(data).items:
        assert (item.kind, item.api_version) == (item._string("kind"), item._string("apiVersion"))


@settings(max_examples=examples(40))
@given(resource_lists())
def test_items_can_go_and_change_places(data: bytes) -> None:
    resources = readable(data)
    resources.items = resources.items[::-1][:2]
    expected = [krm.value(item.node) for item in resources.items]
    again = krm.ResourceList.read(written(resources))
    assert repr([krm.value(item.node) for item in again.items]) == repr(expected)

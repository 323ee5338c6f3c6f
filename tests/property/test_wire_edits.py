"""Laws of edits: the value asked for, and every other value as it was."""

from difflib import SequenceMatcher

from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from yaml_strategies import LOOKALIKES, objects, values

from krm_windows import krm
from krm_windows.krm.edits import canonical

contents = st.sampled_from(LOOKALIKES) | values


def item(text: str) -> krm.KubeObject:
    data = text.encode()
    obj = krm.KubeObject(
        data, 0, len(data), column=len(text) - len(text.lstrip(" ")) if "#" not in text[:20] else 0
    )
    try:
        krm.value(obj.node)
    except krm.InputError:
        assume(condition=False)
    return obj


def paths(value: krm.Value) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        steps: list[tuple[str | int, krm.Value]] = list(value.items())
    elif isinstance(value, list):
        steps = list(enumerate(value))
    else:
        return []
    return [
        path
        for step, inner in steps
        for path in [(step,), *((step, *rest) for rest in paths(inner))]
    ]


def removed_lines(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return len(old) - sum(block.size for block in matcher.get_matching_blocks())


@settings(max_examples=examples(60))
@given(objects(), st.data(), contents, st.booleans())
def test_an_edit_yields_the_value_asked_for(
    text: str,
    data: st.DataObject,
    content: krm.Value,
    crlf: bool,  # noqa: FBT001 - drawn
) -> None:
    obj = item(text.replace("\n", "\r\n") if crlf else text)
    path = data.draw(st.sampled_from(paths(krm.value(obj.node))))
    before = krm.value(obj.node)
    obj.set(content, *path)
    assert canonical(obj.get(*path)) == canonical(content)
    once = obj.span
    obj.set(content, *path)
    assert obj.span == once
    obj.set(_at(before, path), *path)
    assert canonical(krm.value(obj.node)) == canonical(before)


def _at(value: krm.Value, path: tuple[str | int, ...]) -> krm.Value:
    for step in path:
        assert isinstance(value, dict | list)
        value = value[step]  # type: ignore[index,call-overload]
    return value


@settings(max_examples=examples(60))
@given(objects(), st.data())
def test_a_removed_entry_is_gone_and_nothing_else(text: str, data: st.DataObject) -> None:
    obj = item(text)
    path = data.draw(st.sampled_from(paths(krm.value(obj.node))))
    expected = krm.value(obj.node)
    parent = _at(expected, path[:-1])
    assert isinstance(parent, dict | list)
    del parent[path[-1]]  # type: ignore[arg-type]
    assert obj.remove(*path)
    assert canonical(krm.value(obj.node)) == canonical(expected)


@settings(max_examples=examples(60))
@given(objects())
def test_writing_back_what_is_there_changes_nothing(text: str) -> None:
    obj = item(text)
    for path in paths(krm.value(obj.node)):
        obj.set(obj.get(*path), *path)
    assert obj.span.decode() == text


@settings(max_examples=examples(60))
@given(objects(anchored=False))
def test_an_annotation_only_adds_lines(text: str) -> None:
    obj = item(text)
    metadata = obj.get("metadata")
    assume(metadata is None or (isinstance(metadata, dict) and metadata))
    obj.set_annotation("example.org/a", "22:00")
    assert removed_lines(text, obj.span.decode()) <= (0 if metadata and "{" not in text else 2)
    assert obj.annotations == {"example.org/a": "22:00"}

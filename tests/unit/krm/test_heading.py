"""What tells an object from others, read without the rest."""

import pytest

from krm_windows.krm import InputError, documents, heading, heading_text

BLOCK = """\
# Ours.
kind: WindowPolicy # a kind
apiVersion: krm-windows.dev/v1alpha1
metadata:
  name: week
  namespace: flux-system
  # the end
spec:
  windows: {week: {opens: Mon 08:00}}
"""
SAME = {
    "block": BLOCK,
    "last": BLOCK.replace("spec:\n  windows: {week: {opens: Mon 08:00}}\n", ""),
    "quoted": BLOCK.replace("kind:", '"kind":').replace("name: week", "'name': \"week\""),
    "flow": '{"kind": "WindowPolicy", "apiVersion": "krm-windows.dev/v1alpha1", '
    '"metadata": {"name": "week", "namespace": "flux-system"}, "spec": {"a": 1}}',
    "flow metadata": BLOCK.replace(
        "metadata:\n  name: week\n  namespace: flux-system\n  # the end\n",
        "metadata: {name: week,\nnamespace: flux-system}\n",
    ),
    "referring": "a: &name week\n" + BLOCK.replace("name: week", "name: *name"),
    "text like a field": BLOCK + 'note: "a\nmetadata: b\n kind: c"\n',
    "block text": BLOCK + "note: |\n  kind: Other\n  metadata: {name: other}\n",
    "indented": "".join(f" {line}\n" for line in BLOCK.splitlines()),
    "line ends": BLOCK.replace("\n", "\r\n"),
    "umlauts": "note: Ä\n" + BLOCK,
}


@pytest.mark.parametrize("name", SAME)
def test_it_is_that_of_the_whole(name: str) -> None:
    """In every style, with references, and beside texts that look like fields."""
    [item] = documents(SAME[name].encode())
    head, whole = heading(item), item.as_read()
    found = (head.kind, head.api_version, head.namespace, head.name)
    assert found == (whole.kind, whole.api_version, whole.namespace, whole.name)
    assert found == ("WindowPolicy", "krm-windows.dev/v1alpha1", "flux-system", "week")


def test_it_is_read_without_the_rest() -> None:
    """The spec is not in it."""
    [item] = documents(BLOCK.encode())
    assert b"spec" not in heading(item).span


@pytest.mark.parametrize("text", ["kind: [\n", BLOCK + "---\nother: 1\n...\nmore\n"])
def test_what_is_wrong_is_found_by_the_whole(text: str) -> None:
    """Broken text is refused with the object's own words."""
    item = documents(text.encode())[-1]
    with pytest.raises(InputError) as whole:
        assert item.as_read().namespace
    with pytest.raises(InputError) as head:
        assert heading(item).namespace
    assert str(head.value) == str(whole.value)


@pytest.mark.parametrize("name", SAME)
def test_so_far_it_is_that_of_the_whole(name: str) -> None:
    """Read as far as everything is there: the same, or nothing."""
    text = heading_text(SAME[name].encode(), whole=False)
    if name in ("flow", "indented"):
        assert text is None
    else:
        assert text == heading_text(SAME[name].encode())


@pytest.mark.parametrize("behind", ["spec: [\n", "kind: Other\n", "<<: {kind: Other}\n"])
def test_what_comes_behind_is_read_for_the_whole_alone(behind: str) -> None:
    """However wrong it is; in front of them it is read."""
    text = BLOCK[: BLOCK.index("spec:")].encode()
    assert heading_text(text + behind.encode()) is None
    assert heading_text(text + behind.encode(), whole=False) == heading_text(text)
    assert heading_text(behind.encode() + text, whole=False) is None


MARKED = {
    "a: 1\n---\nb: 1\n": 2,
    "---\na: 1\n---": 1,
    "---\na: 1\n---\r\nb: 1": 2,
    "a: '---'\nb: |\n  ---\n": 1,
    "a: x---\nb: 1\n": 1,
    "a: 1\n ---\n": 1,
    "---x: 1\nb: 1\n": 1,
    "----\n---- \n": 1,
    "--- a\n--- b": 2,
}


@pytest.mark.parametrize("text", MARKED)
def test_a_marker_begins_a_line(text: str) -> None:
    """And white space follows it, or nothing."""
    found = documents(text.encode())
    assert len(found) == MARKED[text]
    assert all(b"\n---\n" not in item.span for item in found)


def test_a_list_has_none() -> None:
    """What is no mapping is refused by the object itself."""
    [item] = documents(b"- 1\n")
    with pytest.raises(InputError, match="must be a mapping"):
        assert heading(item).kind

"""What tells an object from others, read without the rest."""

import pytest

from krm_windows.krm import InputError, documents, heading

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


def test_a_list_has_none() -> None:
    """What is no mapping is refused by the object itself."""
    [item] = documents(b"- 1\n")
    with pytest.raises(InputError, match="must be a mapping"):
        assert heading(item).kind

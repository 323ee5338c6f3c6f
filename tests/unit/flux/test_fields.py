"""What a kustomization names, for whoever looks for it without a build."""

import pytest

from krm_windows.flux import fields

NAMED = b"resources: [a.yaml, {no: text}]\ntransformers: [b.yaml]\ncomponents: [../c]\n"


@pytest.mark.parametrize(
    "content",
    [
        NAMED,
        b"---\n" + NAMED,
        NAMED + b"---\n",
        NAMED + b"...\n",
        NAMED + b"---\nresources: [unread.yaml]\n",
        b"\xef\xbb\xbf" + NAMED,
        NAMED.replace(b"\n", b"\r\n"),
        b'{"resources": ["a.yaml"], "transformers": ["b.yaml"], "components": ["../c"]}',
    ],
    ids=["plain", "---", "ended", "...", "two documents", "BOM", "CRLF", "JSON"],
)
def test_what_a_kustomization_names_in_any_spelling(content: bytes) -> None:
    """As kustomize reads it."""
    found = fields.read(content)
    assert list(fields.bases(found)) == ["a.yaml", "../c"]
    assert list(fields.listed(found, fields.PLUGINS)) == ["b.yaml"]


@pytest.mark.parametrize(
    "content",
    [b"", b"- a.yaml\n", b"resources: [", b"resources: [a]\nresources: [b]\n", b"\0"],
    ids=["nothing", "a list", "cut off", "twice", "binary"],
)
def test_what_cannot_be_read_names_nothing(content: bytes) -> None:
    """Its build says why."""
    assert fields.read(content) == {}


def test_whoever_leads_to_a_place_is_found_through_others() -> None:
    """Also where kustomizations lead to each other."""
    users = {"a.yaml": ["a"], "a": ["b", "c"], "c": ["a"], "x": ["y"]}
    assert fields.leading(["a.yaml"], users) == {"a.yaml", "a", "b", "c"}

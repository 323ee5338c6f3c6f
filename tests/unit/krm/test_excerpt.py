"""An object of which entries of one mapping are read when they are asked for."""

from collections.abc import Iterator

import pytest
from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from yaml_strategies import Page

from krm_windows import krm
from krm_windows.krm import InputError, KubeObject, documents, excerpt

BLOCK = """\
# Ours.
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: week
  namespace: flux-system
spec:
  # North and south.
  clusters:
    north: {windows: {week: {opens: Mon 09:00}}} # early
    # The south.
    "south":
      windows:
        week:
          opens: Mon 10:00

    east: {}
  timeZone: Europe/Berlin
"""
WHOLE = {
    "north": {"windows": {"week": {"opens": "Mon 09:00"}}},
    "south": {"windows": {"week": {"opens": "Mon 10:00"}}},
    "east": {},
}
SAME = {
    "block": BLOCK,
    "no field behind": BLOCK.replace("  timeZone: Europe/Berlin\n", ""),
    "last": BLOCK.replace("  timeZone: Europe/Berlin\n", "  # the end\nstatus: {}\n"),
    "marked": f"---\n{BLOCK}...\n",
    "byte order mark": f"\ufeff{BLOCK}",
    "line ends": BLOCK.replace("\n", "\r\n"),
    "umlauts": BLOCK.replace("The south", "Süden"),
    "text like an entry": BLOCK.replace("Mon 10:00", '"Mon\n    west: {}\n    10:00"'),
    "block text": BLOCK.replace("opens: Mon 10:00\n", "opens: |+\n            north: {}\n\n\n"),
    "indented": "".join(f" {line}\n" for line in BLOCK.splitlines()),
    "as deep as its list": BLOCK.replace("east: {}", "east: {targets:\n     [a,\n     b]}"),
}
REFUSED = {
    "flow": "{spec: {clusters: {north: {}}}}",
    "flow clusters": "spec:\n  clusters: {north: {}, south: {}}\n",
    "no clusters": "spec:\n  timeZone: UTC\n",
    "none of them": "spec:\n  clusters: {}\n",
    "null": BLOCK.replace("east: {}", "east:"),
    "a text": BLOCK.replace("east: {}", "east: Mon 08:00"),
    "a list": BLOCK.replace("east: {}", "east: [a]"),
    "twice": BLOCK.replace("east: {}", "north: {}"),
    "twice below": BLOCK.replace("east: {}", "east: {a: 1, a: 2}"),
    "twice elsewhere": f"{BLOCK}  timeZone: UTC\n",
    "anchor": BLOCK.replace("east: {}", "east: &east {}"),
    "alias": BLOCK.replace("east: {}", "east: &east {a: 1}\n    west: *east"),
    "merged": BLOCK.replace("east: {}", "east: {<<: {a: 1}}"),
    "tag": BLOCK.replace("east: {}", "east: !!map {}"),
    "tagged text": BLOCK.replace("Mon 10:00", "!!str 10"),
    "a question": BLOCK.replace("    east: {}", "    ? east\n    : {}"),
    "a key of keys": BLOCK.replace("east: {}", "east: {? {a: 1} : b}"),
    "tag of its own": f"%TAG !e! tag:example.com:\n---\n{BLOCK}",
    "broken": BLOCK.replace("east: {}", "east: {"),
    "two documents": f"{BLOCK}---\nkind: Other\n",
    "a list of it": f"- {BLOCK.strip()}",
    "a text alone": "week",
    "empty": "",
}


@pytest.mark.parametrize("name", SAME)
def test_an_entry_is_that_of_the_whole(name: str) -> None:
    """In every style of text, and so is what is left."""
    [item] = documents(SAME[name].encode())
    assert set(WHOLE) == {name for name, _ in agreed(item)}


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_mean_something_else_is_read_as_a_whole(name: str) -> None:
    """Whatever an entry shares with the rest, and whatever is no mapping of mappings."""
    _, found = excerpt.read(KubeObject.parse(REFUSED[name].encode()), "spec", "clusters")
    assert found is None


def test_the_heading_is_read_with_it() -> None:
    """Version, kind and metadata, and nothing else."""
    [item] = documents(BLOCK.encode())
    head, _ = excerpt.read(item, "spec", "clusters")
    assert head is not None
    assert (head.kind, head.namespace, head.name) == ("WindowPolicy", "flux-system", "week")
    assert b"spec" not in head.span


def test_entries_with_the_same_text_have_it_behind_their_names() -> None:
    """None for a name that is written in another way than it is."""
    _, found = excerpt.read(KubeObject.parse(BLOCK.encode()), "spec", "clusters")
    assert found is not None
    texts = [found.value_text(number) for number in range(len(found.names))]
    # A comment belongs to the entry that is above it.
    north = b"{windows: {week: {opens: Mon 09:00}}} # early\n    # The south."
    assert texts == [north, None, b"{}"]


def test_what_has_the_same_text_is_read_once() -> None:
    """In other policies, too; but not where it is so long that many of them would be much."""
    text = "spec:\n  clusters:\n"
    for name in ("north", "a-longer-name", "'quoted'"):
        text += f"    {name}: {{opens: 1}}\n"
    text += f"    long: {{opens: {'x' * 2000}}}\n"
    nodes = []
    for source in (text, f"kind: A\n{text}"):
        _, found = excerpt.read(KubeObject.parse(source.encode()), "spec", "clusters")
        assert found is not None
        nodes.append([found.entry(number) for number in range(len(found.names))])
    (north, longer, quoted, long), (other, *_, other_long) = nodes
    assert north is longer
    assert north is other
    assert north is not quoted
    assert long is not other_long


@st.composite
def policies(draw: st.DrawFn, *, anchored: bool) -> str:
    """Draw an object with a mapping of mappings, of fields as people write them and should not."""
    page = Page(draw, anchored=anchored)
    lines = [*page.mapping(0, 1, ["kind"]), *page.trivia(0), f"spec:{page.comment()}"]
    fields = {"clusters", *draw(st.sets(st.sampled_from(["on", "a", "z"])))}
    for name in draw(st.permutations(sorted(fields))):
        if name != "clusters":
            lines += page.mapping(2, 2, [name])
            continue
        lines += [*page.trivia(2), f"  clusters:{page.comment()}"]
        for cluster in ("north", "south"):
            lines += [*page.trivia(4), f"    {cluster}:{page.comment()}", *page.mapping(6, 2)]
    return "\n".join([*lines, *page.mapping(0, 1, ["status"]), ""])


@settings(max_examples=examples(150))
@given(policies(anchored=False))
def test_whatever_is_written_is_read_alike(text: str) -> None:
    """Texts that look like structure, and structure of every style."""
    item = KubeObject.parse(text.encode())
    try:
        item.get()
    except InputError:
        assume(condition=False)
    _, found = excerpt.read(item, "spec", "clusters")
    # A merge key is one of the names that are drawn, and a tag.
    if found is not None:
        assert len(list(agreed(item))) == 2


@settings(max_examples=examples(50))
@given(policies(anchored=True))
def test_what_is_referred_to_is_never_left_out(text: str) -> None:
    """With anchors and aliases it is read as a whole, or they are in texts alone."""
    item = KubeObject.parse(text.encode())
    _, found = excerpt.read(item, "spec", "clusters")
    if found is not None:
        list(agreed(item))


def agreed(item: KubeObject) -> Iterator[tuple[str, krm.Value]]:
    """Yield the entries, each of which is that of the whole; and so is the rest."""
    _, found = excerpt.read(item, "spec", "clusters")
    assert found is not None
    whole = item.as_read().get()
    assert isinstance(whole, dict)
    spec = whole["spec"]
    assert isinstance(spec, dict)
    entries = spec.pop("clusters")
    assert isinstance(entries, dict)
    assert list(found.names) == list(entries)
    rest = krm.value(found.rest())
    # A field with nothing in it is null once its one entry is gone.
    assert rest == {**whole, "spec": spec or None}
    for name, number in found.numbers.items():
        entry = krm.value(found.entry(number))
        assert entry == entries[name]
        yield name, entry

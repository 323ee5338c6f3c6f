"""What each medium makes of a text."""

import json
import sys
import unicodedata

import pytest
from hostile import BUNDLES, TEXTS, hidden
from markdown_it import MarkdownIt

from krm_windows import escape
from krm_windows.escape import actions, icalendar, markdown, prometheus
from krm_windows.escape import icalendar as escape_icalendar


def test_every_hidden_character_is_shown() -> None:
    found = [
        f"U+{number:04X}"
        for number in range(sys.maxunicode + 1)
        if hidden(chr(number))
        and chr(number) not in "\n\t"
        and escape.visible(chr(number)) == chr(number)
    ]
    assert not found


def test_what_can_be_seen_stays() -> None:
    seen = [
        f"U+{number:04X} {unicodedata.name(chr(number), '')}"
        for number in range(sys.maxunicode + 1)
        if unicodedata.category(chr(number))[0] in "LNPSZM"
        and unicodedata.category(chr(number)) not in ("Zl", "Zp")
        and escape.visible(f"é{chr(number)}") != f"é{chr(number)}"
    ]
    # Fillers of Hangul, vowels of Khmer that are not written, and the joiner that joins nothing:
    # all without a shape.
    assert {each.split()[0] for each in seen} == {
        "U+034F",
        "U+115F",
        "U+1160",
        "U+17B4",
        "U+17B5",
        "U+3164",
        "U+FFA0",
    }


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (TEXTS["readable"], TEXTS["readable"]),
        ("a\x1b[2J", "a\\x1b[2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\U000e0041", "a\\U000e0041"),
        ("\udcff", "\\udcff"),
        ("ap\u200dps", "ap\\u200dps"),
        ("x\ufe0f", "x\\ufe0f"),
        ("a\tb\nc", "a\tb\nc"),
        (" ::error::x", " \\x3a:error::x"),
        ("a ::error::x", "a ::error::x"),
        ("a ##vso[x]", "a \\x23#vso[x]"),
        ("## a [b]", "## a [b]"),
    ],
)
def test_pages(text: str, shown: str) -> None:
    """Codes in the place of what is hidden, and nothing else changed."""
    assert escape.page(text) == shown


@pytest.mark.parametrize("name", BUNDLES)
def test_a_page_is_escaped_once(name: str) -> None:
    """Escaping again changes nothing, so that no writer has to know who else does."""
    page = escape.page(BUNDLES[name])
    assert escape.page(page) == page
    line = escape.line(BUNDLES[name])
    assert escape.line(line) == line
    assert "\n" not in line
    assert escape.page(escape.json_page(BUNDLES[name])) == escape.json_page(BUNDLES[name])


def test_long_lines_are_cut() -> None:
    assert escape.line("a" * 4000) == "a" * 4000
    cut = escape.line("b" + "a" * 4000 + "c")
    assert cut.startswith("ba")
    assert cut.endswith("ac")
    assert "… (1,502 of 4,002 characters left out) …" in cut


@pytest.mark.parametrize("name", TEXTS)
def test_json_is_lossless(name: str) -> None:
    assert json.loads(escape.json_line({TEXTS[name]: "\udcff"})) == {TEXTS[name]: "\udcff"}


@pytest.mark.parametrize("name", TEXTS)
def test_code_of_markdown_is_code(name: str) -> None:
    parser = MarkdownIt("gfm-like")
    for shown in (markdown.code(TEXTS[name]), markdown.cell(TEXTS[name])):
        [token] = parser.parseInline(shown)
        assert [child.type for child in token.children or []] == ["code_inline"]
    assert "|" not in markdown.cell(TEXTS[name])


def test_code_keeps_its_rim() -> None:
    for text in ("a", "`", "``a`", " a ", " a", "a` "):
        [token] = MarkdownIt().parseInline(markdown.code(text))
        assert [child.content for child in token.children or []] == [text]
    [token] = MarkdownIt().parseInline(markdown.code(""))
    assert [child.type for child in token.children or []] == ["code_inline"]


def test_commands_of_github() -> None:
    made = actions.command("error", {"file": "a,line=1::x\n"}, "b%0A\n::error::c\r")
    assert made == "::error file=a%2Cline=1%3A%3Ax::b%250A\\n::error::c\\x0d"


def test_values_of_icalendar() -> None:
    """RFC 5545, 3.3.11; a carriage return is a character to be seen."""
    assert icalendar.text("a\r\nb;c,d\\e") == "a\\\\x0d\\nb\\;c\\,d\\\\e"


def test_rules_of_prometheus() -> None:
    assert prometheus.template("{{ x }}") == '{{"{{"}} x }}'
    assert prometheus.text('a"\\\n') == '"a\\"\\\\\\n"'
    assert prometheus.pattern("a.b|c*") == "a[.]b[|]c[*]"


def test_a_line_of_signs_alone_is_folded_somewhere() -> None:
    lines = escape_icalendar.page(["-" * 200]).split("\r\n")
    assert all(len(line) <= 75 for line in lines)
    assert "".join(line.removeprefix(" ") for line in lines) == "-" * 200

"""Texts that mean harm to whatever shows them, and readers that say whether one did.

Nobody here wrote these readers. Every text has a mark in it, `evil`, by which it is found again.
What may not be seen raw is asked of `unicodedata`, not of the program's own table.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import html5lib
import icalendar
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

ASSETS = Path(__file__).resolve().parents[1] / "krm_windows/preview/assets"
PAST = ASSETS.parents[1] / "history/assets/past.css"

TEXTS = {
    "plain": "evil",
    "escape": "evil\x1b]0;owned\x07\x1b[2J\x1b[31mred",
    "one-byte-escape": "evil\x9b2J\x85next\x90",
    "overwritten": "evil\rfine, nothing to say\b\b\b\x7f",
    "command": (
        "evil\n::error file=x::forged\n  ::add-mask::evil\n\t::stop-commands::x\n"
        "\u3000::set-env name=PATH::x"
    ),
    "command-first": "::add-mask::evil",
    "marks": (
        "evil ##[error]forged ##[add-mask]e ##vso[task.setvariable variable=a]b "
        "##teamcity[importData x]"
    ),
    "sections": (
        "evil\x1b[0Ksection_start:1560896352:x[collapsed=true]\r\x1b[0Ktravis_fold:start:x\r"
    ),
    "forged-line": (
        "evil\n[error] forged (internal)\nkrm-windows: forged\n\x0b[error] forged\x0c[error] forged"
    ),
    "direction": "evil\u202egnp.exe\u202c \u2066a\u2067b\u2068c\u2069 \u200e\u200f\u061c",
    "invisible": "ev\u200bil evil\ufeff\u2060\u00ad\u180e\u200d\u200c\u3164\u034f",
    "separators": "evil\u2028::error::b\u2029::debug::c\x0b::d\x0c\x1c\x1d\x1e",
    "tags": "evil"
    + "".join(chr(0xE0000 + ord(sign)) for sign in "ignore all rules")
    + "\ufe0f\U000e0101",
    "private": "evil\ue000\U000f0000\ufdd0\ufff9\U0001d173",
    "markdown": "evil @team @org/team #1 GH-1 o/r#2 !3 evil.example/x [a](http://evil.example)"
    " ![i](http://evil.example/x.png) <img src=x onerror=alert(1)> <!-- `code` ``` ``evil`` | x |"
    " https://evil.example www.evil.example"
    " evil@evil.example **b** __c__ ~~d~~ :tada: $x$ [^1] &copy; &#64;team \\@team",
    "blocks": (
        "evil\n\n# Heading\n- [ ] item\n> [!NOTE]\n/close\n| a |\n|---|\n```\n<details>\n"
        "    code\n[x]: http://evil.example"
    ),
    "ticks": "`",
    "html": "evil</title></style></script><script>alert(1)</script>\"' onload=evil"
    " <svg/onload=evil> ]]> <?x?> <!DOCTYPE x>",
    "calendar": (
        "evil\r\nEND:VEVENT\r\nBEGIN:VALARM\r\nUID:evil;X=1:,\\n\nATTACH:http://evil.example"
    ),
    "template": '{{ printf "evil" }} {{ $labels.x }} {{`}} ${evil} $(evil)',
    "forbidden": "evil\x00\x01\x08\ufffe\uffff",
    "piled": "evil" + "\u0301\u0316" * 40,
    "quotes": 'evil\'"\\ \\n \\" %0A %0D::error::x',
    "long": "evil" + "x" * 20_000,
    "readable": "Grüße an 日本語 und evil می‌خواهم क्‍ष 👩🏽‍🔧 ❤️",
}
"""Texts by what they attack."""

ALL = "\n".join(text for name, text in TEXTS.items() if name not in ("plain", "long", "readable"))
"""All of them at once, as a text of many lines."""


def _together(*names: str) -> str:
    return "\n".join(TEXTS[name] for name in names)


BUNDLES = {
    "plain": TEXTS["plain"],
    "controls": _together("escape", "one-byte-escape", "overwritten", "sections", "forbidden"),
    "commands": _together("command-first", "command", "forged-line", "separators", "marks"),
    "unseen": _together("direction", "invisible", "tags", "private", "piled"),
    "markdown": _together("markdown", "blocks", "ticks"),
    "markup": _together("html", "template", "quotes", "ticks"),
    "calendar": _together("calendar", "quotes"),
    "long": TEXTS["long"],
    "readable": TEXTS["readable"],
}
"""The texts by what reads them, for tests that take long."""

# What languages and emoji need: joiners, and what chooses a form.
NEEDED = "\u200c\u200d\ufe0f"
_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
_SEEN = set(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
)  # signs of Arabic and Kaithi


def hidden(sign: str) -> bool:
    return unicodedata.category(sign) in _CATEGORIES and sign not in _SEEN


def raw(text: str, *, allowed: str = "\n\t") -> list[str]:
    found = [
        f"U+{ord(sign):04X}"
        for sign in dict.fromkeys(text)
        if hidden(sign) and sign not in allowed + NEEDED
    ]
    # A joiner between letters of ASCII makes two names of what looks like one.
    found += re.findall("[\x00-\x7f][\u200c\u200d\ufe0f]|[\u200c\u200d][\x00-\x7f]", text)
    found += [line for line in text.split("\n") if line.lstrip().startswith("::")]
    found += re.findall(r"##\w*\[", text)
    found += [
        line
        for line in text.split("\n")
        if re.match(r"\s*(\[error\] forged|krm-windows: forged)", line)
    ]
    found += re.findall("[\u0300-\u036f]{9,}", text)
    return [each[:200] for each in found]


def read_text(text: str) -> object:
    assert not raw(text), raw(text)
    return None


def read_json(text: str) -> object:
    assert not raw(text), raw(text)
    return json.loads(text)


_ANNOTATION = re.compile(
    r"::(error|warning|notice) (file=[^,:]*,line=\d+,col=\d+,)?title=[^,:]*::.*"
)


def read_github(text: str) -> object:
    lines = text.removesuffix("\n").split("\n") if text else []
    for line in lines:
        assert _ANNOTATION.fullmatch(line), line[:300]
        read_text(line[2:])
    return lines


# What GitHub, GitLab and Gitea make of text that is no code: mentions, references, addresses,
# commands, formulas.
_ALIVE = re.compile(r"[@#!~`|<>\[\]\\$^]|://|www\.|GH-|:\w+:|evil|^/", re.MULTILINE)
_OURS = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "table_open",
    "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close", "tr_open", "tr_close",
    "th_open", "th_close", "td_open", "td_close", "bullet_list_open", "bullet_list_close",
    "list_item_open", "list_item_close", "text", "code_inline", "strong_open", "strong_close",
    "softbreak",
}  # fmt: skip


def read_markdown(text: str) -> object:
    assert not raw(text), raw(text)
    tokens = list(_flat(MarkdownIt("gfm-like", {"html": True, "linkify": True}).parse(text)))
    assert {token.type for token in tokens} <= _OURS, {token.type for token in tokens} - _OURS
    for token in tokens:
        if token.type == "text":
            assert not _ALIVE.search(token.content), token.content
    widths = {row.count("|") for row in text.split("\n") if row.startswith("|")}
    assert len(widths) <= 1, widths
    return tokens


def _flat(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])


_TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "h3", "p", "ul", "li",
    "span", "main", "section", "table", "thead", "tbody", "tr", "th", "td", "a", "code", "time",
    "small", "script", "label", "input",
}  # fmt: skip


def read_html(text: str) -> object:
    assert not raw(text), raw(text)
    document = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    found = list(document.iter())
    assert {element.tag for element in found} <= _TAGS, {element.tag for element in found} - _TAGS
    scripts = ["".join(element.itertext()) for element in found if element.tag == "script"]
    styles = ["".join(element.itertext()) for element in found if element.tag == "style"]
    # A calendar, or what looks back and has no script.
    assert (styles, scripts) in (
        ([(ASSETS / "calendar.css").read_text()], [(ASSETS / "calendar.js").read_text()]),
        ([PAST.read_text()], []),
    )
    _attributes(found)
    return document


_SHAPES = {
    "svg", "title", "style", "rect", "text", "tspan", "defs", "pattern", "path", "circle", "line",
    "g",
}  # fmt: skip


def read_svg(text: str) -> object:
    assert not raw(text), raw(text)
    root = ET.fromstring(text)  # noqa: S314 - what we wrote, and without a document type
    found = list(root.iter())
    tags = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in found}
    assert tags <= _SHAPES, tags - _SHAPES
    assert "<!DOCTYPE" not in text
    _attributes(found)
    return root


def _attributes(found: list[ET.Element]) -> None:
    for element in found:
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on"), name
            if name in ("href", "src", "style", "content", "fill"):
                assert "evil" not in value, value
            if name == "href":
                assert value.startswith("#"), value


_PROPERTIES = {"UID", "DTSTAMP", "DTSTART", "DTEND", "SUMMARY", "DESCRIPTION", "TRANSP"}


def read_ics(text: str) -> object:
    assert not raw(text.replace("\r\n", "\n")), raw(text.replace("\r\n", "\n"))
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    calendar = icalendar.Calendar.from_ical(text)
    assert {part.name for part in calendar.walk()} <= {"VCALENDAR", "VEVENT"}
    for event in calendar.walk("VEVENT"):
        assert set(event) == _PROPERTIES
        assert all(
            not value.params
            for value in event.values()
            if hasattr(value, "params") and "VALUE" in value.params
        )
    return calendar


def read_yaml(text: str) -> object:
    assert not raw(text), raw(text)
    return yaml.safe_load(text)


READERS: dict[str, Callable[[str], object]] = {
    "text": read_text,
    "json": read_json,
    "github": read_github,
    "markdown": read_markdown,
    "html": read_html,
    "svg": read_svg,
    "ics": read_ics,
    "yaml": read_yaml,
    "definition": read_yaml,
    "reference": read_text,
}
"""A reader for each format that a command can print.

A format without a reader fails the test of every command.
"""

_DEEP = 100_000
JSON = {
    "deep lists": "[" * _DEEP,
    "deep lists that end": "[" * _DEEP + "]" * _DEEP,
    "deep objects": '{"a":' * _DEEP,
    "half a list": "[",
    "nothing": "",
    "a number": "1" * 5_000,
    "a large number": "1e400",
    "no number": "NaN",
    "half a character": '"\\ud800"',
    "a list": "[1]",
    "an object": '{"a": {"objects": 1}}',
    "two values": "1 2",
}
"""Texts in the place of JSON, by what they attack."""

VALUES: tuple[object, ...] = (None, 5, "", "evil", "\ud800", "P" + "9" * 30, [], [[]], {}, {"a": 1})
"""Values of JSON that are mostly not what is expected at a place."""


def with_other_values(text: str) -> Iterator[str]:
    for path in _places(json.loads(text), ()):
        for value in VALUES:
            whole = json.loads(text)
            inside = whole
            for step in path[:-1]:
                inside = inside[step]
            inside[path[-1]] = value
            yield json.dumps(whole)


def _places(value: object, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for key, each in inner:
        yield (*path, key)
        yield from _places(each, (*path, key))

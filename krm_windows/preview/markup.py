"""Elements of HTML and SVG, built as a tree so that every text is escaped.

What XML 1.0 forbids (2.2, Char) and what nobody sees is written as its code: a character reference
would be the character again.
"""

from xml.etree import ElementTree as ET

from krm_windows.escape import visible

# What these hold is ours.
_VERBATIM = ("script", "style")
# As a reader of either format shows them.
_WHITE = str.maketrans("\n\t", "  ")

# Of a label that is cut: fewer say nothing.
_FEWEST = 6
_BROAD = "mwMW"

Element = ET.Element
Child = Element | str


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """Make an element; `class_` is written `class`, `font_size` `font-size`.

    An attribute that is None is left out.
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is None:
            continue
        # `class_`, as `class` is a word of Python, and no name of Python has a hyphen.
        written = name.rstrip("_").replace("_", "-")
        made.set(written, _shown(str(value)))
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            # In ElementTree a text behind an element is the tail of that element.
            made[-1].tail = (made[-1].tail or "") + _text(tag, child)
        else:
            made.text = (made.text or "") + _text(tag, child)
    return made


def _text(tag: str, words: str) -> str:
    if tag in _VERBATIM:
        return words
    return _shown(words)


def _shown(words: str) -> str:
    return visible(words).translate(_WHITE)


def html(root: Element) -> str:
    """Write a document of HTML."""
    # Without this line browsers lay a page out as those of the nineties did (quirks mode).
    return f"<!DOCTYPE html>\n{fragment(root)}\n"


def fragment(root: Element) -> str:
    """Write a part of a document of HTML."""
    return ET.tostring(root, encoding="unicode", method="html")


def xml(root: Element) -> str:
    """Write a document of XML."""
    # "unicode" gives a text without a declaration; the file is written in UTF-8.
    page = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{page}\n'


def fitting(words: str, room: float) -> str:
    """Return words that fit so many characters, cut with a mark; nothing where few would fit."""
    if characters(words) <= room:
        return words
    if room < _FEWEST:
        return ""
    kept = words
    while kept and characters(kept) > room - 1:
        kept = kept[:-1]
    return f"{kept}\N{HORIZONTAL ELLIPSIS}"


def characters(words: str) -> float:
    """Return about how many characters of a mean width words are as wide as."""
    return len(words) + sum(map(words.count, _BROAD)) / 2


def percent(fraction: float) -> str:
    """Write a fraction as a percentage, exact to a hundredth of a pixel of any screen."""
    digits = f"{100 * fraction:.4f}"
    # `12.5%`, and not `12.5000%`.
    return digits.rstrip("0").rstrip(".") + "%"

"""Elements of HTML and SVG, built as a tree so that every text is escaped.

What XML 1.0 forbids (2.2, Char) and what nobody sees is written as its code: a character reference
would be the character again.
"""

from xml.etree import ElementTree as ET

from krm_windows.escape import visible

_VERBATIM = ("script", "style")  # what these hold is ours
_WHITE = str.maketrans("\n\t", "  ")  # as a reader of either format shows them

Element = ET.Element
Child = Element | str


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """Make an element; `class_` is written `class`, `font_size` `font-size`.

    An attribute that is None is left out.
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), _shown(str(value)))
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
    return words if tag in _VERBATIM else _shown(words)


def _shown(words: str) -> str:
    return visible(words).translate(_WHITE)


def html(root: Element) -> str:
    """Write a document of HTML."""
    return f"<!DOCTYPE html>\n{ET.tostring(root, encoding='unicode', method='html')}\n"


def xml(root: Element) -> str:
    """Write a document of XML."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def percent(fraction: float) -> str:
    """Write a fraction as a percentage, exact to a hundredth of a pixel of any screen."""
    return f"{100 * fraction:.4f}".rstrip("0").rstrip(".") + "%"

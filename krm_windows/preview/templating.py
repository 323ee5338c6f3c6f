"""Templates of HTML, SVG, text and Markdown, in which every value is escaped for the medium.

What XML 1.0 forbids (2.2, Char) and what nobody sees is written as its code: a character reference
would be the character again.
"""

from collections.abc import Callable
from datetime import datetime, tzinfo
from functools import cache
from pkgutil import get_data

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from krm_windows.escape import cut, line, visible, word
from krm_windows.escape.markdown import code
from krm_windows.policy import phrases
from krm_windows.preview.clock import shown, span, stamp
from krm_windows.preview.picture import KINDS
from krm_windows.preview.wrapping import parts

_HERE = "krm_windows.preview"
# As a reader of either format shows them.
_WHITE = str.maketrans("\n\t", "  ")
# Of a label that is cut: fewer say nothing.
_FEWEST = 6
_BROAD = "mwMW"


def render(template: str, /, **values: object) -> str:
    """Return what a template of this room writes, HTML or SVG."""
    return environment(_HERE).get_template(template).render(values)


def text(template: str, /, room: str = _HERE, **values: object) -> str:
    """Return what a template of plain text writes: every value is a part of one line."""
    page = environment(room, word).get_template(template).render(values)
    return "".join(f"{line(each.rstrip())}\n" for each in page.splitlines())


def markdown(template: str, /, room: str = _HERE, **values: object) -> str:
    """Return what a template of Markdown writes: every value is code, but for our `own` words."""
    return environment(room, code).get_template(template).render(values)


def _html(words: str) -> str:
    return escape(visible(words).translate(_WHITE))


@cache
def environment(room: str, escaped: Callable[[str], str] = _html) -> Environment:
    """Return the templates of a room and of this one, with the functions that they use."""

    def finalize(value: object) -> Markup:
        """Return what is written of a value: Markup was made here, of parts that were escaped."""
        if isinstance(value, Markup):
            return value
        return Markup("" if value is None else escaped(str(value)))  # noqa: S704

    made = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in dict.fromkeys((room, _HERE))]),
        # Macros yield Markup, so that what they have written is not escaped again.
        autoescape=True,
        finalize=finalize,
        # A name that a template does not get is our bug, and no empty place in a page.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "characters": characters,
        "cut": cut,
        "duration": phrases.duration,
        "fitting": fitting,
        "own": Markup,
        "percent": percent,
        "span": span,
        "time": time,
        "word": word,
        "wrapped": parts,
    }
    made.globals |= {"kinds": KINDS, "shown": shown, "stamp": stamp}
    return made


def asset(name: str, room: str = _HERE) -> Markup:
    """Return a style sheet or a script, to be written as it is."""
    # Out of a wheel or an archive alike. What these hold is ours.
    return Markup((get_data(room, f"assets/{name}") or b"").decode())  # noqa: S704


def time(at: datetime, zone: tzinfo) -> Markup:
    """Return an instant as a reader wants it, and as a program does (HTML, 4.5.14)."""
    return Markup('<time datetime="{}">{}</time>').format(stamp(at, zone), shown(at, zone))


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
    return f"{round(100 * fraction, 4):g}%"

"""What pages about the past have in common: one file that loads nothing, and tables."""

from collections.abc import Iterable, Sequence
from pkgutil import get_data

from krm_windows.preview import markup
from krm_windows.preview.markup import Child, Element, element

# The page carries all it needs and has no script (Content Security Policy Level 3).
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

# So many columns are side by side on a phone.
_NARROW = 2


def page(title: str, *children: Child) -> str:
    """Return a page with a heading."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("title", title),
        element("style", _style()),
    )
    main = element("main", element("h1", title), *children)
    body = element("body", main)
    return markup.html(element("html", head, body, lang="en"))


def table(
    label: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Child]],
    kind: str = "facts",
) -> Element:
    """Return a table with a line of headings, which may be wider than the screen.

    `label` says which one of a page it is; no two are the same.
    """
    # `scope` says to a screen reader what a heading is of (HTML, 4.9.10).
    titles = (element("th", head, scope="col") for head in heads)
    head = element("thead", element("tr", *titles))
    cells = [list(map(_cell, row)) for row in rows]
    # On a phone each row of a table that is wider is a block, whose lines have these headings.
    if kind == "facts" and len(heads) > _NARROW:
        kind = "facts blocks"
        for row in cells:
            _label(heads, row)
    body = element("tbody", *(element("tr", *row) for row in cells))
    # What can be scrolled has to be reached by keyboard, and says what it is (WCAG 2.1.1).
    return element(
        "section",
        element("table", head, body, class_=kind),
        class_="scroll",
        tabindex="0",
        aria_label=label,
    )


def _label(heads: Sequence[str], row: Sequence[Element]) -> None:
    for head, cell in zip(heads, row, strict=True):
        if cell.tag == "td":
            cell.set("data-label", head)


def number(value: int) -> Element:
    """Return a cell with a number."""
    return element("td", str(value), class_="number")


def _cell(child: Child) -> Element:
    # A cell with a class or a heading comes as it is to be.
    if isinstance(child, Element) and child.tag in ("td", "th"):
        return child
    return element("td", child)


def _style() -> str:
    # Out of a wheel or an archive alike.
    found = get_data(__package__ or "", "assets/past.css")
    return (found or b"").decode()

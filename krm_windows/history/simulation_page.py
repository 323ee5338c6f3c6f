"""Simulations as one page of HTML, with all figures in tables and bars beside them."""

from collections.abc import Iterator, Sequence

from krm_windows.history import simulation_text
from krm_windows.history.page import number, page, table
from krm_windows.history.simulation import Simulation, Wait, lengths
from krm_windows.history.simulation_text import FIGURES, buckets, period
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element, percent
from krm_windows.preview.text import span

# So many of the longest waits are listed.
_LONGEST = 50
_LARGEST = 20


def render(every: Sequence[Simulation]) -> str:
    """Return the page."""
    # The title of a tab, and the first words on the page.
    names = ", ".join(simulation.name for simulation in every)
    return page(f"What would have waited: {names}", *_main(every))


def _main(every: Sequence[Simulation]) -> Iterator[Child]:
    yield element(
        "p",
        "Every change is offered when its commit reached the branch (committer time, first "
        "parents only), and waits until the policy next opens.",
    )
    # Each by its own clock: two policies may be of two zones.
    for simulation in every:
        words = f"{simulation.name}: {period(simulation)}"
        yield element("p", words, class_="note")
    # A column for each policy, so that they can be compared.
    names = [simulation.name for simulation in every]
    yield table("Figures", ("figure", *names), _figures(every))
    for simulation in every:
        yield from _details(simulation)


def _figures(every: Sequence[Simulation]) -> Iterator[list[Child]]:
    for label, figure in FIGURES:
        figures = [figure(simulation) for simulation in every]
        yield [_label(label), *figures]
    # The changes are the same for all of them.
    skewed = every[0].skewed
    if skewed:
        heading = _label("  with a commit time before that of the previous commit")
        figures = [str(skewed)] * len(every)
        yield [heading, *figures]


def _label(text: str) -> Element:
    """Return a heading, moved in as it is in the text."""
    words = text.lstrip()
    inset = len(text) - len(words)
    # A space is about half as wide as a letter.
    style = f"padding-left:{inset / 2}rem"
    return element("th", words, scope="row", style=style)


def _details(simulation: Simulation) -> Iterator[Child]:
    name = simulation.name
    yield element("h2", name)
    # Only where they were asked for.
    if simulation.classes:
        yield element("h3", "By change class")
        yield table(
            f"{name}: by change class",
            ("class", "changes", "waited", "total wait"),
            _classes(simulation),
        )
    unit, _ = simulation.parts
    yield element("h3", f"By {unit}")
    yield _legend()
    yield table(
        f"{name}: by {unit}",
        (unit, "changes", "waited", "of the most"),
        _parts(simulation),
        "chart",
    )
    yield element("h3", "How long they waited")
    yield table(
        f"{name}: how long they waited",
        ("waited for", "changes", "of the most"),
        _lengths(simulation),
        "chart",
    )
    # Where nothing waited there is nothing to list.
    if simulation.openings:
        yield element("h3", "Openings with the most changes")
        yield table(
            f"{name}: openings with the most changes",
            ("opened", "changes", "the first of which waited"),
            _openings(simulation),
        )
        yield element("h3", "Longest waits")
        yield table(
            f"{name}: longest waits",
            ("waited for", "offered", "commit", "subject", "author"),
            _longest(simulation),
        )


def _legend() -> Element:
    swatches = {"waited": " waited ", "at-once": " did not"}
    children: list[Child] = []
    for kind, words in swatches.items():
        children += [element("span", class_=f"swatch {kind}", aria_hidden="true"), words]
    return element("p", *children, class_="note")


def _classes(simulation: Simulation) -> Iterator[list[Child]]:
    for part in simulation.classes:
        yield [
            element("code", part.title),
            number(part.changes),
            number(part.waited),
            span(part.total),
        ]


def _parts(simulation: Simulation) -> Iterator[list[Child]]:
    _, parts = simulation.parts
    # At least one, as shares of nothing would be divided by it.
    most = max([1, *(part.changes for part in parts)])
    for part in parts:
        # Shares of the month with most changes, so that months can be compared.
        at_once = part.changes - part.waited
        widths = {
            "waited": part.waited / most,
            "at-once": at_once / most,
        }
        yield [
            part.title,
            number(part.changes),
            number(part.waited),
            _bar(widths),
        ]


def _lengths(simulation: Simulation) -> Iterator[list[Child]]:
    found = list(buckets(simulation))
    most = max([1, *(count for _, count in found)])
    for name, count in found:
        bar = _bar({"waited": count / most})
        yield [name, number(count), bar]


def _bar(widths: dict[str, float]) -> Element:
    """Return a bar of parts, each with its share of the width; the numbers stand beside it."""
    parts = []
    # A part of no width is none to be seen, and needs no case of its own.
    for kind, width in widths.items():
        style = f"width:{percent(width)}"
        parts.append(element("span", class_=kind, style=style))
    # Hidden from screen readers, which read the numbers out (WAI-ARIA, aria-hidden).
    bar = element("span", *parts, class_="bar", aria_hidden="true")
    return element("td", bar)


def _openings(simulation: Simulation) -> Iterator[list[Child]]:
    for opens, waits in simulation.openings[:_LARGEST]:
        # Of what went in together, the first one waited longest.
        first = lengths(waits)[-1]
        zone = simulation.zone
        at = element("time", shown(opens, zone), datetime=stamp(opens, zone))
        yield [at, number(len(waits)), span(first)]


def _longest(simulation: Simulation) -> Iterator[list[Child]]:
    for wait in simulation.longest[:_LONGEST]:
        yield _wait(simulation, wait)


def _wait(simulation: Simulation, wait: Wait) -> list[Child]:
    change = wait.change
    zone = simulation.zone
    length = simulation_text.length(wait.length)
    commit = change.commit[: simulation_text.COMMIT]
    return [
        element("td", length, class_="length"),
        element("time", shown(change.at, zone), datetime=stamp(change.at, zone)),
        element("code", commit),
        change.subject,
        change.author,
    ]

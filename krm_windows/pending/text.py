"""What waits, for a terminal of eighty columns: a block for each target."""

import textwrap
from collections.abc import Iterator
from zoneinfo import ZoneInfo

from krm_windows import escape
from krm_windows.pending import words
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Waits
from krm_windows.pending.report import Entry, Pending
from krm_windows.preview import sentences

_WIDTH = 80


def render(pending: Pending, stage: str) -> str:
    """Return what should hold, known from a stage (`preview.stages`), and what waits."""
    head = sentences.state(pending.timetable, pending.decision, stage)
    return head + entries(pending)


def entries(pending: Pending) -> str:
    """Return a block for each target, an empty line above it."""
    # Selected by labels that nothing has; by name a target is there, or missing.
    if not pending.entries:
        return "\nno targets: no object that was read matches the policy's `matchLabels`\n"
    lines: list[str] = []
    for entry in pending.entries:
        lines.append("")
        lines += _entry(entry, pending.timetable.zone)
    return "".join(f"{line}\n" for line in lines)


def _entry(entry: Entry, zone: ZoneInfo) -> Iterator[str]:
    verb = words.waits(entry)
    yield escape.line(f"{entry.target}: {verb}")
    offer = entry.offer
    # Of what waits for nothing it is enough to know what it has.
    if offer.waits is Waits.NO:
        applied = words.revision(offer.applied)
        yield escape.line(f"  applied  {applied}")
        return
    # One that is empty is left out: a target of two commits has no source, say.
    fields = {
        "opens": words.opening(entry.opening, zone),
        "source": offer.source,
        "applied": words.revision(offer.applied),
        "offered": words.revision(offer.offered),
        "since": words.since(entry.offer, zone),
    }
    for name, value in fields.items():
        if value:
            yield escape.line(f"  {name:<9}{value}")
    for note in offer.notes:
        yield from _note(note)
    if entry.between is not None:
        yield from _between(entry.between)


def _between(between: Between) -> Iterator[str]:
    for section in words.sections(between):
        yield f"  {section.title}"
        for line in section.lines:
            # Where the terminal ends.
            yield escape.cut(f"    {escape.line(line)}", _WIDTH)
    for image in between.images:
        # An image is for a program, too: it is never cut.
        yield escape.line(f"  new image {image}")
    for gap in between.gaps:
        yield from _note(gap)


def _note(note: str) -> Iterator[str]:
    """Yield a sentence on several lines, as somebody has to read all of it."""
    yield from textwrap.wrap(
        escape.line(note),
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="    ",
        break_long_words=False,
        break_on_hyphens=False,
    )

"""What waits as Markdown, for a message in the morning of the window.

Everything from elsewhere is code, in which nothing is a mention, a link or emphasis.
"""

from collections.abc import Iterator, Sequence

from krm_windows.escape.markdown import code
from krm_windows.gate.zones import Zone
from krm_windows.pending import words
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Waits
from krm_windows.pending.report import Entry, Pending
from krm_windows.preview.calendar import named
from krm_windows.preview.clock import shown


def render(pending: Pending) -> str:
    """Return a heading, a list of what waits, and last what waits for nothing."""
    zone = pending.timetable.zone
    # A list of lists: chats and forges show it alike, and a phone has no room for a table.
    lines = [f"### {code(named(pending.timetable))}: {_title(pending)}", ""]
    for entry in pending.waiting:
        lines += _entry(entry, zone)
    # In one line, as nobody has to do anything about it.
    rest = [str(each.target) for each in pending.entries if each.offer.waits is Waits.NO]
    if rest:
        lines.append(f"- nothing waits for {', '.join(map(code, rest))}")
    if not pending.entries:
        lines.append("no targets: nothing has the labels that they are selected by")
    return "".join(f"{line}\n" for line in lines)


def _title(pending: Pending) -> str:
    decision = pending.decision
    zone = pending.timetable.zone
    verb = "opens"
    if decision.open:
        verb = "closes"
    if decision.until is None:
        return f"{verb} not for more than 400 days ({code(decision.reason)})"
    return f"{verb} {shown(decision.until, zone)} ({zone.key})"


def _entry(entry: Entry, zone: Zone) -> Iterator[str]:
    yield f"- **{code(str(entry.target))}** {words.waits(entry)}{_revisions(entry)}"
    since = words.since(entry.offer, zone)
    if since:
        yield f"  - offered by {code(entry.offer.source)} since {since}"
    # When the policy opens is in the heading.
    if entry.opening.kept_by:
        yield f"  - {code(words.opening(entry.opening, zone))}"
    for note in entry.offer.notes:
        yield f"  - {code(note)}"
    if entry.between is not None:
        yield from _between(entry.between)


def _revisions(entry: Entry) -> str:
    offer = entry.offer
    # Of a source that could not be read there is nothing to compare.
    if offer.offered is None:
        return ""
    applied = words.revision(offer.applied) or "nothing"
    return f": {code(applied)} → {code(words.revision(offer.offered))}"


def _between(between: Between) -> Iterator[str]:
    for title, commits in words.commits(between):
        yield f"  - {title}"
        yield from _list([*map(words.commit, commits)], words.FEW_COMMITS)
    if between.objects is not None:
        yield f"  - {words.sums(between.objects)}"
        yield from _list([*map(words.change, between.objects)], words.FEW_OBJECTS)
        for image in between.images:
            yield f"  - new image {code(image)}"
    for gap in between.gaps:
        yield f"  - {code(gap)}"


def _list(lines: Sequence[str], most: int) -> Iterator[str]:
    for line in words.shortened(lines, most):
        yield f"    - {code(line)}"

"""What waits as Markdown, for a message in the morning of the window.

Everything from elsewhere is code, in which nothing is a mention, a link or emphasis.
"""

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from krm_windows.escape.markdown import code
from krm_windows.pending import words
from krm_windows.pending.between import Between
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.report import Entry, Pending
from krm_windows.preview.calendar import named
from krm_windows.preview.clock import shown


def render(pending: Pending) -> str:
    """Return a heading, a list of what waits, and last what waits for nothing."""
    zone = pending.timetable.zone
    # A list of lists: chats and forges show it alike, and a phone has no room for a table.
    policy = code(named(pending.timetable))
    lines = [f"### {policy}: {_title(pending)}", ""]
    for entry in pending.waiting:
        lines += _entry(entry, zone)
    # In one line, as nobody has to do anything about it.
    rest = ", ".join(_without_offers(pending))
    if rest:
        lines.append(f"- nothing waits for {rest}")
    if not pending.entries:
        lines.append("no targets: no object that was read matches the policy's `matchLabels`")
    return "".join(f"{line}\n" for line in lines)


def _without_offers(pending: Pending) -> Iterator[str]:
    """Yield the targets for which nothing waits."""
    for entry in pending.entries:
        if entry.offer.waits is Waits.NO:
            yield code(str(entry.target))


def _title(pending: Pending) -> str:
    decision = pending.decision
    zone = pending.timetable.zone
    verb = "opens"
    if decision.open:
        verb = "closes"
    # The gate looks no further ahead than that.
    if decision.until is None:
        reason = code(decision.reason)
        return f"{verb} in more than 400 days ({reason}; times in {zone.key})"
    at = shown(decision.until, zone)
    return f"{verb} {at} ({zone.key})"


def _entry(entry: Entry, zone: ZoneInfo) -> Iterator[str]:
    offer = entry.offer
    target = code(str(entry.target))
    verb = words.waits(entry)
    yield f"- **{target}** {verb}{_revisions(offer)}"
    since = words.since(offer, zone)
    if since:
        source = code(offer.source)
        yield f"  - offered by {source} since {since}"
    # When the policy opens is in the heading.
    if entry.opening.kept_by:
        opening = words.opening(entry.opening, zone)
        yield f"  - {code(opening)}"
    for note in offer.notes:
        yield f"  - {code(note)}"
    if entry.between is not None:
        yield from _between(entry.between)


def _revisions(offer: Offer) -> str:
    # Of a source that could not be read there is nothing to compare.
    if offer.offered is None:
        return ""
    # A target that is new has applied none yet.
    applied = words.revision(offer.applied) or "nothing"
    offered = words.revision(offer.offered)
    return f": {code(applied)} → {code(offered)}"


def _between(between: Between) -> Iterator[str]:
    for section in words.sections(between):
        yield f"  - {section.title}"
        for line in section.lines:
            yield f"    - {code(line)}"
    for image in between.images:
        yield f"  - new image {code(image)}"
    for gap in between.gaps:
        yield f"  - {code(gap)}"

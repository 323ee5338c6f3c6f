"""What text and Markdown say alike: sums, revisions in short, and what of a long list is shown."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from krm_windows.pending.between import Between, Kind, ObjectChange
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.report import Entry, Opening
from krm_windows.pending.revisions import Revision
from krm_windows.plurals import counted
from krm_windows.preview.clock import shown
from krm_windows.system.git_objects import Commit

# So many of each are shown, before "and 12 more".
_FEW_COMMITS = 20
_FEW_OBJECTS = 40
_FEW_FIELDS = 2
# As `git log --oneline` has it in a large repository.
_NAME = 10
_WORD = re.compile(r"\w+")
# The shortest digest is that of a commit: 40 digits of SHA-1.
_SHORTEST_DIGEST = 40
# Of one, as `docker images` shows it; `git log --oneline` shows about as many.
_DIGITS = 12
_HEXADECIMAL = frozenset("0123456789abcdef")
_WAITS = {
    Waits.YES: "waits",
    Waits.NO: "nothing waits",
    Waits.UNKNOWN: "unknown",
}
_KINDS = {
    Kind.ADDED: "added",
    Kind.CHANGED: "changed",
    Kind.REMOVED: "removed",
}


def waits(entry: Entry) -> str:
    """Say whether something waits."""
    if entry.offer.waits is not Waits.YES:
        return _WAITS[entry.offer.waits]
    # A note may be about what else has changed, or is not known.
    if entry.between is not None and entry.between.is_empty and not entry.offer.notes:
        return "only the revision is new"
    # Flux takes it within a second or two; where it fails, a note says so.
    if entry.opening.is_open:
        return "is being applied"
    return _WAITS[Waits.YES]


def opening(of: Opening, zone: ZoneInfo) -> str:
    """Say when a target is opened; a reason of several lines is one."""
    if of.is_open:
        return "it is open"
    if of.kept_by:
        reason = " ".join(of.kept_by.words.split())
        return f"not at the next opening: {reason}"
    # The gate looks no further ahead than that.
    if of.at is None:
        return "in more than 400 days"
    return shown(of.at, zone)


def revision(of: Revision | None) -> str:
    """Return a revision with its hash in short, and what it was made of."""
    if of is None:
        return ""
    origin = ""
    if of.origin:
        origin = f", generated from {of.origin}"
    whole = f"{of.text}{origin}"
    return _WORD.sub(_short, whole)


def _short(found: re.Match[str]) -> str:
    """Return a word, of a digest its first digits."""
    word = found[0]
    if len(word) >= _SHORTEST_DIGEST and _HEXADECIMAL.issuperset(word):
        return word[:_DIGITS]
    return word


def since(offer: Offer, zone: ZoneInfo) -> str:
    """Say since when what waits is offered; of what is applied nobody asks."""
    offered = offer.offered
    if offer.waits is not Waits.YES or offered is None:
        return ""
    # The head of a branch in a repository here: no source has had it yet.
    if offered.since is None:
        return ""
    return shown(offered.since, zone)


def commit(of: Commit) -> str:
    """Return a line for a commit: its name in short, its day, who wrote it, and its subject."""
    name = of.name[:_NAME]
    day = _day(of)
    author = _author(of)
    return f"{name} {day} {author}: {of.subject}"


def _author(of: Commit) -> str:
    """Return an author's name without the address, which is for nobody's chat."""
    # `Anna Smith <anna@shop.example>`, as Git has it in every commit.
    name, _, _ = of.author.rpartition(" <")
    if not name:
        return of.author
    return name


def _day(of: Commit) -> str:
    try:
        at = datetime.fromtimestamp(of.committed, UTC)
    # Whoever writes a commit by hand may give it any time.
    except (OverflowError, OSError, ValueError):
        return "at some time"
    return f"{at:%Y-%m-%d}"


@dataclass(frozen=True, slots=True)
class Section:
    """A list of what lies between two revisions: its title, and a line for each of the first."""

    title: str
    lines: Sequence[str]


def sections(between: Between) -> Iterator[Section]:
    """Yield the commits that come and go, then the objects that change."""
    for title, listed in _commits(between):
        lines = [commit(each) for each in listed]
        yield Section(title, _shortened(lines, _FEW_COMMITS))
    # None where nobody asked for the objects.
    if between.objects is not None:
        lines = [_change(each) for each in between.objects]
        yield Section(_sums(between.objects), _shortened(lines, _FEW_OBJECTS))


def _commits(between: Between) -> Iterator[tuple[str, Sequence[Commit]]]:
    """Yield the commits that come and those that go, each list with its title."""
    if between.reverted:
        number = counted(len(between.reverted), "commit")
        yield f"{number} reverted", between.reverted
    if between.commits:
        yield counted(len(between.commits), "commit"), between.commits
    elif between.commits is None:
        yield "nothing was applied before, so all commits are new", ()
    # Where not all files are known, a commit may touch one of the others.
    elif not between.reverted and not between.gaps:
        yield "no commit changes the files that it reads", ()


def _sums(changes: Sequence[ObjectChange]) -> str:
    """Say how many objects change, and how: `1 object added`, `3 objects: 1 added, 2 changed`."""
    if not changes:
        return "no object changes"
    numbers = Counter(change.kind for change in changes)
    total = counted(len(changes), "object")
    if len(numbers) == 1:
        [kind] = numbers
        return f"{total} {_KINDS[kind]}"
    said = []
    # In the order of the table, and not in that of the changes.
    for kind, word in _KINDS.items():
        if numbers[kind]:
            said.append(f"{numbers[kind]} {word}")
    parts = ", ".join(said)
    return f"{total}: {parts}"


def _change(of: ObjectChange) -> str:
    """Say how an object changes, with the first fields that do."""
    if not of.fields:
        return f"{of.kind.value} {of.object}"
    # The first are mostly enough: an image and a hash of its configuration, say.
    fields = ", ".join(of.fields[:_FEW_FIELDS])
    more = len(of.fields) - _FEW_FIELDS
    if more > 0:
        fields = f"{fields} and {more} more"
    return f"{of.kind.value} {of.object}: {fields}"


def _shortened(lines: Sequence[str], most: int) -> list[str]:
    """Return the first of many lines, and how many more there are."""
    if len(lines) <= most:
        return list(lines)
    more = len(lines) - most
    return [*lines[:most], f"… and {more} more"]

"""What text and Markdown say alike: sums, revisions in short, and what of a long list is shown."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from krm_windows.pending.between import Between, Kind, ObjectChange
from krm_windows.pending.offers import Offer, Waits
from krm_windows.pending.report import Opening, WaitingTarget
from krm_windows.pending.revisions import Revision
from krm_windows.plurals import counted
from krm_windows.preview.clock import instant, shown
from krm_windows.system.git_objects import Commit

# So many of each are shown, before "and 12 more".
_FEW_COMMITS = 20
_FEW_OBJECTS = 40
# As `git log --oneline` has it in a large repository.
_NAME = 10
# The shortest is that of a commit, 40 digits of SHA-1. `docker images` shows twelve of them.
_DIGEST = re.compile(r"([ :/][0-9a-f]{12})[0-9a-f]{28,}+")
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


def waits(entry: WaitingTarget) -> str:
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
    """Return a revision with its digests in short, and what it was made of."""
    if of is None:
        return ""
    origin = f", generated from {of.origin}" if of.origin else ""
    return _DIGEST.sub(r"\1", f"{of.text}{origin}")


def since(offer: Offer, zone: ZoneInfo) -> str:
    """Say since when what waits is offered; of what is applied nobody asks."""
    # The head of a branch in a repository here no source has had yet.
    if offer.waits is not Waits.YES or offer.offered is None or offer.offered.since is None:
        return ""
    return shown(offer.offered.since, zone)


def commit(of: Commit) -> str:
    """Return a line for a commit: its name in short, its day, who wrote it, and its subject."""
    at = instant(of.committed)
    day = "at some time" if at is None else f"{at:%Y-%m-%d}"
    # Without the address, which is for nobody's chat: `Anna Smith <anna@shop.example>`.
    author = of.author.rpartition(" <")[0] or of.author
    return f"{of.name[:_NAME]} {day} {author}: {of.subject}"


@dataclass(frozen=True, slots=True)
class Section:
    """A list of what lies between two revisions: its title, and a line for each of the first."""

    title: str
    lines: Sequence[str]


def sections(between: Between) -> Iterator[Section]:
    """Yield the commits that come and go, then the objects that change."""
    for title, commits in _commits(between):
        yield Section(title, _shortened([commit(each) for each in commits], _FEW_COMMITS))
    # Where not all is known, nobody can say that none changes.
    if between.objects or not between.gaps:
        lines = [f"{each.kind.value} {each.object}" for each in between.objects]
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
    # In the order of the table, and not in that of the changes.
    said = [(numbers[kind], word) for kind, word in _KINDS.items() if numbers[kind]]
    total = counted(len(changes), "object")
    if len(said) == 1:
        return f"{total} {said[0][1]}"
    return f"{total}: {', '.join(f'{number} {word}' for number, word in said)}"


def _shortened(lines: Sequence[str], most: int) -> list[str]:
    """Return the first of many lines, and how many more there are."""
    more = len(lines) - most
    return [*lines[:most], *([f"… and {more} more"] if more > 0 else [])]

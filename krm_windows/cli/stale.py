"""What `render --check` says of stale files: which hours move, and which files they are."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import output, times
from krm_windows.emit.timetables import Versions
from krm_windows.gate.annotations import UNREADABLE
from krm_windows.gate.timetable import Timetable
from krm_windows.plurals import clusters
from krm_windows.preview import changes
from krm_windows.preview.calendar import Period
from krm_windows.preview.difference import Difference, compare

# Four weeks, as `set` and `diff` compare; where nothing changes in them, a year.
_DAYS = (28, 366)
MORE = "; --diff shows how they differ"
"""What else can be done about files that are out of date."""
# So many periods of a policy are shown, and so many files.
_PERIODS = 4
_FILES = 20


def show(directory: Path, files: Collection[str], every: Iterable[Versions]) -> None:
    """Print what the files of a directory that are out of date change; nothing where none is."""
    if not files:
        return
    differences: list[Difference] = []
    others: dict[str, list[Timetable]] = {}
    for old, new in every:
        if new is None:
            if old is not None:
                others.setdefault("no longer rendered", []).append(old)
            continue
        found = _difference(old, new) if old else None
        if found is None:
            others.setdefault("its hours were not rendered, or cannot be read", []).append(new)
        else:
            differences.append(found)
    text = changes.text(differences, output.width(), _PERIODS)
    for said, timetables in others.items():
        text += "".join(_others(said, timetables))
    output.show_words(f"{text}out of date:\n{''.join(_listed(directory, files))}")


def _others(said: str, timetables: Sequence[Timetable]) -> Iterator[str]:
    """Yield a line for each policy of which the same is to be said."""
    for policy in dict.fromkeys(each.policy for each in timetables):
        names = [each.cluster for each in timetables if each.policy == policy and each.cluster]
        title = f"{policy} on {clusters(names)}" if names else policy
        yield escape.line(f"{title}: {said}") + "\n"


def _listed(directory: Path, files: Collection[str]) -> Iterator[str]:
    for name in islice(files, _FILES):
        yield f"  {escape.line(str(directory / name))}\n"
    if len(files) > _FILES:
        yield f"  and {len(files) - _FILES} more\n"


def _difference(old: Timetable, new: Timetable) -> Difference | None:
    """Compare what was rendered with what is to be; None where that cannot be read."""
    now = times.now().replace(second=0, microsecond=0)
    try:
        for days in _DAYS:
            found = compare(old, new, Period(now, days))
            if found.changes or (old.table, old.state) == (new.table, new.state):
                break
    # Somebody may have edited what is there: a window may be a number.
    except (*UNREADABLE, AttributeError):
        return None
    return found

"""The difference of two policies for a reader.

As text, or as Markdown to paste into a pull request.
"""

from collections.abc import Iterable, Iterator, Sequence

from krm_windows.escape.markdown import cell, code
from krm_windows.plurals import clusters
from krm_windows.preview.axis import last_day
from krm_windows.preview.clock import shown
from krm_windows.preview.difference import ChangedPeriod, Difference, alike
from krm_windows.preview.folding import Run, fold
from krm_windows.preview.text import recurring, span
from krm_windows.preview.wrapping import broken
from krm_windows.results import Result

_HEAD = ("", "from", "until", "for", "by")


def text(every: Sequence[Difference], width: int = 0, most: int | None = None) -> str:
    """Return a part for all clusters that change alike, with an empty line between two.

    Lines are broken between words where they are wider than `width` columns (0: nowhere). Of each
    part the first periods are shown, `most` of them.
    """
    pages = []
    for group in alike(every):
        # The last column is padded like the others, and a reader sees no spaces at an end.
        lines = (line.rstrip() for line in _text(group, most))
        pages.append(_page(broken(lines, width)))
    return "\n".join(pages)


def _page(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def markdown(every: Sequence[Difference], results: Sequence[Result]) -> str:
    """Return a heading, a table for clusters that change alike, and what is forgotten."""
    parts = [f"### {code(every[0].policy)}: what this change opens and closes\n"]
    parts += [_page(_markdown(group)) for group in alike(every)]
    if results:
        parts.append(_page(map(_item, results)))
    return "\n".join(parts)


def _item(result: Result) -> str:
    """Return the line of a list for a result."""
    # In backticks all of it: a path or a reason may hold what Markdown would take for its own.
    # The rule's id is what an ignore, or the reference of rules, goes by: `cluster-unknown`.
    words = f"{result.message} ({result.tags['rule']})"
    if result.path:
        words = f"{result.path}: {words}"
    return f"- **{result.severity}**: {code(words)}"


def _text(group: Sequence[Difference], most: int | None) -> Iterator[str]:
    one = group[0]
    name = one.policy
    if one.cluster:
        name = f"{one.policy} on {_clusters(group)}"
    yield f"{name}, {_days(group)}: {sums(one)}"
    if not one.changes:
        return
    rows: list[tuple[str, ...]] = [_HEAD]
    runs = fold(one.changes)
    rows += (_row(one, run) for run in runs[:most])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (f"{part:<{width}}" for part, width in zip(row, widths, strict=True))
        yield "  ".join(padded)
    if most is not None and len(runs) > most:
        yield f"and {len(runs) - most} more"


def _markdown(group: Sequence[Difference]) -> Iterator[str]:
    one = group[0]
    sentence = f"{_days(group)}: {sums(one)}"
    if one.cluster:
        sentence = f"**{code(_clusters(group))}**, {sentence}"
    yield sentence
    if not one.changes:
        return
    # A table needs an empty line above it (GitHub Flavored Markdown, 4.10).
    yield ""
    yield f"| {' | '.join(_HEAD)} |"
    yield f"|{'---|' * len(_HEAD)}"
    for run in fold(one.changes):
        kind, *edges, rules = _row(one, run)
        # Bold, so that the two words can be distinguished at a glance in a long table.
        yield f"| **{kind}** | {' | '.join(edges)} | {cell(rules)} |"


def _row(difference: Difference, run: Run[ChangedPeriod]) -> tuple[str, ...]:
    change = run.first
    verb = "closes"
    if change.opens:
        verb = "opens"
    until = shown(run.last.ends, difference.zone)
    length = span(change.ends - change.begins)
    if run.last.goes_on:
        until, length = "later", f"over {length}"
    return (
        verb,
        shown(change.begins, difference.zone),
        until,
        length,
        f"{change.reason}{recurring(run)}",
    )


def _clusters(group: Sequence[Difference]) -> str:
    return clusters([one.cluster or "" for one in group])


def _days(group: Sequence[Difference]) -> str:
    """Return the days that are compared, with the time zone where all have the same."""
    one = group[0]
    first = one.begins.astimezone(one.zone).date()
    last = last_day(one.ends, one.zone)
    zone = f" ({one.zone.key})" if all(each.zone == one.zone for each in group) else ""
    return f"{first} to {last}{zone}"


def sums(one: Difference) -> str:
    """Say how much opens and how much closes in all."""
    if not one.changes:
        return "nothing opens or closes"
    sums = {
        "opens": one.length(opens=True),
        "closes": one.length(opens=False),
    }
    return ", ".join(f"{verb} {span(length)}" for verb, length in sums.items() if length)

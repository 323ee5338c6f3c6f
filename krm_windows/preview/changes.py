"""The difference of two policies for a reader.

As text, or as Markdown to paste into a pull request.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from krm_windows.escape.markdown import cell, code
from krm_windows.preview.calendar import some
from krm_windows.preview.clock import shown
from krm_windows.preview.difference import Change, Difference, alike
from krm_windows.preview.text import span
from krm_windows.results import Result

_FEW = 4
_HEAD = ("", "from", "until", "for", "by")


def text(every: Sequence[Difference]) -> str:
    """Return a part for all clusters that change alike, with an empty line between two."""
    return "\n".join(_page(map(str.rstrip, _text(group))) for group in alike(every))


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
    words = f"{result.message} ({result.tags['rule']})"
    if result.path:
        words = f"{result.path}: {words}"
    return f"- **{result.severity}**: {code(words)}"


def _text(group: Sequence[Difference]) -> Iterator[str]:
    one = group[0]
    name = one.policy
    if one.cluster:
        name = f"{one.policy} on {_clusters(group)}"
    yield f"{name}, {_days(one)}: {_sum(one)}"
    if not one.changes:
        return
    rows = [_HEAD, *(_row(one, change) for change in one.changes)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{part:<{width}}" for part, width in zip(row, widths, strict=True))


def _markdown(group: Sequence[Difference]) -> Iterator[str]:
    one = group[0]
    clusters = f"**{code(_clusters(group))}**, " if one.cluster else ""
    yield f"{clusters}{_days(one)}: {_sum(one)}"
    if not one.changes:
        return
    yield ""
    yield f"| {' | '.join(_HEAD)} |"
    yield f"|{'---|' * len(_HEAD)}"
    for change in one.changes:
        kind, *edges, rules = _row(one, change)
        yield f"| **{kind}** | {' | '.join(edges)} | {cell(rules)} |"


def _row(difference: Difference, change: Change) -> tuple[str, ...]:
    return (
        "opens" if change.opens else "closes",
        shown(change.begins, difference.zone),
        shown(change.ends, difference.zone),
        span(change.ends - change.begins),
        change.reason,
    )


def _clusters(group: Sequence[Difference]) -> str:
    return some([one.cluster or "" for one in group], _FEW)


def _days(one: Difference) -> str:
    first = one.begins.astimezone(one.zone)
    last = (one.ends - timedelta.resolution).astimezone(one.zone)
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d} ({one.zone.key})"


def _sum(one: Difference) -> str:
    if not one.changes:
        return "nothing opens or closes"
    sums = (("opens", one.length(opens=True)), ("closes", one.length(opens=False)))
    return ", ".join(f"{verb} {span(length)}" for verb, length in sums if length)

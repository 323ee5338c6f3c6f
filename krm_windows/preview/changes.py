"""The difference of two policies for a reader: as text, or as Markdown to paste into a pull request."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from krm_windows.escape.markdown import cell, code
from krm_windows.preview.clock import shown
from krm_windows.preview.difference import Change, Difference, alike
from krm_windows.preview.text import span
from krm_windows.results import Result

_FEW = 4
_HEAD = ("", "from", "until", "for", "by")


def text(every: Sequence[Difference]) -> str:
    """Return a part for all clusters that change alike, with an empty line between two."""
    return "\n".join(
        "".join(f"{line.rstrip()}\n" for line in _text(group)) for group in alike(every)
    )


def markdown(every: Sequence[Difference], results: Sequence[Result]) -> str:
    """Return a heading, a table for all clusters that change alike, and what the change has forgotten."""
    parts = [f"### {code(every[0].policy)}: what this change opens and closes\n"]
    parts += ["".join(f"{line}\n" for line in _markdown(group)) for group in alike(every)]
    if results:
        parts.append(
            "".join(f"- **{result.severity}**: {code(_words(result))}\n" for result in results)
        )
    return "\n".join(parts)


def _text(group: Sequence[Difference]) -> Iterator[str]:
    one = group[0]
    named = f"{one.policy} on {_clusters(group)}" if one.cluster else one.policy
    yield f"{named}, {_days(one)}: {_sum(one)}"
    if not one.changes:
        return
    rows = [_HEAD, *(_row(one, change) for change in one.changes)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
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
    edges = (shown(at, difference.zone) for at in (change.begins, change.ends))
    return (
        "opens" if change.opens else "closes",
        *edges,
        span(change.ends - change.begins),
        change.reason,
    )


def _clusters(group: Sequence[Difference]) -> str:
    names, more = [one.cluster or "" for one in group[:_FEW]], len(group) - _FEW
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _days(one: Difference) -> str:
    last = one.ends - timedelta.resolution
    return f"{one.begins.astimezone(one.zone):%Y-%m-%d} to {last.astimezone(one.zone):%Y-%m-%d} ({one.zone.key})"


def _sum(one: Difference) -> str:
    if not one.changes:
        return "nothing opens or closes"
    sums = (("opens", one.length(opens=True)), ("closes", one.length(opens=False)))
    return ", ".join(f"{verb} {span(length)}" for verb, length in sums if length)


def _words(result: Result) -> str:
    return f"{result.field.path + ': ' if result.field else ''}{result.message} ({result.tags['rule']})"

"""The difference of two policies for a reader.

As text, or as Markdown to paste into a pull request.
"""

from collections.abc import Iterable, Iterator, Sequence

from krm_windows import escape
from krm_windows.escape.markdown import cell
from krm_windows.plurals import clusters, on
from krm_windows.preview import templating
from krm_windows.preview.clock import last_day, shown, span
from krm_windows.preview.difference import Difference, alike
from krm_windows.preview.folding import fold, recurring
from krm_windows.preview.text import aligned
from krm_windows.results import Result

_NOTHING = "nothing opens or closes"
# So many periods are told where a table would be too much.
_FEW = 4
_HEAD = ("", "from", "until", "for", "by")


def text(every: Sequence[Difference]) -> str:
    """Return a part for all clusters that change alike, with an empty line between two."""
    return "\n".join(map(_text, alike(every)))


def markdown(every: Sequence[Difference], results: Sequence[Result]) -> str:
    """Return a heading, a table for clusters that change alike, and what is forgotten."""
    return templating.markdown(
        "difference.md",
        policy=every[0].policy,
        groups=alike(every),
        results=results,
        head=_HEAD,
        clusters=_clusters,
        days=_days,
        sums=sums,
        rows=_rows,
        cell=cell,
    )


def _text(group: Sequence[Difference]) -> str:
    one = group[0]
    name = on(one.policy, [each.cluster for each in group if each.cluster])
    lines = [f"{name}, {_days(group)}: {sums(one)}"]
    if one.changes:
        # A reason may have lines of its own.
        lines += map(escape.line, aligned(_HEAD, list(_rows(one))))
    return "".join(f"{line}\n" for line in lines)


def brief(one: Difference, names: Sequence[str], unmoved: Iterable[str]) -> Iterator[str]:
    """Yield a line for each of the first periods that open or close, else why all is `unmoved`."""
    rows = list(_rows(one))
    for verb, begins, until, length, reason in rows[:_FEW]:
        yield f"{on(verb, names)} {begins} until {until} ({one.zone.key}), {length}: {reason}"
    if len(rows) > _FEW:
        yield f"and {len(rows) - _FEW} more"
    if not rows:
        yield "; ".join([on(_NOTHING, names), *unmoved])


def _rows(difference: Difference) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each period, or of many that recur."""
    zone = difference.zone
    for run in fold(difference.changes):
        change = run.first
        until, length = shown(run.last.ends, zone), span(change.ends - change.begins)
        if run.last.goes_on:
            until, length = "later", f"over {length}"
        verb = "opens" if change.opens else "closes"
        reason = f"{change.reason}{recurring(run)}"
        yield verb, shown(change.begins, zone), until, length, reason


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
        return _NOTHING
    sums = {
        "opens": one.length(opens=True),
        "closes": one.length(opens=False),
    }
    return ", ".join(f"{verb} {span(length)}" for verb, length in sums.items() if length)

"""The account of a policy as one page of HTML, for whoever has to keep it."""

from collections.abc import Iterator
from datetime import datetime

from krm_windows.history.account import Account, Override
from krm_windows.history.account_text import STATES, period, title, totals
from krm_windows.history.page import page, table
from krm_windows.history.revisions import Revision
from krm_windows.history.simulation_text import COMMIT
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element
from krm_windows.preview.text import span


def render(account: Account) -> str:
    """Return the page."""
    return page(f"What was open: {title(account)}", *_main(account))


def _main(account: Account) -> Iterator[Child]:
    yield element("p", period(account))
    yield element("p", element("code", account.path), " of commit ", element("code", account.head))
    yield element("p", totals(account))
    yield element("h2", "Versions")
    yield element(
        "p",
        "Each counts from its commit on, by the committer's time of first parents.",
        class_="note",
    )
    yield table(("from", "commit", "author", "subject", "file", ""), _versions(account))
    yield element("h2", "In force")
    yield table(("from", "until", "version"), _stretches(account))
    yield element("h2", "Open")
    yield table(("opened", "closed", "open for", "version", "by"), _openings(account))
    yield element("h2", "Overrides")
    # An empty table would leave open whether something is missing.
    if not account.overrides:
        yield element("p", "None.")
        return
    heads = ("override", "state", "reason", "made", "by", "changed or ended", "by", "in force")
    yield table(heads, _overrides(account))


def _versions(account: Account) -> Iterator[list[Child]]:
    for each in account.revisions:
        # Here in full for each, as a page is kept, and read years later.
        words = "; ".join((STATES[each.state], *each.problems))
        if each.behind:
            words += "; its clock is behind the version before"
        yield [
            _time(account, each.at),
            _name(each),
            each.commit.author,
            each.commit.subject,
            element("code", each.path),
            words,
        ]


def _stretches(account: Account) -> Iterator[list[Child]]:
    for each in account.stretches:
        version: Child = "no policy: nothing is gated"
        if each.revision is not None:
            version = _name(each.revision)
        yield [_time(account, each.begins), _time(account, each.ends), version]


def _openings(account: Account) -> Iterator[list[Child]]:
    for each in account.openings:
        yield [
            _time(account, each.begins),
            _time(account, each.ends),
            element("td", span(each.ends - each.begins), class_="length"),
            _name(each.revision),
            element("code", ", ".join(each.rules)),
        ]


def _overrides(account: Account) -> Iterator[list[Child]]:
    for each in account.overrides:
        yield [
            element("code", each.rule.key),
            each.rule.state or "",
            each.rule.reason,
            *_who(account, each.made),
            *_who(account, each.ended),
            _spans(account, each),
        ]


def _who(account: Account, revision: Revision | None) -> Iterator[Child]:
    # It was still there at the end.
    if revision is None:
        yield from ("", "")
        return
    yield _time(account, revision.at)
    yield f"{revision.commit.author} in {revision.commit.name[:COMMIT]}"


def _spans(account: Account, override: Override) -> Child:
    if not override.spans:
        return "never in this time"
    found = []
    for begins, ends in override.spans:
        found.append(f"{shown(begins, account.zone)} to {shown(ends, account.zone)}")
    return "; ".join(found)


def _name(revision: Revision) -> Element:
    return element("code", revision.commit.name[:COMMIT])


def _time(account: Account, at: datetime) -> Element:
    return element("time", shown(at, account.zone), datetime=stamp(at, account.zone))

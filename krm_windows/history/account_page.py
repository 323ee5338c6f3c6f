"""The account of a policy as one page of HTML, for whoever has to keep it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from krm_windows.history.account import Account, Override
from krm_windows.history.account_text import STATES, asked, period, title, totals
from krm_windows.history.page import page, table
from krm_windows.history.revisions import Revision
from krm_windows.history.simulation_text import COMMIT
from krm_windows.preview import stages
from krm_windows.preview.clock import shown, stamp
from krm_windows.preview.markup import Child, Element, element
from krm_windows.preview.text import span


def render(every: Sequence[Account]) -> str:
    """Return the page; of several accounts, which are of clusters, each has a heading."""
    if len(every) == 1:
        heading = f"What was open: {title(every[0])}"
        return page(heading, *_facts(every[0], "h2"))
    heading = f"What was open: {every[0].policy}"
    return page(heading, *_clusters(every))


def _clusters(every: Sequence[Account]) -> Iterator[Child]:
    # A fleet is long: from here each cluster is one step away.
    links = []
    for account in every:
        name = account.cluster or account.policy
        links.append(element("li", element("a", name, href=f"#{_anchor(name)}")))
    yield element("nav", element("ul", *links), aria_label="Clusters")
    for account in every:
        name = account.cluster or account.policy
        yield element("h2", name, id=_anchor(name))
        yield from _facts(account, "h3")


def _anchor(cluster: str) -> str:
    return f"cluster-{cluster}"


def _facts(account: Account, heading: str) -> Iterator[Child]:
    """Yield what is to be said of an account, below headings of one level."""
    of = title(account)
    yield element("p", period(account))
    yield element(
        "p",
        element("code", account.path),
        " of commit ",
        element("code", account.head),
    )
    yield element("p", f"{stages.IN_GIT}; {stages.NOT_ASKED}", class_="note")
    yield element("p", totals(account))
    # Whoever audits it starts from what was decided, and by whom.
    yield element(heading, "Versions")
    yield element(
        "p",
        "Each version applies from its commit on (committer time, first parents only).",
        class_="note",
    )
    yield table(
        f"{of}: versions",
        ("from", "commit", "author", "subject", "file", "meaning"),
        _versions(account),
    )
    # Without gaps: times without a policy are in it, too.
    yield element(heading, "In force")
    heads: Sequence[str] = ("from", "until", "version")
    yield table(f"{of}: in force", heads, _stretches(account))
    yield element(heading, "Open")
    heads = ("opened", "closed", "open for", "version", "by")
    yield table(f"{of}: open", heads, _openings(account))
    yield element(heading, "Overrides")
    # An empty table would leave open whether something is missing.
    if not account.overrides:
        yield element("p", "None.")
        return
    heads = (
        "override",
        "state",
        "reason",
        "made",
        "by",
        "changed or ended",
        "by",
        "in force",
    )
    yield table(f"{of}: overrides", heads, _overrides(account))


def _versions(account: Account) -> Iterator[list[Child]]:
    for each in account.revisions:
        # Here in full for each, as a page is kept, and read years later.
        state = STATES[each.state]
        words = "; ".join((state, *each.problems))
        if each.behind:
            words += "; its commit time is before that of the previous version"
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
        yield [
            _time(account, each.begins),
            _time(account, each.ends),
            version,
        ]


def _openings(account: Account) -> Iterator[list[Child]]:
    for each in account.openings:
        length = span(each.ends - each.begins)
        yield [
            _time(account, each.begins),
            _time(account, each.ends),
            # Its class keeps it on one line (`assets/past.css`).
            element("td", length, class_="length"),
            _name(each.revision),
            element("code", ", ".join(each.rules)),
        ]


def _overrides(account: Account) -> Iterator[list[Child]]:
    for each in account.overrides:
        yield [
            element("code", each.rule.key),
            each.rule.state or "",
            "; ".join(filter(None, (each.rule.reason, asked(each)))),
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
    commit = revision.commit
    yield f"{commit.author} in {commit.name[:COMMIT]}"


def _spans(account: Account, override: Override) -> Child:
    if not override.spans:
        return "never in this period"
    found = []
    for begins, ends in override.spans:
        first = shown(begins, account.zone)
        last = shown(ends, account.zone)
        found.append(f"{first} to {last}")
    return "; ".join(found)


def _name(revision: Revision) -> Element:
    return element("code", revision.commit.name[:COMMIT])


def _time(account: Account, at: datetime) -> Element:
    # For the eye the policy's clock, for programs the offset, too (HTML, 4.5.14).
    zone = account.zone
    return element("time", shown(at, zone), datetime=stamp(at, zone))

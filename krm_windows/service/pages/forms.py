"""Forms: what somebody typed, and what was found of it, beside the field that it is about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

from krm_windows.edit.proposal import Proposal
from krm_windows.preview.difference import Difference, alike
from krm_windows.results import Result, Severity
from krm_windows.service.admission import Call
from krm_windows.service.pages.rendering import page, policy_url
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Change, Order, Outcome
from krm_windows.system.git_branch import Entry

# Commits that are looked through for what changed meanwhile.
_COMMITS = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence about a field, or about none; `severity` is of the result it comes from."""

    message: str
    severity: Severity = Severity.ERROR
    rule: str = ""


@dataclass(slots=True)
class Form:
    """What a form shows: its texts, what was found of each, and what else is to be said.

    `was` are the texts as the form began: what differs is what somebody typed. `etag` is the
    version of the policy then, and `seen` the commit that last changed its file; both are empty
    for a form whose change holds for any version.
    """

    texts: dict[str, str]
    was: dict[str, str] = field(default_factory=dict)
    etag: str = ""
    seen: str = ""
    found: dict[str, list[Found]] = field(default_factory=dict)
    general: list[Found] = field(default_factory=list)
    meanwhile: tuple[Entry, ...] = ()
    is_conflict: bool = False

    def add(self, name: str, message: str) -> None:
        """Say that a field is wrong."""
        self.found.setdefault(name, []).append(Found(message))

    @property
    def fails(self) -> bool:
        """Whether anything is an error."""
        every = [*self.general]
        for found in self.found.values():
            every += found
        # A warning keeps nobody from saving: it is shown, as `check` shows it.
        return any(each.severity is Severity.ERROR for each in every)

    def place(self, results: Iterable[Result], paths: Mapping[str, str]) -> None:
        """Put results beside the fields that they are about; `paths` has the fields' names."""
        for result in results:
            found = Found(result.message, result.severity, result.rule)
            # `spec.windows.week.closes` stands beside the field `closes`.
            name = paths.get(result.path)
            if name is not None:
                self.found.setdefault(name, []).append(found)
                continue
            # The form has no field for it: with its path, as messages begin behind one.
            where = result.path or "the policy"
            message = f"{where} {result.message}"
            self.general.append(Found(message, found.severity, found.rule))


def latest(call: Call, stored: Stored) -> str:
    """Return the commit that last changed a policy's file."""
    return next((entry.commit for entry in call.windows.history(stored, 1)), "")


def since(call: Call, stored: Stored, seen: str) -> tuple[Entry, ...]:
    """Return the commits that changed a policy's file after one that somebody has seen."""
    found: list[Entry] = []
    # Newest first: up to the one that was the newest when the form was loaded.
    # A commit that is not among the latest is so old that all of them are news.
    for entry in call.windows.history(stored, _COMMITS):
        if entry.commit == seen:
            break
        found.append(entry)
    return tuple(found)


def differences(proposal: Proposal) -> list[list[Difference]]:
    """Return the hours that a change moves, clusters that are alike together; without the rest."""
    # Of a thousand clusters, those that the change leaves alone are not named.
    changed = [each for each in proposal.differences if each.changes]
    return alike(changed)


def try_change(call: Call, form: Form, change: Change, order: Order) -> Outcome | None:
    """Make a change; None where it was refused, which the form then says."""
    try:
        outcome = call.writer.change(call.place, change, order)
    except Problem as problem:
        # 412: the form shows what somebody else did, and goes on from there.
        if problem.status is HTTPStatus.PRECONDITION_FAILED:
            form.is_conflict = True
            return None
        # What is wrong with the change itself is found, and placed, when it is previewed.
        if problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            form.general.append(Found(problem.detail))
        return None
    # The line of the log names the commit, as the page does.
    call.note(outcome)
    return outcome


def done(call: Call, outcome: Outcome) -> Response:
    """Lead to the policy, which names the commit; or to the pull request, where it was proposed."""
    place = outcome.place
    if outcome.branch is not None:
        return page(call, "proposed.html", {"outcome": outcome, "link": _link(outcome)})
    # Sent again as GET, so that a reload changes nothing twice (RFC 9110, 15.4.4).
    url = policy_url(place.namespace, place.name, file=place.file, saved=outcome.commit)
    return RedirectResponse(url, HTTPStatus.SEE_OTHER.value)


def _link(outcome: Outcome) -> str:
    """Return the address of a pull request, empty where it is none that a browser may follow."""
    # Some program printed it: `javascript:` is an address, too.
    address = outcome.pull_request or ""
    try:
        parts = urlsplit(address)
    except ValueError:
        # A bracket that is not closed, say: no browser could follow it, either.
        return ""
    if parts.scheme not in ("http", "https"):
        return ""
    return address

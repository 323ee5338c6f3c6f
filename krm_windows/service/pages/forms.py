"""Forms: what somebody typed, and what was found of it, beside the field that it is about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain

from starlette.responses import RedirectResponse, Response

from krm_windows.edit.proposal import Proposal
from krm_windows.results import Result, Severity
from krm_windows.service.admission import Call
from krm_windows.service.pages.rendering import page, policy_url
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Change, Order, Outcome


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence about a field, or about none."""

    message: str
    severity: Severity = Severity.ERROR


@dataclass(slots=True)
class Form:
    """What a form shows: its texts, what was found of each, and what else is to be said.

    `was` are the texts as the form began: what differs is what somebody typed. `etag` is the
    version of the policy then, empty for a form whose change holds for any version.
    """

    texts: dict[str, str]
    was: dict[str, str] = field(default_factory=dict)
    etag: str = ""
    found: dict[str, list[Found]] = field(default_factory=dict)
    general: list[Found] = field(default_factory=list)
    is_conflict: bool = False

    def add(self, name: str, message: str) -> None:
        """Say that a field is wrong."""
        self.found.setdefault(name, []).append(Found(message))

    @property
    def fails(self) -> bool:
        """Whether anything is an error."""
        # A warning keeps nobody from saving: it is shown, as `check` shows it.
        every = chain(self.general, *self.found.values())
        return any(each.severity is Severity.ERROR for each in every)

    @property
    def status(self) -> HTTPStatus:
        """The status of the form's page, for programs and for who watches them."""
        if self.is_conflict:
            return HTTPStatus.CONFLICT
        return HTTPStatus.UNPROCESSABLE_ENTITY if self.fails else HTTPStatus.OK

    def place(self, results: Iterable[Result], path: str, fields: Mapping[str, str]) -> None:
        """Put results beside the fields that they are about.

        The policy, or the patch of a cluster, has what the fields say at a path, such as
        `windows.week`; below it, `fields` has their names.
        """
        for result in results:
            _, is_below, name = result.path.partition(path)
            beside = fields.get(name.removeprefix("."))
            if is_below and beside is not None:
                found = Found(result.message, result.severity)
                self.found.setdefault(beside, []).append(found)
                continue
            # The form has no field for it: with its path, as messages begin behind one.
            message = f"{result.path or 'the policy'} {result.message}"
            self.general.append(Found(message, result.severity))


def preview(
    call: Call, form: Form, stored: Stored, change: Change, order: Order
) -> Proposal | None:
    """Work out what would come of a change; None where the form then says why that cannot be."""
    try:
        return call.writer.preview(stored, change, order)
    except Problem as problem:
        form.general.append(Found(problem.detail))
        return None


def try_change(call: Call, form: Form, change: Change, order: Order) -> Outcome | None:
    """Make a change; None where it was refused, which the form then says."""
    try:
        outcome = call.writer.change(call.place, change, order)
    except Problem as problem:
        # 412: the form shows what somebody else did, and goes on from there.
        form.is_conflict = problem.status is HTTPStatus.PRECONDITION_FAILED
        # What is wrong with the change itself is found, and placed, when it is previewed.
        if not form.is_conflict and problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            form.general.append(Found(problem.detail))
        return None
    # The line of the log names the commit, as the page does.
    call.note(outcome)
    return outcome


def done(call: Call, outcome: Outcome) -> Response:
    """Lead to the policy, which names the commit; or to the pull request, where it was proposed."""
    place = outcome.place
    if outcome.branch is not None:
        # Some program printed it: `javascript:` is an address, too.
        address = outcome.pull_request or ""
        link = address if address.startswith(("https://", "http://")) else ""
        return page(call, "proposed.html", {"outcome": outcome, "link": link})
    # Sent again as GET, so that a reload changes nothing twice (RFC 9110, 15.4.4).
    url = policy_url(place.namespace, place.name, file=place.file, saved=outcome.commit)
    return RedirectResponse(url, HTTPStatus.SEE_OTHER.value)

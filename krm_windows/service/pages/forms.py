"""Forms: what somebody typed, what was found of it beside its fields, and what would come of it.

A form makes a change, which is previewed and saved as any other. What keeps it from being saved is
said in the form, with all that was typed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain

from starlette.responses import RedirectResponse, Response

from krm_windows.edit.proposal import Proposal
from krm_windows.preview.difference import alike
from krm_windows.results import Result, Severity
from krm_windows.service.admission import Call
from krm_windows.service.pages.rendering import here, page, policy_url
from krm_windows.service.pages.scope import EVERYWHERE, Where
from krm_windows.service.problems import Problem
from krm_windows.service.writing import DAYS, Change, Order, WriteOutcome, found_of


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence about a field, or about none."""

    message: str
    severity: Severity = Severity.ERROR


@dataclass(slots=True)
class Form:
    """A form: its texts, what was found of each, and what else is to be said.

    What it changes is at a `path` of the policy, or of the patch of a cluster, such as
    `windows.week`; `fields` are the fields of the form by the names below it, and by the rules
    about the whole. `where` says on which clusters. `action` is `preview` or `save`, and empty for
    a form as it begins.
    """

    texts: dict[str, str]
    action: str = ""
    path: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    where: Where = EVERYWHERE
    found: dict[str, list[Found]] = field(default_factory=dict)
    general: list[Found] = field(default_factory=list)
    is_conflict: bool = False
    proposal: Proposal | None = None

    def __post_init__(self) -> None:
        """Say what is still to be chosen."""
        if self.where.wrong:
            self.add("scope", self.where.wrong)

    def add(self, name: str, message: str, severity: Severity = Severity.ERROR) -> None:
        """Say something of a field."""
        self.found.setdefault(name, []).append(Found(message, severity))

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

    def save(self, call: Call, change: Change, order: Order) -> Response | None:
        """Make a change; None where the form says why it is not made."""
        try:
            outcome = call.writer.change(call.place, change, order)
        except Problem as problem:
            # 412: the form shows what somebody else did, and goes on from there.
            self.is_conflict = problem.status is HTTPStatus.PRECONDITION_FAILED
            # What is wrong with the change itself is found, and placed, when it is previewed.
            if not self.is_conflict and problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
                self.general.append(Found(problem.detail))
            return None
        # The line of the log names the commit, as the page does.
        call.note(outcome)
        if outcome.commit is not None:
            return done(call, outcome)
        self.general.append(Found("There is nothing to save: the policy already says this."))
        return None

    def preview(self, call: Call, change: Change, order: Order) -> None:
        """Work out what would come of a change, and put what is found beside the fields."""
        try:
            self.proposal = call.writer.preview(call.stored(), change, order)
        except Problem as problem:
            self.general.append(Found(problem.detail))
            return
        for result in found_of(self.proposal, order):
            self._place(result)

    def _place(self, result: Result) -> None:
        _, is_below, below = result.path.partition(self.path)
        name = below.removeprefix(".")
        # What is about the whole may be about its name.
        beside = self.fields.get(name or result.rule, self.fields.get(name))
        if is_below and beside:
            self.add(beside, result.message, result.severity)
            return
        # The form has no field for it: with its path, as messages begin behind one.
        message = f"{result.path or 'the policy'} {result.message}"
        self.general.append(Found(message, result.severity))

    def page(self, call: Call, template: str, **values: object) -> Response:
        """Answer with the form."""
        # Of a thousand clusters, those that the change leaves alone are not named.
        differences = self.proposal.differences if self.proposal is not None else []
        shown = {
            "stored": call.stored(),
            "here": here(call),
            "cluster": call.cluster,
            "form": self,
            "changes": alike([each for each in differences if each.changes]),
            "days": DAYS,
        }
        return page(call, template, {**shown, **values}, self.status)


def done(call: Call, outcome: WriteOutcome) -> Response:
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

"""Forms: what somebody typed, what was found of it beside its fields, and what would come of it.

A form makes a change, which is previewed and saved as any other. What keeps it from being saved is
said in the form, with all that was typed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import chain

from starlette.responses import RedirectResponse, Response

from krm_windows.edit.proposal import Proposal
from krm_windows.plan import clocks
from krm_windows.preview.difference import alike
from krm_windows.results import Result, Severity
from krm_windows.service.admission import Call
from krm_windows.service.pages.rendering import here, page
from krm_windows.service.pages.scope import EVERYWHERE, Where
from krm_windows.service.pages.spans import Instead, Lack
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Change, Order, WriteOutcome, entity_tag, found_of

REASON = "Give a reason in one line; it becomes the commit message."
# A rule of a policy, or of one cluster, in the path of a finding.
_RULE = re.compile(r"spec\.(?:clusters\.(.+?)\.)?(window|freeze|override)s\.([^.]+)")
# What a message names as a file does.
_ENTRY = re.compile(r"(?<![\w./-])(?:spec\.)?(window|freeze|override)s\.(?=[a-z0-9])")
_FIELD = re.compile(r"`([a-zA-Z]+)`")
_CAPITAL = re.compile("[A-Z]")
# What is wrong with a cluster's patch only together with the policy.
_TOGETHER = re.compile(r"results in an invalid policy: spec\.(\S+) ")


@dataclass(frozen=True, slots=True)
class Found:
    """A sentence about a field, or about none, and what a button offers `instead`.

    `end` is the address at which what is in the way is ended.
    """

    message: str
    severity: Severity = Severity.ERROR
    instead: Instead | None = None
    end: str = ""


@dataclass(slots=True)
class Form:
    """A form: its texts, what was found of each, and what else is to be said.

    What it changes is at a `path` of the policy, or of the patch of a cluster, such as
    `windows.week`; `fields` are the fields of the form by the names below it, and by the rules
    about the whole; `words` are sentences in place of a rule's own. `where` says on which clusters.
    `action` is `preview` or `save`, and empty for a form as it begins.
    """

    texts: dict[str, str]
    action: str = ""
    path: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    where: Where = EVERYWHERE
    words: Mapping[str, str] = field(default_factory=dict)
    found: dict[str, list[Found]] = field(default_factory=dict)
    general: list[Found] = field(default_factory=list)
    is_conflict: bool = False
    is_incomplete: bool = False
    proposal: Proposal | None = None

    def __post_init__(self) -> None:
        """Say what is still to be chosen."""
        if self.where.wrong:
            self.lacks(Lack("scope", self.where.wrong))

    def add(self, name: str, message: str, end: str = "") -> None:
        """Say what is wrong with a field, and where what is in its way is ended."""
        self._add(name, Found(message, end=end))

    def lacks(self, lack: Lack) -> None:
        """Say what a field lacks; while somebody types, what is empty is no error yet."""
        if self.action != "save" and not self.texts.get(lack.field):
            self.is_incomplete = True
            return
        self._add(lack.field, Found(lack.message, instead=lack.instead))

    def _add(self, name: str, found: Found) -> None:
        every = self.found.setdefault(name, [])
        # Of many clusters it is said once.
        if found not in every:
            every.append(found)

    @property
    def fails(self) -> bool:
        """Whether anything is an error."""
        return _fail(chain(self.general, *self.found.values()))

    def is_wrong(self, name: str) -> bool:
        """Whether anything that was found of a field is an error."""
        return _fail(self.found.get(name, []))

    @property
    def status(self) -> HTTPStatus:
        """The status of the form's page, for programs and for who watches them."""
        if self.is_conflict:
            return HTTPStatus.CONFLICT
        return HTTPStatus.UNPROCESSABLE_ENTITY if self.fails else HTTPStatus.OK

    def catch_up(self, call: Call, typed: dict[str, str], now: Mapping[str, str]) -> None:
        """Where somebody else changed the policy, say so, and go on from what it says `now`.

        What was left alone becomes theirs, and what was `typed` is kept.
        """
        stored, texts = call.stored(), self.texts
        if texts["etag"] == entity_tag(stored):
            return
        self.is_conflict = True
        for commit in call.windows.history(stored, 1):
            said = f"The last change is {commit.subject!r}, by {commit.by[0]}."
            self.general.append(Found(said, Severity.INFO))
        for name, text in now.items():
            # Three versions: as it was, as somebody else made it, as it was typed here.
            if typed[name] == texts[was(name)]:
                typed[name] = text
            elif text != texts[was(name)]:
                said = f"Someone changed this in the meantime: it is now {text or 'empty'!r}."
                self.add(self.fields[name], said)
            texts[was(name)] = text
        texts["etag"] = entity_tag(stored)

    def answer(self, call: Call, change: Change, order: Order) -> Response | None:
        """Save or preview a change; None where the form is to be shown, with what was found."""
        if self.action == "save" and not self.fails and not self.is_conflict:
            saved = self._save(call, change, order)
            if saved is not None:
                return saved
        # Without a reason, everything else that is wrong is said at once.
        others = [self.found[name] for name in self.found.keys() - {"reason", "why"}]
        if not _fail(chain(self.general, *others)) and not self.is_incomplete:
            self._preview(call, change, order)
        return None

    def _save(self, call: Call, change: Change, order: Order) -> Response | None:
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
            # The page of one cluster would show a part of several, and nothing of another.
            is_here = self.where.chosen in ((), (call.cluster,))
            return done(call if is_here else replace(call, cluster=None), outcome, self.path)
        said = "There is nothing to save: the policy already says this."
        self.general.append(Found(said, Severity.INFO))
        return None

    def _preview(self, call: Call, change: Change, order: Order) -> None:
        try:
            self.proposal = call.writer.preview(call.stored(), change, order)
        except Problem as problem:
            self.general.append(Found(problem.detail))
            return
        for result in found_of(self.proposal, order):
            self._place(result)

    def _place(self, result: Result) -> None:
        # The hours say what comes of it; what moves a form while somebody ticks is in their way.
        if result.severity is Severity.INFO:
            return
        _, is_below, below = result.path.partition(self.path)
        name = below.removeprefix(".")
        # What is about the whole may be about its name.
        beside = self.fields.get(name or result.rule, self.fields.get(name))
        if is_below and beside:
            message = self.words.get(result.rule, f"It {_cut(result.message)}.")
            proposed = result.field.proposed_value if result.field else None
            instead = Instead(beside, proposed, proposed) if proposed else None
            self._add(beside, Found(message, result.severity, instead))
            return
        # The form has no field for it.
        found = Found(_sentence(result, self.words.get(result.rule)), result.severity)
        if found not in self.general:
            self.general.append(found)

    def page(self, call: Call, template: str, **values: object) -> Response:
        """Answer with the form."""
        # Of a thousand clusters, those that the change leaves alone are not named.
        differences = self.proposal.differences if self.proposal is not None else []
        config = call.stored().config
        shown = {
            "stored": call.stored(),
            "here": here(call),
            "cluster": call.cluster,
            "form": self,
            "zone_of": {each: clocks.zone(config, each).key for each in self.where.clusters},
            "changes": alike([each for each in differences if each.changes]),
            "days": differences[0].days if differences else None,
        }
        return page(call, template, {**shown, **values}, self.status)


def _fail(every: Iterable[Found]) -> bool:
    # A warning keeps nobody from saving: it is shown, as `check` shows it.
    return any(each.severity is Severity.ERROR for each in every)


def was(name: str) -> str:
    """Return the hidden field with what a field of the policy was as the form began."""
    return f"was-{name}"


def taken(fields: Mapping[str, str], action: str) -> tuple[Mapping[str, str], str]:
    """Return what was sent with the suggestion that somebody took, which saves nothing yet."""
    name, is_taken, text = fields.get("use", "").partition("=")
    return ({**fields, name: text}, "preview") if is_taken else (fields, action)


def _sentence(result: Result, words: str | None) -> str:
    """Say a finding without paths: `The window week on berlin must …`."""
    path, message = result.path, result.message
    together = _TOGETHER.match(message)
    if together:
        path, message = f"{path}.{together[1]}", message[together.end() :]
    rule = _RULE.match(path)
    cluster, kind, name = rule.groups() if rule else ("", "", "policy")
    subject = " ".join(filter(None, ("The", kind, name, cluster and f"on {cluster}")))
    return f"{subject}: {words}" if words else f"{subject} {_cut(message)}."


def _cut(message: str) -> str:
    """Return what is wrong without names of fields: `cuts the window week`, `before open`."""
    # What was meant is on a button.
    said = _ENTRY.sub(r"the \1 ", message.partition("; did you mean")[0])
    return _FIELD.sub(lambda name: _CAPITAL.sub(r" \g<0>", name[1]).lower(), said)


def moment(texts: Mapping[str, str], name: str) -> str:
    """Return what the pickers of a day and of a time say: a moment of a policy."""
    return "T".join(part for part in (texts[name], texts[f"{name}-time"]) if part)


def done(call: Call, outcome: WriteOutcome, changed: str = "") -> Response:
    """Lead to the policy, which names the commit; or to the pull request, where it was proposed.

    The page marks the rule that was `changed`, such as `windows.week`.
    """
    if outcome.branch is not None:
        # Some program printed it: `javascript:` is an address, too.
        address = outcome.pull_request or ""
        link = address if address.startswith(("https://", "http://")) else ""
        return page(call, "proposed.html", {"outcome": outcome, "link": link})
    # Sent again as GET, so that a reload changes nothing twice (RFC 9110, 15.4.4).
    saved = f"{outcome.commit or ''} {changed}".strip()
    url = here(call)(cluster=call.cluster, saved=saved)
    return RedirectResponse(url, HTTPStatus.SEE_OTHER.value)

"""The form that opens or closes for a while, with a preview; and how that ends."""

from functools import partial
from typing import Annotated

from fastapi import Query
from pydantic import ValidationError
from starlette.responses import Response

from krm_windows.edit import overrides
from krm_windows.edit.overrides import OverrideRequest
from krm_windows.plan import clocks
from krm_windows.service import models, routing
from krm_windows.service.admission import Call, Fields, OverrideCluster, OverridePolicy, ReadPolicy
from krm_windows.service.pages import forms
from krm_windows.service.pages.forms import Form
from krm_windows.service.problems import bad_request
from krm_windows.service.writing import Order

_OVERRIDE = "/ui/policies/{namespace}/{name}/override"
router = routing.pages()
FIELDS = ("state", "for", "until", "reason", "ticket", "requestedBy", "cluster")
"""The fields of the form."""
# So many fit a list to choose from; of more, the name is typed.
MOST_CHOICES = 100
# By the field of the policy that has what a field of the form says.
_PLACES = {name: name for name in FIELDS} | {"ends": "until"}
# What is wrong with a field in the words of a person who has never seen a policy.
_WRONG = {
    "state": "Choose whether to open or to close.",
    "for": "Give a duration such as 2h or 1h30m, or an end below, and leave the other empty.",
    "reason": "Give a reason in one line; everyone who waits can read it.",
}


@router.get(_OVERRIDE)
def show_override_form(call: OverrideCluster, state: Annotated[str, Query()] = "open") -> Response:
    """Show the form."""
    first = {"state": state, "cluster": call.cluster or "", "requestedBy": call.caller.person.name}
    return _page(call, Form({**dict.fromkeys(FIELDS, ""), **first}))


# Apart from making it: it changes nothing, so that no line of the log says it did.
@router.post(f"{_OVERRIDE}/preview")
def preview_override(call: ReadPolicy, fields: Fields) -> Response:
    """Say what would come of an override."""
    return _answer(call, fields, "preview")


@router.post(_OVERRIDE)
def make_override(call: OverridePolicy, fields: Fields) -> Response:
    """Make an override, or say why not."""
    return _answer(call, fields, "save")


@router.post(f"{_OVERRIDE}/end")
def end_override_on_page(call: OverrideCluster, fields: Fields) -> Response:
    """End an override, or take one away that is over."""
    # In a field and not in the path: a name may be any key of YAML.
    name = fields.get("override", "")
    if not name:
        raise bad_request("the form does not name the override to end")
    change = partial(overrides.ended, name=name, cluster=call.cluster)
    # Ended in a hurry, as it was made: the message says what and where.
    reason = f"End override {name} of {call.place.title}"
    order = Order(call.caller, reason, urgent=True, override=name)
    outcome = call.writer.change(call.place, change, order)
    call.note(outcome)
    return forms.done(call, outcome)


def _answer(call: Call, sent: dict[str, str], action: str) -> Response:
    texts = {name: sent.get(name, "").strip() for name in FIELDS}
    now = call.windows.now()
    # By the minute: pressed twice, the second finds the name taken, and nothing happens twice.
    name = overrides.default_name(texts["state"], now)
    form = Form(texts, action, f"overrides.{name}", _PLACES)
    # An unknown one is a problem, and said to be one.
    call.windows.evaluator.check(call.stored(), texts["cluster"] or None)
    request = _request(form, name)
    if request is not None:
        change = partial(overrides.made, request=request, at=now)
        order = Order(call.caller, request.reason, urgent=True, override=name)
        if action == "save":
            made = form.save(call, change, order)
            if made is not None:
                return made
        form.preview(call, change, order)
    return _page(call, form)


def _request(form: Form, name: str) -> OverrideRequest | None:
    """Return the override that the form asks for; None where the form says what is wrong."""
    given = {name: text for name, text in form.texts.items() if text}
    # While somebody types, the reason is still to come.
    if form.action == "preview":
        given.setdefault("reason", "-")
    try:
        asked = models.Override.model_validate(given)
    except ValidationError as error:
        for each in error.errors():
            # What is about no field is about both that say when it ends.
            field = str((*each["loc"], "for")[0])
            form.add(field, _WRONG.get(field, each["msg"]))
        return None
    return asked.request(asked.requested_by, name=name)


def _page(call: Call, form: Form) -> Response:
    config, cluster = call.stored().config, form.texts["cluster"]
    # Whose clock shows a time that is typed.
    zone = overrides.zone_of_ends(config, None).key
    clock = f"All times are in {zone}."
    if len(clocks.of_clusters(config)) > 1:
        example = f" ({cluster}: {clocks.zone(config, cluster).key})" if cluster else ""
        clock = (
            f"A time without an offset is in the time zone of the chosen cluster{example}; "
            f"for all clusters, in {zone}."
        )
    return form.page(
        call,
        "override.html",
        clusters=call.windows.evaluator.clusters(call.stored()),
        most_choices=MOST_CHOICES,
        clock=clock,
    )

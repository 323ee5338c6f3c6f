"""The form that changes a window: a preview of the hours, then one commit."""

from http import HTTPStatus

from starlette.responses import Response

from krm_windows.edit.patches import patched, patched_cluster
from krm_windows.edit.proposal import Proposal
from krm_windows.krm import KubeObject, Value
from krm_windows.krm.merge_patch import merge
from krm_windows.plan import clocks
from krm_windows.preview.difference import alike
from krm_windows.results import Severity
from krm_windows.service import parameters, routing
from krm_windows.service.admission import Call, Fields, ReadWindow, WriteWindow
from krm_windows.service.pages import forms, policy
from krm_windows.service.pages.forms import Form, Found
from krm_windows.service.pages.rendering import page
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, bad_request
from krm_windows.service.writing import DAYS, Change, Order, entity_tag, found_of

_WINDOW = "/ui/policies/{namespace}/{name}/window"
router = routing.pages()
FIELDS = ("opens", "closes", "duration", "description")
"""The fields of a window that the form changes."""
# A finding about the window as a whole is most often about its end.
_PLACES = {name: name for name in FIELDS} | {"": "closes"}


@router.get(_WINDOW)
def show_window_form(call: WriteWindow) -> Response:
    """Show the form with the window as it is."""
    stored = call.stored()
    texts = _texts(call, stored, call.window)
    # Without a name it is the form of a window that is not there yet.
    if call.window and not any(texts.values()):
        raise Problem(HTTPStatus.NOT_FOUND, f"{stored.title} has no window {call.window!r}")
    form = Form({"reason": "", "name": call.window, **texts}, texts, _tag(stored))
    return _answer(call, stored, form, None)


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_WINDOW}/preview")
def preview_window(call: ReadWindow, fields: Fields) -> Response:
    """Say what would come of the change."""
    stored = call.stored()
    form = _sent_form(call, stored, fields)
    proposal = _preview(call, stored, form)
    return _answer(call, stored, form, proposal, "preview")


@router.post(_WINDOW)
def save_window(call: WriteWindow, fields: Fields) -> Response:
    """Save the change, or say why not."""
    stored = call.stored()
    form = _sent_form(call, stored, fields)
    try:
        form.texts["reason"] = parameters.line(form.texts["reason"])
    except ValueError:
        form.add("reason", "Give a reason in one line; it becomes the commit message.")
    if not form.fails:
        # Only the version that the form was made from is changed (RFC 9110, 13.1.1).
        order = Order(call.caller, form.texts["reason"], if_match=form.etag)
        outcome = forms.try_change(call, form, _change(call, form), order)
        if outcome is not None and outcome.commit is not None:
            return forms.done(call, outcome)
        if outcome is not None:
            form.general.append(Found("There is nothing to save: the policy already says this."))
    # Read again: another commit may be what was in the way.
    stored = call.stored()
    if form.is_conflict:
        _take_over(call, stored, form)
    proposal = _preview(call, stored, form)
    return _answer(call, stored, form, proposal, "save")


def _sent_form(call: Call, stored: Stored, sent: dict[str, str]) -> Form:
    texts = {name: sent.get(name, "").strip() for name in (*FIELDS, "reason", "remove", "name")}
    was = {name: sent.get(f"was-{name}", "") for name in FIELDS}
    form = Form(texts, was, sent.get("etag", ""))
    if not form.etag:
        raise bad_request("the form has no version of the policy")
    # A window that is there keeps its name: another one would be another window.
    texts["name"] = call.window or texts["name"]
    if not texts["name"]:
        form.add("name", "A window needs a name, such as working-week.")
    elif not call.window and any(_texts(call, stored, texts["name"]).values()):
        form.add("name", "A window with this name already exists.")
    return form


def _preview(call: Call, stored: Stored, form: Form) -> Proposal | None:
    """Work out what would come of the change, and put what is found beside the fields."""
    # Under no name, or another's, there is nothing to compare.
    if form.found.get("name"):
        return None
    order = Order(call.caller)
    proposal = forms.preview(call, form, stored, _change(call, form), order)
    if proposal is not None:
        form.place(found_of(proposal, order), f"windows.{form.texts['name']}", _PLACES)
    return proposal


def _change(call: Call, form: Form) -> Change:
    # Null takes it out; on one cluster, it takes out what the policy has for all.
    window: Value = None
    if not form.texts.get("remove"):
        # What they left alone may have changed; what is empty is taken out (RFC 7386).
        typed = {name: form.texts[name] for name in FIELDS if form.texts[name] != form.was[name]}
        window = {name: text or None for name, text in typed.items()}
    part: Value = {"windows": {form.texts["name"]: window}}

    def change(config: KubeObject) -> KubeObject:
        if call.cluster is None:
            return patched(config, {"spec": part})
        return patched_cluster(config, call.cluster, part)

    return change


def _take_over(call: Call, stored: Stored, form: Form) -> None:
    """Begin again from the version that is there now, and keep what was typed."""
    for entry in call.windows.history(stored, 1):
        subject = entry.message.partition("\n")[0]
        said = f"The last change is {subject!r}, by {entry.author.name}."
        form.general.append(Found(said, Severity.INFO))
    now = _texts(call, stored, form.texts["name"])
    for name in FIELDS:
        # Three versions: as it was, as somebody else made it, as it was typed here.
        if form.texts[name] == form.was[name]:
            form.texts[name] = now[name]
        elif now[name] != form.was[name]:
            said = f"Someone changed this in the meantime: it is now {now[name] or 'empty'!r}."
            form.add(name, said)
    form.was = now
    form.etag = _tag(stored)


def _texts(call: Call, stored: Stored, window: str) -> dict[str, str]:
    """Return the fields of a window as the file has them, on a cluster with what it changes."""
    spec = stored.config.get("spec")
    if call.cluster is not None:
        spec = merge(spec, stored.config.get("spec", "clusters", call.cluster) or {})
    found = _at(_at(spec, "windows"), window)
    # Numbers and dates of YAML are texts here, as the file has them.
    texts = {name: _at(found, name) for name in FIELDS}
    return {name: "" if text is None else str(text).strip() for name, text in texts.items()}


def _at(value: Value, name: str) -> Value:
    # The file may hold anything: a list of windows, or a text.
    return value.get(name) if isinstance(value, dict) else None


def _clock(stored: Stored, cluster: str | None) -> str:
    """Say whose clock shows the times of a window."""
    zones = clocks.of_clusters(stored.config)
    if cluster is None and len(zones) > 1:
        return f"All times are on each cluster's own clock, in {len(zones)} time zones."
    zone = zones.pop() if cluster is None else clocks.zone(stored.config, cluster)
    return f"All times are in {zone.key}."


def _answer(
    call: Call, stored: Stored, form: Form, proposal: Proposal | None, action: str = ""
) -> Response:
    # Without a proposal, the form says why. Of a thousand clusters, those that the change leaves
    # alone are not named.
    moved = [each for each in proposal.differences if each.changes] if proposal else []
    values = {
        "stored": stored,
        "cluster": call.cluster,
        "window": call.window,
        "form": form,
        "action": action,
        "proposal": proposal,
        "changes": alike(moved),
        "clock": _clock(stored, call.cluster),
        "days": DAYS,
        "here": policy.here(call, stored),
    }
    return page(call, "window.html", values, form.status)


def _tag(stored: Stored) -> str:
    return entity_tag(stored, json=False)

"""The form that changes a window: a preview of the hours, then one commit."""

from http import HTTPStatus

from starlette.responses import Response

from krm_windows.edit.patches import patched, patched_cluster
from krm_windows.edit.proposal import Proposal
from krm_windows.krm import EditError, InputError, KubeObject, Value
from krm_windows.krm.merge_patch import merge
from krm_windows.plan import clocks
from krm_windows.service import parameters, permissions, routing
from krm_windows.service.admission import Call, ReadWindow, WriteWindow
from krm_windows.service.pages import forms, policy
from krm_windows.service.pages.forms import Form, Found
from krm_windows.service.pages.rendering import page
from krm_windows.service.policies import Stored
from krm_windows.service.problems import Problem, bad_request
from krm_windows.service.writing import Change, Order, Outcome, entity_tag

_WINDOW = "/ui/policies/{namespace}/{name}/window"
router = routing.pages()
FIELDS = ("opens", "closes", "duration", "description")
"""The fields of a window that the form changes."""


@router.get(_WINDOW)
async def show_window_form(call: WriteWindow) -> Response:
    """Show the form with the window as it is."""
    stored = call.stored()
    window = call.window
    texts = _texts(stored, window, call.cluster)
    # Without a name it is the form of a window that is not there yet.
    if window and not any(texts.values()):
        raise Problem(HTTPStatus.NOT_FOUND, f"{stored.title} has no window {window!r}")
    # What the form begins from: whatever comes after it has happened meanwhile.
    seen = await call.run(forms.latest, call, stored)
    form = Form({"reason": "", "name": window, **texts}, texts, _tag(stored), seen)
    return _answer(call, stored, form, None)


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_WINDOW}/preview")
async def preview_window(call: ReadWindow) -> Response:
    """Say what would come of the change."""
    stored = call.stored()
    form = _sent_form(call, stored, await call.form())
    proposal = await call.run(_preview, call, stored, form)
    return _answer(call, stored, form, proposal, "preview")


@router.post(_WINDOW)
async def save_window(call: WriteWindow) -> Response:
    """Save the change, or say why not."""
    stored = call.stored()
    form = _sent_form(call, stored, await call.form())
    _check_reason(form)
    if not form.fails:
        outcome = await call.run(_save, call, form)
        if outcome is not None and outcome.commit is not None:
            return forms.done(call, outcome)
        if outcome is not None:
            form.general.append(Found("There is nothing to save: the policy already says this."))
    # Read again: another commit may be what was in the way.
    stored = call.stored()
    if form.is_conflict:
        await call.run(_take_over, call, stored, form)
    proposal = await call.run(_preview, call, stored, form)
    return _answer(call, stored, form, proposal, "save")


def _sent_form(call: Call, stored: Stored, sent: dict[str, str]) -> Form:
    texts = {name: sent.get(name, "").strip() for name in (*FIELDS, "reason", "remove")}
    # A window that is there keeps its name: another one would be another window.
    texts["name"] = call.window or sent.get("name", "").strip()
    was = {name: sent.get(f"was-{name}", "") for name in FIELDS}
    etag = sent.get("etag", "")
    if not etag:
        raise bad_request("the form has no version of the policy")
    form = Form(texts, was, etag, sent.get("seen", ""))
    if not texts["name"]:
        form.add("name", "A window needs a name, such as working-week.")
    elif not call.window and any(_texts(stored, texts["name"], call.cluster).values()):
        form.add("name", "A window with this name already exists.")
    return form


def _check_reason(form: Form) -> None:
    try:
        form.texts["reason"] = parameters.line(form.texts["reason"])
    except ValueError:
        form.add("reason", "Give a reason in one line; it becomes the commit message.")


def _save(call: Call, form: Form) -> Outcome | None:
    # Only the version that the form was made from is changed (RFC 9110, 13.1.1).
    order = Order(call.caller, form.texts["reason"], if_match=form.etag)
    return forms.try_change(call, form, _change(call, form), order)


def _preview(call: Call, stored: Stored, form: Form) -> Proposal | None:
    """Work out what would come of the change, and put what is found beside the fields."""
    # Under no name, or another's, there is nothing to compare.
    if form.found.get("name"):
        return None
    try:
        proposal = call.writer.preview(stored, _change(call, form), Order(call.caller))
    except Problem as problem:
        form.general.append(Found(problem.detail))
        return None
    form.place(proposal.results, _paths(call, form.texts["name"]))
    return proposal


def _change(call: Call, form: Form) -> Change:
    # Null takes it out; on one cluster, it takes out what the policy has for all.
    window: Value = None
    if not form.texts.get("remove"):
        window = _changed(form)
    return _with(call, form.texts["name"], window)


def _with(call: Call, name: str, window: Value) -> Change:
    cluster = call.cluster
    part: Value = {"windows": {name: window}}

    def change(config: KubeObject) -> KubeObject:
        if cluster is None:
            return patched(config, {"spec": part})
        return patched_cluster(config, cluster, part)

    return change


def _may_remove(call: Call, stored: Stored) -> bool:
    """Say whether the caller may remove the window: with it may go more than hours."""
    try:
        removed = _with(call, call.window, None)(stored.config)
        permissions.check(call.caller, stored.config, removed)
    except (Problem, InputError, EditError):
        return False
    return True


def _changed(form: Form) -> dict[str, Value]:
    """Return a merge patch of what somebody typed: what they left alone may have changed."""
    patch: dict[str, Value] = {}
    for name in FIELDS:
        text = form.texts[name]
        if text == form.was[name]:
            continue
        # What is empty is taken out (RFC 7386).
        patch[name] = text or None
    return patch


def _take_over(call: Call, stored: Stored, form: Form) -> None:
    """Begin again from the version that is there now, and keep what was typed."""
    form.meanwhile = forms.since(call, stored, form.seen)
    now = _texts(stored, form.texts["name"], call.cluster)
    for name in FIELDS:
        # Three versions: as it was, as somebody else made it, as it was typed here.
        if form.texts[name] == form.was[name]:
            form.texts[name] = now[name]
        elif now[name] != form.was[name]:
            said = f"Someone changed this in the meantime: it is now {now[name] or 'empty'!r}."
            form.add(name, said)
    form.was = now
    form.etag = _tag(stored)
    form.seen = forms.latest(call, stored)


def _texts(stored: Stored, window: str, cluster: str | None) -> dict[str, str]:
    """Return the fields of a window as the file has them, on a cluster with what it changes."""
    spec = stored.config.get("spec")
    if cluster is not None:
        own = stored.config.get("spec", "clusters", cluster)
        if own is not None:
            spec = merge(spec, own)
    found = _at(_at(spec, "windows"), window)
    texts: dict[str, str] = {}
    # Numbers and dates of YAML are texts here, as the file has them.
    for name in FIELDS:
        text = _at(found, name)
        texts[name] = ""
        if text is not None:
            texts[name] = str(text).strip()
    return texts


def _at(value: Value, name: str) -> Value:
    # The file may hold anything: a list of windows, or a text.
    if isinstance(value, dict):
        return value.get(name)
    return None


def _paths(call: Call, window: str) -> dict[str, str]:
    """Return the paths at which something may be found, with the field of the form they mean."""
    cluster = call.cluster
    places = [f"spec.windows.{window}"]
    # What a cluster changes is found at its own entry, or at the policy's that it is merged with.
    if cluster is not None:
        places.append(f"spec.clusters.{cluster}.windows.{window}")
    paths: dict[str, str] = {}
    for place in places:
        # A finding about the window as a whole is most often about its end.
        paths[place] = "closes"
        for name in FIELDS:
            paths[f"{place}.{name}"] = name
    return paths


def _clock(stored: Stored, cluster: str | None) -> str:
    """Say whose clock shows the times of a window."""
    zones = clocks.of_clusters(stored.config)
    if cluster is None and len(zones) > 1:
        return f"All times are on each cluster's own clock, in {len(zones)} time zones."
    zone = zones.pop() if cluster is None else clocks.zone(stored.config, cluster)
    return f"All times are in {zone.key}."


def _answer(
    call: Call,
    stored: Stored,
    form: Form,
    proposal: Proposal | None,
    action: str = "",
) -> Response:
    status = HTTPStatus.OK
    # The page is the same; the status is for programs, and for who watches them.
    if form.is_conflict:
        status = HTTPStatus.CONFLICT
    elif form.fails:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    changes: list[object] = []
    # Without a proposal, the form says why.
    if proposal is not None:
        changes = list(forms.differences(proposal))
    values = {
        "stored": stored,
        "cluster": call.cluster,
        "window": call.window,
        "may_remove": _may_remove(call, stored),
        "form": form,
        "action": action,
        "proposal": proposal,
        "changes": changes,
        "clock": _clock(stored, call.cluster),
        "days": call.windows.settings.days_compared,
        "here": policy.here(call, stored),
    }
    return page(call, "window.html", values, status)


def _tag(stored: Stored) -> str:
    return entity_tag(stored, json=False)

"""The form that changes a window: a preview of the hours, then one commit."""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows import rules
from krm_windows.edit.patches import patched
from krm_windows.krm import KubeObject, Value
from krm_windows.krm.merge_patch import merge
from krm_windows.plan import clocks
from krm_windows.results import Severity
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import forms, scope, spans
from krm_windows.service.pages.forms import Form, Found
from krm_windows.service.pages.spans import Lack, Span
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Change, Order, entity_tag

_WINDOW = "/ui/policies/{namespace}/{name}/window"
router = routing.pages()
FIELDS = ("opens", "closes", "duration", "description")
"""The fields of a window that the form changes."""
_LABELS = {"begins": "Opens", "ends": "Closes"}
# What is wrong with a window in the words of its form.
_WORDS = {
    rules.END_CHOICE.id: "Say when it closes, in one way.",
    rules.END_ORDER.id: "Closes must be after Opens.",
    rules.ENDS_MEET.id: "Closes must not be at the same minute as Opens.",
    rules.END_ONE_OFF.id: "What repeats cannot close on a date: choose another way.",
    rules.END_INSTANT.id: "Choose after how long it closes.",
    rules.WINDOW_SHORT.id: "It is so short that it may be over before changes come through.",
    rules.WINDOW_CLOSES_EARLY.id: "It is too short: the policy keeps so much free before each end.",
    rules.WINDOW_UNEQUAL.id: "It is open more than twice as long at some times as at others.",
    rules.WINDOW_NEVER_OPENS.id: "It is never open: look at its days, and at freezes.",
    rules.WINDOW_ALWAYS_OPEN.id: "It never closes: each time lasts until the next begins.",
    rules.OUTSIDE_WINDOWS.id: "It must have windows, or be open outside of windows, not both.",
    rules.NAME_SYNTAX.id: "Use small letters, digits and hyphens, such as working-week.",
}
# In the query and not in the path: a name may be any key of YAML.
_Window = Annotated[str, Query()]


@router.get(_WINDOW)
def show_window_form(
    call: WriteCluster, window: _Window = "", alike: Annotated[str, Query()] = ""
) -> Response:
    """Show the form with the window as it is, for a cluster or also for those `alike`."""
    stored, where = call.stored(), scope.offered(call)
    spec = stored.config.get("spec")
    texts = _texts(spec, call.cluster, window)
    # A cluster may have none where all the others have one.
    is_gone = not any(texts.values())
    texts = _texts(spec, None, window) if is_gone else texts
    # Without a name it is the form of a window that is not there yet.
    if window and not any(texts.values()):
        raise Problem(HTTPStatus.NOT_FOUND, f"{stored.title} has no window {window!r}")
    if alike:
        where = where.alike(stored.config, "windows", window)
    known = {"reason": "", "name": window, "etag": entity_tag(stored)}
    known["remove"] = "yes" if window and is_gone else ""
    return _page(call, Form({**known, **_begun(texts)}, where=where), window)


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_WINDOW}/preview")
def preview_window(call: ReadCluster, fields: Fields, window: _Window = "") -> Response:
    """Say what would come of the change."""
    return _answer(call, fields, window, "preview")


@router.post(_WINDOW)
def save_window(call: WriteCluster, fields: Fields, window: _Window = "") -> Response:
    """Save the change, or say why not."""
    return _answer(call, fields, window, "save")


def _answer(call: Call, fields: Mapping[str, str], window: str, action: str) -> Response:
    sent, action = forms.taken(fields, action)
    names = (*map(_was, FIELDS), *spans.FIELDS, "description", "reason", "remove", "name", "etag")
    texts = {name: sent.get(name, "").strip() for name in names}
    # A window that is there keeps its name: another one would be another window.
    name = texts["name"] = window or texts["name"]
    where = scope.sent(call, sent)
    form = Form(texts, action, f"windows.{name}", _places(texts, window), where, _WORDS)
    _check(call, form, window)
    # While somebody types, nothing is kept under it.
    change = _change(form, name or "new")
    # Only the version that the form was made from is changed (RFC 9110, 13.1.1).
    order = Order(call.caller, texts["reason"], if_match=texts["etag"])
    if action == "save" and not form.fails and not form.is_conflict:
        saved = form.save(call, change, order)
        if saved is not None:
            return saved
    if not form.fails and not form.is_incomplete:
        form.preview(call, change, order)
    return _page(call, form, window)


def _check(call: Call, form: Form, window: str) -> None:
    """Say what is missing or wrong before the policy is asked, and go on from its version."""
    stored, texts = call.stored(), form.texts
    if form.action == "save" and not texts["reason"]:
        form.add("reason", "Give a reason in one line; it becomes the commit message.")
    if not window:
        _check_name(form, stored.config.get("spec"))
    if texts["remove"]:
        return
    was = Span(*(texts[_was(name)] for name in FIELDS[:3]))
    span, lacks = spans.written(texts, was)
    for lack in lacks:
        form.lacks(lack, **_LABELS)
    texts |= zip(FIELDS, (*span, texts["description"]), strict=True)
    if not lacks and texts["etag"] != entity_tag(stored):
        form.is_conflict = True
        _take_over(call, form)


def _check_name(form: Form, spec: Value) -> None:
    name = form.texts["name"]
    form.check_name()
    if not name:
        form.lacks(Lack("name", "Give it a name, such as working-week."))
    elif any(any(_texts(spec, each, name).values()) for each in (None, *_clusters(spec))):
        form.add("name", "A window with this name already exists.")


def _places(texts: Mapping[str, str], window: str) -> dict[str, str]:
    """Return the fields where findings are shown, by those of the policy and rules of the whole."""
    begins = {"once": "date", "other": "begins"}.get(texts["repeats"], "at")
    ends = {"after": "hours", "date": "end-date", "other": "ends"}.get(texts["ends-on"], "until")
    # A window that is there has no field for its name.
    name = {rules.NAME_SYNTAX.id: "" if window else "name"}
    fields = {"opens": begins, "closes": ends, "duration": ends, "description": "description"}
    # What is found of the window as a whole is most often of its end.
    return {**fields, **name, "": ends}


def _change(form: Form, window: str) -> Change:
    def change(config: KubeObject) -> KubeObject:
        spec, texts = config.get("spec"), form.texts
        if texts["remove"] == "own":
            return patched(config, {"spec": _without_own(spec, form.where.chosen, window)})
        if texts["remove"] and form.where.kind == scope.ALL:
            own = _without_own(spec, _clusters(spec), window)
            return patched(config, {"spec": {**own, "windows": {window: None}}})

        def part(cluster: str | None) -> Value:
            was = _texts(spec, cluster, window)
            if texts["remove"]:
                # On one cluster, null takes out what the policy has for all.
                return {"windows": {window: None}} if any(was.values()) else {}
            # What is empty is taken out (RFC 7386); of a new one, also what the policy has for all.
            typed = [name for name in FIELDS if texts[name] != was[name] or not any(was.values())]
            content: Value = {name: texts[name] or None for name in typed}
            # A map without anything in it is an error in a cluster's entry.
            return {"windows": {window: content}} if content else {}

        return form.where.applied(config, part)

    return change


def _without_own(spec: Value, clusters: Iterable[str], window: str) -> dict[str, Value]:
    """Return the patch that takes from clusters what they have of a window of their own."""
    patch: dict[str, Value] = {}
    for cluster in clusters:
        own = _at(_at(_at(spec, "clusters"), cluster), "windows")
        if isinstance(own, dict) and window in own:
            # No empty map is left behind.
            patch[cluster] = {"windows": {window: None} if len(own) > 1 else None}
    return {"clusters": patch} if patch else {}


def _begun(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a form that begins with the texts of a window."""
    fields = spans.picked(Span(*(texts[name] for name in FIELDS[:3])))
    hidden = {_was(name): text for name, text in texts.items()}
    return {**fields, **hidden, "description": texts["description"]}


def _was(name: str) -> str:
    """Return the hidden field with what a window's own field was as the form began."""
    return f"was-{name}"


def _take_over(call: Call, form: Form) -> None:
    """Go on from the version that is there now, with what was typed."""
    stored, texts = call.stored(), form.texts
    for commit in call.windows.history(stored, 1):
        said = f"The last change is {commit.subject!r}, by {commit.by[0]}."
        form.general.append(Found(said, Severity.INFO))
    now = _texts(stored.config.get("spec"), call.cluster, texts["name"])
    typed = dict(now)
    for name in FIELDS:
        # Three versions: as it was, as somebody else made it, as it was typed here.
        was = texts[_was(name)]
        if texts[name] == was:
            continue
        typed[name] = texts[name]
        if now[name] != was:
            said = f"Someone changed this in the meantime: it is now {now[name] or 'empty'!r}."
            form.add(form.fields[name], said)
    texts |= {**typed, **_begun(typed), **{_was(name): text for name, text in now.items()}}
    texts["etag"] = entity_tag(stored)


def _texts(spec: Value, cluster: str | None, window: str) -> dict[str, str]:
    """Return the fields of a window as the file has them, on a cluster with what it changes."""
    if cluster is not None:
        spec = merge(spec, _at(_at(spec, "clusters"), cluster) or {})
    found = _at(_at(spec, "windows"), window)
    # Numbers and dates of YAML are texts here, as the file has them.
    texts = {name: _at(found, name) for name in FIELDS}
    return {name: "" if text is None else str(text).strip() for name, text in texts.items()}


def _at(value: Value, name: str) -> Value:
    # The file may hold anything: a list of windows, or a text.
    return value.get(name) if isinstance(value, dict) else None


def _clusters(spec: Value) -> list[str]:
    found = _at(spec, "clusters")
    return list(found) if isinstance(found, dict) else []


def _page(call: Call, form: Form, window: str) -> Response:
    # Whose clock shows the times of a window.
    config = call.stored().config
    zones = clocks.of_clusters(config)
    clock = f"All times are on each cluster's own clock, in {len(zones)} time zones."
    if call.cluster is not None:
        zones = {clocks.zone(config, call.cluster)}
    if len(zones) == 1:
        clock = f"All times are in {zones.pop().key}."
    spec = config.get("spec")
    has_own = call.cluster is not None and bool(_without_own(spec, [call.cluster], window))
    return form.page(
        call,
        "window.html",
        window=window,
        clock=clock,
        week=spans.WEEK,
        ordinals=[(name, name) for name in spans.NTH],
        month_days=list(spans.DAYS.items()),
        has_own=has_own and any(_texts(spec, None, window).values()),
    )

"""The form that changes a window: a preview of the hours, then one commit."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from krm_windows import rules
from krm_windows.krm import KubeObject, Value
from krm_windows.krm.merge_patch import merge
from krm_windows.plan import clocks
from krm_windows.results import Severity
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import scope
from krm_windows.service.pages.forms import Form, Found
from krm_windows.service.problems import Problem
from krm_windows.service.writing import Change, Order, entity_tag

_WINDOW = "/ui/policies/{namespace}/{name}/window"
router = routing.pages()
FIELDS = ("opens", "closes", "duration", "description")
"""The fields of a window that the form changes."""
# A finding about the window as a whole is most often about its end.
_PLACES = {name: name for name in FIELDS} | {"": "closes"}
# In the query and not in the path: a name may be any key of YAML.
_Window = Annotated[str, Query()]


@router.get(_WINDOW)
def show_window_form(call: WriteCluster, window: _Window = "") -> Response:
    """Show the form with the window as it is."""
    stored, where = call.stored(), scope.offered(call)
    texts = _texts(stored.config.get("spec"), call.cluster, window)
    # Without a name it is the form of a window that is not there yet.
    if window and not any(texts.values()):
        raise Problem(HTTPStatus.NOT_FOUND, f"{stored.title} has no window {window!r}")
    texts |= {_was(name): text for name, text in texts.items()}
    texts |= {"reason": "", "name": window, "etag": entity_tag(stored)}
    form = Form(texts, where=where)
    return _page(call, form, window)


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_WINDOW}/preview")
def preview_window(call: ReadCluster, fields: Fields, window: _Window = "") -> Response:
    """Say what would come of the change."""
    return _answer(call, fields, window, "preview")


@router.post(_WINDOW)
def save_window(call: WriteCluster, fields: Fields, window: _Window = "") -> Response:
    """Save the change, or say why not."""
    return _answer(call, fields, window, "save")


def _answer(call: Call, sent: dict[str, str], window: str, action: str) -> Response:
    names = (*FIELDS, *map(_was, FIELDS), "reason", "remove", "name", "etag")
    texts = {name: sent.get(name, "").strip() for name in names}
    # A window that is there keeps its name: another one would be another window.
    name = texts["name"] = window or texts["name"]
    # A window that is there has no field for its name.
    places = {**_PLACES, rules.NAME_SYNTAX.id: "" if window else "name"}
    form = Form(texts, action, f"windows.{name}", places, where=scope.sent(call, sent))
    stored = call.stored()
    # Somebody else changed it: what was typed is now a change of theirs.
    if texts["etag"] != entity_tag(stored):
        form.is_conflict = True
        _take_over(call, form, name)
    if action == "save" and not texts["reason"]:
        form.add("reason", "Give a reason in one line; it becomes the commit message.")
    if not name:
        form.add("name", "A window needs a name, such as working-week.")
    elif not window and any(_texts(stored.config.get("spec"), call.cluster, name).values()):
        form.add("name", "A window with this name already exists.")

    change = _change(form, name)
    # Only the version that the form was made from is changed (RFC 9110, 13.1.1).
    order = Order(call.caller, texts["reason"], if_match=texts["etag"])
    if action == "save" and not form.fails and not form.is_conflict:
        saved = form.save(call, change, order)
        if saved is not None:
            return saved
    # Under no name, or another's, or nowhere there is nothing to compare.
    if not form.found.keys() & {"name", "scope"}:
        form.preview(call, change, order)
    return _page(call, form, window)


def _change(form: Form, window: str) -> Change:
    def change(config: KubeObject) -> KubeObject:
        spec = config.get("spec")

        def part(cluster: str | None) -> Value:
            if form.texts["remove"]:
                # Null takes it out; on one cluster, it takes out what the policy has for all.
                return {"windows": {window: None}}
            was, texts = _texts(spec, cluster, window), form.texts
            # What is empty is taken out, too (RFC 7386).
            content: Value = {
                name: texts[name] or None for name in FIELDS if texts[name] != was[name]
            }
            # A map without anything in it is an error in a cluster's entry.
            return {"windows": {window: content}} if content else {}

        return form.where.applied(config, part)

    return change


def _was(name: str) -> str:
    """Return the hidden field with what a field was as the form began."""
    return f"was-{name}"


def _take_over(call: Call, form: Form, window: str) -> None:
    """Go on from the version that is there now, with what was typed."""
    stored = call.stored()
    for commit in call.windows.history(stored, 1):
        said = f"The last change is {commit.subject!r}, by {commit.by[0]}."
        form.general.append(Found(said, Severity.INFO))
    now = _texts(stored.config.get("spec"), call.cluster, window)
    for name in FIELDS:
        # Three versions: as it was, as somebody else made it, as it was typed here.
        was = form.texts[_was(name)]
        if form.texts[name] == was:
            form.texts[name] = now[name]
        elif now[name] != was:
            said = f"Someone changed this in the meantime: it is now {now[name] or 'empty'!r}."
            form.add(name, said)
        form.texts[_was(name)] = now[name]
    form.texts["etag"] = entity_tag(stored)


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


def _page(call: Call, form: Form, window: str) -> Response:
    # Whose clock shows the times of a window.
    zones = clocks.of_clusters(call.stored().config)
    clock = f"All times are on each cluster's own clock, in {len(zones)} time zones."
    if call.cluster is not None:
        zones = {clocks.zone(call.stored().config, call.cluster)}
    if len(zones) == 1:
        clock = f"All times are in {zones.pop().key}."
    return form.page(call, "window.html", window=window, clock=clock)

"""The form for what a policy says of hours beside its rules, such as its clock."""

from collections.abc import Mapping

from starlette.responses import Response

from krm_windows import rules
from krm_windows.edit.patches import spec_on
from krm_windows.krm import KubeObject, Value
from krm_windows.schedule import zones
from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster, WriteCluster
from krm_windows.service.pages import forms, scope
from krm_windows.service.pages.forms import REASON, Form, was
from krm_windows.service.writing import Order, entity_tag

_HOURS = "/ui/policies/{namespace}/{name}/hours"
router = routing.pages()
# With what holds where a policy does not say it.
FIELDS = {"timeZone": "", "outsideWindows": "Closed", "state": "Scheduled", "closesEarly": "0m"}
"""The fields of the form, and of a policy."""
_WORDS = {
    rules.TIME_ZONE.id: "Choose a time zone of the list, such as Europe/Berlin.",
    rules.OUTSIDE_WINDOWS.id: "Open outside of windows is for policies that have no windows.",
    rules.STATE_HELD.id: "While it is held, windows, freezes and overrides have no effect.",
}


@router.get(_HOURS)
def show_hours_form(call: WriteCluster) -> Response:
    """Show the form with the policy as it is."""
    texts = _texts(call.stored().config, call.cluster)
    texts |= {was(name): text for name, text in texts.items()}
    texts |= {"reason": "", "etag": entity_tag(call.stored())}
    return _page(call, Form(texts, where=scope.offered(call)))


# Apart from saving: it changes nothing, so that no line of the log says it did.
@router.post(f"{_HOURS}/preview")
def preview_hours(call: ReadCluster, fields: Fields) -> Response:
    """Say what would come of the change."""
    return _answer(call, fields, "preview")


@router.post(_HOURS)
def save_hours(call: WriteCluster, fields: Fields) -> Response:
    """Save the change, or say why not."""
    return _answer(call, fields, "save")


def _answer(call: Call, fields: Mapping[str, str], action: str) -> Response:
    sent, action = forms.taken(fields, action)
    names = (*FIELDS, *map(was, FIELDS), "reason", "etag")
    texts = {name: sent.get(name, "").strip() for name in names}
    places = {name: name for name in FIELDS}
    form = Form(texts, action, "spec", places, scope.sent(call, sent), _WORDS)
    if action == "save" and not texts["reason"]:
        form.add("reason", REASON)
    form.catch_up(call, texts, _texts(call.stored().config, call.cluster))

    def change(config: KubeObject) -> KubeObject:
        def part(cluster: str | None) -> Value:
            before = _texts(config, cluster)
            return {name: texts[name] for name in FIELDS if texts[name] != before[name]}

        return form.where.applied(config, part)

    order = Order(call.caller, texts["reason"], if_match=texts["etag"])
    return form.answer(call, change, order) or _page(call, form)


def _texts(config: KubeObject, cluster: str | None) -> dict[str, str]:
    found = spec_on(config, cluster)
    return {name: str(found.get(name) or default) for name, default in FIELDS.items()}


def _page(call: Call, form: Form) -> Response:
    return form.page(call, "hours.html", zones=sorted(zones.names()))

"""The table of pages: rows as those of the REST interface, with refusals as pages."""

from dataclasses import replace

from krm_windows.service import routes
from krm_windows.service.access import Scope
from krm_windows.service.calls import FORM, HTML, Answer, Body, Handler, Operation, Parameter
from krm_windows.service.pages import override, overview, policy, rendering, window

_POLICY = "/ui/policies/{namespace}/{name}"
_TEXT: dict[str, object] = {"type": "string"}
_PAGE = {200: Answer("A page.", {HTML: _TEXT})}
_FORM = Body({FORM: {"type": "object"}}, "The fields of the form.")
# What only pages ask; the rest is what the REST interface asks, too.
_FOUND = Parameter("q", "Words in the names of a policy and its cluster.", _TEXT)
# In the query and not in the path: a name may be any key of YAML.
_WINDOW = Parameter("window", "The name of a window.", _TEXT)
_SAVED = Parameter("saved", "The commit that was made.", _TEXT)


_OPEN_OR_CLOSED = Parameter("state", "The initial choice in the form: open or closed.", _TEXT)
_CALENDAR = (routes.FILE, routes.CLUSTER, routes.FROM, routes.DAYS)


# A form that is sent with nothing chosen has an empty text.
def _state(text: str) -> str:
    if text and text not in overview.STATES:
        raise ValueError(f"must be one of {', '.join(overview.STATES)}")
    return text


_STATE = Parameter("state", "Only policies in this state.", _TEXT, _state)


def _get(
    path: str,
    name: str,
    summary: str,
    handler: Handler,
    *parameters: Parameter,
    scope: Scope | None = Scope.READ,
) -> Operation:
    return Operation(
        "GET",
        path,
        name,
        summary,
        handler,
        scope,
        _PAGE,
        parameters,
        problem=rendering.refused,
        tag="pages",
    )


def _post(
    path: str,
    name: str,
    summary: str,
    handler: Handler,
    *parameters: Parameter,
    scope: Scope | None,
) -> Operation:
    shown = _get(path, name, summary, handler, *parameters, scope=scope)
    return replace(shown, method="POST", body=_FORM)


PAGES: tuple[Operation, ...] = (
    _get(
        "/",
        "showOverview",
        "What is open now.",
        overview.overview,
        _FOUND,
        _STATE,
        routes.CONTINUE,
    ),
    _get(
        _POLICY,
        "showPolicy",
        "A policy: its state, calendar, rules and changes.",
        policy.show,
        routes.FILE,
        routes.CLUSTER,
        routes.FROM,
        routes.DAYS,
        _SAVED,
    ),
    _get(
        f"{_POLICY}/window",
        "showWindowForm",
        "A form that changes a window.",
        window.show,
        routes.FILE,
        routes.CLUSTER,
        _WINDOW,
        scope=Scope.WRITE,
    ),
    _post(
        f"{_POLICY}/window",
        "saveWindow",
        "Save a change to a window.",
        window.save,
        routes.FILE,
        routes.CLUSTER,
        _WINDOW,
        scope=Scope.WRITE,
    ),
    _post(
        # Apart from saving: it changes nothing, so that no line of the log says it did.
        f"{_POLICY}/window/preview",
        "previewWindow",
        "Preview a change to a window.",
        window.preview,
        routes.FILE,
        routes.CLUSTER,
        _WINDOW,
        scope=Scope.READ,
    ),
    _get(
        f"{_POLICY}/override",
        "showOverrideForm",
        "A form that opens or closes for a while.",
        override.show,
        routes.FILE,
        routes.CLUSTER,
        _OPEN_OR_CLOSED,
        scope=Scope.OVERRIDE,
    ),
    _post(
        # Likewise: what is checked has not happened.
        f"{_POLICY}/override/check",
        "checkOverride",
        "Preview an override.",
        override.check,
        routes.FILE,
        scope=Scope.READ,
    ),
    _post(
        f"{_POLICY}/override",
        "makeOverride",
        "Open or close for a while.",
        override.make,
        routes.FILE,
        scope=Scope.OVERRIDE,
    ),
    _post(
        f"{_POLICY}/override/end",
        "endOverrideOnPage",
        "End an override.",
        override.end,
        routes.FILE,
        routes.CLUSTER,
        scope=Scope.OVERRIDE,
    ),
    _post(
        f"{_POLICY}/override/prune",
        "pruneOverrides",
        "Remove the overrides that are over.",
        override.prune,
        routes.FILE,
        scope=Scope.OVERRIDE,
    ),
    _get(
        f"{_POLICY}/calendar.json",
        "showCalendarJson",
        "The calendar as JSON.",
        policy.calendar_json,
        *_CALENDAR,
    ),
    _get(
        f"{_POLICY}/calendar.ics",
        "showCalendarIcs",
        "The calendar as iCalendar.",
        policy.calendar_ics,
        *_CALENDAR,
    ),
    _get(
        "/ui/login",
        "showLogin",
        "A form to sign in.",
        rendering.login,
        routes.NEXT,
        scope=None,
    ),
    _get(
        # Also for who is not known yet: the page to sign in has a style, too.
        "/ui/assets/{asset}",
        "getAsset",
        "A style sheet, script or picture of the pages.",
        rendering.asset,
        scope=None,
    ),
    # The way in and out: a refusal of these is a page, too.
    *(replace(operation, problem=rendering.refused) for operation in routes.SESSIONS),
)

"""The table of pages: rows as those of the REST interface, with refusals as pages."""

from dataclasses import replace

from krm_windows.service import routes
from krm_windows.service.access import Scope
from krm_windows.service.calls import FORM, HTML, Body, Operation, Parameter, ResponseModel
from krm_windows.service.pages import override, overview, policy, rendering, window

_POLICY = "/ui/policies/{namespace}/{name}"
_TEXT: dict[str, object] = {"type": "string"}
_PAGE = {200: ResponseModel("A page.", {HTML: _TEXT})}
_FORM = Body({FORM: {"type": "object"}}, "The fields of the form.")
# What only pages ask; the rest is what the REST interface asks, too.
_FOUND = Parameter("q", "Words in the names of a policy and its cluster.", _TEXT)
# In the query and not in the path: a name may be any key of YAML.
_WINDOW = Parameter("window", "The name of a window.", _TEXT)
_SAVED = Parameter("saved", "The commit that was made.", _TEXT)
_CHECK = Parameter("check", "`rendered`: find out whether what is rendered is current.", _TEXT)
_OPEN_OR_CLOSED = Parameter("state", "The initial choice in the form: open or closed.", _TEXT)
_CALENDAR = (routes.FILE, routes.CLUSTER, routes.FROM, routes.DAYS)


def _state(text: str) -> str:
    # A form that is sent with nothing chosen has an empty text.
    if text and text not in overview.STATES:
        raise ValueError(f"must be one of {', '.join(overview.STATES)}")
    return text


_STATE = Parameter("state", "Only policies in this state.", _TEXT, _state)


_ROWS: tuple[Operation, ...] = (
    Operation(
        "GET",
        "/",
        "showOverview",
        "What is open now.",
        overview.overview,
        Scope.READ,
        _PAGE,
        (_FOUND, _STATE, routes.CONTINUE),
    ),
    Operation(
        "GET",
        _POLICY,
        "showPolicy",
        "A policy: its state, calendar, rules and changes.",
        policy.show,
        Scope.READ,
        _PAGE,
        (routes.FILE, routes.CLUSTER, routes.FROM, routes.DAYS, _SAVED, _CHECK),
    ),
    Operation(
        "GET",
        f"{_POLICY}/window",
        "showWindowForm",
        "A form that changes a window.",
        window.show,
        Scope.WRITE,
        _PAGE,
        (routes.FILE, routes.CLUSTER, _WINDOW),
    ),
    Operation(
        "POST",
        f"{_POLICY}/window",
        "saveWindow",
        "Save a change to a window.",
        window.save,
        Scope.WRITE,
        _PAGE,
        (routes.FILE, routes.CLUSTER, _WINDOW),
        _FORM,
    ),
    # Apart from saving: it changes nothing, so that no line of the log says it did.
    Operation(
        "POST",
        f"{_POLICY}/window/preview",
        "previewWindow",
        "Preview a change to a window.",
        window.preview,
        Scope.READ,
        _PAGE,
        (routes.FILE, routes.CLUSTER, _WINDOW),
        _FORM,
    ),
    Operation(
        "GET",
        f"{_POLICY}/override",
        "showOverrideForm",
        "A form that opens or closes for a while.",
        override.show,
        Scope.OVERRIDE,
        _PAGE,
        (routes.FILE, routes.CLUSTER, _OPEN_OR_CLOSED),
    ),
    # Likewise: what is checked has not happened.
    Operation(
        "POST",
        f"{_POLICY}/override/check",
        "checkOverride",
        "Preview an override.",
        override.check,
        Scope.READ,
        _PAGE,
        (routes.FILE,),
        _FORM,
    ),
    Operation(
        "POST",
        f"{_POLICY}/override",
        "makeOverride",
        "Open or close for a while.",
        override.make,
        Scope.OVERRIDE,
        _PAGE,
        (routes.FILE,),
        _FORM,
    ),
    Operation(
        "POST",
        f"{_POLICY}/override/end",
        "endOverrideOnPage",
        "End an override.",
        override.end,
        Scope.OVERRIDE,
        _PAGE,
        (routes.FILE, routes.CLUSTER),
        _FORM,
    ),
    Operation(
        "POST",
        f"{_POLICY}/override/prune",
        "pruneOverrides",
        "Remove the overrides that are over.",
        override.prune,
        Scope.OVERRIDE,
        _PAGE,
        (routes.FILE,),
        _FORM,
    ),
    Operation(
        "GET",
        f"{_POLICY}/calendar.json",
        "showCalendarJson",
        "The calendar as JSON.",
        policy.calendar_json,
        Scope.READ,
        _PAGE,
        _CALENDAR,
    ),
    Operation(
        "GET",
        f"{_POLICY}/calendar.ics",
        "showCalendarIcs",
        "The calendar as iCalendar.",
        policy.calendar_ics,
        Scope.READ,
        _PAGE,
        _CALENDAR,
    ),
    Operation(
        "GET",
        "/ui/login",
        "showLogin",
        "A form to sign in.",
        rendering.login,
        None,
        _PAGE,
        (routes.NEXT,),
    ),
    # Also for who is not known yet: the page to sign in has a style, too.
    Operation(
        "GET",
        "/ui/assets/{asset}",
        "getAsset",
        "A style sheet, script or picture of the pages.",
        rendering.asset,
        None,
        _PAGE,
    ),
    # The way in and out: a refusal of these is a page, too.
    *routes.SESSIONS,
)
PAGES = tuple(replace(row, problem=rendering.refused, tag="pages") for row in _ROWS)

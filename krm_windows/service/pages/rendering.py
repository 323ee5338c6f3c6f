"""Pages from templates: every text is escaped, and every asset is named by its content."""

import hashlib
import re
from calendar import day_name
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache, partial
from http import HTTPStatus
from pkgutil import get_data
from urllib.parse import quote, urlencode

from jinja2 import Environment
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response

from krm_windows.plurals import counted
from krm_windows.policy.model import Freeze
from krm_windows.preview import templating
from krm_windows.preview.clock import shown, span, stamp
from krm_windows.service.access import COOKIE, Scope
from krm_windows.service.admission import Call, Service
from krm_windows.service.bodies import HTML
from krm_windows.service.policies import NO_NAMESPACE
from krm_windows.service.problems import Problem

_ASSETS = {
    "calendar.css": "krm_windows.preview",
    "month.css": "krm_windows.service",
    "page.css": "krm_windows.service",
    "page.js": "krm_windows.service",
    "live.js": "krm_windows.service",
    "icon.svg": "krm_windows.service",
}
# A day before the last that has a date, so that it has one in every zone.
_LATEST = int(datetime(9999, 12, 30, tzinfo=UTC).timestamp())
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WEEKDAYS = {name[:3]: name for name in day_name}
_ORDINAL = "(?:first|second|third|fourth|fifth|[1-5](?:st|nd|rd|th))"
_NTH = re.compile(rf"\b((?:{_ORDINAL} )?last|{_ORDINAL}) ({'|'.join(_WEEKDAYS)})\b")
# A problem's status in the words of who reads the page.
_TITLES = {
    400: "Invalid request",
    401: "Sign in first",
    403: "You do not have permission to do this",
    404: "Page not found",
    409: "It conflicts with what is in Git",
    412: "Someone else changed this first",
    413: "The text is too long",
    422: "This cannot be done",
    428: "The form is incomplete",
    429: "Too many requests",
    502: "The remote repository rejected the change",
    503: "The service is busy",
}
# What somebody can do about it, where that is known.
_ADVICE = {
    403: "Where a scope is missing, ask the administrator of this service for it.",
    409: "Look at the page of the policy, then try again.",
    412: "Nothing was saved. Reload the page and repeat your change.",
    429: "Wait a minute, then reload the page.",
    502: "Nothing was saved. Try again once the remote can be reached.",
    503: "Nothing was saved. Try again in a few seconds.",
}


def page(
    call: Call,
    template: str,
    values: Mapping[str, object],
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Answer with a page."""
    # Scopes decide what is offered; what is not offered is refused all the same.
    common: dict[str, object] = {
        "caller": call.caller,
        "can_write": call.caller.may(Scope.WRITE),
        "can_override": call.caller.may(Scope.OVERRIDE),
        "signed_in": COOKIE in call.request.cookies,
        "now": call.windows.now(),
        "windows": call.windows,
        "proposes": call.windows.settings.proposals is not None,
    }
    return _html(template, status, {}, {**common, **values})


def way_in(service: Service, after: str) -> dict[str, object]:
    """Return what the page to sign in says: how one gets in, and where that leads."""
    return {"ways": service.access.ways, "after": ours(after)}


def ours(after: str) -> str:
    """Return the address of a page of ours; for any other, that of the first."""
    # Not `//host`, nor what a browser takes for that, such as `/\\host`.
    return after if re.fullmatch(r"/(ui/.*|\?.*)?", after) else "/"


def refused(request: Request, problem: Problem) -> Response:
    """Answer with a page that says why there is none."""
    template = "problem.html"
    # Whoever was let in stays known; where nobody was, that may be what was refused.
    values: dict[str, object] = {
        "caller": getattr(request.state, "caller", None),
        "signed_in": COOKIE in request.cookies,
        "problem": problem,
        "title": _TITLES.get(problem.status, problem.status.phrase),
        "advice": _ADVICE.get(problem.status, ""),
    }
    # Who is not known gets a way in, and then what they asked for; a form is not sent again.
    if problem.status is HTTPStatus.UNAUTHORIZED:
        template, url = "login.html", request.url
        asked = request.query_params.get("next", "/")
        if request.method == "GET":
            asked = f"{url.path}?{url.query}" if url.query else url.path
        values |= way_in(request.app.state.service, asked)
    return _html(template, problem.status, problem.headers, values)


def _html(
    template: str,
    status: HTTPStatus,
    headers: Mapping[str, str],
    values: Mapping[str, object],
) -> Response:
    # Where it says from what address it is told, a script keeps a page up to date.
    body = environment().get_template(template).render({"live": "", **values})
    return Response(body, status.value, dict(headers), f"{HTML}; charset=utf-8")


@cache
def assets() -> Mapping[str, tuple[str, bytes]]:
    """Return the files that pages load, by the names they have in the package."""
    found: dict[str, tuple[str, bytes]] = {}
    for name, package in _ASSETS.items():
        body = get_data(package, f"assets/{name}") or b""
        # `page-0123456789abcdef.css`: another content has another address, so it may be kept.
        stem, _, ending = name.rpartition(".")
        found[name] = (f"{stem}-{hashlib.sha256(body).hexdigest()[:16]}.{ending}", body)
    return found


@cache
def environment() -> Environment:
    """Return the templates, and the functions that they use."""
    made = templating.environment("krm_windows.service")
    # Filters turn values into texts; functions make what no template could.
    made.filters["span"] = _unbroken
    # What somebody typed as it was, to be sent again by the same form.
    made.filters["typed"] = escape
    made.filters["utc"] = utc
    # As the other dates of pages are: `Thu 2026-12-24`.
    made.filters["day"] = "{:%a %Y-%m-%d}".format
    made.filters["spoken"] = _spoken
    made.tests["of_days"] = _is_of_days
    made.filters["soon"] = soon
    made.globals["asset"] = _asset
    made.globals["policy_url"] = policy_url
    made.globals["away"] = away
    made.globals["counted"] = counted
    made.globals["zone_utc"] = UTC
    return made


def away(at: datetime, now: datetime) -> str:
    """Say how far an instant is from now: `in 3 h 20 m`, `2 d ago`."""
    # Without seconds: minutes are what windows are made of.
    distance = abs(at - now)
    # Of days, nobody wants the minutes.
    if distance >= timedelta(days=2):
        distance -= distance % timedelta(hours=1)
    if distance < timedelta(minutes=1):
        return "within a minute" if at > now else "just now"
    if at >= now:
        return f"in {_unbroken(distance)}"
    return f"{_unbroken(distance)} ago"


def soon(at: datetime, zone: tzinfo, now: datetime) -> Markup:
    """Return an instant as `time` does, without the date where the weekday says which day it is."""
    words = shown(at, zone)
    if at - now < timedelta(days=6):
        words = words.replace(f" {at.astimezone(zone):%Y-%m-%d}", "")
    return Markup('<time datetime="{}">{}</time>').format(stamp(at, zone), words)


def _unbroken(length: timedelta) -> str:
    # A number stays with its unit, whatever the width of a screen.
    return span(length).replace(" ", "\N{NO-BREAK SPACE}")


def _spoken(words: str) -> str:
    # A policy may say `2nd last Fri 06:00`.
    return _NTH.sub(lambda found: f"the {found[1]} {_WEEKDAYS[found[2]]}", words)


def _is_of_days(freeze: Freeze) -> bool:
    """Whether a freeze is of several whole days, of which the last is in it."""
    texts = {freeze.starts.text, freeze.ends.text if freeze.ends else ""}
    return len(texts) > 1 and all(map(_DAY.fullmatch, texts))


def utc(seconds: int) -> datetime:
    """Return the time of a commit."""
    # A commit that was made by hand may have any time: no clock shows what is beyond this one.
    return datetime.fromtimestamp(min(seconds, _LATEST), UTC)


def _asset(name: str) -> str:
    return f"/ui/assets/{assets()[name][0]}"


def here(call: Call) -> Callable[..., str]:
    """Return a function that makes addresses of the pages of a policy, of the same file."""
    place = call.place
    return partial(policy_url, place.namespace, place.name, file=place.file)


def policy_url(namespace: str, name: str, *below: str, **query: str | None) -> str:
    """Return the address of a policy's page, or of one below it; what is empty is left out."""
    # A name is text of a file: whatever it holds, it stays one part of the path.
    parts = (
        "/ui/policies",
        *(quote(part, safe="") for part in (namespace or NO_NAMESPACE, name, *below)),
    )
    given = urlencode({key: text for key, text in query.items() if text})
    return "/".join(parts) + (f"?{given}" if given else "")

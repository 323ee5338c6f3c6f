"""What whoever runs the service asks it: whether it lives, can answer, how much it did."""

import re
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from starlette.responses import Response

from krm_windows.service.access import COOKIE
from krm_windows.service.calls import JSON, Call
from krm_windows.service.handlers import as_json
from krm_windows.service.problems import Problem
from krm_windows.service.windows import Reach

# The first page or one below `/ui/`, of characters that a path and a query have (RFC 3986, 3.3).
_OWN_PAGE = re.compile(r"/(?:ui/[\w.~!$&'()*+,;=:@%/-]*)?(?:\?[\w.~!$&'()*+,;=:@%/?-]*)?", re.ASCII)
METRICS = "text/plain; version=0.0.4; charset=utf-8"


async def get_health(call: Call) -> Response:
    """Say that the service lives."""
    return as_json({"status": "alive", "commit": call.windows.snapshot.commit})


async def get_readiness(call: Call) -> Response:
    """Say whether the repository can be read and written."""
    health = call.windows.health()
    if not health.ready:
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, health.detail)
    found = {"status": "ready", "commit": health.commit}
    # Why it cannot be reached is not for everybody: its address may be in it.
    if health.remote is not Reach.NONE:
        found["remote"] = health.remote.value
    return as_json(found)


async def get_metrics(call: Call) -> Response:
    """Answer with counts for Prometheus."""
    windows = call.windows
    health = windows.health()
    count = sum(len(stored) for stored in windows.snapshot.policies.values())
    gauges = {
        "krm_windows_policies": ("Policies that are served.", count),
        "krm_windows_unreadable_files": (
            "Files that may hold policies and cannot be read.",
            len(windows.snapshot.unreadable),
        ),
        "krm_windows_ready": ("Whether the repository can be read and written.", int(health.ready)),
    }
    # Unknown is neither: an alert waits for the first try.
    if health.remote in (Reach.REACHED, Reach.FAILED):
        text = "Whether the remote could be fetched when it was last tried."
        gauges["krm_windows_remote_reached"] = (text, int(health.remote is Reach.REACHED))
    registry = CollectorRegistry()
    for name, (text, number) in gauges.items():
        Gauge(name, text, registry=registry).set(number)
    body = generate_latest(registry) + generate_latest(call.log.registry)
    return Response(body, headers={"Content-Type": METRICS})


async def get_description(_: Call) -> Response:
    """Answer with the OpenAPI document of this interface."""
    # It is made from the table, of which this is a row.
    from krm_windows.service import openapi  # noqa: PLC0415

    return Response(openapi.text(), media_type=JSON)


async def begin_session(call: Call) -> Response:
    """Let a browser in: a cookie for whoever has a token."""
    token = call.form().get("token", "").strip()
    cookie = call.access.begin_session(token)
    location = own_page(call.text("next") or "")
    response = Response(status_code=HTTPStatus.SEE_OTHER.value, headers={"Location": location})
    # No script sees it, and no other site has it sent.
    response.set_cookie(
        COOKIE, cookie, httponly=True, samesite="strict", secure=call.windows.settings.secure
    )
    return response


def own_page(address: str) -> str:
    r"""Return the address of a page of ours, the first page for any other.

    A link to the form to sign in may come from anybody, and browsers read `//evil.example`,
    `/\evil.example` and `https:evil.example` as addresses of other sites (WHATWG URL, 4.4).
    """
    if _OWN_PAGE.fullmatch(address):
        return address
    return "/"


async def end_session(call: Call) -> Response:
    """Forget a browser."""
    response = Response(status_code=HTTPStatus.SEE_OTHER.value, headers={"Location": "/"})
    response.delete_cookie(COOKIE, secure=call.windows.settings.secure, httponly=True)
    return response

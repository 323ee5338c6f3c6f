"""Addresses of a policy's calendar for other programs: made, shown once, listed, and revoked."""

from http import HTTPStatus

from starlette.responses import RedirectResponse, Response

from krm_windows.service import routing
from krm_windows.service.admission import Call, Fields, ReadCluster
from krm_windows.service.pages.rendering import here, page
from krm_windows.service.subscriptions import Subscription
from krm_windows.system.errors import WorkspaceError

_SUBSCRIBE = "/ui/policies/{namespace}/{name}/subscribe"
router = routing.pages()


@router.post(_SUBSCRIBE)
def make_calendar_address(call: ReadCluster, _: Fields) -> Response:
    """Make an address, and show it: its token is kept nowhere."""
    token = call.service.subscribe(call)
    address = f"{call.request.url.netloc}/calendars/{token}.ics"
    found = {
        "stored": call.stored(),
        "here": here(call),
        "cluster": call.cluster,
        "address": address,
    }
    return page(call, "subscribed.html", found)


@router.post(f"{_SUBSCRIBE}/revoke")
def revoke_calendar_address(call: ReadCluster, fields: Fields) -> Response:
    """Revoke an address."""
    done = None
    # The list says what is left, also to who presses twice.
    if call.service.subscriptions.revoke(call.caller, call.place, fields.get("hash", "")):
        call.logged["event"], done = "unsubscribed", "revoked"
    url = f"{here(call)(cluster=call.cluster, check=done)}#subscribe"
    return RedirectResponse(url, HTTPStatus.SEE_OTHER.value)


def listed(call: Call) -> list[Subscription] | None:
    """Return the addresses of a policy, or of a cluster, that the caller may revoke.

    None where they cannot be read, which keeps nobody from the hours.
    """
    try:
        return call.service.subscriptions.of(call.caller, call.place, call.cluster)
    except WorkspaceError:
        return None

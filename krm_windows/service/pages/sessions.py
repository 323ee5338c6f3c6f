"""The way in and out, and what pages are drawn with: for who is not known yet, too."""

from http import HTTPStatus
from mimetypes import guess_type
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import RedirectResponse, Response

from krm_windows.service import routing
from krm_windows.service.access import COOKIE
from krm_windows.service.admission import Anybody, Fields
from krm_windows.service.pages import rendering
from krm_windows.service.pages.rendering import page
from krm_windows.service.problems import Problem

router = routing.pages()


_Next = Annotated[str, Query(alias="next")]


@router.get("/ui/login")
def show_login(call: Anybody, after: _Next = "/") -> Response:
    """Show the form to sign in."""
    return page(call, "login.html", {"problem": None, **rendering.way_in(call.service, after)})


@router.post("/ui/login")
def begin_session(call: Anybody, fields: Fields, after: _Next = "/") -> Response:
    """Let a browser in: a cookie for whoever has a token."""
    try:
        cookie = call.service.access.begin_session(fields.get("token", "").strip())
    except Problem:
        call.service.count_failure(call.request)
        raise
    # With 303 the browser goes on by GET, and a reload sends nothing again (RFC 9110, 15.4.4).
    response = RedirectResponse(rendering.ours(after), HTTPStatus.SEE_OTHER)
    # No script sees it, and no other site has it sent.
    secure = call.windows.settings.tlsByProxy
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure)
    return response


@router.post("/ui/logout")
def end_session(call: Anybody, _: Fields) -> Response:
    """Forget a browser."""
    response = RedirectResponse("/", HTTPStatus.SEE_OTHER)
    response.delete_cookie(COOKIE, secure=call.windows.settings.tlsByProxy, httponly=True)
    return response


@router.get("/ui/assets/{asset}")
def get_asset(_: Anybody, name: Annotated[str, Path(alias="asset")]) -> Response:
    """Answer with a file that pages load."""
    for own, body in rendering.assets().values():
        # Another digest is an older version, which is gone: the page that asks is older, too.
        if own == name:
            headers = {"Cache-Control": "public, max-age=31536000, immutable"}
            return Response(body, headers=headers, media_type=guess_type(name)[0])
    raise Problem(HTTPStatus.NOT_FOUND, "file not found")

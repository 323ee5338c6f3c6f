"""Routers, of the interface and of pages."""

import re

from fastapi import APIRouter
from fastapi.routing import APIRoute

from krm_windows.service import problems

# Every answer that is a problem, whatever the operation. 428 and 429 are of RFC 6585, all others of
# RFC 9110.
_REFUSALS = {
    400: "The request is invalid.",
    401: "The caller is not authenticated.",
    403: "The caller has no permission, such as `admin` for a change of more than hours; or the "
    "request comes from another site.",
    404: "The policy, cluster or override was not found.",
    405: "The method is not allowed for this path.",
    406: "No available format is acceptable to the caller.",
    408: "Reading the body timed out.",
    409: "The policy is in several files, has errors, or has changed in the meantime; or the body "
    "is another policy.",
    412: "The policy has changed since it was read.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    422: "The policy would be invalid: nothing was written; see `findings`.",
    428: "If-Match is missing.",
    429: "The caller sends too many requests.",
    500: "Internal error; see the log of the service.",
    502: "The remote could not be reached, or rejected the change: nothing was written.",
    503: "The service or its repository is busy: try again later.",
}
_PROBLEM = {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def _operation_id(route: APIRoute) -> str:
    """Return what clients, metrics and the log call an operation: `get_state` is `getState`."""
    return re.sub("_(.)", lambda found: found[1].upper(), route.name)


def router(tag: str) -> APIRouter:
    """Return a router of the interface, all of whose refusals are of one form (RFC 9457)."""
    return APIRouter(
        tags=[tag],
        generate_unique_id_function=_operation_id,
        responses={
            status: {"description": text, "content": _PROBLEM} for status, text in _REFUSALS.items()
        },
    )


def pages() -> APIRouter:
    """Return a router of pages: what is refused there is a page, too."""
    return APIRouter(include_in_schema=False, generate_unique_id_function=_operation_id)

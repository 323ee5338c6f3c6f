"""The OpenAPI document (3.1): FastAPI's, with what it cannot know of the interface."""

import json
from functools import cache
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.responses import Response

from krm_windows import __version__
from krm_windows.function import kinds
from krm_windows.service import handlers, health, models, problems, routing
from krm_windows.service.admission import Anybody
from krm_windows.service.bodies import JSON

router = routing.router("operations")
# What any request may get, whatever it asks. 428 and 429 are of RFC 6585, all others of RFC
# 9110.
_ALWAYS = {
    400: "The request is invalid.",
    403: "The caller has no permission, such as `admin` for a change of more than hours; or the "
    "request comes from another site.",
    405: "The method is not allowed for this path.",
    500: "Internal error; see the log of the service.",
    503: "The service or its repository is busy: try again later.",
}
_PLACE = {
    404: "The policy, cluster or override was not found.",
    409: "The policy is in several files, has errors, or has changed in the meantime; or the body "
    "is another policy.",
}
_IDENTITY = {
    401: "The caller is not authenticated.",
    429: "The caller sends too many requests.",
}
_BODY = {
    408: "Reading the body timed out.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    422: "The policy would be invalid: nothing was written; see `findings`.",
}
_CHANGE = {
    412: "The policy has changed since it was read.",
    422: _BODY[422],
    502: "The remote could not be reached, or rejected the change: nothing was written.",
}


@router.get("/openapi.json", response_model=dict[str, Any])
async def get_description(_: Anybody) -> Response:
    """Return this document."""
    return Response(_text(), media_type=JSON)


ROUTES = [*handlers.router.routes, *health.router.routes, *router.routes]
"""The routes of the interface."""


@cache
def document() -> dict[str, Any]:
    """Return the document."""
    made = get_openapi(
        title="krm-windows",
        version=__version__,
        description="Read and change the reconciliation windows of a Git repository.",
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        # Wherever it is served from.
        servers=[{"url": "/"}],
        routes=ROUTES,
    )
    for place, methods in made["paths"].items():
        for method, operation in methods.items():
            _complete(operation, method, place)
    schemas = made["components"]["schemas"]
    # FastAPI's own, which are never answered.
    del schemas["HTTPValidationError"], schemas["ValidationError"]
    policy = json.loads(kinds.read("WindowPolicy", "json"))
    # Of a document of its own; here it is a part of another.
    policy.pop("$schema", None)
    policy.pop("$id", None)
    schemas |= {"WindowPolicy": policy, **_schemas(models.Problem), **_schemas(models.Override)}
    return made


@cache
def _text() -> bytes:
    # To write it takes milliseconds.
    return problems.json_body(document())


def _complete(operation: dict[str, Any], method: str, place: str) -> None:
    """Say of an operation what it does, who may ask it, and how it is refused."""
    operation["summary"] = operation.pop("description").rstrip(".")
    # A token, or nothing where only the machine itself gets here. An empty requirement makes the
    # others optional (OpenAPI 3.1, Security Requirement Object).
    if "security" in operation:
        operation["security"].append({})
    for each in operation.get("parameters", ()):
        # What is left out is no null.
        each["schema"] = each["schema"].get("anyOf", [each["schema"]])[0]
    answers = operation["responses"]
    found = _refusals(operation, method, place)
    answers.pop("422", None)
    # All of one form: RFC 9457.
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    for status, text in found.items():
        answers[str(status)] = {"description": text, "content": {problems.MEDIA_TYPE: schema}}


def _refusals(operation: dict[str, Any], method: str, place: str) -> dict[int, str]:
    """Return every answer of an operation that is a problem, with what it means."""
    # By what an operation does, so that none can forget one.
    found = dict(_ALWAYS)
    if "security" in operation:
        found |= _IDENTITY
    if "{" in place:
        found |= _PLACE
    if "requestBody" in operation:
        found |= _BODY
    if method != "get" and not place.endswith("/preview"):
        found |= _CHANGE
    if any(each["name"] == "If-Match" for each in operation.get("parameters", ())):
        found[428] = "If-Match is missing."
    if len(operation["responses"]["200" if method == "get" else "422"].get("content", ())) > 1:
        found[406] = "No available format is acceptable to the caller."
    return found


def _schemas(model: type[BaseModel]) -> dict[str, Any]:
    made = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs", {}), model.__name__: made}

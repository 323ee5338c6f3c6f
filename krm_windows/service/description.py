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
    schemas = made["components"]["schemas"]
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


def _schemas(model: type[BaseModel]) -> dict[str, Any]:
    made = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs", {}), model.__name__: made}

"""Routers, of the interface and of pages."""

import re

from fastapi import APIRouter
from fastapi.routing import APIRoute


def _operation_id(route: APIRoute) -> str:
    """Return what clients, metrics and the log call an operation: `get_state` is `getState`."""
    return re.sub("_(.)", lambda found: found[1].upper(), route.name)


def router(tag: str) -> APIRouter:
    """Return a router of the interface."""
    return APIRouter(tags=[tag], generate_unique_id_function=_operation_id)


def pages() -> APIRouter:
    """Return a router of pages: what is refused there is a page, too."""
    return APIRouter(include_in_schema=False, generate_unique_id_function=_operation_id)

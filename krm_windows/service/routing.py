"""A route of the service: whatever a handler does, there is an answer, counted and logged."""

import re
import time
import traceback
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from krm_windows.service import admission, problems
from krm_windows.service.access import Scope
from krm_windows.service.admission import Service
from krm_windows.service.problems import Problem
from krm_windows.system.errors import WorkspaceError

_REFUSED = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
# Characters of a policy's name in a line of the log: a path may have any number of them.
_LONGEST_NAME = 200
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def operation_id(route: APIRoute) -> str:
    """Return what clients, metrics and the log call an operation: `get_state` is `getState`."""
    return re.sub("_(.)", lambda found: found[1].upper(), route.name)


class Route(APIRoute):
    """A route that answers with JSON, a problem too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - FastAPI's own
        super().__init__(*args, **kwargs)
        self.query = _query(self.dependant)

    def get_route_handler(self) -> Handler:
        """Return FastAPI's handler, with what is around it."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            service: Service = request.app.state.service
            began = time.monotonic()
            request.state.logged = {}
            request.state.scope = None
            try:
                response = await handle(request)
            # Whatever it is, the caller gets an answer, and the operator what to look at.
            except Exception as error:  # noqa: BLE001
                response = self.refuse(self._problem(error, request), request)
            service.log.count(self.unique_id, response.status_code, time.monotonic() - began)
            if _is_logged(request, response.status_code):
                self._record(request, response.status_code)
            return response

        return answer

    def refuse(self, problem: Problem, _: Request) -> Response:
        """Answer with a problem."""
        return problems.as_response(problem)

    def _problem(self, error: Exception, request: Request) -> Problem:
        """Return an error as the caller gets it; the log says what is for the operator."""
        match error:
            case Problem():
                problem = error
                detail = error.reason or error.detail
            case RequestValidationError():
                problem = problems.invalid(error)
                detail = problem.detail
            case WorkspaceError():
                detail = str(error)
                problem = Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail)
            case OSError():
                # A full disk, or a volume that is gone: it may be back soon.
                detail = str(error)
                problem = Problem(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"the repository is unavailable: {error.strerror}",
                )
            case _:
                trace = "".join(traceback.format_exception(error))
                service: Service = request.app.state.service
                service.log.record("failure", operation=self.unique_id, trace=trace)
                detail = "internal error: see the log of the service"
                return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail)
        request.state.logged["detail"] = detail
        return problem

    def _record(self, request: Request, status: int) -> None:
        service: Service = request.app.state.service
        logged: dict[str, object] = request.state.logged
        event = str(logged.pop("event", "changed"))
        if status >= HTTPStatus.BAD_REQUEST:
            event = "refused"
        # As it was asked for, whether there is such a policy or not.
        parts = request.path_params
        policy = None
        if "name" in parts:
            policy = f"{parts['namespace']}/{parts['name']}"[:_LONGEST_NAME]
        service.log.record(
            event,
            operation=self.unique_id,
            policy=policy,
            status=status,
            address=admission.address(request),
            **logged,
        )


def _is_logged(request: Request, status: int) -> bool:
    """Say whether an answer has a line in the log: every change, and every refusal of one."""
    changes = request.method != "GET" and request.state.scope not in (None, Scope.READ)
    return changes or status in _REFUSED


def _query(dependant: Dependant) -> set[str]:
    """Return the names that a query may have."""
    own = {str(field.alias) for field in dependant.query_params}
    return own.union(*map(_query, dependant.dependencies))

"""The routes of all pages."""

from itertools import chain

from krm_windows.service.pages import override, overview, policy, sessions, subscribe, window

_ROUTERS = (
    *(overview.router, policy.router, window.router, override.router),
    *(subscribe.router, sessions.router),
)
ROUTES = list(chain.from_iterable(router.routes for router in _ROUTERS))

"""The routes of all pages."""

from itertools import chain

from krm_windows.service.pages import override, overview, policy, sessions, window

_ROUTERS = (overview.router, policy.router, window.router, override.router, sessions.router)
ROUTES = list(chain.from_iterable(router.routes for router in _ROUTERS))

"""The routes of all pages."""

from itertools import chain

from krm_windows.service.pages import (
    events,
    freeze,
    history,
    holidays,
    hours,
    month,
    override,
    overview,
    policy,
    sessions,
    subscribe,
    window,
)

_PAGES = (
    *(overview, policy, history, window, freeze, holidays, override, subscribe),
    *(hours, month, events, sessions),
)
ROUTES = list(chain.from_iterable(each.router.routes for each in _PAGES))

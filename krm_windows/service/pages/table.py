"""The routes of all pages."""

from itertools import chain

from krm_windows.service.pages import (
    events,
    history,
    holidays,
    hours,
    month,
    override,
    overview,
    policy,
    rule,
    sessions,
    subscribe,
)

_PAGES = (
    *(overview, policy, history, rule, holidays, override, subscribe),
    *(hours, month, events, sessions),
)
ROUTES = list(chain.from_iterable(each.router.routes for each in _PAGES))

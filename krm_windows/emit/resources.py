"""What a container asks for and may use up, as its Pod says it.

What the policy gives, and defaults for the rest. Every name is in requests and in limits, as a
ResourceQuota that counts one refuses Pods that do not say it.
"""

from collections.abc import Mapping

from krm_windows.policy.quantities import Quantity, read
from krm_windows.policy.resources import Resources

Amounts = Mapping[str, str]


def written(
    given: Resources,
    requests: Amounts,
    limits: Amounts,
) -> dict[str, dict[str, str]]:
    """Return requests and limits, for a container with such defaults.

    Where the policy gives one of the two for a name, the default of the other gives way to it.
    """
    asked = given.requests.given()
    limited = given.limits.given()
    asked_all: dict[str, str] = {}
    limited_all: dict[str, str] = {}
    for name in sorted(requests):
        request, limit = _pair(
            asked=asked.get(name),
            limited=limited.get(name),
            request=read(requests[name]),
            limit=read(limits[name]),
        )
        asked_all[name] = str(request)
        limited_all[name] = str(limit)
    return {"requests": asked_all, "limits": limited_all}


def _pair(
    asked: Quantity | None,
    limited: Quantity | None,
    request: Quantity,
    limit: Quantity,
) -> tuple[Quantity, Quantity]:
    """Return a request and its limit, of what is given and of the defaults."""
    # A request above its limit is refused by the API server (core/v1, ResourceRequirements).
    if limited is None:
        limited = max(limit, asked or limit, key=_amount)
    if asked is None:
        asked = min(request, limited, key=_amount)
    return asked, limited


def _amount(quantity: Quantity) -> int:
    return quantity.nanos

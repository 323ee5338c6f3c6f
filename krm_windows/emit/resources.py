"""What a container asks for and may use up, as its Pod says it.

What the policy gives, and defaults for the rest. Every name is in requests and in limits, as a
ResourceQuota that counts one refuses Pods that do not say it.
"""

from collections.abc import Mapping
from fractions import Fraction

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
    asked, limited = given.requests.given(), given.limits.given()
    found: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for name in sorted(requests):
        request, limit = _pair(
            asked.get(name), limited.get(name), read(requests[name]), read(limits[name])
        )
        found["requests"][name], found["limits"][name] = str(request), str(limit)
    return found


def _pair(
    asked: Quantity | None,
    limited: Quantity | None,
    request: Quantity,
    limit: Quantity,
) -> tuple[Quantity, Quantity]:
    """Return a request and its limit, of what is given and of the defaults."""
    if limited is None:
        limited = max(limit, asked or limit, key=_amount)
    if asked is None:
        asked = min(request, limited, key=_amount)
    return asked, limited


def _amount(quantity: Quantity) -> Fraction:
    return quantity.amount

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
    asked, limited = given.requests.given(), given.limits.given()
    asked_all: dict[str, str] = {}
    limited_all: dict[str, str] = {}
    for name in sorted(requests):
        # A request above its limit is refused by the API server (core/v1, ResourceRequirements).
        limit = limited.get(name) or max(
            read(limits[name]), asked.get(name, Quantity(0)), key=_amount
        )
        request = asked.get(name) or min(read(requests[name]), limit, key=_amount)
        asked_all[name], limited_all[name] = str(request), str(limit)
    return {"requests": asked_all, "limits": limited_all}


def _amount(quantity: Quantity) -> int:
    return quantity.nanos

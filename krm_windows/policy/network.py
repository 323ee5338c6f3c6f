"""The part of the API that is about the network: where the gate's Pods may connect to."""

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import Field

from krm_windows import rules
from krm_windows.policy.findings import Finding, RefusedError
from krm_windows.policy.parts import Leaf, Part

_HTTPS = 443
_MOST = 65535


def _cidr(text: str) -> str:
    """Read a block of addresses as a NetworkPolicy takes it, with no bits set behind its length."""
    try:
        return str(ip_network(text))
    # Bits behind the length of the block, or no address at all.
    except ValueError:
        must = "must be a CIDR block such as 10.0.0.1/32 or 2001:db8::/64"
        raise RefusedError(Finding(rules.FIELD_VALUE, must, text)) from None


def _port(text: str) -> int:
    # `int` would read more: signs, blanks, digits of other scripts.
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= _MOST:
        raise RefusedError(Finding(rules.FIELD_VALUE, f"must be a port from 1 to {_MOST}", text))
    return int(text)


Cidr = Annotated[str, Leaf(_cidr, {"type": "string", "minLength": 1})]
Port = Annotated[
    int,
    Leaf(_port, {"type": ["integer", "string"], "minimum": 1, "maximum": _MOST}),
]


class ApiServer(Part):
    """A place where the API server answers, as the network behind a Service sees it."""

    cidr: Cidr = Field(description="Its address, or a CIDR block.", examples=["10.0.0.1/32"])
    port: Port = Field(default=_HTTPS, description="Its port.")


class NetworkPolicy(Part):
    """What the extra `NetworkPolicy` says."""

    api_server: tuple[ApiServer, ...] = Field(
        min_length=1,
        examples=[[{"cidr": "10.0.0.1/32"}]],
        description=(
            "The addresses of the API server, as `kubectl get endpointslices kubernetes` lists "
            "them; the gate's Pods can reach only these."
        ),
    )

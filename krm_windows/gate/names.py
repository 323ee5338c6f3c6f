"""Names that are made of a policy's, within the limits of Kubernetes and unique across policies."""

import re

from krm_windows.gate.annotations import DIGITS, digest

NAME_LIMIT = 63
# Else `a` with a window `b-open-c` and `a-open-b` with a window `c` had the same names.
_AMBIGUOUS = re.compile(r"-(open|close|edge|resync|apply|gate)(-|$)")


def fit(name: str, limit: int) -> str:
    """Return a name within a limit: a longer one is cut and ends in a hash of the whole."""
    return name if len(name) <= limit else f"{cut(name, limit)}-{digest(name)}"


def cut(name: str, limit: int) -> str:
    """Return what is kept of a name before the hyphen of its digest."""
    # Neither a hyphen nor a dot may be before that hyphen (RFC 1123).
    return name[: limit - DIGITS - 1].rstrip("-.")


def made(policy: str, slug: str, limit: int = NAME_LIMIT) -> str:
    """Return the name of something that a policy of this name (without namespace) yields."""
    if _AMBIGUOUS.search(policy):
        policy = f"{policy}-{digest(policy)}"
    return fit(f"{policy}-{slug}", limit)


def user(policy: str) -> str:
    """Return the user that the gate of the policy `namespace/name` is."""
    namespace, _, name = policy.partition("/")
    return f"system:serviceaccount:{namespace}:{made(name, 'gate')}"

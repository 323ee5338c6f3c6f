"""How a caller of the service says who they are."""


def bearer(token: str) -> dict[str, str]:
    """Return the header of a token (RFC 6750, 2.1)."""
    return {"authorization": f"Bearer {token}"}

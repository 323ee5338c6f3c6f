"""How a caller of the service says who they are."""


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}

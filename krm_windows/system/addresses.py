"""Addresses that are asked over HTTP, as people give them."""

from urllib.parse import SplitResult, urlsplit

from krm_windows.system.errors import WorkspaceError

LOCAL = ("127.0.0.1", "localhost", "::1")
"""Hosts that are this machine."""


def confidential(address: str) -> SplitResult:
    """Take an address apart that nobody on the way reads along: https, or on this machine.

    Raises WorkspaceError for any other. Its words repeat the host alone, as people put tokens and
    passwords into the rest.
    """
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        # The words of the exception have the address, too.
        raise WorkspaceError("the URL must be https://HOST/…") from None
    if not parts.hostname:
        raise WorkspaceError("the URL must be https://HOST/…, but it has no host")
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if "@" in parts.netloc:
        # Whatever fails later names the address.
        raise WorkspaceError(f"{place}: the URL must not contain a user or password")
    is_local = parts.scheme == "http" and parts.hostname in LOCAL
    if parts.scheme != "https" and not is_local:
        raise WorkspaceError(f"{place}: must be an https URL, or an address of this machine")
    return parts

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
        raise WorkspaceError("an address must be https://HOST/…, and this is none") from None
    if not parts.hostname:
        raise WorkspaceError("an address must be https://HOST/…, and this has no host")
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if "@" in parts.netloc:
        # Whatever fails later names the address.
        raise WorkspaceError(f"{place}: an address must have no user and no password in it")
    is_local = parts.scheme == "http" and parts.hostname in LOCAL
    if parts.scheme != "https" and not is_local:
        raise WorkspaceError(f"{place}: must be https, or an address of this machine")
    return parts

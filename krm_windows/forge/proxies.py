"""How a forge is reached: through which proxy, and whose certificate is believed."""

import ssl
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import urllib3
from urllib3.exceptions import LocationParseError
from urllib3.util import make_headers, parse_url

from krm_windows.system import addresses
from krm_windows.system.errors import WorkspaceError

_TIMEOUT = urllib3.Timeout(connect=10.0, read=30.0)


def manager(address: str, connections: int) -> urllib3.PoolManager:
    """Return what keeps so many connections to an address open.

    By the environment, as curl reads it: HTTPS_PROXY, NO_PROXY, and SSL_CERT_FILE or SSL_CERT_DIR.
    Raises WorkspaceError, which repeats no password, where it names no proxy.
    """
    parts = urlsplit(address)
    # Without TLS there is nothing to believe, and to read all authorities takes 25 ms.
    context = None
    if parts.scheme != "http":
        # OpenSSL reads SSL_CERT_FILE in place of the certificates of the system.
        context = ssl.create_default_context()
    proxy = _proxy(parts)
    if proxy is None:
        # Neither retries nor redirects of its own: a redirect would take the token elsewhere.
        return urllib3.PoolManager(
            retries=False, timeout=_TIMEOUT, maxsize=connections, ssl_context=context
        )
    host, headers = proxy
    return urllib3.ProxyManager(
        host,
        proxy_headers=headers,
        retries=False,
        timeout=_TIMEOUT,
        maxsize=connections,
        ssl_context=context,
        proxy_ssl_context=ssl.create_default_context(),
    )


def _proxy(parts: SplitResult) -> tuple[str, dict[str, str]] | None:
    """Return the address of a proxy and what it is sent; None where there is none in between."""
    # What is in the clear goes to this machine alone.
    if parts.hostname is None or parts.scheme != "https" or parts.hostname in addresses.LOCAL:
        return None
    found = getproxies_environment().get("https", "")
    if not found or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    wrong = WorkspaceError("HTTPS_PROXY: must be http://HOST:PORT or https://HOST:PORT")
    try:
        # `proxy:3128` is http, as for curl.
        url = parse_url(found if "://" in found else f"http://{found}")
    except LocationParseError:
        # Its words may have the password.
        raise wrong from None
    if url.scheme not in ("http", "https") or not url.host:
        raise wrong
    headers = make_headers(proxy_basic_auth=unquote(url.auth)) if url.auth else {}
    return f"{url.scheme}://{url.netloc}", headers

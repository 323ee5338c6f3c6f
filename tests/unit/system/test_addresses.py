"""Which addresses are asked, and what is said of the others."""

from collections.abc import Callable

import pytest
from pydantic import SecretStr

from krm_windows.forge import connect
from krm_windows.service import keys, proposals
from krm_windows.system.errors import WorkspaceError

SECRET = "hunter2"  # noqa: S105 - nobody's


def _forge(address: str) -> object:
    return connect.connect("gitea", "acme/fleet", address, {"GITEA_TOKEN": "x"})


def _proposals(address: str) -> object:
    return proposals.PullRequests(url=address, token=SecretStr("x"))


def _keys(address: str) -> object:
    return keys.Keys(address)


WAYS = (_forge, _proposals, _keys)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            f"http://bob:{SECRET}@forge.test/api",
            "^http://forge.test: the URL must not contain a user",
        ),
        (f"https://{SECRET}@forge.test/api", "must not contain a user or password"),
        (f"http://forge.test/{SECRET}?token={SECRET}", "^http://forge.test: must be an https URL"),
        (f"https://bob:{SECRET}@[forge.test/api", "the URL must be https"),
        (f"https://bob:{SECRET}@forge.test:port/api", "the URL must be https"),
        (f"https:///{SECRET}", "has no host"),
    ],
)
def test_an_address_that_is_refused_is_not_repeated(
    way: Callable[[str], object], address: str, said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said) as raised:
        way(address)
    assert SECRET not in str(raised.value)
    # What `--debug` shows, too.
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "address", ["https://forge.test:8443/api", "http://127.0.0.1:3000/api", "http://[::1]/api"]
)
def test_what_nobody_reads_along_is_asked(way: Callable[[str], object], address: str) -> None:
    assert way(address)

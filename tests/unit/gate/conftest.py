"""What the tests of the gate program share: two targets at an API server, and an account for it."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from api_server import TLS, TOKEN, Api, serving


@pytest.fixture
def api() -> Api:
    api = Api()
    for name in ("infra", "apps"):
        api.add(name, {"interval": "10m"}, status={"lastAppliedRevision": "main@sha1:1"})
    return api


@pytest.fixture
def port(api: Api) -> Iterator[int]:
    with serving(api) as port:
        yield port


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    copy(TLS / "ca.crt", folder / "ca.crt")
    (folder / "token").write_text(TOKEN)
    return folder

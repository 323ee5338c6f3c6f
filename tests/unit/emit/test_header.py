"""The first line of what is rendered: what is removed, and what is never touched, hangs on it."""

import pytest

from krm_windows.emit.header import header, is_header, is_rendered, policies_of


def test_a_file_is_recognised() -> None:
    line = header("shop/week")
    content = f"{line}\napiVersion: v1\n".encode()
    assert is_header(line)
    assert is_rendered(content)
    assert policies_of(content) == {"shop/week"}


@pytest.mark.parametrize("line", ["", "# Rendered by hand", "krm-windows.dev/rendered-from: a/b"])
def test_what_a_person_wrote_is_not_recognised(line: str) -> None:
    assert not is_header(line)
    assert not is_rendered(line.encode())

"""Who may let a change through a closed window."""

import pytest

from krm_windows.forge import ForgeError
from krm_windows.forge.exemptions import read

FILE = b"""\
# Whoever is on call.
*             @ada
apps/*        @Bob @carol   # the owners
/infra/       @dora @acme/team
apps/secret/
"""


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("README.md", {"ada"}),
        ("apps/web.yaml", {"bob", "carol"}),
        ("apps/deep/web.yaml", {"bob", "carol"}),
        ("apps/secret/key.yaml", set()),
        ("infra/dns.yaml", {"dora", "acme/team"}),
        ("infra", {"ada"}),
        ("other/infra/a", {"ada"}),
    ],
)
def test_the_last_pattern_counts(path: str, names: set[str]) -> None:
    """As in CODEOWNERS; one without names takes the path from everybody."""
    assert read(FILE).of(path) == names


@pytest.mark.parametrize("content", [b"", b"# nobody\n", b"apps/* @ada"])
def test_what_no_line_matches_is_nobodys(content: bytes) -> None:
    """An empty file lets nothing through."""
    assert read(content).of("README.md") == frozenset()


def test_all_is_a_slash_or_a_star() -> None:
    """Both are the root."""
    assert read(b"/ @ada").of("a/b") == read(b"* @ada").of("a/b") == {"ada"}


@pytest.mark.parametrize("content", [b"\xff", b"#" * ((1 << 20) + 1)])
def test_what_is_no_such_file_is_an_error(content: bytes) -> None:
    """In words of ours."""
    with pytest.raises(ForgeError, match="the file of exemptions"):
        read(content)

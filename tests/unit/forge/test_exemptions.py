"""Who may let a change through a closed window."""

from dataclasses import dataclass

import pytest

from krm_windows.forge import ForgeError
from krm_windows.forge.exemptions import Exemptions, read
from krm_windows.forge.model import Forge, PullRequest

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


def test_a_comment_ends_with_its_line() -> None:
    """And not at a character that begins a line to Unicode alone."""
    hidden = "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e"
    for sign in hidden:
        assert read(f"# who may{sign}* @mallory\r\n".encode()).lines == ()


@pytest.mark.parametrize(
    ("allowed", "setter", "granted"),
    [
        ("Ada", "aDA", True),
        ("ada", "ad\u0430", False),  # the last one is Cyrillic
        ("strasse", "straße", False),
        ("straße", "strasse", False),
        ("straße", "STRASSE", False),
        ("kim", "\u212aim", False),  # the Kelvin sign
        ("sue", "\u017fue", False),  # a long s
        ("ivy", "\u0131vy", False),  # without a dot
        ("ivy", "\u0130vy", False),  # with one
        ("fi", "\ufb01", False),  # a ligature
        ("a", "\uff21", False),  # of full width
        ("\u00e9", "\u00c9", False),
        ("straße", "straße", True),
    ],
)
def test_names_are_compared_in_ascii(
    allowed: str,
    setter: str,
    granted: bool,  # noqa: FBT001 - of a table
) -> None:
    """A name with any other character is equal to itself alone, in the file and beside it."""
    change = PullRequest(1, "", "", "Window-Exempt: x", "eve", frozenset(), "", "main")
    forge = Labelled(setter, f"* @{allowed}\n".encode())
    for exemptions in (Exemptions(frozenset({allowed})), Exemptions(file="OWNERS")):
        assert exemptions.answer(forge, change, {"apps/a"}).granted is granted


@dataclass
class Labelled(Forge):
    """A forge on which somebody has set the label, and a file says who may."""

    setter: str
    owners: bytes

    def label_setters(self, _change: PullRequest, _label: str) -> frozenset[str]:
        """Return who set it."""
        return frozenset({self.setter})

    def file(self, _path: str, _branch: str) -> bytes | None:
        """Return who may."""
        return self.owners

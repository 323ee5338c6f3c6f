"""Characters that nobody sees, or sees in another place, and how they are written instead.

The ranges are listed here and not asked of `unicodedata`, so that every Python prints the same
bytes; a test compares them with the categories of Unicode (UAX #44). They are: controls (Cc),
format characters (Cf), surrogates (Cs), private use (Co), line and paragraph separators (Zl, Zp),
noncharacters, and what is ignored where it is shown (Default_Ignorable_Code_Point,
DerivedCoreProperties.txt).
"""

import re

# Signs of numbers and verses in Arabic and Kaithi are of category Cf too; they are seen, so they
# are not here.
ALWAYS = (
    # Controls but the tab and the line feed, about which each medium decides.
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u2028-\u202e"  # separators of lines and paragraphs, and what turns the direction of text
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff"
)
"""Ranges of what is hidden wherever it is, up to U+FFFF, as a set of a pattern has them."""
# The last two code points of each plane above the first are no characters.
_NONCHARACTERS = "".join([f"{chr(end - 1)}{chr(end)}" for end in range(0x1FFFF, 0xF0000, 0x10000)])
_NEVER = ALWAYS + (
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # tags, which spell hidden words
    f"\U000f0000-\U0010ffff{_NONCHARACTERS}"
)
# Persian and Indic scripts are misspelt without these two joiners, and emoji are joined by one.
_JOINERS = "\u200c\u200d"
# They choose the form of the character before: of emoji, of Mongolian, of ideographs in Japanese
# names.
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Marks that are drawn above and below their letter: no language piles up more than a few.
_MARKS = (
    "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
)
_MOST_MARKS = 4

# A character beyond ASCII that is seen, ...
_BASE = rf"[^\x00-\x7f{_NEVER}{_JOINERS}{_SELECTORS}]"
# ... and one of these, perhaps with its form chosen.
_JOINED = rf"[^\x00-\x7f{_NEVER}{_JOINERS}]"
_WHERE = "|".join(
    (
        f"(?<=[{_NEVER}])",
        # A joiner or a selector is kept where it does something to what is seen, and never beside
        # ASCII, where it does nothing but make two names that look the same of two that differ.
        f"(?<=[{_JOINERS}])(?<!{_JOINED}[{_JOINERS}])",
        f"(?<=[{_JOINERS}])(?!{_BASE})",
        f"(?<=[{_SELECTORS}])(?<!{_BASE}[{_SELECTORS}])",
        f"(?<=[{_MARKS}]{{{_MOST_MARKS + 1}}})",
    )
)


HIDDEN = re.compile(f"[{_NEVER}{_JOINERS}{_SELECTORS}{_MARKS}](?:{_WHERE})")
"""The pattern of a character that nobody sees where it is."""


def code(sign: str) -> str:
    r"""Write a character as its code: `\x1b`, `\u202e`, `\U000e0041`."""
    if sign.isascii():
        return f"\\x{ord(sign):02x}"
    return sign.encode("ascii", "backslashreplace").decode()


def visible(text: str) -> str:
    """Return a text with the code of every character that nobody sees; tabs and line feeds stay."""
    return HIDDEN.sub(lambda found: code(found[0]), text)


class Escaped(str):
    """A whole document that is printed as it is; only this room makes one.

    Put together with other text it is a plain `str` again, and is escaped once more before it is
    printed.
    """

    __slots__ = ()

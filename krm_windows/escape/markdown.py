"""Markdown of GitHub, GitLab and Gitea, as it is pasted into a pull request.

A backslash or a character reference keeps text from being emphasis or a link of Markdown, and not
from being a mention, a reference or an address: those are searched for in the page that Markdown
has become. Nothing at all is searched for in code, so text from elsewhere is code (CommonMark
0.31.2, 6.1).
"""

import re

from krm_windows.escape.characters import code as code_of
from krm_windows.escape.terminal import line


def code(text: str) -> str:
    """Return a text as code on one line, between more backticks than follow each other in it."""
    shown = line(text)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    # One space is taken off each end where both have one, so that code may begin and end with a
    # backtick.
    if not shown or shown[0] in " `" or shown[-1] in " `":
        shown = f" {shown} "
    return f"{ticks}{shown}{ticks}"


def cell(text: str) -> str:
    """Return a text as code in a table, whose columns end at a vertical line even within code."""
    return code(text).replace("|", code_of("|"))

"""Text from elsewhere, made harmless for what it is put into.

A module for each medium, and nothing else escapes. Those that every command needs are here.

Policies, manifests, file names and the words of other programs are written by people nobody knows.
Whoever writes for a medium takes the function of that medium; what a command prints passes through
`page` once more (`cli.output`).
"""

from krm_windows.escape.characters import Escaped, visible
from krm_windows.escape.records import json_line, json_page, json_text
from krm_windows.escape.terminal import cut, line, lines, page, word

__all__ = [
    "Escaped",
    "cut",
    "json_line",
    "json_page",
    "json_text",
    "line",
    "lines",
    "page",
    "visible",
    "word",
]

"""Globs, matched by Python's `fnmatch`.

What it makes of a glob never goes back behind a star, so a match takes at most the length of the
text times that of the glob.
"""

import fnmatch
import re
from functools import lru_cache

# No path is longer (PATH_MAX of Linux).
LONGEST = 4096


def matches(glob: str, text: str) -> bool:
    """Whether a glob matches the whole of a text.

    `*` matches any characters, `/` and line ends included; every other character is itself.
    """
    return is_named(glob.replace("[", "[[]").replace("?", "[?]"), text)


def is_named(glob: str, name: str) -> bool:
    """Whether a glob of the shell (`*`, `?`, `[…]`) matches a name.

    One that is longer than any path matches nothing.
    """
    return len(glob) <= LONGEST and _compiled(glob).match(name) is not None


# `fnmatch` keeps 256; the CODEOWNERS of a large repository has thousands, for every file.
@lru_cache(maxsize=10_000)
def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob))

"""Selectors of patches: each field is a regular expression of Go (kustomize, `SelectorRegex`).

Names, `.*`, `.` and alternatives of them are read; what takes more of a regular expression is
nobody's name.
"""

import re

from krm_windows import patterns

_READ = re.compile(r"(?:[A-Za-z0-9|.-]|\.\*)*")


def matches(pattern: str, text: str) -> bool:
    """Whether a field's pattern matches the whole of what an object has; an empty one does."""
    if not pattern:
        return True
    globs = pattern.replace(".*", "*").replace(".", "?").split("|")
    return _READ.fullmatch(pattern) is not None and any(
        patterns.is_named(each, text) for each in globs
    )

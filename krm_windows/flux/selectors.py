"""Selectors of patches: each field is a regular expression of Go (kustomize, `SelectorRegex`).

Names, `.*`, `.` and alternatives of them are read; what takes more of a regular expression is
nobody's name.
"""

import re

from krm_windows import patterns
from krm_windows.flux.model import Object
from krm_windows.krm import Value

_READ = re.compile(r"(?:[A-Za-z0-9|.-]|\.\*)*")


def matches(pattern: str, text: str) -> bool:
    """Whether a field's pattern matches the whole of what an object has; an empty one does."""
    if not pattern:
        return True
    globs = pattern.replace(".*", "*").replace(".", "?").split("|")
    return _READ.fullmatch(pattern) is not None and any(
        patterns.is_named(each, text) for each in globs
    )


def selects(selector: Value, item: Object) -> bool:
    """Whether a selector is about an object; where that cannot be told, it is not."""
    if not isinstance(selector, dict):
        return True
    own = {
        "group": item.group,
        "version": item.api_version.rpartition("/")[2],
        "kind": item.kind,
        "namespace": item.namespace,
        "name": item.name,
    }
    return all(
        key in own and matches(str(text), own[key]) for key, text in selector.items() if text
    )

"""Selectors of patches: each field is a regular expression of Go (kustomize, `SelectorRegex`).

RE2 has the syntax of Go's package `regexp`, and is as linear. Its package is the extra `migrate`,
which only those repositories need that select by more than a name.
"""

import re

_NAME = re.compile(r"[A-Za-z0-9-]*")


class PatternError(ValueError):
    """A pattern that kustomize refuses."""


def is_name(pattern: str) -> bool:
    """Whether a pattern matches its own text alone; an empty one matches everything."""
    return _NAME.fullmatch(pattern) is not None


def matches(pattern: str, text: str) -> bool:
    """Whether a field's pattern matches the whole of what an object has.

    Raises PatternError for what kustomize refuses, and ModuleNotFoundError where a pattern needs
    the extra `migrate`.
    """
    if is_name(pattern):
        return pattern in ("", text)
    import re2  # type: ignore[import-untyped] # noqa: PLC0415 - the extra `migrate`

    options = re2.Options()
    options.log_errors = False
    try:
        # Put together as text, as kustomize does: `a)|(?:b` is odd, and right.
        return re2.compile(f"^(?:{pattern})$", options).search(text) is not None
    except re2.error as error:
        raise PatternError(pattern) from error

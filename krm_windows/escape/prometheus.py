"""Rules of Prometheus.

Texts in its queries, patterns in those, and annotations, which are templates of Go.
"""

import re

# What RE2 gives a meaning (google/re2, Syntax). A set of one character means the same to every
# reader.
_PATTERN = re.compile(r"[.+*?()|{}\[$]")


def text(value: str) -> str:
    """Return a text of PromQL in quotes, with the escapes of Go (Prometheus, Querying basics)."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def pattern(value: str) -> str:
    """Return a pattern that finds one text."""
    whole = value.replace("\\", "\\\\").replace("^", "\\^").replace("]", "\\]")
    return _PATTERN.sub(lambda found: f"[{found[0]}]", whole)


def template(value: str) -> str:
    """Return a template that yields a text: two braces begin an action of Go's text/template."""
    return value.replace("{{", '{{"{{"}}')

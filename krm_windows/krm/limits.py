"""Limits on foreign text: how large, how deep and how much repeated it may be before it is refused.

They hold for a text that is looked into: one object of a stream, a functionConfig, a file of JSON.
What is only passed on is never built as objects: of that only the depth counts, and only where
libyaml has to find the boundaries. An object that etcd takes has 1.5 MB at most; the deepest
schemas of CustomResourceDefinitions are about 60 deep.
"""

from krm_windows.krm.errors import ExcessError

INPUT = 512 * 1024 * 1024
"""Bytes on standard input."""

LENGTH = 16 * 1024 * 1024
"""Characters of one text that is looked into."""

NODES = 1_000_000
"""Nodes of one text, with every alias counted as all that it stands for, ..."""

CHARACTERS = 100
"""... and a scalar once more for each so many characters."""

GROWTH = 20
"""Nodes of a text for each of its characters, likewise, ..."""

ALLOWANCE = 10_000
"""... and so many more, so that a small text may repeat itself too."""

DEPTH = 200
"""Collections inside each other, likewise."""


def check_length(text: str) -> None:
    """Refuse a text that is too long to be looked into; raises ExcessError."""
    if len(text) > LENGTH:
        message = f"the text has {len(text)} characters; at most {LENGTH} are read"
        raise ExcessError(message, 1, 1)

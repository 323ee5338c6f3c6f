"""Where commands write: the directory that an option names."""

import argparse
from pathlib import Path

OPTION = "--output-dir"
"""As `helm template` has it; `-o` is a format everywhere, as kubectl's is."""


def directory(text: str) -> Path:
    """Take the path of a directory.

    An empty one, often a variable that is not set, would be the working directory.
    """
    # `--output-dir "$OUT"` with OUT unset is an empty argument for a shell.
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f"must be a directory, got {text!r}; . is the current directory"
        )
    return Path(text)

"""Where commands write: the directory that an option names."""

import argparse
from pathlib import Path


def directory(text: str) -> Path:
    """Take the path of a directory.

    An empty one, often a variable that is not set, would be the working directory.
    """
    # `--output "$OUT"` with OUT unset is an empty argument for a shell.
    if not text.strip():
        raise argparse.ArgumentTypeError(
            f"must name a directory, got {text!r}; . is the one you are in"
        )
    return Path(text)

"""Where commands write: the directory that an option names."""

import argparse
from collections.abc import Mapping
from pathlib import Path

OPTION = "--output-dir"
"""As `helm template` has it; `-o` is a format everywhere, as kubectl's is."""
MOVED: Mapping[str, str] = {"-o": OPTION, "--output": OPTION}
"""What names a directory in kustomize, and what it is here (`Parser.moved`)."""


def add(
    container: argparse._ActionsContainer,
    *,
    required: bool = False,
    metavar: str = "DIR",
    help: str = "the directory to write",  # noqa: A002 - as argparse calls it
) -> None:
    """Declare the option that names the directory a command writes, as `output_dir`."""
    if required:
        # A group in which one of several is required takes no such keyword.
        container.add_argument(OPTION, type=directory, required=True, metavar=metavar, help=help)
    else:
        container.add_argument(OPTION, type=directory, metavar=metavar, help=help)


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

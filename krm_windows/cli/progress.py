"""How far a long command has come: a bar on a terminal, after a second, and nothing anywhere else."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TypeVar

Step = TypeVar("Step")

PATIENCE = 1.0
"""Seconds before there is a bar."""
_EVERY = 0.1


def bar(steps: Iterable[Step], total: int) -> Iterator[Step]:
    """Yield steps as they come, and show how many of them have."""
    if not sys.stderr.isatty():
        yield from steps
        return
    began = shown = time.monotonic()
    with ExitStack() as stack:
        advance = None
        for done, step in enumerate(steps, 1):
            yield step
            now = time.monotonic()
            if now - began > PATIENCE and now - shown > _EVERY:
                advance, shown = advance or _begin(stack, total), now
                advance(done)


def _begin(stack: ExitStack, total: int) -> Callable[[int], None]:
    """Put a bar on standard error; it goes when the stack is left. Without a thread, as processes may be forked."""
    from rich.console import Console  # noqa: PLC0415 - most runs need no bar
    from rich.progress import Progress  # noqa: PLC0415 - likewise

    progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True, auto_refresh=False))
    task = progress.add_task("clusters", total=total)

    def advance(done: int) -> None:
        progress.update(task, completed=done, refresh=True)

    return advance

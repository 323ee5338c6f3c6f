"""How far a long command has come.

A bar on a terminal, after a second, and nothing anywhere else.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO, TypeAlias, TypeVar

from krm_windows.cli import output

Step = TypeVar("Step")
Progress: TypeAlias = Callable[[int, int], None]
"""Takes how many steps are done, and of how many."""

PATIENCE = 1.0
"""Seconds before there is a bar."""
# Ten times a second is smooth for the eye, and costs next to nothing.
_EVERY = 0.1


@contextmanager
def meter(what: str) -> Iterator[Progress]:
    """Give what shows how far it is; `what` is counted."""
    stream = output.progress_stream()
    if stream is None:
        # In CI a bar would be thousands of lines in a log.
        yield lambda _done, _total: None
        return
    # Monotonic: the wall clock may be set while builds run.
    began = shown = time.monotonic()
    with ExitStack() as stack:
        show: Progress | None = None

        def report(done: int, total: int) -> None:
            nonlocal show, shown
            now = time.monotonic()
            # A command that is done within a second needs no bar that flickers.
            if now - began > PATIENCE and now - shown > _EVERY:
                show, shown = show or _begin(stack, what, stream), now
                show(done, total)

        yield report


def bar(
    steps: Iterable[Step],
    total: int,
    what: str = "clusters",
) -> Iterator[Step]:
    """Yield steps as they come, and show how many of them have."""
    with meter(what) as report:
        for done, step in enumerate(steps, 1):
            yield step
            report(done, total)


def _begin(stack: ExitStack, what: str, stream: TextIO) -> Progress:
    """Put a bar on standard error; it goes when the stack is left.

    Without a thread, as processes may be forked.
    """
    from rich.console import Console  # noqa: PLC0415 - most runs need no bar
    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415 - likewise

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    progress = stack.enter_context(
        Progress(*columns, console=Console(file=stream), transient=True, auto_refresh=False)
    )
    # How many steps there are is known with the first report only.
    task = progress.add_task(what, total=None)

    def show(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total, refresh=True)

    return show

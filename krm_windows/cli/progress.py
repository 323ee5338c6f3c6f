"""How far a long command has come: on a terminal, and nothing anywhere else."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from krm_windows.cli import output, streams

Step = TypeVar("Step")
Report: TypeAlias = Callable[[int, int], None]
"""Takes how many steps are done, and of how many."""


@contextmanager
def status(command: str) -> Iterator[None]:
    """Say that a command is at work, until it says something itself, or there is a bar."""
    with _drawn(SpinnerColumn()) as progress:
        progress.add_task(command)
        yield


@contextmanager
def meter(what: str) -> Iterator[Report]:
    """Give what shows how far it is; `what` is counted."""
    streams.make_room()
    with _drawn(BarColumn(), MofNCompleteColumn()) as progress:
        # How many steps there are is known with the first report only.
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def bar(steps: Iterable[Step], total: int) -> Iterator[Step]:
    """Yield steps as they come, one for each cluster, and show how many of them have."""
    with meter("clusters") as report:
        for done, step in enumerate(steps, 1):
            yield step
            report(done, total)


@contextmanager
def _drawn(*columns: ProgressColumn) -> Iterator[Progress]:
    """Draw a line on standard error until anything is printed."""
    stream = output.progress_stream()
    progress = Progress(
        TextColumn("{task.description}"),
        *columns,
        TimeElapsedColumn(),
        console=Console(file=stream),
        transient=True,
        # rich would print what is for standard output where it draws.
        redirect_stdout=False,
        redirect_stderr=False,
        # In CI a bar would be thousands of lines in a log.
        disable=stream is None,
    )
    with progress, streams.before_each(progress.stop):
        yield progress

"""Work that is done several pieces at once, in threads, and given in its order."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeVar

P = TypeVar("P")
T = TypeVar("T")


def in_order(
    pieces: Sequence[P],
    work: Callable[[int, P], T],
    at_once: int,
) -> Iterator[tuple[P, T]]:
    """Begin pieces in their order, each with its number, and give what comes of each in that order.

    What `work` raises is raised in its turn, and no other is begun then. The locks of
    `concurrent.futures` take a tenth of a run.
    """
    turns = iter(enumerate(pieces))  # of several threads, each gets another
    outcomes: list[SimpleQueue[T | BaseException]] = [SimpleQueue() for _ in pieces]

    def serve() -> None:
        for number, piece in turns:
            try:
                outcomes[number].put(work(number, piece))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                outcomes[number].put(error)

    threads = []
    try:
        for _ in range(min(at_once, len(pieces))):
            thread = Thread(target=serve)
            thread.start()
            threads.append(thread)
        for piece, queue in zip(pieces, outcomes, strict=True):
            outcome = queue.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield piece, outcome
    finally:
        deque(turns, maxlen=0)  # nobody waits for the rest any more
        for thread in threads:
            thread.join()

"""Work that is done in threads."""

from threading import Barrier, active_count
from time import sleep

import pytest

from krm_windows.gate.threads import in_order


def test_all_is_given_in_its_order() -> None:
    """Whatever ends first, with its number; so many at once, and no more."""
    together = Barrier(4)
    running: list[int] = []
    most = 0

    def work(number: int, piece: str) -> str:
        nonlocal most
        running.append(number)
        if number < 4:
            together.wait(20)  # none of the first is done before all of them have begun
        sleep(0.003 * (number % 3))
        most = max(most, len(running))
        running.remove(number)
        return f"{number}{piece}"

    pieces = "abcdefghijklmnop"
    found = list(in_order(pieces, work, 4))
    assert found == [(piece, f"{number}{piece}") for number, piece in enumerate(pieces)]
    assert most == 4


@pytest.mark.parametrize("count", [0, 1, 2])
def test_fewer_than_threads(count: int) -> None:
    """None, or as many threads as there is work for."""
    before = active_count()
    threads: list[int] = []

    def work(_: int, piece: int) -> int:
        threads.append(active_count() - before)
        return -piece

    assert list(in_order(range(count), work, 8)) == [(piece, -piece) for piece in range(count)]
    assert all(running <= count for running in threads)


def test_what_is_raised() -> None:
    """It is raised in its turn, what was begun ends, and the rest is not begun."""
    begun: list[int] = []
    ended: list[int] = []

    def work(number: int, _: int) -> int:
        begun.append(number)
        sleep(0.01)
        if number == 3:
            raise KeyboardInterrupt("three")
        ended.append(number)
        return number

    before = active_count()
    given = in_order(range(1000), work, 4)
    assert [next(given) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    with pytest.raises(KeyboardInterrupt, match="three"):
        next(given)
    assert sorted([*ended, 3]) == sorted(begun)
    assert len(begun) < 100
    assert active_count() == before


def test_nobody_waits_for_the_rest() -> None:
    """As where the log cannot be written any more: no thread goes on."""
    begun: list[int] = []

    def work(number: int, _: int) -> int:
        begun.append(number)
        sleep(0.01)
        return number

    before = active_count()
    given = in_order(range(1000), work, 4)
    assert next(given) == (0, 0)
    given.close()  # type: ignore[attr-defined] # it is a generator
    assert len(begun) < 100
    assert active_count() == before

"""The end of a text without a line break: more can be put behind it, and nothing before changes."""

import pytest
import yaml

from krm_windows.krm import endings


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  x",
        "a: |-\n  x",
        "a: |+\n  x",
        "a: >2\n    x",
        "a: |2\n   x",
        "a: | # why\n  x",
        "a: |\n  x\n  ",
        "- >-\n  x\n  y",
        "\ufeffa: |\n  x",
    ],
)
def test_a_block_scalar_at_the_end(text: str) -> None:
    """It means the same with an entry behind it, and comes back as it was without one."""
    ending = endings.of(text.encode())
    closed = ending.close(text.encode())
    is_list = text.startswith("-")
    more = b"- last\n" if is_list else b"last: 1\n"
    before, after = yaml.safe_load(text), yaml.safe_load(closed + more)
    assert after == ([*before, "last"] if is_list else {**before, "last": 1})
    assert b"".join(map(bytes, ending.restore([closed]))) == text.encode()
    assert b"".join(map(bytes, ending.restore([closed, more]))) == closed + more


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a: 1",
        b"a: |\n  x\n",
        b"a: x | y",
        b"a: '| \n x'",
        b"a: |\nb: x",
        b"a: [|\n  x",
        b"a: | \xff\n  x",
    ],
)
def test_an_ordinary_end(text: bytes) -> None:
    """Nothing has to be closed, also where the text cannot be read."""
    assert endings.of(text) == endings.ORDINARY
    assert endings.ORDINARY.close(text) == text

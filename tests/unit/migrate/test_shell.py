"""Loops of a script: what they are written out to, and what that costs."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from work import growth

from krm_windows.migrate import shell
from krm_windows.migrate.shell import ShellError

TOKENS = (
    "for ",
    "for",
    "x",
    " in ",
    "a",
    "b ",
    " ",
    ";",
    "\n",
    "; do ",
    "do ",
    "; done",
    "done",
    "$x",
    "${x}",
    "$xa",
    "if ",
    "&",
)
# What a loop over plain words is, said at once: `re` finds it in the short texts of a test.
LOOP = re.compile(
    r"""
    \bfor[ \t]+(?P<name>\w+)[ \t]+in[ \t]+(?P<words>[\w./ \t-]+?)[ \t]*[;\n]\s*do\s+
    (?P<body>(?:(?!\b(?:for|if|while|until|case|done|break|continue)\b).)+?)[;\n]\s*done\b
    """,
    re.VERBOSE | re.DOTALL,
)


def written_out(loop: re.Match[str]) -> str:
    """Write a loop out for each of its words."""
    variable = re.compile(rf"\$(?:{loop['name']}\b|{{{loop['name']}}})")
    return ";\n".join(variable.sub(word, loop["body"]) for word in loop["words"].split())


@given(st.lists(st.sampled_from(TOKENS), max_size=16), st.lists(st.sampled_from(TOKENS), max_size=4))
def test_a_loop_is_what_it_says_at_once(before: list[str], inside: list[str]) -> None:
    """Beside others, and with anything in it."""
    script = "".join([*before, "for x in a b; do ", *inside, "; done"])
    assume(all(loop["body"].strip() for loop in LOOP.finditer(script)))
    meant = LOOP.sub(written_out, script)
    assert [line.split() for line in shell._unrolled(script).split("\n")] == [
        line.split() for line in meant.split("\n")
    ]


HOSTILE = {
    "loops without an end": "for x in a; do b\n",
    "heads in a line": "for x in ",
    "words": "'a'\"b\"\\c$d ",
    "quotes that stay open": "\"a\\\"'b'",
    "line ends": "\n",
    "a head and line ends": "for x in a;\n\n\n\n",
    "digits": "1234567890",
    "braces": "{a,b}{a,b}",
    "substitutions": "$(a ",
    "here-documents": "cat <<E\n",
    "flux": "flux ",
    "kubectl patch": "kubectl patch ",
}


@pytest.mark.parametrize("part", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_script_costs_its_length(part: str) -> None:
    """Each of its signs is read a few times, whatever follows."""

    def read(size: int) -> None:
        try:
            shell.split(part * (size // len(part)))
        except ShellError:
            return

    assert growth(read, 3000) < 2.5


def test_a_loop_is_written_out_within_bounds() -> None:
    """Thousands of words times a long body are refused, not held in memory."""
    with pytest.raises(ShellError, match="words"):
        shell.split(f"for x in {'a ' * 10_000}; do {'echo $x;' * 4_000} done")
    with pytest.raises(ShellError, match="characters"):
        shell.split("a " * 100_000)

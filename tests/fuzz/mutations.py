"""Changes to a text at random: of its lines, of the scalars behind its colons, and of its bytes."""

from collections.abc import Callable, Sequence
from random import Random

from yaml_strategies import COMMENTS, LOOKALIKES, MISLEADING, PLAIN

LONGEST = 200_000

# What is where a text belongs, and lines that mean something else than the one before them.
FLOW = ["[]", "{}", "[a]", "[[[]]]", "{a: b}", "[a, {b: c}]", "&a [*a]", "!!map {}", "{<<: *a}"]
SCALARS = ["null", "~", '""', "''", "|", ">-", "|+", "*a", "&a x", "&a", "!!str", "<<"]
STRANGE = ["9" * 50, "-0", "1e999", '"\\u0000"', '"\\ud800"', "\u202e", "\x1b[31m", "x" * 300]
TIMES = ["* * * * *", "@every 0s", "Mon 25:00", "2026-02-30", "0001-01-01T00:00", "P1D"]
BROKEN = ["'open", '"open', "[open", "{open", "a: b: c", "- - - a", "? a", "%", "@", "\t", "\ufeff"]
SHAPES = [*FLOW, *SCALARS, *STRANGE, *TIMES, *BROKEN, "366d", "9999-12-31", "24:00", "%YAML 1.1"]
KEYS = ["? ", "? a", ": b", "? [a]", "? {a: b}", "<<: {a: b}", "<<: *a", "  <<: [*a, *a]", "- ? a"]
MARKS = ["---", "...", "--- |", "%YAML 1.2", "a: |", "- |", "  a: >+", "-", "- -", "-\t- a"]
LISTS = ["items: []", "items: null", "items: {}", "results: x", "functionConfig: null"]
OPENED = ["'", '"', "]", "}", "[", "{", "|", "\t", "\x00", "\x85", "\u2028", "kind: ResourceList"]
LINES = [*MISLEADING, *COMMENTS, *KEYS, *MARKS, *LISTS, *OPENED]
BYTES = (b"\xff\xfe", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80")

# All have one form: those that take nothing from other texts call these `_others`.
Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]


def mutate(text: bytes, random: Random, others: Sequence[bytes], most: int = 4) -> bytes:
    """Return a text with a few changes; `others` are what parts may be taken from."""
    for _ in range(random.randint(1, most)):
        text = random.choice(MUTATIONS)(text, random, others)
    return text[:LONGEST]


def _removed(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    place = random.randrange(len(lines) + 1)
    del lines[place : place + random.choice((1, 1, 1, 2, 5, 20))]
    return b"".join(lines)


def _repeated(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    place = random.randrange(len(lines) + 1)
    part = lines[place : place + random.choice((1, 1, 3, 12))]
    return b"".join(lines[:place] + part * random.choice((2, 2, 2, 3, 50)) + lines[place:])


def _indented(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    start = random.randrange(len(lines) + 1)
    for index in range(start, min(len(lines), start + random.choice((1, 1, 3)))):
        line = lines[index]
        lines[index] = b"  " + line if random.random() < 0.5 else line.removeprefix(b"  ")
    return b"".join(lines)


def _replaced(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    has_place = [b": " in line or line.lstrip().startswith(b"- ") for line in lines]
    places = [index for index, found in enumerate(has_place) if found]
    if not places:
        return text
    index = random.choice(places)
    mark = b": " if b": " in lines[index] else b"- "
    head = lines[index].partition(mark)[0]
    lines[index] = head + mark + random.choice([*SHAPES, *LOOKALIKES, *PLAIN]).encode()
    return b"\n".join(lines)


def _emptied(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.split(b"\n")
    places = [index for index, line in enumerate(lines) if line.endswith(b":")]
    if not places:
        return text
    index = random.choice(places)
    column = len(lines[index]) - len(lines[index].lstrip())
    end = index + 1
    while end < len(lines) and len(lines[end]) - len(lines[end].lstrip()) > column:
        end += 1
    lines[index:end] = [lines[index] + b" " + random.choice(SHAPES).encode()]
    return b"\n".join(lines)


def _inserted(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    column = b" " * random.choice((0, 0, 2, 4, 6))
    lines.insert(
        random.randrange(len(lines) + 1),
        column + random.choice(LINES).encode() + random.choice((b"\n", b"\n", b"")),
    )
    return b"".join(lines)


def _cut(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    return text[: random.randrange(len(text) + 1)] if random.random() < 0.5 else text.rstrip(b"\n")


def _spliced(text: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    lines = text.splitlines(keepends=True)
    more = random.choice(others or (b"",)).splitlines(keepends=True)
    place, start = random.randrange(len(lines) + 1), random.randrange(len(more) + 1)
    part = more[start : start + random.randint(1, 12)]
    return b"".join(lines[:place] + part + lines[place + random.choice((0, len(part))) :])


def _bytes(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    place = random.randrange(len(text) + 1)
    what = random.choice((bytes([random.randrange(256)]), *BYTES))
    return text[:place] + what + text[place + random.choice((0, 1)) :]


def _breaks(text: bytes, random: Random, _others: Sequence[bytes]) -> bytes:
    return text.replace(b"\n", random.choice((b"\r\n", b"\r", b"\xc2\x85")), random.choice((1, -1)))


OFTEN = (_replaced, _replaced, _replaced, _emptied, _emptied, _inserted, _inserted)
MUTATIONS: tuple[Mutation, ...] = (
    *OFTEN,
    *(_removed, _repeated, _indented, _cut, _spliced, _bytes, _breaks),
)

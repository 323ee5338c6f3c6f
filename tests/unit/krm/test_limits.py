"""Text that is made to exhaust: refused with a place and a reason, or read in linear time."""

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import pytest
import yaml
from calls import APPS, HEAD, POLICY, Answer, as_item, call, indented, wire
from effort import crossed, mostly_slow
from work import calls

from krm_windows import krm
from krm_windows.krm import limits, outline, plain_json

DEEP = 200_000
NAMES = [f"n{index}" for index in range(10)]


def bomb() -> str:
    """Return nine levels, each nine times the one before: 9**9 nodes in a kilobyte."""
    rows = [f"n0: &n0 [{', '.join(['x'] * 9)}]\n"]
    for before, name in pairwise(NAMES):
        rows.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n")
    return "".join(rows)


def merges() -> str:
    rows = (
        f"m{index}: &m{index} {{<<: [{', '.join([f'*m{index - 1}'] * 9)}], k{index}: v}}\n"
        for index in range(1, 400)
    )
    return "m0: &m0 {k0: v}\n" + "".join(rows)


REFUSED = {
    "aliases of aliases": bomb(),
    "aliases of a long text": f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 2000)}]\n",
    "merges of merges": merges(),
    "aliases that make it deep": "a0: &a0 [x]\n"
    + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(250)),
    "an alias of its own node": "a: &a [*a]\n",
    "a mapping in itself": "a: &a\n  b: *a\n",
    "a merge of itself": "a: &a\n  <<: *a\n",
    "an anchor that is written again": "a: &a x\nb: &a {c: *a}\n",
    "lists in lists": f"a: {'[' * DEEP}{']' * DEEP}\n",
    "lists that are not closed": f"a: {'[' * DEEP}\n",
    "maps in maps": "a: " + '{"a":' * DEEP + "1" + "}" * DEEP + "\n",
    "lists in lists in block style": f"a:\n  {'- ' * 5000}x\n",
    "maps in maps in block style": "".join(f"{' ' * depth}a:\n" for depth in range(300)),
    "keys of keys": f"a:\n  {'? ' * 5000}x\n",
}


@pytest.mark.parametrize(
    ("where", "case"), crossed(["config", "item", "file", "document"], REFUSED)
)
def test_P12_what_exhausts_is_refused_and_the_items_come_back(
    where: str, case: str, tmp_path: Path
) -> None:
    text = REFUSED[case]
    assert len(text) < 3 * 10**6
    answers: list[Answer] = []

    def run() -> None:
        if where in ("file", "document"):
            path = tmp_path / "config.yaml"
            path.write_text(POLICY + (text if where == "file" else ""))
            answers.append(call(APPS + (text if where == "document" else ""), str(path)))
        else:
            data = wire(APPS + text) if where == "item" else wire(APPS, config=POLICY + text)
            answers.append(call(data))

    assert calls(run) < 200_000
    [answer] = answers
    assert answer.code == 1
    assert "line " in answer.err
    assert "Traceback" not in answer.err
    expected = APPS if where in ("file", "document") else as_item(APPS)
    assert expected.encode() in answer.out


def test_aliases_as_people_use_them_are_read() -> None:
    settings = "".join(f"  key{index}: some value of ordinary length\n" for index in range(60))
    text = f"base: &base\n{settings}" + "".join(
        f"s{index}:\n  <<: *base\n  own: {index}\n" for index in range(20)
    )
    meaning = krm.value(krm.parse(text))
    assert isinstance(meaning, dict)
    assert len(meaning["s19"]) == 61


def test_what_is_as_deep_as_allowed_is_read_and_edited() -> None:
    depth = limits.DEPTH - 1
    for text in (
        f"a: {'[' * depth}x{']' * depth}\nb: c\n",
        "".join(f"{' ' * i}a:\n" for i in range(depth)) + "b: c\n",
    ):
        item = krm.KubeObject.parse(text.encode())
        item.set("d", "b")
        item.set({"e": krm.value(item.node)["a"]}, "b") if "[" not in text else None
        assert "d" in item.span.decode() or "e" in item.span.decode()
    assert (
        call(wire(APPS, config=POLICY + f"x: {'[' * (depth - 1)}{']' * (depth - 1)}\n")).code == 1
    )


def test_a_text_that_is_too_long_to_look_into() -> None:
    size = limits.LENGTH + 1
    long = f"- kind: Secret\n  data: {'x' * size}\n"
    answer = call(wire(APPS).replace("functionConfig:", f"{long}functionConfig:"))
    assert answer.code == 0
    assert long.encode() in answer.out
    answer = call(wire(APPS, config=f"{POLICY}x: {'x' * size}\n"))
    assert answer.code == 1
    assert "characters; at most" in answer.err


@pytest.mark.parametrize(
    ("name", "make"),
    {
        "anchors": lambda n: "".join(f"a{i}: &a{i} x\n" for i in range(n)),
        "items": lambda n: "a:\n" + "- x\n" * n,
        "merges": lambda n: "a: &a {b: c}\n" + "".join(f"k{i}: {{<<: *a}}\n" for i in range(n)),
        "many merged": lambda n: f"a:\n  <<: [{', '.join(['{b: c}'] * n)}]\n",
        "comments": lambda n: "# x\n" * n + "a: b\n",
    }.items(),
)
def test_reading_grows_with_the_text(name: str, make: Callable[[int], str]) -> None:
    assert name
    one, two = (calls(lambda n=n: krm.value(krm.parse(make(n)))) for n in (500, 1000))
    assert two < 2.2 * one


def test_a_list_that_goes_on_below_is_scanned_once() -> None:
    """An entry was tried in two ways, so that 40 entries never ended."""
    text = f"- kind: A\n  a: [{'x, ' * 20_000}\n   ]\n  b: {{{'k: v, ' * 20_000}\n   }}\n".encode()
    data = HEAD.encode() + b"items:\n" + text
    found = outline.listing(data, outline.scan(data)["items"])
    assert found is not None
    assert len(found.spans) == 1


@pytest.mark.parametrize(
    "text", ["[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP, "[" * 201 + "]" * 201]
)
def test_json_that_is_too_deep(text: str) -> None:
    with pytest.raises((krm.InputError, ValueError)):
        plain_json.read(text)
    with pytest.raises((krm.InputError, ValueError)):
        list(plain_json.values(text))


def test_json_one_behind_the_other() -> None:
    assert list(plain_json.values(' {"a": [1]} [2]\n3 ')) == [{"a": [1]}, [2], 3]
    assert plain_json.read(" [1] ") == [1]
    for wrong in ("[1] [2]", "", "{"):
        with pytest.raises(ValueError, match=r".*"):
            plain_json.read(wrong)


HEADERS = ["|", ">", "|+", ">+", "|-", "|2", ">2+", "|+2", "!!str |", "&a |+", "| # text"]
LAST = product(HEADERS, ["\n", " \n", "\n\n", "\n \n"], ["spec", "bad", "none"])


@pytest.mark.parametrize("last", mostly_slow(LAST, every=5))
def test_what_follows_a_block_scalar_does_not_change_it(last: tuple[str, str, str]) -> None:
    header, end, config = last
    policy = {"spec": POLICY, "bad": POLICY.replace("Mon", "Mom"), "none": ""}[config]
    given = f"functionConfig:\n{indented(policy)}" if policy else ""
    data = f"{HEAD}{given}items:\n{as_item(APPS)}- kind: A\n  x: {header}\n    y\n\n    z{end}"
    before = krm.ResourceList.read(data.encode()).items[1].get("x")
    answer = call(data)
    assert answer.code == {"spec": 0, "bad": 1, "none": 3}[config]
    items = answer.items
    assert len(answer.out) > len(data)
    assert items[1]["x"] == before


@pytest.mark.parametrize("header", ["|", ">+"])
def test_a_block_scalar_at_the_end_of_a_stream(header: str, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(POLICY)
    answer = call(f"{APPS}---\nkind: A\nx: {header}\n  y\n", str(path))
    assert answer.code == 0
    assert krm.documents(answer.out)[1].get("x") == "y\n"


def test_a_block_scalar_behind_which_nothing_is_put() -> None:
    data = f"{HEAD}functionConfig:\n{indented(POLICY)}items:\n- kind: A\n  x: |\n    y"
    resources = krm.ResourceList.read(data.encode())
    assert b"".join(resources.chunks()) == data.encode()
    resources.items[0].set("z", "x")
    assert b"z" in b"".join(resources.chunks())


BARE = ["? ", "?", "? zzz", "? &a zzz", "? [a, b]", "? {a: b}", "? |\n  x", "? # text"]
BARE += ["?\n  a: b", "? 'a: b'", "? a # b: c"]
PLACES = ["apiVersion:", "kind: R", "items:", "functionConfig:", "results", ""]


@pytest.mark.parametrize("written", mostly_slow(product(BARE, PLACES), every=5))
def test_P12_a_key_without_a_value(written: tuple[str, str]) -> None:
    key, place = written
    text = wire(APPS)
    data = (
        text.replace(place, f"{key}\n{place}", 1) if place in text and place else f"{text}{key}\n"
    )
    answer = call(data)
    if answer.code:
        assert (answer.code, answer.out) == (1, data.encode())
        return
    before, after = (krm.value(krm.parse(each)) for each in (data, answer.out.decode()))
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert {**after, "items": None} == {**before, "items": None}
    assert answer.items[0]["metadata"]["name"] == "apps"


@pytest.mark.parametrize("name", ["items", "results"])
def test_P12_a_list_of_ours_without_a_colon(name: str) -> None:
    answer = call(f"{HEAD}? {name}\n")
    assert answer.code == 3
    document = yaml.load(answer.out, yaml.CSafeLoader)
    assert document["items"] == []
    assert len(document["results"]) == 1


@pytest.mark.parametrize("field", ["9" * 900, "²", "x²3", "٣", "00012", "a9b" * 200])
def test_names_of_fields_that_are_numbers(field: str) -> None:
    answer = call(wire(APPS, config=POLICY + f"  {field}: 1\n  x: 2\n"))
    assert answer.code == 1, answer.err
    assert "field-unknown" in answer.err

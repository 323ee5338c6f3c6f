"""Selectors of patches: what kustomize says of them, and what they cost."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm_windows.flux import selectors
from krm_windows.flux.selectors import PatternError

NAMES = (
    *(
        "a",
        "b",
        "ab",
        "aab",
        "a-b",
        "a.b",
        "a1",
        "A",
        "AB",
        "K",
        "k",
        "\u212a",
        "s",
        "\u017f",
        "a_b",
        "é",
        "É",
        "a\nb",
    ),
    *("\n", "10", "aaaa", "a b", "b-a-c", "x*y", "x{2}", "ß", "-", "]", "^", "\t", "dash-7"),
)
RIGHT = r"""
    a a.* .*b a|b (a|b)+ a{2}b a{2,} a{0,3}b? a{,2} x{2} x\{2\} [ab]+ [^a]+ [a-]+ [-a]+ []] [^]a]
    [a-c-e]+ [\w.]+ [^\W]+ [\d-]+ [[:alpha:]]+ [[:^alpha:]]+ [[:word:]-]* \w+ \W \d+ \D+ \s \S+ a\.b
    a\-b x\*y \Qx*y\E \Qa\E+ (?i)ab (?i)k (?i)s (?i)[k-l] (?i:A)b (?-i)A (?i)a(?-i)b a(?i)b|AB
    (?s)a.b a.b (?m)^b (?m)a$\n^b (?m:a$).b (?sm)a$.^b (?U)a+ a+? a*?b (?:a) (?P<n>a)b (?<n>a)b
    \bab\b a\b.\bb a\Bab \Aab\z ^ab$ a^b (?:a*)*b (a*)+ (|a)+ () (a|)b a||b | \x61 \x{61}b \141
    \07|a \pL \p{Lu} \P{L} \PL [\pL\d]+ \p{^L} (?i)\p{Lu} \a|\t a)|(?:b a)|(?:.*b ^*a (?:^)*a $?a
    a{1001 a{a} \_|a_b [a&&b] [[a] [.] a[.]b ] } é \x{e9} [à-ê] (?i)é (?i)ß
""".split()  # noqa: SIM905 - a table of patterns reads better
WRONG = r"""
    ( ) a) [ [a [b-a] a** a*+ a+* a??* a{2}{3} * +a a|* (*a) (?=a) (?!a) (?<=a) (?>a) (?#a) (?z) (?i
    (?i-)a (?-)a (?P<>a) (?P<a (?P=n) \1 \8 \ \q \Z \x \xg1 \x{} \x{110000} \pQ \p{Nope} \p{
    [[:nope:]] [a-\d] a{1001} a{2,1} (a{100}){11} \E \u0061 [\b] \Qx*
""".split()  # noqa: SIM905 - a table of patterns reads better


def build(
    folder: Path, kustomize: Path, targets: list[dict[str, str]]
) -> subprocess.CompletedProcess[str]:
    """Have kustomize note, on every ConfigMap, which patches meant it."""
    objects = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {}}
        for name in NAMES
    ]
    patches = [
        {
            "target": target,
            "patch": json.dumps([{"op": "add", "path": f"/data/p{number}", "value": "x"}]),
        }
        for number, target in enumerate(targets)
    ]
    (folder / "objects.yaml").write_text("---\n".join(f"{json.dumps(each)}\n" for each in objects))
    (folder / "kustomization.yaml").write_text(
        json.dumps({"resources": ["objects.yaml"], "patches": patches})
    )
    return subprocess.run([kustomize, "build", folder], capture_output=True, text=True, check=False)


def test_what_matches_is_what_kustomize_finds(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """Every sign of the syntax, for names of every sort."""
    done = build(tmp_path, tool("kustomize"), [{"name": pattern} for pattern in RIGHT])
    assert done.returncode == 0, done.stderr
    found = {item["metadata"]["name"]: item["data"] for item in yaml.safe_load_all(done.stdout)}
    for number, pattern in enumerate(RIGHT):
        theirs = {name for name in NAMES if f"p{number}" in found[name]}
        ours = {name for name in NAMES if selectors.matches(pattern, name)}
        assert ours == theirs, pattern


@pytest.mark.parametrize("pattern", WRONG)
def test_what_kustomize_refuses_is_refused(
    pattern: str, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """With words, and nothing else."""
    assert build(tmp_path, tool("kustomize"), [{"name": pattern}]).returncode != 0
    with pytest.raises(PatternError):
        selectors.matches(pattern, "a")


@given(st.text("ab()[]*+?{},1|^$\\.-:<>P=iQEdb", max_size=12), st.text("ab1-\n", max_size=6))
def test_no_text_is_a_surprise(pattern: str, name: str) -> None:
    """Whatever is there is a pattern, or is refused in words.

    What `re` has in common with Go means the same.
    """
    try:
        ours = selectors.matches(pattern, name)
    except PatternError:
        return
    shared = (
        not set(pattern) & set("{(\\[^")
        and "++" not in pattern
        and "?+" not in pattern
        and "*+" not in pattern
    )
    if shared and pattern and "$" not in pattern:
        assert ours == (re.search(f"^(?:{pattern})\\Z", name) is not None)


HOSTILE = r"""
    (a+)+b (a|a)*b (a*)*b (.*)*(.*)*b (a?){300}a{300} ((a{1,9}){1,9}){1,9}b (.*a){300}
    (?i)(a|A|[aA])*b
""".split()  # noqa: SIM905 - a table of patterns reads better


@pytest.mark.parametrize("pattern", HOSTILE)
def test_what_keeps_re_busy_for_years_is_matched_at_once(pattern: str) -> None:
    """A name has at most 253 characters."""
    began = time.process_time()
    selectors.matches(pattern, "a" * 253)
    assert time.process_time() - began < 1


def test_a_pattern_is_only_so_large() -> None:
    """What it repeats is bounded."""
    for pattern in ("((a{30}){30}){2}", "(.{900})" * 1000):
        with pytest.raises(PatternError):
            selectors.matches(pattern, "a.")


def test_a_name_needs_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most repositories have no pattern; what one needs is said by the package's name."""
    monkeypatch.setitem(sys.modules, "re2", None)
    assert selectors.matches("open-apps", "open-apps")
    assert selectors.matches("", "open-apps")
    assert not selectors.matches("open-apps", "open")
    with pytest.raises(ModuleNotFoundError, match="re2"):
        selectors.matches("open-.*", "open-apps")

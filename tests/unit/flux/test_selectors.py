"""Selectors of patches, as kustomize reads them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from krm_windows.flux import selectors

NAMES = (
    *("a", "b", "ab", "aab", "a-b", "a.b", "a1", "A", "AB", "K", "k", "\u212a", "s", "\u017f"),
    *("a_b", "é", "É", "10", "aaaa", "a b", "b-a-c", "x*y", "x{2}", "ß", "-", "]", "^", "\t"),
    "dash-7",
)
READ = ("a", "a.*", ".*b", "a|b", "a.b", ".*", "ab|a-.*", "dash-7", "", ".", "K")
UNREAD = ("a+", "(a|b)", "^a$", "[ab]", r"a\.b", "a*", "a?")


def build(
    folder: Path, kustomize: Path, targets: list[dict[str, str]]
) -> subprocess.CompletedProcess[str]:
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
    done = build(tmp_path, tool("kustomize"), [{"name": pattern} for pattern in READ])
    assert done.returncode == 0, done.stderr
    found = {item["metadata"]["name"]: item["data"] for item in yaml.safe_load_all(done.stdout)}
    for number, pattern in enumerate(READ):
        theirs = {name for name in NAMES if f"p{number}" in found[name]}
        ours = {name for name in NAMES if selectors.matches(pattern, name)}
        assert ours == theirs, pattern


@pytest.mark.parametrize("pattern", UNREAD)
def test_what_takes_more_of_a_regular_expression_matches_nothing(pattern: str) -> None:
    assert not any(selectors.matches(pattern, name) for name in NAMES)

"""Policies and resources in a `kind: List`, as `kubectl get -o yaml` writes them."""

from pathlib import Path

import pytest
import yaml
from calls import APPS, POLICY, Run

RENDER = ("render", "policy.yaml", "--resources", "resources", "--output-dir", "out")


def listed(*texts: str) -> str:
    items = list(map(yaml.safe_load, texts))
    entry = {"apiVersion": "v1", "kind": "List", "items": items}
    return str(yaml.safe_dump(entry, sort_keys=False))


@pytest.fixture(autouse=True)
def _files(run: Run) -> None:
    assert run
    Path("policy.yaml").write_text(listed(POLICY))
    Path("resources").mkdir()
    Path("resources/list.yaml").write_text(listed(APPS))


def test_a_policy_renders_from_its_list(run: Run) -> None:
    assert run(*RENDER).code == 0
    assert run("check", "policy.yaml").code == 0


def test_what_is_wrong_has_its_line(run: Run) -> None:
    Path("policy.yaml").write_text(listed(POLICY.replace("[apps]", "[apps, other]")))
    assert place("policy.yaml", "- other") in run(*RENDER).err
    Path("policy.yaml").write_text(listed(POLICY))
    other = "{apiVersion: v1, kind: A, metadata: {name: a}}"
    Path("resources/list.yaml").write_text(listed(other, f"{APPS}  suspend: true\n"))
    assert place("resources/list.yaml", "suspend: true") in run(*RENDER).err


def place(path: str, text: str) -> str:
    lines = [line.strip() for line in Path(path).read_text().splitlines()]
    return f"{path}:{lines.index(text) + 1}:"


@pytest.mark.parametrize(
    "command",
    [
        ("set", "policy.yaml", "--patch", '{"timeZone": "Etc/UTC"}'),
        ("override", "policy.yaml", "open", "--for", "2h", "--reason", "a fix"),
    ],
)
def test_no_command_changes_it_there(command: tuple[str, ...], run: Run) -> None:
    ended = run(*command)
    assert ended.code != 0
    assert "policy.yaml:4:3: " in ended.err
    assert "make the policy a document of its own" in ended.err
    assert Path("policy.yaml").read_text() == listed(POLICY)

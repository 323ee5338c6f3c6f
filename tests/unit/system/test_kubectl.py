"""kubectl is asked for names, and nothing that a policy says is an option of it."""

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from krm_windows.system import kubectl
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kubectl import Kubectl, Query
from krm_windows.system.programs import Limits

ECHO = (
    f"#!{sys.executable}\nimport json, os, sys\n"
    "print(json.dumps([sys.argv[1:], sys.stdin.read()]))\n"
)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "kubectl"
    place.write_text(ECHO)
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return place


def test_how_it_is_asked(program: Path) -> None:
    assert program
    asked = Kubectl("--server=evil", "--token").get(Query("a.b", "home", names=("x", "y.z")))
    arguments, stdin = json.loads(asked)
    assert (arguments[0], stdin) == ("get", "")
    options, names = arguments[1 : arguments.index("--")], arguments[arguments.index("--") + 1 :]
    assert all(re.match("--[a-z-]+($|=)", option) for option in options)
    assert {"--kubeconfig=--server=evil", "--context=--token", "--namespace=home"} < set(options)
    assert names == ["a.b", "x", "y.z"]
    arguments, _ = json.loads(Kubectl().get(Query("a.b", "home", labels={"x/y": "z", "a": ""})))
    assert "--selector=a=,x/y=z" in arguments
    assert arguments[-2:] == ["--", "a.b"]


EVIL = ["--token=x", "-A", "", "a,b\n", "x" * 254, "$(x)"]


@pytest.mark.parametrize("text", EVIL, ids=lambda text: repr(text[:9]))
def test_what_is_no_name_is_not_asked_for(program: Path, text: str) -> None:
    program.unlink()
    queries = [
        Query(text, "home"),
        Query("a", text),
        Query("a", "home", names=("x", text)),
        Query("a", "home", labels={text: "x"}),
    ]
    if text:  # a label may have no value
        queries.append(Query("a", "home", labels={"x": text}))
    for query in queries:
        with pytest.raises(WorkspaceError, match="for kubectl"):
            Kubectl().get(query)


def test_it_is_bounded(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubectl, "_LIMITS", Limits(seconds=2, output=1000))
    began = time.monotonic()
    for lines, words in {
        "exec sleep 600": "did not end within 2 s",
        "yes": "prints more than 1000 bytes",
    }.items():
        program.write_text(f"#!/bin/sh\n{lines}\n")
        with pytest.raises(WorkspaceError, match=words):
            Kubectl().get(Query("a", "home"))
    assert time.monotonic() - began < 300, "it was waited for"

"""Being called: by any orchestrator, with any ResourceList, in any environment, well or badly."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from calls import APPS, HEAD, POLICY, V1BETA1, Answer, TextLoader, call, program, spec, wire

from krm_windows import __version__
from krm_windows.schedule import zones

OWN_FAILURE = """
import os, sys, warnings
from krm_windows import krm

def process(resources):
    {body}

raise SystemExit(krm.run(process, argv=sys.argv[1:], stdin=sys.stdin.buffer,
                         stdout=sys.stdout.buffer, stderr=sys.stderr, environ=os.environ))
"""
EARLIER = "results:\n- message: looked fine\n  severity: info\n"


def with_process(body: str, data: str, *argv: str) -> Answer:
    command = [sys.executable, "-W", "always", "-c", OWN_FAILURE.format(body=body), *argv]
    done = subprocess.run(
        command, input=data.encode(), capture_output=True, timeout=60, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr.decode())


def test_P01_without_a_configuration() -> None:
    given = wire(APPS, config="")
    answer = call(given)
    assert answer.code == 3
    assert "expected a krm-windows.dev/v1alpha1 WindowPolicy" in answer.err
    assert answer.out.startswith(given.encode())


def test_P02_v1beta1() -> None:
    answer = call(wire(APPS, head=HEAD.replace("/v1", "/v1beta1")))
    assert answer.code == 0
    assert answer.document["apiVersion"] == V1BETA1
    assert "CronJob" in {item["kind"] for item in answer.items}


@pytest.mark.parametrize("items", ["", "items:\n", "items: null\n", "items: ~\n", "items: []\n"])
def test_P03_no_items(items: str) -> None:
    answer = call(wire().replace("items: []\n", items))
    assert answer.code == 0
    assert answer.items[0]["kind"] == "ValidatingAdmissionPolicy"


@pytest.mark.parametrize("items", ["", "items: null\n", "items: []\n"])
def test_P03_no_items_and_none_added(items: str) -> None:
    answer = call(wire(config=spec(timeZone="Mars/Olympus")).replace("items: []\n", items))
    assert answer.code == 1
    assert (answer.document.get("items") or []) in ([], "null")


def test_P04_json() -> None:
    answer = call(json.dumps(yaml.safe_load(wire(APPS)), indent=2))
    assert (answer.code, answer.err) == (0, "")
    assert answer.items == call(wire(APPS)).items


FRAMES = ["\ufeff{}", "---\n{}", "{}...\n", "\ufeff---\n{}...\n", "# a comment first\n{}"]


@pytest.mark.parametrize("frame", [*FRAMES, "%YAML 1.2\n---\n{}"])
def test_P05_frames(frame: str) -> None:
    before, after = frame.split("{}")
    answer = call(frame.format(wire(APPS)))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(before.encode())
    assert answer.out.endswith(after.encode())
    assert answer.items == call(wire(APPS)).items


def test_P05_line_ends_of_windows() -> None:
    data = wire(APPS).replace("\n", "\r\n").encode()
    answer = call(data)
    assert (answer.code, answer.err) == (0, "")
    kept = data.partition(b"functionConfig")[0].replace(b"  metadata:\r\n", b"")
    assert [line for line in kept.splitlines() if line not in answer.out.splitlines()] == []
    assert answer.items == call(wire(APPS)).items


def test_P05_utf8_whatever_the_locale() -> None:
    locale = {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    apps = APPS.replace("./apps", "./Grüße-🚀")
    fine = program(wire(apps), **locale)
    assert fine.code == 0
    assert "./Grüße-🚀".encode() in fine.out
    wrong = program(wire(apps, config=spec(timeZone="Zürich")), **locale)
    assert wrong.code == 1
    assert "rich" in wrong.err


NO_LISTS = {
    "empty": (b"", "empty"),
    "blank": (b"\n  \n", "empty"),
    "no YAML": (b"a: [1\n", "line "),
    "UTF-16": (b"\xff\xfea\x00", "UTF-16"),
    "Latin 1": (b"a: \xe9\n", "not UTF-8"),
    "a List": (b"kind: List\napiVersion: v1\nitems: []\n", "ResourceList"),
    "list": (b"- a\n- b\n", ""),
    "scalar": (b"just words\n", ""),
    "version": (wire(APPS, head=HEAD.replace("/v1", "/v7")).encode(), "ResourceList"),
    "two": (f"{wire(APPS)}---\n{wire(APPS)}".encode(), "document"),
    "items 7": (wire(APPS).replace("items:\n", "items: 7\nx:\n").encode(), "items"),
}


@pytest.mark.parametrize("case", NO_LISTS)
def test_P06_what_is_no_resource_list(case: str) -> None:
    data, said = NO_LISTS[case]
    answer = call(data)
    assert answer.code == 1
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert case != "two" or answer.out == data


def at_terminal(directory: Path) -> Answer:
    ours, theirs = pty.openpty()
    try:
        command = [sys.executable, "-P", "-m", "krm_windows"]
        done = subprocess.run(
            command, stdin=theirs, capture_output=True, timeout=60, check=False, cwd=directory
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Answer(done.returncode, done.stdout, done.stderr.decode())


def test_P07_a_terminal_as_stdin(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # with no policy
    answer = at_terminal(tmp_path)
    assert (answer.code, answer.out) == (2, b"")
    assert "usage: krm-windows" in answer.err


def test_P07_a_terminal_in_a_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "below").mkdir()
    always = "{starts: '2020-01-01', ends: '2099-01-01', state: Open, reason: r}"
    clusters = f"{{north: {{}}, south: {{overrides: {{now: {always}}}}}}}"
    (tmp_path / "week.yaml").write_text(spec(state="Closed", clusters=clusters))
    written = ["render", "week.yaml", "--cluster", "north", "--output-dir", "north"]
    subprocess.run([sys.executable, "-m", "krm_windows", *written], cwd=tmp_path, check=True)
    (tmp_path / "week.yaml").write_text(spec(state="Scheduled", clusters=clusters))
    (tmp_path / "broken.yaml").write_text(POLICY.replace("Mon", "Moonday"))
    answer = at_terminal(tmp_path / "below")
    assert answer.code == 1
    out = answer.out.decode()
    assert re.match(r"(flux-system/\w+) [(]\.\./week\.yaml[)]\n  (open|closed) ", out)
    assert "    north: " in out
    assert re.search(
        r"  open for more than 400 days [(].*[)]\n    south: by the override \(r\)\n", out
    )
    assert "  rendered: north is stale (4 files out of date): run krm-windows render " in out
    assert "../broken.yaml:" in answer.err


def test_P08_help_and_version() -> None:
    helped = program(f"{HEAD}items: []\n", "--help")
    assert (helped.code, helped.err) == (0, "")
    assert b"\n    render " in helped.out
    version = program("", "--version")
    assert (version.code, version.err) == (0, "")
    first = f"krm-windows {__version__}, zone data {zones.release()}"
    assert version.out.decode().startswith(first)


def test_P09_what_is_not_ours_on_top() -> None:
    strange = "nextField:\n  with: [a, list]\n"
    apps = f"{APPS}  suspend: false\n"
    answer = call(wire(apps, results=EARLIER, head=HEAD + strange))
    assert strange.encode() in answer.out
    assert EARLIER.encode() in answer.out
    assert [result["severity"] for result in answer.results] == ["info", "warning"]


@pytest.mark.parametrize(
    "body", ["print('stray')", "warnings.warn('stray')", "sys.stdout.write('stray\\n')"]
)
def test_P10_stray_prints(body: str) -> None:
    """Standard output is read as YAML before anything else."""
    answer = with_process(body, wire(APPS))
    assert (answer.code, answer.out) == (0, wire(APPS).encode())
    assert "stray" in answer.err


def test_P11_our_own_failure() -> None:
    answer = with_process("resources.items.clear(); raise ZeroDivisionError('oh\\nno')", wire(APPS))
    assert answer.code == 70
    said = "[error] internal error: ZeroDivisionError: oh no (--debug shows where) (internal)\n"
    assert answer.err == said
    assert answer.out.startswith(wire(APPS).encode())
    more = with_process("raise ZeroDivisionError('oh')", wire(APPS), "--debug")
    assert more.code == 70
    assert "Traceback" in more.err
    assert "in process" in more.err


FAILURES = {
    "wrong policy": (wire(APPS, config=spec(timeZone="Mars")), 1),
    "no configuration": (wire(APPS, config=""), 3),
    "another kind": (wire(APPS, config="apiVersion: v1\nkind: ConfigMap\n"), 3),
    "configuration is a list": (wire(APPS, config="- a\n"), 1),
    "configuration is a word": (wire(APPS, config="x\n"), 1),
    "a person's suspension": (wire(f"{APPS}  suspend: true\n"), 1),
    "a warning under --strict": (wire(f"{APPS}  suspend: false\n"), 1),
    "a target that is a list": (wire(APPS.partition("metadata")[0] + "metadata: []\n"), 1),
    "an item that is a word": (wire(APPS, "just-a-word\n"), 1),
    "a key twice in a target": (wire(f"{APPS}  suspend: true\n  suspend: true\n"), 1),
    "our key twice in a target": (wire(APPS.replace("metadata:\n", "metadata:\n  name: a\n")), 1),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_P12_no_failure_loses_an_item(failure: str) -> None:
    data, code = FAILURES[failure]
    answer = call(data, "--strict")
    assert answer.code == code, answer.err
    items = data.partition("items:\n")[2].partition("functionConfig")[0]
    assert items.encode() in answer.out
    assert len(answer.items) >= 1


def test_P13_what_we_write_is_plain() -> None:
    apps = f"{APPS}  suspend: false\n"
    wrong = call(wire(apps, config=spec(freezes="{y: {starts: '12-20', ends: '2'}}")))
    assert wrong.code == 1
    fine = call(wire(apps))
    for answer in (wrong, fine):
        for event in yaml.parse(answer.out, TextLoader):
            assert not isinstance(event, yaml.AliasEvent)
            assert getattr(event, "anchor", None) is None
            assert getattr(event, "tag", None) is None
    assert POLICY in "\n".join(line[2:] for line in fine.out.decode().split("\n"))

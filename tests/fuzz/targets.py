"""Every way in, and what must hold afterwards.

A target takes bytes and returns nothing; it raises Finding where something is wrong. Each calls the
entry point as its console script does, within this process.
"""

import io
import json
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from xml.etree import ElementTree as ET

import yaml
from calls import APPS, CLASSES, POLICY, TextLoader, call, wire

from krm_windows import cli
from krm_windows.gateable import TABLE

# Seconds of the processor that one call may take, whatever else the machine does: the slowest seed
# takes two, and coverage makes everything several times slower.
SECONDS = 20
# Seconds by the clock, for a call that waits instead of working.
PATIENCE = 600
# Kinds that the function may edit, write or remove: those that it gates, and those that it emits.
RIGHTS = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
GUARDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "NetworkPolicy")
OTHERS = ("CronJob", "Job", "ConfigMap", "PrometheusRule")
OURS = frozenset({row.kind for row in TABLE} | {*RIGHTS, *GUARDS, *OTHERS})
FINE, ERROR, CONFIGURATION, CLOSED = 0, 1, 3, 10
# What an independent reader that builds everything can read in no time.
_TAME_ALIASES = 30
_TAME_DEPTH = 60


class Finding(Exception):  # noqa: N818 - it is what a fuzzer looks for
    """Something that must not be."""


class _HangError(BaseException):
    """Nothing may catch this on its way."""


@contextmanager
def bounded() -> Iterator[None]:
    """Turn a call that works for too long, or waits for too long, into a finding."""
    works = _interrupted(signal.SIGPROF, signal.ITIMER_PROF, SECONDS, "works")
    waits = _interrupted(signal.SIGALRM, signal.ITIMER_REAL, PATIENCE, "waits")
    with works, waits:
        yield


@contextmanager
def _interrupted(number: signal.Signals, timer: int, seconds: float, what: str) -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _HangError(f"it {what} for more than {seconds:g} seconds")

    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds)
    try:
        yield
    except _HangError as error:
        raise Finding(f"a hang: {error}") from error
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


def function(data: bytes) -> None:
    with bounded():
        answer = call(data)
    _said(answer.code, answer.err)
    items = _items(data)
    if items is None:
        if answer.out and answer.out != data and _parses(data):
            _check_syntax(answer.out)
        return
    if not answer.out and "krm-windows.dev/mode" in data.decode():
        return
    _check_syntax(answer.out)
    kept = _items(answer.out, tame=True)
    if kept is None:
        raise Finding("the output cannot be read as a ResourceList")
    expected = [item for item in items if answer.code != FINE or not _is_ours(item)]
    _check_subsequence([item for item in expected if b"ChangeClasses" not in data], kept)
    for item, text in zip(items, _texts(data), strict=False):
        must_stay = answer.code != FINE or not (_is_ours(item) or b"ChangeClasses" in data)
        if must_stay and text not in answer.out:
            raise Finding(f"an item is not there byte for byte: {text[:200]!r}")


def plugin(data: bytes) -> None:
    """Both come from one text, apart at the first NUL."""
    config, found, stream = data.partition(b"\x00")
    if not found:
        stream = APPS.encode()
    with tempfile.TemporaryDirectory() as folder, bounded():
        path = Path(folder, "config.yaml")
        path.write_bytes(config)
        answer = call(stream, str(path))
    _said(answer.code, answer.err)
    if answer.code != FINE and answer.out != stream and _parses(stream):
        raise Finding("a stream was changed, though the call failed")
    if answer.code == FINE and answer.out:
        _check_syntax(answer.out)


def policy(data: bytes) -> None:
    lines = data.splitlines(keepends=True)
    body = b"".join(b"  " + line if line.strip() else line for line in lines)
    function(wire(APPS, config="").encode() + b"functionConfig:\n" + body)
    commands("policy", data)


# What is called; words in capitals are files, which POLICY, TEXT and DIR have of the input.
WEEK = ("--from", "2026-11-01", "--days", "7", "-o")
COMMANDS = {
    "policy": (
        ("explain", "POLICY"),
        ("state", "POLICY", "--at", "2026-11-02T10:00Z", "-o", "json"),
        *(("calendar", "POLICY", *WEEK, form) for form in ("json", "ics", "svg")),
        ("check", "POLICY", "--from", "2026-11-01", "-o", "json"),
        ("diff", "POLICY", "OLD", *WEEK, "json"),
        ("render", "POLICY", "--output-dir", "OUT"),
        ("split", "RESOURCES", "--classes", "POLICY", "--plan"),
    ),
    "resources": (
        ("verify", "TEXT", "--policy", "GOOD"),
        ("render", "GOOD", "--output-dir", "OUT", "--resources", "DIR"),
        ("split", "DIR", "--classes", "CLASSES", "--plan"),
        ("status", "GOOD", "-f", "TEXT", "--at", "2026-11-02T10:00Z", "-o", "json"),
        ("check", "--repo", "DIR", "-o", "json"),
        ("migrate", "DIR", "--output-dir", "OUT"),
    ),
    "calendar": (("import", "TEXT"),),
}


def commands(name: str, data: bytes) -> None:
    for arguments in COMMANDS[name]:
        command(arguments, data)


def bytes_anywhere(data: bytes) -> None:
    for target in (function, plugin, policy):
        target(data)
    for name in ("resources", "calendar"):
        commands(name, data)


def command(arguments: tuple[str, ...], data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "DIR").mkdir()
        for name, text in {
            "POLICY": data,
            "TEXT": data,
            "DIR/text.yaml": data,
            "OLD": POLICY.encode(),
            "GOOD": POLICY.encode(),
            "CLASSES": CLASSES.encode(),
            "RESOURCES": APPS.encode(),
        }.items():
            (root / name).write_bytes(text)
        places = [
            str(root / word) if word.isalpha() and word.isupper() else word for word in arguments
        ]
        code, out, err = run(places)
    try:
        _said(code, err, silent=True)
        if code == FINE:
            _check_form(arguments, out)
    except Finding as finding:
        raise Finding(f"{' '.join(arguments)}: {finding}") from finding


def run(arguments: list[str]) -> tuple[int, bytes, str]:
    """Run the entry point with no tool on the PATH; return code, output and errors."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    before, path = (sys.stdin, sys.stdout, sys.stderr), os.environ.get("PATH", "")
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO()), out, err
    os.environ["PATH"] = os.devnull
    try:
        with bounded():
            code = cli.main(arguments)
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        os.environ["PATH"] = path
    return code, out.buffer.getvalue(), err.getvalue()


def _said(code: int, err: str, *, silent: bool = False) -> None:
    if code not in (FINE, ERROR, CONFIGURATION, CLOSED):
        raise Finding(f"exit code {code}: {err[:1000]}")
    if "Traceback (most recent call last)" in err:
        raise Finding(f"a traceback: {err[-1000:]}")
    if code != FINE and not err and not silent:
        raise Finding(f"exit code {code} without a word")


def _check_form(arguments: tuple[str, ...], out: bytes) -> None:
    text = out.decode()
    if "json" in arguments:
        json.loads(text)
    elif "svg" in arguments:
        ET.fromstring(text)  # noqa: S314 - our own output
    elif "ics" in arguments and not text.startswith("BEGIN:VCALENDAR\r\n"):
        raise Finding("the calendar does not begin as one")


def _check_syntax(out: bytes) -> None:
    if not _parses(out):
        raise Finding(f"the output is no YAML: {out[:300]!r}")


def _parses(data: bytes) -> bool:
    """Whether libyaml reads a text, for what is not deeper than is read."""
    depth = 0
    try:
        for event in yaml.parse(data, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _TAME_DEPTH:
                return True
    except (yaml.YAMLError, UnicodeDecodeError):
        return False
    return True


def _document(data: bytes) -> object:
    """Read a text without anything of ours; None for one that such a reader cannot read."""
    with suppress(yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError):
        return yaml.load(data, TextLoader)  # noqa: S506 - a safe loader with fewer types
    return None


def _items(data: bytes, *, tame: bool = False) -> list[object] | None:
    found = _document(data) if tame or data.count(b"*") <= _TAME_ALIASES else None
    if not isinstance(found, dict) or found.get("kind") != "ResourceList":
        return None
    items = found.get("items") or []
    return items if isinstance(items, list) else None


def _texts(data: bytes) -> Iterator[bytes]:
    """Yield each item's text where that is sure, and the layout stays (docs/decisions/0001)."""
    text = data.decode().removeprefix("\ufeff")
    root = yaml.compose(text, yaml.CSafeLoader)
    keys = [key for key, _ in root.value] if isinstance(root, yaml.MappingNode) else []
    names = [key.value for key in keys]
    odd = re.search("\r(?!\n)|[\x85\u2028\u2029]", text)
    if names.count("items") != 1 or root.flow_style or odd:
        return
    if not all(re.match(r"\w+:(?=\s|$)", text[key.start_mark.index :]) for key in keys):
        return
    key, items = root.value[names.index("items")]
    between = text[key.end_mark.index : items.start_mark.index]
    if not isinstance(items, yaml.SequenceNode) or not re.fullmatch(r":(?:\s|#.*)*", between):
        return
    for item in items.value:
        part = text[item.start_mark.index : item.end_mark.index].rstrip()
        # An alias is not its node; what is at the very end may be closed before something follows.
        is_own = isinstance(item, yaml.MappingNode) and "*" not in part
        yield part.encode() if is_own and text[item.end_mark.index :].strip() else b""


def _is_ours(item: object) -> bool:
    return (
        not isinstance(item, dict) or not isinstance(item.get("kind"), str) or item["kind"] in OURS
    )


def _check_subsequence(wanted: list[object], found: list[object]) -> None:
    rest = iter(found)
    for item in wanted:
        if not any(repr(other) == repr(item) for other in rest):
            raise Finding(f"an item is lost: {str(item)[:300]}")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "function": function,
    "plugin": plugin,
    "policy": policy,
    "resources": partial(commands, "resources"),
    "calendar": partial(commands, "calendar"),
    "bytes": bytes_anywhere,
}

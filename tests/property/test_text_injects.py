"""Hostile text through commands and every format: it is shown, and does nothing."""

import argparse
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from calls import APPS, SYNC, V1, call, program, wire
from effort import mostly_slow
from hostile import ALL, BUNDLES, READERS, TEXTS, raw, read_text

from krm_windows.cli import main
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode

DAYS = ("--from", "2026-12-14", "--days", "7")
NAMELESS = re.compile(r"[\x00/]")
Document = dict[str, Any]
KIND = {"apiVersion": "krm-windows.dev/v1alpha1", "kind": "WindowPolicy"}


def policy(text: str) -> Document:
    reason, told = {"reason": text}, {"description": text}
    return {
        **KIND,
        "metadata": {
            "name": "week",
            "namespace": "flux-system",
            "labels": {"team": text},
            "annotations": {"note": text, text: "note"},
        },
        "spec": {
            "timeZone": "Europe/Berlin",
            "targets": [
                {"kind": "Kustomization", "names": ["apps"]},
                {"kind": "Kustomization", "matchLabels": {"team": text, text: "team"}},
                {
                    "kind": text,
                    "names": ["odd"],
                    "apiVersion": "odd.dev/v1",
                    "resource": "odds",
                    "suspendField": "spec.suspend",
                    "trueMeans": "Closed",
                },
            ],
            "windows": {"office": {"opens": "Mon 08:00", "closes": "Thu 17:00", **told}},
            "freezes": {"audit": {"starts": "2026-12-15T12:00", "ends": "2026-12-16", **reason}},
            "overrides": {
                "press": {
                    "state": "Closed",
                    "starts": "2026-12-17T09:00",
                    "ends": "2026-12-17T10:00",
                    **dict.fromkeys(("reason", "requestedBy", "ticket"), text),
                }
            },
            "clusters": {"north": {"freezes": {"audit": reason}}, "south": {"interval": "5m"}},
            "hooks": {
                "namespace": "hooks",
                "beforeOpen": {
                    "image": "registry.example/hook:1",
                    "command": ["sh", text],
                    "args": [text],
                    "env": [{"name": "TEXT", "value": text}],
                },
            },
            "events": True,
            "extras": [
                "PrometheusRule",
                "StateMetrics",
                "NetworkPolicy",
                "AlertmanagerTimeIntervals",
            ],
        },
    }


def written(document: object) -> str:
    return yaml.dump(
        document, Dumper=yaml.CSafeDumper, allow_unicode=False, sort_keys=False, width=10**9
    )


def places(node: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the way to every scalar of a document, and to every key of it (`None` at the end)."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key, None)
            yield from places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from places(value, (*path, index))
    else:
        yield path


def replaced(node: object, path: tuple[object, ...], text: str) -> object:
    if not path:
        return text
    if path[1:] == (None,) and isinstance(node, dict):
        return {text if key == path[0] else key: value for key, value in node.items()}
    if isinstance(node, dict):
        return {
            key: replaced(value, path[1:], text) if key == path[0] else value
            for key, value in node.items()
        }
    assert isinstance(node, list)
    return [
        replaced(value, path[1:], text) if index == path[0] else value
        for index, value in enumerate(node)
    ]


def file_name(text: str) -> str:
    return NAMELESS.sub("", text).encode()[:120].decode(errors="ignore") or "evil"


def workplace(text: str) -> None:
    name = file_name(text)
    right = policy(text)
    Path("policy.yaml").write_text(written(right))
    Path(f"{name}.yaml").write_text(written(right))
    # Closed whenever the test runs, so that nobody waits, for a reason that is said.
    closed = {"state": "Closed", "starts": "2024-01-01", "ends": "2098-01-01", "reason": text}
    held, older = policy(text), policy(text)
    held["spec"]["overrides"] = {"held": closed}
    Path("held.yaml").write_text(written(held))
    older["metadata"]["name"] = "former"
    older["spec"]["targets"][0]["names"] = ["gone"]
    older["spec"]["windows"]["office"]["opens"] = "Tue 08:00"
    Path("old.yaml").write_text(written(older))
    for index, path in enumerate(places(right)):
        if index % 12 == len(text) % 12:
            Path(f"wrong-{index}.yaml").write_text(written(replaced(right, path, text)))
    Path("wrong.yaml").write_text(written(wrong(text)))
    _resources(text, name)
    _repository(text, name)
    _status(text)


def wrong(text: str) -> Document:
    return {
        **KIND,
        "metadata": {"name": text, "namespace": text},
        "spec": {
            **dict.fromkeys(("timeZone", "outsideWindows", "interval", "closesEarly"), text),
            text: text,
            "targets": [
                {**dict.fromkeys(("kind", "namespace", "apiVersion", "resource"), text)},
                {"kind": text, "names": [text]},
                text,
            ],
            "windows": {
                text: {"opens": text, "closes": text, text: text},
                "a": {"opens": f"Mon {text}", "duration": text},
            },
            "freezes": {text: {"starts": text, "ends": text}},
            "overrides": {"a": {"state": text, "starts": text, "ends": text, "reason": text}},
            "actuator": {"type": text, "image": text, "imagePullPolicy": text},
            "hooks": {"namespace": text, "beforeOpen": {"image": text, "timeout": text}},
            "formerNames": [text],
            "extras": [text],
            "clusters": {text: {text: text}, "b": {"timeZone": text}},
            "buildFor": text,
        },
    }


def _resources(text: str, name: str) -> None:
    Path("resources").mkdir()
    Path("resources/apps.yaml").write_text(APPS)
    odd = {
        "apiVersion": "odd.dev/v1",
        "kind": text,
        "metadata": {"name": text, "namespace": text, "labels": {"team": text}},
    }
    suspended = yaml.safe_load(APPS)
    suspended["metadata"] |= {
        "name": "infra",
        "annotations": {"note": text},
        "labels": {"team": text, text: "team"},
    }
    suspended["spec"] |= {
        "suspend": True,
        "path": text,
        "timeout": text,
        "dependsOn": [{"name": text, "namespace": text}],
    }
    Path(f"resources/{name}.yaml").write_text(f"{written(odd)}---\n{written(suspended)}")


def _repository(text: str, name: str) -> None:
    for number, cluster in enumerate(("north", name)):
        Path(f"repo/clusters/{cluster}").mkdir(parents=True)
        flux = yaml.safe_load(APPS)
        flux["spec"] |= {"path": "./apps", "dependsOn": [{"name": text}], "suspend": True}
        other = yaml.safe_load(APPS)
        other["metadata"] |= {"name": f"other-{number}", "annotations": {text: text}}
        other["spec"] |= {"path": f"./{text}", "sourceRef": {"kind": text, "name": text}}
        third = yaml.safe_load(APPS)
        third["metadata"]["name"] = text
        third["spec"]["path"] = "./apps"
        # The first cluster's policy is right, so that what it gates is judged; the second has a
        # wrong one too.
        documents = (flux, other, third, policy(text), *([wrong(text)] if number else []))
        Path(f"repo/clusters/{cluster}/{name}.yaml").write_text(
            "---\n".join(map(written, documents))
        )
    Path("repo/apps").mkdir()
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "data": {text: text}}
    odd["metadata"] = {"name": text, "namespace": text}
    Path(f"repo/apps/{name}.yaml").write_text(written(odd))
    Path("repo/apps/broken.yaml").write_text(f"a: [{text}\n".replace("\x00", ""))


def _status(text: str) -> None:
    things = []
    closed_by = json.dumps({"policy": text, "since": text, "reason": text})
    for target in ("apps", "odd", text):
        thing = yaml.safe_load(APPS)
        notes = {f"closed-by.krm-windows.dev/{text}": text, "krm-windows.dev/hold": text}
        thing["metadata"] |= {
            "name": target,
            "annotations": {**notes, "closed-by.krm-windows.dev/0": closed_by},
            "labels": {"team": text, text: "team"},
        }
        thing["spec"]["suspend"] = True
        thing["status"] = {"lastAppliedRevision": text, "lastAppliedOriginRevision": text}
        things.append(thing)
    artifact = {
        "revision": f"{text}@sha1:{'0' * 40}",
        "lastUpdateTime": text,
        "metadata": {"org.opencontainers.image.revision": text},
    }
    source = yaml.safe_load(SYNC.partition("---")[0])
    things.append({**source, "status": {"artifact": artifact}})
    Path("objects.json").write_text("\n".join(map(json.dumps, things)))
    Path("broken.json").write_text(f'{{"{text[:2000]}'.replace("\x00", ""))


def calls(text: str) -> dict[str, list[tuple[str, ...]]]:
    """Of every command: one that works, one whose input is wrong, and a text as an argument."""
    name = file_name(text)
    argument = text.replace("\x00", "")[:2000]
    wrongs = sorted(str(path) for path in Path().glob("wrong*.yaml"))
    year = ("--from", "2026-12-14", "--years", "1")
    every = ("--all-clusters", "--resources", "resources")
    seen = ("policy.yaml", "-f", "objects.json")
    patch = json.dumps({"spec": {"freezes": {name: {"reason": text}}}})
    return {
        "render": [
            ("policy.yaml", "--output-dir", "out", "--resources", "resources"),
            ("policy.yaml", "--output-dir", f"out-{name}", "--cluster", argument),
            ("policy.yaml", "--output-dir", "all", "--check", *every),
            (argument, "--output-dir", "out"),
        ],
        "check": [
            (f"{name}.yaml", *year, *every),
            *((each, *year) for each in wrongs),
            ("policy.yaml", "--from", argument),
            ("--repo", "repo", "--no-cache"),
            ("--repo", "repo", "--no-cache", "--base", argument),
            ("--repo", argument, "--clusters", argument),
        ],
        "calendar": [
            ("policy.yaml", "old.yaml", *DAYS, *every),
            ("wrong.yaml", *DAYS),
            ("policy.yaml", "--from", argument),
        ],
        "state": [
            ("policy.yaml", "--at", "2026-12-15T13:00Z", "--cluster", "north", "--exit-code"),
            ("policy.yaml", "--at", argument),
            ("held.yaml", "--wait", "closed"),
            ("held.yaml", "--wait", "open"),
            ("wrong.yaml", "--wait", "open"),
            (argument, "--wait", "closed", "--cluster", argument),
        ],
        "merge-gate": [
            ("policy.yaml", "--print-schedule"),
            ("policy.yaml", "--print-schedule", "--config", argument),
            ("policy.yaml", "--forge", "github", "--repo", "a/b", "--url", "http://forge.example"),
            ("policy.yaml", "--forge", "gitea", "--repo", "a/b", "--url", argument),
            ("policy.yaml", "--forge", "gitlab", "--repo", argument),
            ("wrong.yaml", "--print-schedule"),
        ],
        "pending": [
            (*seen, "--at", "2026-12-15T13:00Z"),
            (*seen, "--repo", "repo", "--no-cache"),
            ("policy.yaml", "--repo", "repo", "--base", argument, "--head", argument),
            ("wrong.yaml", "-f", argument),
        ],
        "status": [
            (*seen, "--at", "2026-12-15T13:00Z"),
            ("policy.yaml", "-f", "broken.json"),
            ("wrong.yaml", "-f", argument),
        ],
        "explain": [("policy.yaml", "--cluster", "north"), ("wrong.yaml",)],
        "diff": [
            ("old.yaml", "policy.yaml", *DAYS, "--strict"),
            ("policy.yaml", "wrong.yaml", *DAYS),
            ("policy.yaml", argument, *DAYS),
        ],
        "set": [
            ("policy.yaml", "--dry-run", "--patch", '{"spec": {"interval": "20m"}}'),
            ("policy.yaml", "--patch", patch),
            ("policy.yaml", "--patch", argument, "--cluster", argument),
            ("wrong.yaml", "--patch", "{}"),
        ],
        "override": [
            ("policy.yaml", "open", "--for", "2h", "--reason", argument, "--dry-run"),
            ("policy.yaml", "open", "--until", argument, "--reason", argument, "--name", argument),
            ("policy.yaml", "--list"),
            ("policy.yaml", "--end", argument, "--cluster", argument),
            ("wrong.yaml", "--list"),
        ],
    }


def formats(command: str) -> list[tuple[tuple[str, ...], str]]:
    module = importlib.import_module("krm_windows.cli.arguments")
    parser = module.parser(COMMANDS, [command])
    [commands] = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    found: list[tuple[tuple[str, ...], str]] = []
    for action in commands.choices[command]._actions:
        if action.dest in ("output", "format") and action.choices is not None:
            found += [((action.option_strings[-1], choice), choice) for choice in action.choices]
    unread = {choice for _, choice in found} - READERS.keys()
    assert not unread, (
        f"add to READERS of tests/hostile.py what reads `-o {'`, `-o '.join(sorted(unread))}`"
    )
    return found or [((), "text")]


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*argv: str) -> Ended:
        code = main(list(argv))
        out, err = capfdbinary.readouterr()
        return Ended(code, out.decode(), err.decode())

    return command


def judged(ended: Ended, read: Callable[[str], object], about: object) -> None:
    assert ended.code != ExitCode.FAILURE, (about, ended.err[:2000])
    assert "Traceback" not in ended.err, about
    assert not raw(ended.err), (about, raw(ended.err))
    assert max(map(len, ended.err.split("\n"))) < 30_000, about
    if ended.out:
        read(ended.out)


SHOWN = list(calls("evil"))


# One in twenty-five, where there are nine bundles: other commands with other texts.
@pytest.mark.parametrize("case", mostly_slow(product(SHOWN, BUNDLES), every=25), ids="-".join)
def test_every_command_in_every_format(case: tuple[str, str], run: Run) -> None:
    command, name = case
    workplace(BUNDLES[name])
    worked = 0
    for argv in calls(BUNDLES[name])[command]:
        for options, form in formats(command):
            ended = run(command, *argv, *options)
            judged(ended, READERS[form], (command, argv, form))
            worked += bool(ended.out)
    # `render` has little to print, and no YAML has a key as long as the long text (status reads
    # labels).
    silent = ("render", *(["status", "pending"] if name == "long" else []))
    assert worked or command in silent, "no call of this command printed anything"


def function(config: str, about: object) -> None:
    Path("config.yaml").write_text(config)
    for given in ([wire(config=config)], [APPS, "config.yaml"]):
        answer = call(*given, "--strict", LOG_TO_STDERR="1")
        assert answer.code != ExitCode.FAILURE, (about, answer.err)
        assert not raw(answer.err), (about, raw(answer.err))


@pytest.mark.parametrize("name", mostly_slow(TEXTS, every=9))
def test_the_function_in_both_protocols(name: str, run: Run) -> None:
    assert run
    text = TEXTS[name]
    for config in (policy(text), wrong(text), {"kind": text, "apiVersion": text}):
        function(written(config), name)
    for stream in (f"a: [{text}", text, written({"apiVersion": V1, "kind": text, "items": text})):
        answer = call(stream)
        assert not raw(answer.err), raw(answer.err)


@pytest.mark.parametrize("name", TEXTS)
def test_programs_get_the_text_itself(name: str, run: Run) -> None:
    text = TEXTS[name]
    config = written(replaced(policy("r"), ("spec", "timeZone"), text))
    Path("policy.yaml").write_text(config)
    [result] = json.loads(run("check", "policy.yaml", "-o", "json").out)["results"]
    assert result["field"]["currentValue"] == text
    assert text in result["message"]
    [result] = yaml.safe_load(call(wire(config=config)).out)["results"]
    assert result["field"]["currentValue"] == text


@pytest.mark.parametrize("name", BUNDLES)
def test_the_words_of_other_programs(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace(BUNDLES[name])
    Path("said").write_text(BUNDLES[name], errors="replace")
    Path("bin").mkdir()
    for tool in ("kustomize", "kubectl", "git"):
        fake = Path("bin", tool)
        fake.write_text(
            f'#!/bin/sh\n[ "$1" = version ] && exit 0\ncat {Path("said").absolute()} >&2\nexit 1\n'
        )
        fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path('bin').absolute()}{os.pathsep}{os.environ['PATH']}")
    Path("repo/apps/kustomization.yaml").write_text("resources: [x.yaml]\n")
    for argv in (
        ("status", "policy.yaml"),
        ("check", "--repo", "repo", "--no-cache"),
        ("check", "--repo", "repo", "--no-cache", "--base", "HEAD"),
    ):
        ended = run(*argv)
        assert ended.code == ExitCode.ERROR
        judged(ended, read_text, argv)


def test_file_names_that_are_no_text(run: Run) -> None:
    name = os.fsdecode(b"evil\xff\xfe\x80.yaml")
    Path(name).write_text(written(wrong("evil")))
    for options, form in formats("check"):
        ended = run("check", name, *options)
        judged(ended, READERS[form], form)
        assert ended.out
    judged(run("explain", f"not-{name}"), read_text, name)


def test_a_traceback_is_harmless_too(tmp_path: Path) -> None:
    """`--debug` shows where a failure was; the words of the exception may be anybody's."""
    (tmp_path / "sitecustomize.py").write_text(
        "import krm_windows.cli.explain as e\n"
        f"def run(_): raise ZeroDivisionError({ALL!r})\ne.run = run\n"
    )
    answer = program("", "--debug", "explain", "policy.yaml", PYTHONPATH=str(tmp_path))
    assert answer.code == ExitCode.FAILURE
    assert "Traceback" in answer.err
    assert "evil" in answer.err
    assert not raw(answer.err), raw(answer.err)

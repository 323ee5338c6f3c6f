"""A repository that means harm.

Nothing of the host is read, nobody is asked, and no command is run. Every place goes into every
field that holds a text, of kustomizations and of the plugins that kustomize has built in. What each
build makes is put into a finding, or the output of `split`, so that what was read would be seen.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from calls import ALL_WAIT
from listening import Listener

from krm_windows.cli import main

SECRET = "do-not-print-me"  # noqa: S105 - the text that must not be seen
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  path: ./{path}
  prune: true
  interval: 10m
  sourceRef: {{kind: GitRepository, name: flux-system}}
"""
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata: {name: week, namespace: flux-system}
spec:
  timeZone: Europe/Berlin
  targets: [{kind: Kustomization, names: [windowed]}]
  windows: {week: {opens: Mon 08:00, closes: Thu 17:00}}
"""
# A ConfigMap is named after what was read, so that a finding, or the name of a file, says it.
SAYING = """\
resources: [plain.yaml]
generatorOptions: {disableNameSuffixHash: true}
replacements:
- source: {kind: ConfigMap, name: read, fieldPath: data.text}
  targets:
  - select: {kind: ConfigMap, name: plain}
    fieldPaths: [metadata.name]
@FIELD@
"""
PLAIN = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, namespace: shop}\ndata: {a: b}\n"
READ = "resources: [plain.yaml]\n@FIELD@\n"


# What is no path, and what kustomize does not look at.
HARMLESS = {
    "configMapGenerator literals",
    "images",
    "vars",
    "one line",
    "ConfigMapGenerator env, in a file",
    "ConfigMapGenerator env, inline",
}


def inline(slot: str, text: str) -> str:
    return f"{slot}:\n- |\n" + "".join(f"  {line}\n" for line in text.splitlines())


def plugin(kind: str, fields: str) -> str:
    return f"apiVersion: builtin\nkind: {kind}\nmetadata: {{name: read}}\n{fields}\n"


FUNCTION = """\
apiVersion: a/v1
kind: A
metadata:
  name: a
  annotations:
    config.kubernetes.io/function: |
"""
CONFIGURATIONS = {
    "ConfigMapGenerator files": (
        "generators",
        plugin("ConfigMapGenerator", "files: ['text=@PLACE@']"),
    ),
    "ConfigMapGenerator env": ("generators", plugin("ConfigMapGenerator", "env: '@PLACE@'")),
    "ConfigMapGenerator envs": ("generators", plugin("ConfigMapGenerator", "envs: ['@PLACE@']")),
    "SecretGenerator": ("generators", plugin("SecretGenerator", "files: ['text=@PLACE@']")),
    "HelmChartInflationGenerator": (
        "generators",
        plugin(
            "HelmChartInflationGenerator",
            "name: a\nrepo: '@PLACE@'\nvaluesFile: '@PLACE@'\nchartHome: '@PLACE@'",
        ),
    ),
    "PatchTransformer": (
        "transformers",
        plugin("PatchTransformer", "path: '@PLACE@'\ntarget: {kind: ConfigMap}"),
    ),
    "PatchJson6902Transformer": (
        "transformers",
        plugin(
            "PatchJson6902Transformer",
            "path: '@PLACE@'\ntarget: {version: v1, kind: ConfigMap, name: plain}",
        ),
    ),
    "PatchStrategicMergeTransformer": (
        "transformers",
        plugin("PatchStrategicMergeTransformer", "paths: ['@PLACE@']"),
    ),
    "ReplacementTransformer": (
        "transformers",
        plugin("ReplacementTransformer", "replacements: [{path: '@PLACE@'}]"),
    ),
    "function": ("transformers", FUNCTION + "      exec: {path: '@PLACE@'}\n"),
    "container": (
        "transformers",
        FUNCTION + "      container: {image: a, network: true, mounts: ["
        "{type: bind, src: '@PLACE@', dst: /a}]}\n",
    ),
    "validator": (
        "validators",
        plugin("PatchTransformer", "path: '@PLACE@'\ntarget: {kind: ConfigMap}"),
    ),
}
FIELDS = {
    "resources": "bases: ['@PLACE@']",
    "components": "components: ['@PLACE@']",
    "generators": "generators: ['@PLACE@']",
    "transformers": "transformers: ['@PLACE@']",
    "validators": "validators: ['@PLACE@']",
    "crds": "crds: ['@PLACE@']",
    "configurations": "configurations: ['@PLACE@']",
    "openapi": "openapi: {path: '@PLACE@'}",
    "configMapGenerator files": "configMapGenerator: [{name: read, files: ['text=@PLACE@']}]",
    "configMapGenerator file": "configMapGenerator: [{name: read, files: ['@PLACE@']}]",
    "configMapGenerator env": "configMapGenerator: [{name: read, env: '@PLACE@'}]",
    "configMapGenerator envs": "configMapGenerator: [{name: read, envs: ['@PLACE@']}]",
    "configMapGenerator literals": "configMapGenerator: [{name: read, literals: ['text=@PLACE@']}]",
    "secretGenerator": (
        "secretGenerator: [{name: read, files: ['text=@PLACE@'], envs: ['@PLACE@'], "
        "env: '@PLACE@'}]"
    ),
    "patches": "patches: [{path: '@PLACE@', target: {kind: ConfigMap}}]",
    "patches inline": "patches: [{patch: '@PLACE@', target: {kind: ConfigMap}}]",
    "patchesStrategicMerge": "patchesStrategicMerge: ['@PLACE@']",
    "patchesJson6902": (
        "patchesJson6902: [{path: '@PLACE@', target: {version: v1, kind: ConfigMap, name: plain}}]"
    ),
    "replacements": "replacements: [{path: '@PLACE@'}]",
    "helmCharts": "helmCharts: [{name: a, repo: '@PLACE@', valuesFile: '@PLACE@'}]",
    "helmGlobals": "helmCharts: [{name: a}]\nhelmGlobals: {chartHome: '@PLACE@'}",
    "helmChartInflationGenerator": (
        "helmChartInflationGenerator: [{chartName: a, values: '@PLACE@'}]"
    ),
    "vars": "vars: [{name: A, objref: {kind: ConfigMap, name: '@PLACE@', apiVersion: v1}}]",
    "images": "images: [{name: '@PLACE@', newName: '@PLACE@'}]",
    "inventory": "inventory: {type: '@PLACE@'}",
    "a field that nobody knows": "somethingNew: {path: '@PLACE@', files: ['@PLACE@']}",
    "one line": (
        "generators: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, "
        'path: "@PLACE@"}\']'
    ),
    **{f"{name}, inline": inline(*configuration) for name, configuration in CONFIGURATIONS.items()},
}
FILES = {f"{name}, in a file": configuration for name, configuration in CONFIGURATIONS.items()}


def places(host: Path, url: str) -> dict[str, str]:
    command = f"--upload-pack=touch${{IFS}}{host}/ran"
    return {
        "absolute": f"{host}/secret",
        "absolute directory": f"{host}/base",
        "parents": "../" * 40 + f"{host}/secret"[1:],
        "link": "link/secret",
        "link to a file": "secret",
        "git": "../.git/config",
        "hidden": "../.hidden/secret",
        "device": "/dev/zero",
        "link to a device": "zero",
        "pipe": "pipe",
        "link to a pipe": "outer-pipe",
        "environment": "/proc/self/environ",
        "loopback": f"{url}/a.yaml",
        "capital loopback": f"{url}/a.yaml".replace("http", "HTTP"),
        "repository on loopback": f"{url}/a/b?ref=main",
        "git on loopback": f"git::{url}/a/b.git?ref=main",
        "command": f"file://{host}/repository?ref={command}",
        "git command": f"git::file://{host}/repository?ref={command}",
        "option": f"{url}/a/b?ref={command}",
    }


PLACES = list(places(Path("/host"), "http://127.0.0.1"))


@pytest.fixture
def host(tmp_path: Path) -> Path:
    beside = tmp_path / "host"
    (beside / "base").mkdir(parents=True)
    (beside / "secret").write_text(f"text={SECRET}\n")
    (beside / "base/kustomization.yaml").write_text("resources: [a.yaml]\n")
    (beside / "base/a.yaml").write_text(PLAIN.replace("plain", SECRET))
    os.mkfifo(beside / "pipe")
    subprocess.run(["git", "init", "-q", beside / "repository"], check=True)
    return beside


@pytest.fixture
def repository(tmp_path: Path, host: Path) -> Path:
    root = tmp_path / "repository"
    files = {
        "clusters/north/flux.yaml": "---\n".join(
            FLUX.format(name=name, path=name) for name in ("live", "windowed")
        ),
        "clusters/north/policy.yaml": POLICY,
        "live/plain.yaml": PLAIN,
        "windowed/kustomization.yaml": "resources: [../live]\n",
        ".git/config": f"text={SECRET}\n",
        ".hidden/secret": f"text={SECRET}\n",
        "classes.yaml": ALL_WAIT,
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "live/link").symlink_to(host)
    (root / "live/secret").symlink_to(host / "secret")
    (root / "live/zero").symlink_to("/dev/zero")
    (root / "live/outer-pipe").symlink_to(host / "pipe")
    os.mkfifo(root / "live/pipe")
    return root


def attacks(host: Path, url: str) -> Iterator[tuple[str, dict[str, str]]]:
    for what, place in places(host, url).items():
        for name, field in FIELDS.items():
            text = kustomization(field.replace("@PLACE@", place))
            yield f"{name}: {what}", {"kustomization.yaml": text}
        for name, (slot, configuration) in FILES.items():
            text = kustomization(f"{slot}: [plugin.yaml]", generates="name: read" in configuration)
            plugged = configuration.replace("@PLACE@", place)
            yield f"{name}: {what}", {"kustomization.yaml": text, "plugin.yaml": plugged}


def kustomization(field: str, *, generates: bool = False) -> str:
    """Return one with a field; it says what was read where the field makes a ConfigMap of it."""
    generates = generates or "name: read" in field
    return (SAYING if generates else READ).replace("@FIELD@", field)


@pytest.fixture
def building(tool: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tool('kustomize').parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("building")
def test_check_reads_nothing_of_the_host_and_asks_nobody(
    repository: Path, host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Listener(tmp_path) as listener:
        names = {}
        flux = [(repository / "clusters/north/flux.yaml").read_text()]
        for number, (name, files) in enumerate(attacks(host, listener.url)):
            names[f"attack-{number}"] = name
            flux.append(FLUX.format(name=f"attack-{number}", path=f"attack-{number}"))
            write(repository, f"attack-{number}", files)
        (repository / "clusters/north/flux.yaml").write_text("---\n".join(flux))
        code = main(["check", "--repo", str(repository), "--no-cache", "-o", "json"])
        assert listener.met == 0
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert not (host / "ran").exists()
    assert code == 1
    found = json.loads(printed.out)["results"]
    reported = {
        each["file"]["path"].removeprefix(f"{repository}/").partition("/")[0]
        for each in found
        if "file" in each
    }
    unreported = {name.partition(":")[0] for key, name in names.items() if key not in reported}
    assert unreported <= HARMLESS


def write(repository: Path, directory: str, files: dict[str, str]) -> None:
    (repository / directory).mkdir()
    for path, text in {**files, "plain.yaml": PLAIN}.items():
        (repository / directory / path).write_text(text)
    for name in ("link", "secret", "zero", "outer-pipe"):
        (repository / directory / name).symlink_to((repository / "live" / name).readlink())
    os.mkfifo(repository / directory / "pipe")


@pytest.mark.slow
@pytest.mark.usefixtures("building")
@pytest.mark.parametrize("what", PLACES)
def test_split_reads_nothing_of_the_host_and_asks_nobody(
    what: str, repository: Path, host: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Listener(tmp_path) as listener:
        chosen = [each for each in attacks(host, listener.url) if each[0].endswith(f": {what}")]
        for number, (_, files) in enumerate(chosen[:: 1 if what in ("command", "git") else 5]):
            write(repository, f"attack-{number}", files)
            output = tmp_path / f"split-{number}"
            how = ["--classes", str(repository / "classes.yaml"), "--output-dir", str(output)]
            main(["split", str(repository / f"attack-{number}"), *how])
            written = "".join(
                path.name + path.read_text() for path in output.rglob("*") if path.is_file()
            )
            assert SECRET not in written
        assert listener.met == 0
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert not (host / "ran").exists()

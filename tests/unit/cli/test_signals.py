"""What ends a command from outside: no temporary directory is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from calls import APPS, POLICY, spec

from krm_windows.cli import main
from krm_windows.exit_codes import ExitCode
from krm_windows.system import temporary

# So many that no machine has built them before the signal is sent.
CLUSTERS, MAPS = 200, 4000
COMMIT = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-qm", "Begin")
SIGNALS = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.HANGUP,
}
# Every command that makes one.
COMMANDS = (
    "check --repo . --no-cache",
    "check --repo . --no-cache --base HEAD",
    "init . --time-zone UTC --cluster c1",
    "migrate . --output-dir ../migrated --no-cache",
    "pending policy.yaml --repo . --base HEAD --no-cache",
    "verify clusters --policy policy.yaml",
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("fleet")
    files = {"policy.yaml": POLICY, "clusters/kustomization.yaml": "resources:\n"}
    for number in range(CLUSTERS):
        cluster = f"c{number}"
        files["clusters/kustomization.yaml"] += f"- {cluster}\n"
        files[f"clusters/{cluster}/kustomization.yaml"] = "resources: [apps.yaml]\n"
        files[f"clusters/{cluster}/apps.yaml"] = APPS.replace("./apps", f"./apps/{cluster}")
        files[f"apps/{cluster}/kustomization.yaml"] = f"resources: [a.yaml]\nnamePrefix: {cluster}-"
        files[f"apps/{cluster}/a.yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
    # Alone it is built for seconds: a busy machine may not look at once.
    map_ = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m%d}}\n"
    files["clusters/c1/maps.yaml"] = "---\n".join(map_ % number for number in range(MAPS))
    files["clusters/c1/kustomization.yaml"] = "resources: [apps.yaml, maps.yaml]\n"
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), COMMIT):
        subprocess.run(["git", "-C", place, *arguments], check=True)
    return place


@pytest.mark.slow  # kustomize
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("call", COMMANDS)
def test_a_signal_leaves_no_temporary_directory(
    call: str, number: signal.Signals, fleet: Path, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    path = os.pathsep.join([str(tool("kustomize").parent), os.environ["PATH"]])
    process = subprocess.Popen(
        [sys.executable, "-m", "krm_windows", *call.split()],
        cwd=fleet,
        env={**os.environ, "PATH": path, "TMPDIR": str(temporary), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background has them ignore SIGINT.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - no threads
    )
    with process:
        while not any(temporary.glob("krm-windows-*")) and process.poll() is None:
            time.sleep(0.001)
        sent = process.poll() is None
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert sent, f"{call} makes no temporary directory\n{said}"
    assert "Traceback" not in said
    assert process.returncode == SIGNALS[number]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_wait_at_once(tmp_path: Path, number: signal.Signals) -> None:
    """Without a traceback; a hangup that is ignored stays so, as nohup(1) has it."""
    (tmp_path / "policy.yaml").write_text(spec(state="Closed"))
    call = ["state", "policy.yaml", "--wait", "open", "--timeout", "2h"]
    process = subprocess.Popen(
        ["nohup", sys.executable, "-m", "krm_windows", *call],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - no threads
    )
    with process:
        assert process.stderr is not None
        # The line says that it waits now.
        while "waiting until" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(number)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == SIGNALS[number]


def test_what_the_caller_has_made_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that calls a command which is ended, as a test does, goes on with its own."""
    ours = temporary.make("krm-windows-test-")
    made: list[Path] = []

    def command(_arguments: object) -> None:
        made.append(temporary.make("krm-windows-test-"))
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(sys.modules["krm_windows.cli.main"], "_command", command)
    try:
        assert main(["state"]) == ExitCode.TERMINATED
        assert [each.exists() for each in (ours, *made)] == [True, False]
    finally:
        temporary.remove(ours)

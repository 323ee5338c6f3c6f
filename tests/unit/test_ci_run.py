"""What `.ci/run` does with what fails, and with a signal: a `make` that only notes its calls."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci/run"
REST = ["check", "test", "test-orchestrators", "site"]
# Each target notes itself, and does what its file says, where there is one.
MAKE = """\
#!/bin/sh
echo "$1" >>called
[ ! -e "$1.sh" ] || . "./$1.sh"
"""
GO = '#!/bin/sh\necho "/caches/$2"\n'
MEETS = "for _ in $(seq 600); do [ ! -e {other} ] || exit 0; sleep 0.05; done; exit 1\n"
# As the lab: what is sent TERM takes down what it started.
LASTS = """\
trap 'sleep 0.5; touch {name}.down; exit 1' TERM
touch {name}.up
while :; do sleep 0.05; done
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with the script, and with nothing else."""
    for name in (".ci", ".cache", "bin"):
        (tmp_path / name).mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci/run")
    (tmp_path / ".ci/setup").write_text('echo "setup $*" >>called\n')
    for name, text in {"make": MAKE, "go": GO}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def start(clone: Path, **targets: str) -> subprocess.Popen[str]:
    """Start the script; each target does what is given."""
    for name, text in targets.items():
        (clone / f"{name.replace('_', '-')}.sh").write_text(text)
    path = f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # A shell cannot trap what was ignored when it began, as nohup has it.
    return subprocess.Popen(
        ["env", "--default-signal", "bash", ".ci/run"],
        cwd=clone,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def called(clone: Path) -> list[str]:
    """Return what was called, but for `make e2e`, of which nothing says when."""
    return [line for line in (clone / "called").read_text().splitlines() if line != "e2e"]


def test_all_that_passes_passes(clone: Path) -> None:
    """The environment is there before anything is made; e2e runs while the rest does."""
    run = start(
        clone,
        e2e='echo "$GOCACHE $GOMODCACHE" >caches; touch e2e.up\n' + MEETS.format(other="check.up"),
        check="touch check.up\n" + MEETS.format(other="e2e.up"),
    )
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 0, output
    assert called(clone) == ["setup cluster", ".venv/ready", *REST]
    assert "e2e" in (clone / "called").read_text().splitlines()
    assert (clone / "caches").read_text() == "/caches/GOCACHE /caches/GOMODCACHE\n"
    assert "failed" not in output


@pytest.mark.parametrize("name", [*REST, "e2e"])
def test_what_fails_fails_all_of_it_and_ends_nothing(clone: Path, name: str) -> None:
    """It is named, and everything else is made."""
    run = start(clone, **{name: "exit 7\n"})
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert called(clone)[2:] == REST
    assert output.count("failed") == 1
    assert f"run: make {name} failed\n" in output


@pytest.mark.parametrize("code", [0, 1])
def test_what_end_to_end_tests_print_is_shown_as_a_whole(clone: Path, code: int) -> None:
    """Nothing of the rest is between its lines, whether they pass or not."""
    several = "for n in 1 2 3; do echo {name} $n; sleep 0.1; done\n"
    run = start(
        clone,
        e2e=several.format(name="story") + f"echo complaint >&2\nexit {code}\n",
        check=several.format(name="rule"),
        site=MEETS.format(other="checked"),
        test="touch checked\n",
    )
    output, _ = run.communicate(timeout=60)
    failed = "run: make e2e failed\n" if code else ""
    whole = f"story 1\nstory 2\nstory 3\ncomplaint\n{failed}"
    assert f"\nrun: make e2e printed:\n{whole}run: that was make e2e" in output
    assert (clone / ".cache/e2e.log").read_text() == whole


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_both(clone: Path, number: signal.Signals) -> None:
    """It returns once both have taken down what they started, and begins nothing more."""
    run = start(clone, **{name: LASTS.format(name=name) for name in ("e2e", "test")})
    for name in ("e2e.up", "test.up"):
        while not (clone / name).exists():
            assert run.poll() is None
            time.sleep(0.02)
    run.send_signal(number)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 128 + number, output
    assert (clone / "e2e.down").exists()
    assert (clone / "test.down").exists()
    assert called(clone)[-1] == "test"

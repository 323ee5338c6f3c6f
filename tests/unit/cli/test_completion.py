"""The scripts for shells: read by the real shells, which complete what is typed at a terminal."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

# Prints the words that it is called with, so that a line that was completed shows itself.
ECHO = "krm-windows() { printf '<%s>' \"$@\"; echo; }"
STARTED = {
    "bash": (
        ["bash", "--noprofile", "--norc", "-i"],
        "PS1=; bind 'set enable-bracketed-paste off'; source ./script",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        'PS1=; autoload -Uz compinit; compinit -u -D; eval "$(cat ./script)"',
    ),
}
# What is typed before a tab, and what it becomes.
TYPED = {
    "calend": ["calendar"],
    "calendar poli": ["calendar", "policy.yaml"],
    "calendar --all-cl": ["calendar", "--all-clusters"],
    "calendar policy.yaml --output ht": ["calendar", "policy.yaml", "--output", "html"],
    "calendar policy.yaml -o ht": ["calendar", "policy.yaml", "-o", "html"],
    "--debug calend": ["--debug", "calendar"],
    "override policy.yaml cl": ["override", "policy.yaml", "closed"],
    "override poli": ["override", "policy.yaml"],
    "import --ye": ["import", "--years"],
    "install --plugin-home place": ["install", "--plugin-home", "place-for-plugins"],
    "split . --classes poli": ["split", ".", "--classes", "policy.yaml"],
    "completion fi": ["completion", "fish"],
}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_reads_it(shell: str, tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """Without a word, whatever help has in quotes, backticks, brackets or behind colons."""
    program = tool(shell)
    prepare(shell, tmp_path)
    command = [program, "-c", "source ./script"]
    if shell == "zsh":
        begin = 'autoload -Uz compinit; compinit -u -D; eval "$(cat ./script)"'
        command = [program, "-f", "-c", begin]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", STARTED)
def test_the_shell_completes(shell: str, tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """Commands, options, their values, files and directories, at a tab."""
    assert tool(shell)
    prepare(shell, tmp_path)
    argv, begin = STARTED[shell]
    lines = [f"krm-windows {typed}\t" for typed in TYPED]
    # bash keeps the slash behind a directory, zsh takes it away again.
    shown = conversation(argv, tmp_path, [begin, ECHO, *lines]).replace("/>", ">")
    wanted = ["".join(f"<{word}>" for word in words) for words in TYPED.values()]
    assert [line for line in wanted if line not in shown] == [], shown


def test_fish_completes(tmp_path: Path, tool: Callable[[str], Path]) -> None:
    """Asked for what it would offer at a tab (complete(1), -C): that, and nothing else."""
    fish = tool("fish")
    prepare("fish", tmp_path)
    asked = "".join(f"echo; complete -C 'krm-windows {typed}'\n" for typed in TYPED)
    done = subprocess.run(
        [fish, "--no-config", "-c", f"source ./script\n{asked}"],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    # A line for each word that fits, with what it is for behind a tab.
    offered = re.sub(r"/?(\t.*)?$", "", done.stdout, flags=re.MULTILINE).split()
    assert offered == [words[-1] for words in TYPED.values()]


def prepare(shell: str, folder: Path) -> None:
    """Put the script of a shell into a directory, and what may be completed."""
    script = [sys.executable, "-m", "krm_windows", "completion", shell]
    with (folder / "script").open("w") as file:
        subprocess.run(script, stdout=file, check=True)
    (folder / "policy.yaml").write_text("")
    (folder / "place-for-plugins").mkdir()
    (folder / "place-taken.yaml").write_text("")


def conversation(argv: list[str], folder: Path, lines: list[str]) -> str:
    """Type lines at a terminal, each once the one before is answered; return what it shows."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "HOME": str(folder), "HISTFILE": ""}
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""
    try:
        for number, line in enumerate(lines):
            os.write(ours, f"{line}\necho answer''ed-{number}\n".encode())
            shown += _until(ours, f"answered-{number}")
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return shown


def _until(terminal: int, wanted: str) -> str:
    deadline = monotonic() + 60
    shown = ""
    while wanted not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - monotonic()))
        if not ready:
            pytest.fail(f"no answer {wanted}: {shown}")
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown

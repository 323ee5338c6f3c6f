"""Programs get what they are given and nothing else, and are ended when they take too much."""

import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

from krm_windows.system import programs
from krm_windows.system.programs import Ended, LimitError, Limits

LIMITS = Limits(seconds=60, output=10_000_000)
ENVIRONMENT = {"PYTHONUTF8": "1"}


def run(text: str, limits: Limits = LIMITS, stdin: bytes = b"") -> Ended:
    return programs.run(
        [sys.executable, "-c", text], environment=ENVIRONMENT, limits=limits, stdin=stdin
    )


def test_what_it_prints_and_how_it_ends() -> None:
    text = "import sys\nfor part in iter(lambda: sys.stdin.buffer.read(9999), b''):\n"
    text += "  sys.stdout.buffer.write(part)\n  sys.stderr.buffer.write(part)\nsys.exit('bye')"
    data = b"x" * 5_000_000
    ended = run(text, stdin=data)
    assert (ended.code, ended.output, ended.last_line[-3:]) == (1, data, "bye")
    assert len(ended.complaint) <= 65536
    assert run("import os; os.kill(os.getpid(), 9)").code == -9
    # What is meant for a program that reads nothing is more than a pipe holds.
    assert run("print('done')", stdin=data).output == b"done\n"


def test_it_has_nothing_of_ours() -> None:
    inherited = os.open(os.devnull, os.O_RDONLY)
    text = (
        "import os, sys, json\nprint(json.dumps([sys.stdin.read(), sorted(os.environ), "
        "os.getsid(0) == os.getpid(),"
    )
    text += "sorted(map(int, os.listdir('/proc/self/fd')))]))"
    try:
        stdin, environment, alone, descriptors = json.loads(run(text).output)
    finally:
        os.close(inherited)
    assert (stdin, alone) == ("", True)
    assert set(environment) <= {"PYTHONUTF8", "LC_CTYPE"}
    assert descriptors[:3] == [0, 1, 2]
    assert len(descriptors) == 4, "beside the three only the directory that it lists"


def test_it_ends_when_it_takes_too_long(tmp_path: Path) -> None:
    text = (
        "import os, time\nif os.fork() == 0:\n"
        f"  open({str(tmp_path / 'child')!r}, 'w').write(str(os.getpid()))\n"
    )
    text += "time.sleep(600)"
    with pytest.raises(LimitError, match="did not end within 2 s"):
        run(text, Limits(seconds=2, output=10))
    child = int((tmp_path / "child").read_text())
    ends = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and " Z " not in Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < ends, "the child lives on"
        time.sleep(0.01)


def test_it_ends_when_it_prints_too_much() -> None:
    """Not after it has ended: this one never does."""
    with pytest.raises(LimitError, match="prints more than 100000 bytes"):
        run("while True: print('x' * 1000)", Limits(seconds=60, output=100_000))
    assert len(run("print('x' * 99_999)", Limits(seconds=60, output=100_000)).output) == 100_000


def test_it_has_so_much_memory_and_writes_nothing(tmp_path: Path) -> None:
    wait = (
        "import resource\n"
        "while resource.getrlimit(resource.{})[0] == resource.RLIM_INFINITY: pass\n"
    )
    text = wait.format("RLIMIT_DATA") + "bytearray(1 << 30)"
    ended = run(text, Limits(60, 10, memory=512 << 20))
    assert ended.code != 0
    assert "MemoryError" in ended.complaint
    text = wait.format("RLIMIT_FSIZE") + f"open({str(tmp_path / 'file')!r}, 'wb', 0).write(b'x')"
    assert run(text, Limits(60, 10, file=0)).code != 0
    assert (tmp_path / "file").read_text() == ""


def test_a_folder_that_may_not_be_searched_is_passed_over() -> None:
    """Such as one of root's, which is still on the PATH of who came by `su`."""
    # A directory that is not of one user alone, as that of a test is.
    public = Path(tempfile.mkdtemp())
    public.chmod(0o755)
    locked, searched = public / "locked", public / "searched"
    for folder in (locked, searched):
        folder.mkdir()
        (folder / "git").write_text("#!/bin/sh\n")
        (folder / "git").chmod(0o755)
    locked.chmod(0)
    # For root nothing is locked: a process of its own becomes nobody.
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ["PATH"] = f"{locked}:{searched}"
            if os.geteuid() == 0:
                os.setuid(65534)
            code = int(programs.find("git") != str(searched / "git"))
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    locked.chmod(0o700)
    shutil.rmtree(public)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_no_program_is_taken_from_where_one_is(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("git", "bin/git"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text("#!/bin/sh\n")
        (tmp_path / place).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", entry)
    assert programs.find("git") is None
    monkeypatch.setenv("PATH", f"{entry}:{tmp_path / 'bin'}")
    assert programs.find("git") == str(tmp_path / "bin/git")
    (tmp_path / "bin/git").chmod(0o644)
    assert programs.find("git") is None

"""What is longer than the limit is passed on, piece by piece; a configuration is read once."""

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from calls import APPS, POLICY, Answer, call, wire

from krm_windows import krm
from krm_windows.exit_codes import ExitCode

MOST = 1000


class Counted(io.BytesIO):
    longest = 0

    def read(self, size: int | None = -1) -> bytes:
        self.longest = max(self.longest, size if size is not None and size >= 0 else 1 << 40)
        return super().read(size)


@pytest.mark.parametrize("length", [MOST, MOST + 1, MOST + 2, 5 * MOST, 9 * MOST + 1])
def test_a_longer_input_is_given_back(length: int) -> None:
    data = wire(APPS).encode().ljust(length, b"#")
    stdin, stdout, stderr = Counted(data), io.BytesIO(), io.StringIO()
    code = krm.run(
        lambda _: None, argv=[], stdin=stdin, stdout=stdout, stderr=stderr, environ={}, most=MOST
    )
    assert stdout.getvalue() == data
    assert stdin.longest < 2_000_000
    said = f"[error] the input has more than {MOST} bytes (input-unreadable)\n"
    expected = (ExitCode.FINE, "") if length == MOST else (ExitCode.ERROR, said)
    assert (code, stderr.getvalue()) == expected


def plugin(config: str | Path) -> Answer:
    program = (
        "import sys; from krm_windows.cli import function; sys.exit(function.run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, str(config)]
    done = subprocess.run(
        command, input=APPS.encode(), capture_output=True, timeout=60, check=False
    )
    return Answer(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/"])
def test_a_configuration_that_is_a_device(device: str) -> None:
    answer = plugin(device)
    assert answer.code == ExitCode.ERROR
    assert answer.out == APPS.encode()
    assert f"{device}: is a d" in answer.err


def test_a_configuration_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "config"
    os.mkfifo(pipe)
    wrong = POLICY.replace("Mon 08:00", "Mno 08:00")
    writer = threading.Thread(target=pipe.write_text, args=(wrong,), daemon=True)
    writer.start()
    answer = plugin(pipe)
    writer.join(10)
    assert answer.code == ExitCode.ERROR
    assert answer.out == APPS.encode()
    assert "Mno" in answer.err


@pytest.mark.parametrize(
    "text", ["\n", "\ufeff", "# nothing\n", f"{APPS}---\n", f"---\n---\n{APPS}", "  # {\n#\n", ""]
)
def test_P12_a_stream_comes_back_with_what_is_no_document(text: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("kind: Other\n")
    answer = call(text, str(config))
    assert answer.code == ExitCode.CONFIGURATION
    assert answer.out.decode() == text


@pytest.mark.parametrize(("depth", "given_back"), [(150, False), (300, True), (200_000, True)])
def test_P12_what_is_too_deep_to_be_read_is_given_back(
    depth: int,
    given_back: bool,  # noqa: FBT001 - a table
) -> None:
    data = b"[" * depth
    answer = call(data)
    assert answer.code == ExitCode.ERROR
    assert answer.out == (data if given_back else b"")
    assert answer.err

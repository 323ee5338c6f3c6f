"""A sandbox: whatever runs in it can open what it was given, and nothing else.

It can reach nobody.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import lacking
from listening import Listener

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kustomize import Builder
from krm_windows.system.sandbox import calls, executables, landlock
from krm_windows.system.sandbox.confinement import (
    Access,
    Finished,
    Limits,
    NotConfinedError,
    Sandbox,
)

MIB = 1024 * 1024
SHORT = Limits(processor=2, clock=20, memory=256 * MIB, output=4 * MIB)


def access(*paths: str) -> Access:
    """Return what programs, and the libraries that they load, need."""
    found = [each for each in map(executables.find, paths) if each]
    python = (sys.base_prefix, sys.prefix, str(Path(sys.executable).resolve().parent))
    return Access(
        runs=tuple(path for each in found for path in each.runs),
        reads=tuple(path for each in found for path in each.reads),
        reads_below=tuple(path for path in python if Path(path).is_dir() and path != "/usr"),
    )


@pytest.fixture(scope="module")
def python() -> str:
    """The interpreter, as a program that tries anything."""
    return os.path.realpath(sys.executable)


@pytest.fixture(scope="module")
def sandbox(python: str) -> Iterator[Sandbox]:
    """A sandbox for Python.

    Where the kernel confines nothing, that is a failure if every tool is required.
    """
    allowed = access(python)
    allowed = Access(allowed.runs, allowed.reads, (*allowed.reads_below, *library(python)))
    try:
        with Sandbox(allowed, {"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"}, SHORT) as found:
            yield found
    except NotConfinedError as error:
        lacking(str(error))


def library(python: str) -> list[str]:
    """Return the directories of the standard library, and of its modules' libraries."""
    code = (
        "import sysconfig; print(sysconfig.get_path('stdlib')); "
        "print(sysconfig.get_config_var('DESTSHARED') or '')"
    )
    printed = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    return [path for path in printed.split() if Path(path).is_dir()]


@pytest.fixture
def tried(sandbox: Sandbox, python: str) -> Callable[[str], Finished]:
    """Run some Python in the sandbox."""

    def run(code: str) -> Finished:
        return sandbox.run(python, "-I", "-S", "-c", f"import os\n{code}\nprint('done')")

    return run


def test_it_computes_and_prints(tried: Callable[[str], Finished]) -> None:
    """So that what the other tests see refused is refused by the sandbox."""
    assert tried("print(sum(range(10)))") == Finished(0, b"45\ndone\n", b"")


def test_it_reads_its_copies_and_changes_its_scratch(
    sandbox: Sandbox, tried: Callable[[str], Finished]
) -> None:
    """The one is left as it is."""
    (sandbox.copies / "a").write_text("given")
    assert tried(f"print(open({str(sandbox.copies / 'a')!r}).read())").output == b"given\ndone\n"
    assert tried(f"open({str(sandbox.scratch / 'b')!r}, 'w').write('made')").code == 0
    assert (sandbox.scratch / "b").read_text() == "made"
    for code in (
        "open({!r}, 'w')",
        "os.unlink({!r})",
        "os.truncate({!r}, 0)",
        "os.chmod({!r}, 0o777)",
    ):
        assert b"Permission" in _refused(tried(code.format(str(sandbox.copies / "a"))))
    assert (sandbox.copies / "a").read_text() == "given"


def _refused(finished: Finished) -> bytes:
    assert finished.code != 0
    assert b"done" not in finished.output
    return finished.complaints.replace(b"Operation not permitted", b"Permission")


HOST = [
    "/etc/passwd",
    "/etc/hostname",
    "/proc/self/environ",
    "/proc/1/cmdline",
    "/dev/zero",
    "/dev/urandom",
    "/",
    "/tmp",  # noqa: S108 - where others leave things
]


@pytest.mark.parametrize("path", HOST)
@pytest.mark.parametrize(
    "way", ["os.open({!r}, os.O_RDONLY)", "os.open({!r}, os.O_RDWR)", "os.listdir({!r})"]
)
def test_it_opens_nothing_of_the_host(
    path: str, way: str, tried: Callable[[str], Finished]
) -> None:
    """No file, device or directory, whoever may read it."""
    if Path(path).exists():
        _refused(tried(way.format(path)))


def test_it_opens_nothing_through_a_link(
    sandbox: Sandbox, tmp_path: Path, tried: Callable[[str], Finished]
) -> None:
    """That lies in its copies, or that it makes."""
    (tmp_path / "secret").write_text("secret")
    link = sandbox.copies / "link"
    link.symlink_to(tmp_path / "secret")
    _refused(tried(f"open({str(link)!r})"))
    _refused(tried(f"os.symlink({str(tmp_path / 'secret')!r}, {str(sandbox.scratch / 'link')!r})"))
    _refused(tried(f"os.link({str(tmp_path / 'secret')!r}, {str(sandbox.scratch / 'link')!r})"))


@pytest.mark.parametrize(
    "way", ["os.mkdir({!r})", "os.mkfifo({!r})", "open({!r}, 'w')", "os.symlink('a', {!r})"]
)
def test_it_writes_nowhere_else(way: str, tmp_path: Path, tried: Callable[[str], Finished]) -> None:
    """Not even where everybody may."""
    _refused(tried(way.format(str(tmp_path / "made"))))
    assert not os.path.lexists(tmp_path / "made")


CONNECTS = """
import socket
s = socket.socket(socket.{family}, socket.{kind})
s.connect({address!r})
s.send(b'hello')
"""


def test_it_reaches_nobody(tried: Callable[[str], Finished], tmp_path: Path) -> None:
    """There is no socket to be had.

    Not for loopback, not for a socket in the file system or one without a name.
    """
    with Listener(tmp_path) as listener:
        for family, kind, address in listener.addresses:
            code = CONNECTS.format(family=family, kind=kind, address=address)
            assert b"Permission" in _refused(tried(code))
            subprocess.run([sys.executable, "-c", code], check=True)
        assert listener.has_met(len(listener.addresses))


@pytest.mark.parametrize(
    "family", ["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK"]
)
def test_it_has_no_socket_of_any_family(family: str, tried: Callable[[str], Finished]) -> None:
    """Nor a pair of them."""
    _refused(tried(f"import socket\nsocket.socket(socket.{family}, socket.SOCK_STREAM)"))
    _refused(tried("import socket\nsocket.socketpair()"))


@pytest.mark.parametrize("program", ["/bin/sh", "/usr/bin/git", "/bin/true", "/usr/bin/env"])
@pytest.mark.parametrize(
    "way",
    [
        "os.execv({0!r}, [{0!r}])",
        "os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn({0!r}, [{0!r}], {{}}), 0)[1]) and 1/0",
        "import subprocess; subprocess.run([{0!r}], check=True)",
    ],
)
def test_it_starts_no_other_program(
    program: str, way: str, tried: Callable[[str], Finished]
) -> None:
    """Neither in its own place nor beside itself."""
    if Path(program).exists():
        _refused(tried(way.format(program)))


def test_it_starts_nothing_that_it_wrote(
    sandbox: Sandbox, python: str, tried: Callable[[str], Finished]
) -> None:
    """A copy of what it may start is another program."""
    made = str(sandbox.scratch / "made")
    _refused(
        tried(
            f"open({made!r}, 'wb').write(open({python!r}, 'rb').read(100)); "
            f"os.execv({made!r}, ['x'])"
        )
    )


@pytest.mark.parametrize(
    "way",
    [
        "os.fork()",
        "os.kill(os.getppid(), 0)",
        "os.kill(1, 0)",
        "os.killpg(0, 9)",
        "import resource; resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY,) * 2)",
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
        "os.setsid()",
        "os.setuid(0)",
        "os.chroot('/')",
        "os.setxattr('.', 'user.a', b'a')",
        "os.memfd_create('a')",
        "import ctypes; assert ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) == 0",
        "import ctypes; assert ctypes.CDLL(None).unshare(0x10000000) == 0",
        "import ctypes; assert ctypes.CDLL(None).mount(b'a', b'/', b'tmpfs', 0, None) == 0",
        "import ctypes; assert ctypes.CDLL(None).syscall(425, 1, None) != -1, 'io_uring_setup'",
    ],
)
def test_it_has_no_power_over_others_or_its_limits(
    way: str, tried: Callable[[str], Finished]
) -> None:
    """No process, right, limit or namespace."""
    _refused(tried(way))


def test_it_has_no_environment_but_what_was_given(
    sandbox: Sandbox, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token beside the job stays there."""
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    finished = sandbox.run(python, "-I", "-S", "-c", "import os; print(*sorted(os.environ))")
    assert set(finished.output.decode().split()) <= {
        "HOME",
        "LC_CTYPE",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "TMPDIR",
    }


def test_it_is_given_no_open_file_of_ours(
    sandbox: Sandbox, python: str, tmp_path: Path, tried: Callable[[str], Finished]
) -> None:
    """Beside its own three streams and the pipes of what starts it.

    None of those is ours to read.
    """
    assert python
    with (tmp_path / "secret").open("w+") as file:
        os.set_inheritable(file.fileno(), True)  # noqa: FBT003 - its only form
        code = (
            "for fd in range(3, 256):\n  try: os.fstat(fd)\n  except OSError: continue\n"
            "  raise SystemExit(fd)"
        )
        assert tried(code).code == 0
    assert sandbox


def test_memory_has_an_end(tried: Callable[[str], Finished]) -> None:
    """Less than the machine has."""
    assert b"MemoryError" in _refused(tried("b' ' * (1024 * 1024 * 1024)"))


def test_output_has_an_end(tried: Callable[[str], Finished]) -> None:
    """Its own, so that nobody fills the disk or our memory."""
    with pytest.raises(WorkspaceError, match="printed more than 4 MiB"):
        tried("import sys\nwhile True: sys.stdout.write(' ' * 65536)")


def test_complaints_have_an_end(tried: Callable[[str], Finished]) -> None:
    """Likewise."""
    finished = tried("os.write(2, b' ' * 2 * 1024 * 1024)")
    assert len(finished.complaints) == 64 * 1024


def test_time_has_an_end(tried: Callable[[str], Finished]) -> None:
    """That of a processor; the programs beside it go on."""
    with pytest.raises(WorkspaceError, match="2 s of CPU time"):
        tried("while True: pass")
    assert tried("").code == 0


def test_waiting_has_an_end(python: str) -> None:
    """By the clock; then all that was started is gone, and nothing more is."""
    allowed = access(python)
    limits = Limits(processor=1000, clock=1)
    with Sandbox(
        Access(allowed.runs, allowed.reads, (*allowed.reads_below, *library(python))), {}, limits
    ) as waiting:
        with pytest.raises(WorkspaceError, match="did not end within 1 s"):
            waiting.run(python, "-I", "-S", "-c", "import time; time.sleep(1000)")
        with pytest.raises(WorkspaceError):
            waiting.run(python, "-I", "-S", "-c", "")


ABANDONED = """
import os, sys
from krm_windows.system.sandbox.confinement import *
from krm_windows.system.sandbox import executables
sleep = executables.find('sleep')
sandbox = Sandbox(Access(sleep.runs, sleep.reads), {})
print(sandbox._launcher._process.pid, flush=True)
sandbox.run(sleep.path, '1000')
"""


def test_nothing_outlives_who_asked_for_it(sandbox: Sandbox) -> None:
    """Not even where that is killed."""
    assert sandbox
    with subprocess.Popen([sys.executable, "-c", ABANDONED], stdout=subprocess.PIPE) as asking:
        assert asking.stdout
        group = int(asking.stdout.readline())
        asking.kill()
    while _lives(group):
        pass


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    numbers = filter(str.isdigit, os.listdir("/proc"))  # noqa: PTH208 - names are asked for
    states = [Path("/proc", number, "stat") for number in numbers]
    return any(_is_running(path, group) for path in states)


def _is_running(path: Path, group: int) -> bool:
    try:
        state, _, of, *_ = path.read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return int(of) == group and state != "Z"


def test_its_folder_goes_with_it(python: str) -> None:
    """With all that lay in it."""
    allowed = access(python)
    with Sandbox(allowed, {}, SHORT) as made:
        assert made.copies.is_dir()
        assert made.copies.stat().st_mode & 0o777 == 0o700
    assert not made.copies.parent.exists()


def test_where_the_kernel_confines_nothing_nothing_is_started() -> None:
    """Every way in which that may fail ends there: a path that is gone stands for all of them."""
    with pytest.raises(NotConfinedError, match="No such file"):
        Sandbox(Access(runs=("/no/such/program",)))


RESTRICTED = """
import os
from krm_windows.system.sandbox import landlock
from krm_windows.system.sandbox.kernel import PR_SET_NO_NEW_PRIVS, prctl
prctl(PR_SET_NO_NEW_PRIVS, 1)
landlock.restrict([({folder!r}, landlock.CHANGE_BELOW)], {version})
open({folder!r} + '/made', 'w').write('a')
for path in ('/etc/passwd', '/dev/zero', '/proc/self/environ', '/'):
    try:
        os.open(path, os.O_RDONLY)
    except PermissionError:
        continue
    raise SystemExit(path)
"""


@pytest.mark.parametrize("version", range(1, 9))
def test_an_older_or_newer_kernel_keeps_files_as_well(
    version: int, sandbox: Sandbox, tmp_path: Path
) -> None:
    """What it knows of the interface is asked of it, as far as this kernel goes."""
    assert sandbox
    code = RESTRICTED.format(folder=str(tmp_path), version=min(version, landlock.version()))
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "made").read_text() == "a"


def test_a_launcher_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here because there is another program in the place of the interpreter."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(NotConfinedError, match="did not start"):
        Sandbox(Access())


def test_a_launcher_that_is_missing_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pipe to what was never started."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(sys, "executable", "/none/python")
    with pytest.raises(FileNotFoundError):
        Sandbox(Access())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("length", [6, 30, 100, 300])
def test_a_program_that_was_cut_off_is_said(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download that was interrupted: its header names what is not there."""
    program = tmp_path / "kustomize"
    program.write_bytes(Path(sys.executable).resolve().read_bytes()[:length])
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match=f"{program} does not print its version"):
        Builder.find()


def test_a_program_without_its_loader_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was built on another distribution, such as for musl."""
    loader = b"/lib64/ld-linux-x86-64.so.2"
    content = Path(sys.executable).resolve().read_bytes()
    if loader not in content:
        pytest.skip("the interpreter has another loader")
    program = tmp_path / "kustomize"
    program.write_bytes(content.replace(loader, loader.replace(b"linux", b"nolib")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkspaceError, match=f"{program} does not print its version"):
        Builder.find()


HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    """As its own headers have them."""
    header = Path(HEADERS[machine])
    if not header.is_file():
        lacking(f"{header} is not installed (Debian: linux-libc-dev)")
    known = {}
    for line in header.read_text().splitlines():
        words = line.split()
        if (
            len(words) >= 3
            and words[0] == "#define"
            and words[1].startswith("__NR")
            and words[2].isdigit()
        ):
            known[int(words[2])] = words[1].replace("__NR3264_", "__NR_").removeprefix("__NR_")
    found = calls.ARCHITECTURES[machine]
    assert {
        known[number].replace("fstatat", "newfstatat").replace("newnew", "new")
        for number in found.plain
    } == (calls.names(machine))
    assert [
        known[number] for number in (found.clone, found.tgkill, found.prlimit64, found.fcntl)
    ] == [
        "clone",
        "tgkill",
        "prlimit64",
        "fcntl",
    ]

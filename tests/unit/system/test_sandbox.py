"""Whatever runs in a sandbox opens what it was given and nothing else, and reaches nobody."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import lacking
from listening import Listener

from krm_windows.system import programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.kustomize import Builder
from krm_windows.system.programs import Ended, LimitError, Limits
from krm_windows.system.sandbox import landlock, seccomp
from krm_windows.system.sandbox.confinement import Confinement, NotConfinedError

MIB = 1024 * 1024
SHORT = Limits(seconds=20, output=4 * MIB, memory=256 * MIB, file=4 * MIB, processor=1)
PYTHON = os.path.realpath(sys.executable)
Tried = Callable[..., Ended]


@pytest.fixture(scope="module")
def python() -> Confinement:
    code = (
        "import sys, sysconfig, os; print(sys.base_prefix, sysconfig.get_path('stdlib'), "
        "sysconfig.get_config_var('DESTSHARED') or '', os.path.dirname(sys.executable))"
    )
    command = [PYTHON, "-I", "-c", code]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    reads = tuple(path for path in printed.split() if Path(path).is_dir() and path != "/usr")
    listed = subprocess.run(
        [PYTHON, "-c", ""], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, check=True
    ).stdout.split()
    libraries = [os.path.realpath(word) for word in listed if word.startswith(b"/")]
    found = Confinement((PYTHON, *map(os.fsdecode, libraries), "/etc/ld.so.cache"), reads)
    try:
        programs.run([PYTHON, "-c", ""], environment={}, limits=SHORT, confine=found.enter)
    except NotConfinedError as error:
        lacking(str(error))
    return found


@pytest.fixture
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("copies")


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture
def tried(python: Confinement, copies: Path, scratch: Path) -> Tried:
    def run(code: str, limits: Limits = SHORT) -> Ended:
        reads = (*python.reads_below, str(copies))
        return programs.run(
            [PYTHON, "-I", "-S", "-c", f"import os\n{code}\nprint('done')"],
            environment={"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
            limits=limits,
            confine=Confinement(python.runs, reads, (str(scratch),)).enter,
        )

    return run


def test_it_reads_its_copies_and_changes_its_scratch(
    copies: Path, scratch: Path, tried: Tried
) -> None:
    (copies / "a").write_text("given")
    given = tried(f"print(open({str(copies / 'a')!r}).read())")
    assert given == Ended(0, b"given\ndone\n", "")
    assert tried(f"open({str(scratch / 'b')!r}, 'w').write('made')").code == 0
    assert (scratch / "b").read_text() == "made"
    for code in (
        "open({!r}, 'w')",
        "os.unlink({!r})",
        "os.truncate({!r}, 0)",
        "os.chmod({!r}, 0o777)",
    ):
        assert "Permission" in _refused(tried(code.format(str(copies / "a"))))
    assert (copies / "a").read_text() == "given"


def _refused(ended: Ended) -> str:
    assert ended.code != 0
    assert b"done" not in ended.output
    return ended.complaint.replace("Operation not permitted", "Permission")


HOST = [
    "/etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "/dev/urandom",
    "/",
    "/tmp",  # noqa: S108 - where others leave things
]


@pytest.mark.parametrize("path", HOST)
@pytest.mark.parametrize(
    "way", ["os.open({!r}, os.O_RDONLY)", "os.open({!r}, os.O_RDWR)", "os.listdir({!r})"]
)
def test_it_opens_nothing_of_the_host(path: str, way: str, tried: Tried) -> None:
    if Path(path).exists():
        _refused(tried(way.format(path)))


def test_it_opens_nothing_through_a_link(
    copies: Path, scratch: Path, tmp_path: Path, tried: Tried
) -> None:
    (tmp_path / "secret").write_text("secret")
    link = copies / "link"
    link.symlink_to(tmp_path / "secret")
    _refused(tried(f"open({str(link)!r})"))
    _refused(tried(f"os.symlink({str(tmp_path / 'secret')!r}, {str(scratch / 'link')!r})"))
    _refused(tried(f"os.link({str(tmp_path / 'secret')!r}, {str(scratch / 'link')!r})"))


@pytest.mark.parametrize(
    "way", ["os.mkdir({!r})", "os.mkfifo({!r})", "open({!r}, 'w')", "os.symlink('a', {!r})"]
)
def test_it_writes_nowhere_else(way: str, tmp_path: Path, tried: Tried) -> None:
    _refused(tried(way.format(str(tmp_path / "made"))))
    assert not os.path.lexists(tmp_path / "made")


CONNECTS = """
import socket
s = socket.socket(socket.{family}, socket.{kind})
s.connect({address!r})
s.send(b'hello')
"""


def test_it_reaches_nobody(tried: Tried, tmp_path: Path) -> None:
    with Listener(tmp_path) as listener:
        for family, kind, address in listener.addresses:
            code = CONNECTS.format(family=family, kind=kind, address=address)
            assert "Permission" in _refused(tried(code))
            # Whoever starts it keeps all rights: only a thread that has ended gave them up.
            subprocess.run([sys.executable, "-c", code], check=True)
        assert listener.has_met(len(listener.addresses))


@pytest.mark.parametrize(
    "family", ["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK"]
)
def test_it_has_no_socket_of_any_family(family: str, tried: Tried) -> None:
    _refused(tried(f"import socket\nsocket.socket(socket.{family}, socket.SOCK_STREAM)"))
    _refused(tried("import socket\nsocket.socketpair()"))


@pytest.mark.parametrize("program", ["/bin/sh", "/usr/bin/git"])
@pytest.mark.parametrize(
    "way",
    [
        "os.execv({0!r}, [{0!r}])",
        "os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn({0!r}, [{0!r}], {{}}), 0)[1]) and 1/0",
        "import subprocess; subprocess.run([{0!r}], check=True)",
    ],
)
def test_it_starts_no_other_program(program: str, way: str, tried: Tried) -> None:
    if Path(program).exists():
        _refused(tried(way.format(program)))


def test_it_starts_nothing_that_it_wrote(scratch: Path, tried: Tried) -> None:
    made = str(scratch / "made")
    _refused(
        tried(
            f"open({made!r}, 'wb').write(open({PYTHON!r}, 'rb').read(100)); "
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
def test_it_has_no_power_over_others_or_its_limits(way: str, tried: Tried) -> None:
    _refused(tried(way))


def test_time_has_an_end(tried: Tried) -> None:
    with pytest.raises(LimitError, match="1 s of CPU time"):
        tried("while True: pass")
    assert tried("").code == 0


def test_where_the_kernel_confines_nothing_nothing_is_started(tmp_path: Path) -> None:
    made = tmp_path / "made"
    confinement = Confinement(runs=("/no/such/program",))
    command = ["/bin/sh", "-c", f"echo a > {made}"]
    with pytest.raises(NotConfinedError, match="No such file"):
        programs.run(command, environment={}, limits=SHORT, confine=confinement.enter)
    assert not made.exists()


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


@pytest.mark.parametrize("version", [1, 3, 8])
def test_an_older_or_newer_kernel_keeps_files_as_well(
    version: int, python: Confinement, tmp_path: Path
) -> None:
    del python
    code = RESTRICTED.format(folder=str(tmp_path), version=min(version, landlock.version()))
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "made").read_text() == "a"


LOADER = b"/lib64/ld-linux-x86-64.so.2"


@pytest.mark.parametrize("end", [6, 300, None])
def test_a_program_that_cannot_start_is_said(
    end: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download that was interrupted, or a build for another distribution, such as for musl."""
    content = Path(sys.executable).resolve().read_bytes()
    program = tmp_path / "kustomize"
    program.write_bytes(content[:end].replace(LOADER, LOADER.replace(b"linux", b"nolib")))
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
    for name, number in seccomp.ARCHITECTURES[machine].calls().items():
        assert known[number].removeprefix("new") == name.removeprefix("new")

"""A checkout whose author wants code of theirs to run, and programs that look who has a secret.

Whatever of it runs, or sees the secret, says so into a pipe: also where it may write no file.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from runners import git

# What is started of the shell, of Git and of Python; kustomize is only ever started confined.
_PROGRAMS = ("bash", "sh", "env", "git", "python3", "find", "sort", "cksum", "dirname", "mktemp")
_MODULES = {"sitecustomize", "usercustomize", "pip", "setuptools", "hatchling", "distutils"}
_SPY = """\
#!/bin/sh
# Whether this program, or any above it up to the tests, has the secret in its environment.
pid=$$
while :; do
  while read -r key value _; do
    if [ "$key" = PPid: ]; then above=$value; fi
  done <"/proc/$pid/status"
  # The shell of the job itself, which its runner starts with it.
  if [ "$above" = {tests} ] && {{ [ "$pid" = $$ ] || {spare_top}; }}; then break; fi
  if /usr/bin/grep -qaF '{secret}' "/proc/$pid/environ"; then
    echo "the secret is seen by {name} ${{1-}}" >'{pipe}'
  fi
  if [ "$above" = {tests} ]; then break; fi
  pid=$above
done
exec '{program}' "$@"
"""


@dataclass(frozen=True)
class Pipe:
    path: Path
    descriptor: int

    def said(self) -> set[str]:
        read = b""
        try:
            while part := os.read(self.descriptor, 1 << 20):
                read += part
        except BlockingIOError:
            pass
        return set(read.decode().splitlines())


@contextmanager
def listening(path: Path) -> Iterator[Pipe]:
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    # Whoever reports must not wait until somebody reads it: 1 MiB.
    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, 1 << 20)
    try:
        yield Pipe(path, descriptor)
    finally:
        os.close(descriptor)


def spies(folder: Path, pipe: Pipe, secret: str, *, spare_top: bool = False) -> str:
    folder.mkdir()
    for name in _PROGRAMS:
        program = shutil.which(name)
        assert program is not None
        text = _SPY.format(
            tests=os.getpid(),
            secret=secret,
            name=name,
            pipe=pipe.path,
            program=program,
            spare_top=str(spare_top).lower(),
        )
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def trap(place: Path, pipe: Pipe) -> None:
    names = sys.stdlib_module_names | packages_distributions().keys() | _MODULES
    for name in filter(str.isidentifier, names):
        module = f"open({str(pipe.path)!r}, 'w').write('the module {name} ran\\n')\n"
        for folder in (place, place / "windows"):
            (folder / f"{name}.py").write_text(module)
    evil = place / "evil.sh"
    script = f"#!/bin/sh\necho \"the program ${{0##*/}} $* ran\" >'{pipe.path}'\n"
    evil.write_text(script)
    evil.chmod(0o755)
    for name in (*_PROGRAMS, "pip", "krm-windows", "kustomize", "kubectl", "touch", "cat"):
        shutil.copy(evil, place / name)
    _configure_python(place, evil)
    _configure_git(place, evil)


def _configure_python(place: Path, evil: Path) -> None:
    for name in ("pip.conf", ".pip/pip.conf", ".config/pip/pip.conf"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("[global]\nindex-url = http://127.0.0.1:9/\nproxy = x\n")
    for name in ("evil.pth", "pyvenv.cfg", ".env", ".bashrc", ".bash_profile", ".profile"):
        (place / name).write_text(f"import os; os.system('{evil}')\n. {evil}\n")
    backend = "[build-system]\nrequires = []\nbuild-backend = 'os'\nbackend-path = ['.']\n"
    (place / "pyproject.toml").write_text(backend)
    (place / "setup.cfg").write_text(
        "[install]\nprefix = /nowhere\n[easy_install]\nindex_url = x\n"
    )
    (place / "requirements.txt").write_text("evil @ file:./evil\n")


def _configure_git(place: Path, evil: Path) -> None:
    (place / ".gitattributes").write_text("* filter=evil diff=evil merge=evil text\n")
    hooks = place / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
        shutil.copy(evil, hooks / name)
    for name, value in {
        "core.fsmonitor": str(evil),
        "core.hooksPath": str(hooks),
        "core.pager": str(evil),
        "core.editor": str(evil),
        "core.askPass": str(evil),
        "core.sshCommand": str(evil),
        "core.gitProxy": str(evil),
        "core.alternateRefsCommand": str(evil),
        "core.attributesFile": str(place / ".gitattributes"),
        "credential.helper": str(evil),
        "gpg.program": str(evil),
        "log.showSignature": "true",
        "diff.external": str(evil),
        "diff.evil.command": str(evil),
        "diff.evil.textconv": str(evil),
        "filter.evil.clean": str(evil),
        "filter.evil.smudge": str(evil),
        "filter.evil.process": str(evil),
        "filter.evil.required": "true",
        "merge.evil.driver": str(evil),
        "interactive.diffFilter": str(evil),
        "uploadpack.packObjectsHook": str(evil),
        "pager.show": str(evil),
        "alias.show": f"!{evil}",
        "alias.merge-base": f"!{evil}",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        # What is missing is fetched from here.
        "remote.promised.url": f"ext::{evil} fetch",
        "remote.promised.promisor": "true",
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": str(evil),
        "include.path": str(place / "more.gitconfig"),
    }.items():
        git(place, "config", name, value)
    (place / "more.gitconfig").write_text(f"[core]\n\tfsmonitor = {evil}\n")

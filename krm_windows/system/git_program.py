"""Git, started in one place: to read objects of a repository of which nothing is in force.

Git never sees the repository's own directory. It works in a private one, made for one run, with a
configuration of ours, and takes from the repository what is data only: the object database, and the
names of commits. So no setting, no hook, no include, no filter, no remote and no replacement of the
repository can have a part in what Git does, whatever they are called; none of the user's and the
system's can either. Without a remote nothing is fetched, and no protocol is allowed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from krm_windows.system import git_layout, programs, temporary
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_layout import Layout
from krm_windows.system.programs import Ended, Limits

# Two minutes and 4 GiB: far more than a repository of manifests needs, and an end for any other.
_SECONDS = 120.0
_MEMORY = 4 << 30
# As Git reads sizes in its variables: one allocation may take 1 GiB.
_ALLOCATION = "1g"
_SMALL = 1 << 20
_CONFIG = 1 << 20
# What names commits: a link to each is put into the private directory. HEAD and its like are
# copied, as Git takes a HEAD that is a link for a damaged repository.
_SHARED = ("refs", "packed-refs", "logs/refs")
_OWN = ("logs/HEAD",)
_COPIED = ("HEAD", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD")
_SETTINGS = (
    # What looks like a bare repository is one only where it is named as such (git-config(1)).
    "safe.bareRepository=explicit",
    # No remote can be reached by any protocol, so nothing is fetched.
    "protocol.allow=never",
    "core.hooksPath=/dev/null",
    # A file system monitor is a program that the configuration names.
    "core.fsmonitor=false",
    # Attributes name filters, which are programs too.
    "core.attributesFile=/dev/null",
    # A commit graph repeats what commits say, and whoever wrote it could say otherwise.
    "core.commitGraph=false",
    # Bounds for what is mapped into memory of packs that anybody may have made.
    "core.packedGitWindowSize=32m",
    "core.packedGitLimit=512m",
    "core.bigFileThreshold=64m",
    # Git would otherwise begin to repack, which writes.
    "gc.auto=0",
    "maintenance.auto=false",
)
# Where users and systems say which repositories of others are to be trusted (git-config(1),
# safe.directory).
_TRUST = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)


@dataclass(frozen=True, slots=True)
class Git:
    """Git in a private directory; `objects` is the database that it reads."""

    program: str
    private: str
    objects: str

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        output: int = _SMALL,
    ) -> Ended:
        """Run a command of Git; it may print so many bytes."""
        return _start(self, arguments, self.environment(), stdin, output)

    def environment(self) -> dict[str, str]:
        """Return the whole environment: nothing of the caller's is in it."""
        return {
            # Git finds its own parts without PATH, and should start nothing else.
            "PATH": "",
            "HOME": self.private,
            # Messages in English, whatever the user's language is.
            "LC_ALL": "C",
            "GIT_DIR": self.private,
            "GIT_OBJECT_DIRECTORY": self.objects,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            # A replacement would show another object under the name that was asked for
            # (git-replace(1)).
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_GRAFT_FILE": os.devnull,
            # A partial clone would fetch what it lacks (git-clone(1), --filter).
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_PROTOCOL_FROM_USER": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            # No lock is taken for work that is optional, such as to refresh an index.
            "GIT_OPTIONAL_LOCKS": "0",
            # A path such as `:(glob)**` is the name of a file, and no pattern (gitglossary(7),
            # pathspec).
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_PAGER": "cat",
            "GIT_ALLOC_LIMIT": _ALLOCATION,
        }


@contextmanager
def opened(layout: Layout) -> Iterator[Git]:
    """Give Git for the objects of a repository.

    Raises WorkspaceError where it belongs to somebody else.
    """
    program = programs.find("git")
    if program is None:
        raise WorkspaceError(
            "git is not installed: it is needed to read the history of a repository"
        )
    with temporary.directory("krm-windows-git-") as private:
        git = Git(program, str(private), str(layout.objects))
        # Once without extensions, as Git must run to read which the repository has; then with them.
        _make(private, layout, "")
        _check_owner(git, layout)
        _make(private, layout, _extensions(git, layout))
        yield git


def _start(
    git: Git,
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    stdin: bytes,
    output: int = _SMALL,
) -> Ended:
    """Start Git: the only place that does."""
    command = [git.program, "--no-pager"]
    # By `-c`, which wins over every file of configuration (git-config(1)).
    for setting in _SETTINGS:
        command += ["-c", setting]
    command += arguments
    # Nothing that only reads objects has to write into a file.
    limits = Limits(_SECONDS, output, _MEMORY, file=0)
    return programs.run(
        command, environment=environment, limits=limits, stdin=stdin, directory=git.private
    )


def _make(private: Path, layout: Layout, extensions: str) -> None:
    """Fill the private directory."""
    # Extensions take version 1 of the format (gitrepository-layout).
    config = (
        f"[core]\n\trepositoryFormatVersion = {int(bool(extensions))}\n\tbare = true\n{extensions}"
    )
    (private / "config").write_text(config, encoding="ascii")
    (private / "logs").mkdir(exist_ok=True)
    for name in _COPIED:
        content = git_layout.small(layout.own / name, _SMALL)
        if content is not None:
            (private / name).write_bytes(content)
    links = {**dict.fromkeys(_SHARED, layout.common), **dict.fromkeys(_OWN, layout.own)}
    for name, folder in links.items():
        if not os.path.lexists(private / name) and _is_plain(folder / name):
            (private / name).symlink_to(folder / name)


def _is_plain(path: Path) -> bool:
    """Whether a path is a file or directory itself: no link, nor a pipe that blocks Git."""
    return not path.is_symlink() and (path.is_file() or path.is_dir())


def _extensions(git: Git, layout: Layout) -> str:
    """Return the section of the configuration that says how the repository's objects are named.

    Of its own configuration this entry is read, as a value, and nothing else is.
    """
    content = git_layout.small(layout.common / "config", _CONFIG) or b"\n"
    # Git's own reader of the format, on standard input: the file is a value and not in force.
    ended = git.run(
        "config", "--file", "-", "--no-includes", "--get", "extensions.objectFormat", stdin=content
    )
    form = ended.output.decode(errors="replace").strip().lower() or "sha1"
    # Git's two object formats (gitformat-hash-function-transition).
    if form not in ("sha1", "sha256"):
        raise WorkspaceError(f"{layout.top}: has objects in the unknown format {form!r}")
    return "" if form == "sha1" else f"[extensions]\n\tobjectFormat = {form}\n"


def _check_owner(git: Git, layout: Layout) -> None:
    """Refuse the repository of another user, as Git does.

    Unless safe.directory names it (git-config(1)).
    """
    mine = {os.geteuid()}
    # As Git does under sudo: the repository of whoever called it is trusted (git-config(1)).
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        mine.add(int(os.environ["SUDO_UID"]))
    if layout.owners() <= mine or _is_trusted(git, layout.top):
        return
    raise WorkspaceError(
        f"{layout.top}: belongs to another user; if you trust it: git config --global --add "
        f"safe.directory {layout.top}"
    )


def _is_trusted(git: Git, top: Path) -> bool:
    """Whether the configuration of the user or the system trusts a repository."""
    # Here, and here only, the settings of user and system are read: trust is theirs to say.
    environment = git.environment()
    for name in _TRUST:
        environment.pop(name, None)
        if name in os.environ:
            environment[name] = os.environ[name]
    # `--null` as a path may hold line ends; `--type=path` resolves `~/`.
    ended = _start(
        git, ("config", "--null", "--type=path", "--get-all", "safe.directory"), environment, b""
    )
    trusted = False
    for value in ended.output.decode(errors="surrogateescape").split("\0")[:-1]:
        if not value:
            trusted = False  # an empty entry takes back those before it
        elif _covers(value, top):
            trusted = True
    return trusted


def _covers(value: str, top: Path) -> bool:
    """Whether an entry of safe.directory is about a repository."""
    # `/srv/*` is every repository below `/srv`, since Git 2.46 (git-config(1), safe.directory).
    if value.endswith("/*"):
        return top.is_relative_to(os.path.realpath(value.removesuffix("/*")))
    return value == "*" or os.path.realpath(value) == str(top)

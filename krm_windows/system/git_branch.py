"""One branch of a repository that a service writes to: its commits read, and new ones made.

Commits are made of objects, with an index of their own: nobody's working tree, staged changes or
hooks have a part in that. The repository is the operator's, so its remotes and its credentials are
used as they are set up.
"""

import base64
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from krm_windows.system import git_history, git_layout, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_history import Commit
from krm_windows.system.git_layout import Layout
from krm_windows.system.programs import Ended, Limits

# What a remote may take; everything else ends in milliseconds.
_SECONDS = 60.0
# A repository of any size is packed in so long, or the next time.
_MAINTENANCE_SECONDS = 300.0
_SMALL = 4 << 20
# As `git ls-tree` prints the modes of plain files; a link is 120000, a submodule 160000.
_FILES = ("100644", "100755")
# For the time that a commit takes to be made.
_STAGED = "refs/krm-windows/staged"
PLAIN = "100644"
"""The mode of a new file."""
# What the caller's environment must not decide: which repository, index or objects are meant.
_FOREIGN = re.compile(
    r"GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR"
    r"|NAMESPACE|AUTHOR_\w+|COMMITTER_\w+|CONFIG_\w+|TRACE\w*|QUARANTINE_PATH)"
)
_WORD = re.compile(r"\S+")
# What a commit of anybody may add to a repository in one file.
_MOST_FETCHED = 512 << 20
# Of what Git says, so much is passed on.
_SAID = 400


class MovedError(WorkspaceError):
    """A branch, here or at the remote, is not where it was when the change was made."""


class RemoteError(WorkspaceError):
    """The remote could not be reached, or refused what was pushed."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who is named in a commit."""

    name: str
    email: str

    @classmethod
    def read(cls, text: str) -> "Person | None":
        """Read `Ada Lovelace <ada@example.com>`; return None where a text has another form."""
        name, _, rest = text.strip().partition("<")
        email, closing, after = rest.partition(">")
        name = name.strip()
        if not name or not email or not closing or after:
            return None
        # What would end the name or the address in a commit (git-commit-tree(1)).
        if ">" in name or "<" in email or len(email.split()) != 1 or not text.isprintable():
            return None
        return cls(name, email)


@dataclass(frozen=True, slots=True)
class File:
    """A plain file of a commit: its path from the top, its mode, and the object of its content."""

    path: str
    mode: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class Edit:
    """A file as it is to be; `content` is None for one that is to be removed."""

    path: str
    content: bytes | None
    mode: str = PLAIN


@dataclass(frozen=True, slots=True)
class Entry:
    """A commit as the log has it; `when` is the author's time, in seconds since 1970."""

    commit: str
    author: Person
    when: int
    message: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of the repository at `layout`; `program` is Git."""

    program: str
    layout: Layout
    name: str

    @classmethod
    def of(cls, directory: Path, name: str | None) -> "Branch":
        """Open a branch, or the one that is checked out; raises WorkspaceError without one."""
        program = programs.find("git")
        if program is None:
            raise WorkspaceError("git is not installed")
        layout = git_layout.find(directory)
        branch = cls(program, layout, name or "")
        if name is None:
            head = branch.head()
            if head is None:
                raise WorkspaceError(f"{layout.top}: HEAD is detached: name a branch")
            branch = cls(program, layout, head)
        if branch.tip() is None:
            raise WorkspaceError(
                f"{layout.top}: branch {branch.name!r} not found, or it has no commit"
            )
        return branch

    @property
    def ref(self) -> str:
        """The full name of the branch."""
        return f"refs/heads/{self.name}"

    def head(self) -> str | None:
        """Return the branch that is checked out; None where HEAD is a commit."""
        # `ref: refs/heads/main`, in a file that is replaced in one step; else Git has to say.
        found = _small(self.layout.own / "HEAD")
        if found == f"ref: {self.ref}":
            return self.name
        ended = self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        if ended.code != 0:
            return None
        return ended.output.decode(errors="replace").strip()

    def tip(self) -> str | None:
        """Return the commit of the branch; None where it has none."""
        # A loose ref counts before all others (gitrepository-layout(5)). This is asked all the
        # time, and a program takes a hundred times as long as a file.
        found = _small(self.layout.common / self.ref)
        if found is not None and git_layout.is_object_name(found):
            return found
        return self.resolve(self.ref)

    def resolve(self, name: str) -> str | None:
        """Return the commit that a full name leads to; None where there is none."""
        ended = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        found = ended.output.decode(errors="replace").strip()
        if ended.code != 0 or not git_layout.is_object_name(found):
            return None
        return found

    def files(self, commit: str, below: str) -> list[File]:
        """Return the plain files of a commit below a directory (empty: all), links left out."""
        arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit]
        if below:
            arguments += ["--", f"{below}/"]
        listed = self._done(*arguments, most=256 << 20)
        return list(_files(listed))

    def file(self, commit: str, path: str) -> File | None:
        """Return one plain file of a commit; None where there is none, or something else."""
        for found in self.listed(commit, [path]):
            if found.path == path:
                return found
        return None

    def listed(self, commit: str, paths: Sequence[str]) -> list[File]:
        """Return those of some paths of a commit that are plain files; some hundred at most."""
        # Without paths, it would be all of them.
        if not paths:
            return []
        listed = self._done("ls-tree", "-l", "-z", "--full-tree", commit, "--", *paths)
        return list(_files(listed))

    def is_taken(self, commit: str, path: str) -> bool:
        """Say whether a commit has anything at a path, or a file where a directory has to be."""
        parts = path.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        for place in above:
            listed = self._done("ls-tree", "-z", "--full-tree", commit, "--", place)
            # `040000 tree 1f2e…` TAB `clusters`: anything but a tree is in the way.
            if listed and not listed.startswith(b"040000 tree"):
                return True
        return bool(self._done("ls-tree", "-z", "--full-tree", commit, "--", path))

    def contents(self, blobs: Sequence[str], most: int) -> dict[str, bytes]:
        """Return the contents of objects; together they may have `most` bytes."""
        if not blobs:
            return {}
        asked = "".join(f"{blob}\n" for blob in blobs).encode()
        printed = self._done("cat-file", "--batch", stdin=asked, most=most + 200 * len(blobs))
        found: dict[str, bytes] = {}
        place = 0
        for blob in blobs:
            # `OBJECT blob SIZE`, its content and a line end, as `git cat-file --batch` has them.
            end = printed.index(b"\n", place)
            words = printed[place:end].split()
            if words[1:2] != [b"blob"]:
                raise WorkspaceError(f"the content of the object {blob} is missing here")
            size = int(words[2])
            found[blob] = printed[end + 1 : end + 1 + size]
            place = end + size + 2
        return found

    def commit(
        self,
        parent: str,
        edits: Sequence[Edit],
        message: str,
        author: Person,
        committer: Person,
    ) -> str:
        """Make a commit of some files on top of another, which no branch leads to yet."""
        # One program for all of it (git-fast-import(1)): objects, and no index or working tree.
        stream = b"".join(_imported(parent, edits, message, author, committer))
        arguments = ("fast-import", "--quiet", "--done", "--force", "--date-format=raw")
        return self._line(*arguments, stdin=stream)

    def move(self, new: str, old: str) -> None:
        """Let the branch lead to another commit; raises MovedError where it is not at `old`."""
        ended = self.run("update-ref", "-m", "krm-windows", self.ref, new, old)
        if ended.code != 0:
            raise MovedError(f"the branch {self.name} has moved in the meantime: {_said(ended)}")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Say whether one commit is in the history of another, or the same."""
        return self.run("merge-base", "--is-ancestor", older, newer).code == 0

    def push(self, remote: str, commit: str, ref: str, *, expected: str | None = None) -> None:
        """Push a commit to a ref of a remote, never over what is not in its history.

        `expected` is empty for a ref that must be new. Raises MovedError where the remote has
        moved, RemoteError where it refuses or is out of reach.
        """
        arguments = ["push", "--porcelain", "--no-follow-tags"]
        if expected is not None:
            arguments.append(f"--force-with-lease={ref}:{expected}")
        ended = self.run(*arguments, "--", remote, f"{commit}:{ref}")
        if ended.code == 0:
            return
        printed = ended.output.decode(errors="replace")
        # git-push(1), --porcelain: `!<TAB>from:to<TAB>[rejected] (fetch first)`; what a hook of
        # the remote declines is `[remote rejected]`.
        if "\t[rejected]" in printed:
            raise MovedError(f"the remote {_plain(remote)} has moved in the meantime")
        raise RemoteError(
            f"the remote {_plain(remote)} rejected the change: {_refusal(printed, ended)}"
        )

    def check_remote(self, remote: str) -> None:
        """Refuse the name of a remote that there is none of; an address is taken as it is."""
        # As Git tells them apart: a path has a slash, an address a colon (gitremotes, git-push(1)).
        if "/" in remote or ":" in remote:
            return
        ended = self.run("remote", "get-url", "--", remote)
        if ended.code != 0:
            raise WorkspaceError(f"remote {remote!r} not found: see git remote")

    def remove(self, remote: str, ref: str) -> None:
        """Remove a ref of a remote; what cannot be removed is left."""
        self.run("push", "--porcelain", "--", remote, f":{ref}")

    def fetch(self, remote: str) -> str:
        """Fetch the branch from a remote; return the commit that it has there."""
        kept = f"refs/krm-windows/{self.name}"
        # A ref of our own: FETCH_HEAD and remote-tracking branches are the operator's.
        ended = self.run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"),
            *("--", remote, f"+{self.ref}:{kept}"),
        )
        found = self.resolve(kept)
        if ended.code != 0 or found is None:
            raise RemoteError(f"the remote {_plain(remote)} cannot be fetched: {_said(ended)}")
        return found

    def proposed(self, remote: str, prefix: str) -> list[Entry]:
        """Fetch the branches of a remote below a prefix; return the latest commit of each."""
        kept = f"refs/krm-windows/{prefix}"
        self.run(
            *("fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head"),
            *("--no-auto-gc", "--", remote, f"+refs/heads/{prefix}/*:{kept}/*"),
        )
        listed = self._done("for-each-ref", "--format=%(objectname)", kept).decode()
        found: list[Entry] = []
        for commit in listed.split():
            found += self.log(commit, 1)
        return found

    def log(self, commit: str, count: int, *paths: str) -> list[Entry]:
        """Return the latest commits that touched some paths, or any, newest first."""
        # NUL behind each field, as no text can hold one.
        form = "--format=%H%x00%an%x00%ae%x00%at%x00%B%x00"
        arguments = ["log", "-z", "--no-show-signature", form, f"--max-count={count}", commit]
        if paths:
            arguments += ["--", *paths]
        return list(_entries(self._done(*arguments, most=64 << 20)))

    def first_parents(self, commit: str, count: int) -> list[Commit]:
        """Return a commit and those before it on the way of first parents, newest first."""
        arguments = ("log", "-z", "--no-show-signature", "--first-parent", git_history.FORMAT)
        printed = self._done(*arguments, f"--max-count={count}", commit, most=64 << 20)
        try:
            return list(git_history.read(printed))
        except ValueError:
            raise WorkspaceError(f"the history of {self.name} cannot be read") from None

    def differences(self, old: str, new: str) -> Iterator[tuple[File | None, File | None]]:
        """Yield each file that two commits differ in: as it was, and as it is."""
        arguments = ("diff-tree", "-r", "--raw", "-z", "--no-renames", "--full-index", old, new)
        fields = self._done(*arguments, most=64 << 20).decode(errors="surrogateescape").split("\0")
        # `:100644 100644 OLD NEW M`, then the path (git-diff-tree(1), "Raw output format").
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old_name, new_name, _ = head.removeprefix(":").split()
            yield _side(path, old_mode, old_name), _side(path, new_mode, new_name)

    def maintain(self) -> None:
        """Pack objects, if Git finds that they are too many (git-maintenance(1), --auto).

        What no branch leads to stays for two weeks: a commit that is being made does, too.
        """
        arguments = ("maintenance", "run", "--auto", "--quiet")
        # Here and now, and not by a process that nobody waits for.
        settings = ("gc.autoDetach=false", "maintenance.autoDetach=false")
        limits = Limits(_MAINTENANCE_SECONDS, _SMALL)
        ended = self._ended((*self._settings(), *settings), arguments, limits)
        if ended.code != 0:
            raise WorkspaceError(f"git maintenance failed: {_said(ended)}")

    def person(self) -> Person | None:
        """Return whom Git itself would name in a commit; None where nobody is set."""
        name, email = self.setting("user.name"), self.setting("user.email")
        if name is None or email is None:
            return None
        return Person(name, email)

    def setting(self, name: str) -> str | None:
        """Return a setting of the repository, of the user or of the system."""
        ended = self.run("config", "--get", name)
        if ended.code != 0:
            return None
        return ended.output.decode(errors="replace").strip() or None

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        most: int = _SMALL,
        extra: Mapping[str, str] | None = None,
        file: int | None = None,
    ) -> Ended:
        """Run a command of Git on the repository, whatever its exit code is."""
        # Whoever waits for an answer waits for no maintenance.
        settings = (*self._settings(), "gc.auto=0", "maintenance.auto=false")
        return self._ended(settings, arguments, Limits(_SECONDS, most, file=file), stdin, extra)

    def _ended(
        self,
        settings: Sequence[str],
        arguments: Sequence[str],
        limits: Limits,
        stdin: bytes = b"",
        extra: Mapping[str, str] | None = None,
    ) -> Ended:
        command = [self.program, "-C", str(self.layout.top), "--no-pager"]
        for setting in settings:
            command += ["-c", setting]
        environment = {**_environment(), **(extra or {})}
        return programs.run(
            [*command, *arguments], environment=environment, limits=limits, stdin=stdin
        )

    def _settings(self) -> Iterator[str]:
        # A commit of the service is no commit of a person at a terminal: no hook, no signature.
        yield "core.hooksPath=/dev/null"
        yield "core.fsmonitor=false"
        yield "commit.gpgSign=false"
        yield "push.gpgSign=false"
        # On the disk before a ref leads to it (git-config(1), core.fsync).
        yield "core.fsync=committed,reference"
        # The operator named the directory: on a volume it may belong to somebody else.
        yield f"safe.directory={self.layout.top}"

    def _done(
        self,
        *arguments: str,
        stdin: bytes = b"",
        most: int = _SMALL,
    ) -> bytes:
        ended = self.run(*arguments, stdin=stdin, most=most)
        if ended.code != 0:
            raise WorkspaceError(f"git {arguments[0]} failed: {_said(ended)}")
        return ended.output

    def _line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a command that prints the name of an object."""
        found = self._done(*arguments, stdin=stdin).decode(errors="replace").strip()
        if not git_layout.is_object_name(found):
            raise WorkspaceError(f"git {arguments[0]} printed no object name")
        return found


@dataclass(frozen=True, slots=True)
class Access:
    """A token for the repositories below a URL, such as `https://github.com/`."""

    url: str
    token: str = field(repr=False)

    def environment(self) -> dict[str, str]:
        """Return settings by which Git sends the token there, and to no other place."""
        # The forges take any name with a token. In a variable, as others may read arguments.
        word = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        settings = {
            f"http.{self.url}.extraHeader": f"Authorization: Basic {word}",
            f"http.{self.url}.followRedirects": "false",
        }
        found = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings.items()):
            found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return found


def fetch_commit(directory: Path, remote: str, commit: str, access: Access | None = None) -> None:
    """Fetch a commit into a repository, unless it is there; no ref leads to it then.

    Nor does a branch have to be checked out. Of the repository's settings, those of its remotes and
    credentials count, but none names a program but `credential.helper`. Raises WorkspaceError.
    """
    if not git_layout.is_object_name(commit):
        raise WorkspaceError(f"{commit[:80]!r} is not the name of a commit")
    repository = _repository(directory)
    found = repository.run("cat-file", "-e", f"{commit}^{{commit}}", extra=_without_programs())
    if found.code != 0:
        _fetch(repository, remote, commit, access)


def fetch_branch(
    directory: Path, remote: str, name: Callable[[], str], access: Access | None = None
) -> str:
    """Fetch the branch that is checked out, or else one of a name; return its commit.

    Raises WorkspaceError.
    """
    repository = _repository(directory)
    branch = replace(repository, name=repository.head() or name())
    kept = f"refs/krm-windows/{branch.name}"
    _fetch(branch, remote, f"+{branch.ref}:{kept}", access)
    found = branch.resolve(kept)
    if found is None:
        raise RemoteError(f"the remote {_plain(remote)} has no branch {branch.name!r}")
    return found


def _repository(directory: Path) -> Branch:
    program = programs.find("git")
    if program is None:
        raise WorkspaceError("git is not installed")
    return Branch(program, git_layout.find(directory), "")


def _fetch(repository: Branch, remote: str, what: str, access: Access | None) -> None:
    """Fetch with the credentials of the repository, and then with others."""
    arguments = (
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"),
        *("--no-recurse-submodules", "--upload-pack=git-upload-pack", "--", remote, what),
    )
    # Not both at a time: GitHub refuses two headers of the one kind.
    environments = [{}] if access is None else [{}, access.environment()]
    for environment in environments:
        extra = {**_without_programs(), **environment}
        ended = repository.run(*arguments, extra=extra, file=_MOST_FETCHED)
        if ended.code == 0:
            return
    raise RemoteError(
        f"{what[:12]} cannot be fetched from {_plain(remote)} (at most "
        f"{_MOST_FETCHED >> 20} MiB are): {_said(ended)}"
    )


def _without_programs() -> dict[str, str]:
    """Return variables by which settings of remotes name no program; `credential.helper` may."""
    return {
        # Not by `ext::COMMAND`, a remote helper, or `core.gitProxy`.
        "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
        "GIT_NO_LAZY_FETCH": "1",
        # Set, it wins over `core.askPass`.
        "GIT_ASKPASS": os.environ.get("GIT_ASKPASS", ""),
    }


def _environment() -> dict[str, str]:
    """Return the caller's environment, without what would choose another repository."""
    kept = {name: text for name, text in os.environ.items() if not _FOREIGN.fullmatch(name)}
    return {
        **kept,
        # Messages in English, whatever the user's language is.
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        # A path is a name, and no pattern.
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        # No lock is taken for work that is optional, such as to refresh an index.
        "GIT_OPTIONAL_LOCKS": "0",
        # ssh asks at no terminal, for nothing.
        "GIT_SSH_COMMAND": kept.get("GIT_SSH_COMMAND", "ssh -o BatchMode=yes"),
    }


def _small(path: Path) -> str | None:
    """Return the line of a small file of Git's; None where there is none."""
    try:
        content = git_layout.small(path)
    except (OSError, WorkspaceError):
        return None
    if content is None:
        return None
    return content.decode(errors="replace").strip()


def _imported(
    parent: str,
    edits: Sequence[Edit],
    message: str,
    author: Person,
    committer: Person,
) -> Iterator[bytes]:
    """Yield what `git fast-import` makes a commit of, and prints the name of."""
    now = int(time.time())
    yield f"commit {_STAGED}\nmark :1\n".encode()
    yield f"author {author.name} <{author.email}> {now} +0000\n".encode()
    yield f"committer {committer.name} <{committer.email}> {now} +0000\n".encode()
    yield _data(message.encode())
    yield f"from {parent}\n".encode()
    for edit in edits:
        path = edit.path.encode(errors="surrogateescape")
        if edit.content is None:
            yield b"D %b\n" % path
        else:
            yield b"M %b inline %b\n" % (edit.mode.encode(), path)
            yield _data(edit.content)
    # The ref that it needs is gone again at the end: nothing leads to the commit.
    yield f"get-mark :1\nreset {_STAGED}\nfrom {'0' * len(parent)}\n\ndone\n".encode()


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _files(listed: bytes) -> Iterator[File]:
    for line in listed.decode(errors="surrogateescape").split("\0"):
        # `100644 blob 8baef1b…      12<TAB>path` (git-ls-tree(1)).
        head, _, path = line.partition("\t")
        words = head.split()
        if len(words) == 4 and words[0] in _FILES and words[3].isdecimal():  # noqa: PLR2004
            yield File(path, words[0], words[2], int(words[3]))


def _side(path: str, mode: str, blob: str) -> File | None:
    """Return one side of a difference; None where the file is not there."""
    if mode == "000000":
        return None
    return File(path, mode, blob, 0)


def _entries(printed: bytes) -> Iterator[Entry]:
    # Five fields, each with a NUL behind it, and the NUL of `-z` behind them all.
    fields = printed.decode(errors="replace").split("\0")
    for at in range(0, len(fields) - 5, 6):
        commit, name, email, when, message = fields[at : at + 5]
        yield Entry(commit, Person(name, email), int(when), message.strip())


def _refusal(printed: str, ended: Ended) -> str:
    """Return why a remote refused: the reason of the ref, else what Git complained of."""
    refused = [line for line in printed.splitlines() if line.startswith("!")]
    reasons = [line.rpartition("\t")[2] for line in refused]
    complaint = _said(ended)
    return "; ".join([*reasons, complaint])[:_SAID]


def _said(ended: Ended) -> str:
    """Return what Git complained of, without passwords."""
    lines = ended.complaint.strip() or f"code {ended.code}"
    return _plain(lines)[-_SAID:]


def _plain(text: str) -> str:
    """Return a text as it may be passed on."""
    return _WORD.sub(_without_credentials, text)


def _without_credentials(found: re.Match[str]) -> str:
    """Return a word, and of an address only the host: `https://ada:secret@host/a`.

    A password in the address of a remote must not get into an answer or a log.
    """
    scheme, mark, rest = found[0].partition("://")
    authority, slash, path = rest.partition("/")
    host = authority.rpartition("@")[2]
    return f"{scheme}{mark}{host}{slash}{path}"

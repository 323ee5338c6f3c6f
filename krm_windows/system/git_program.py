"""The user's own Git, for what takes their credentials and settings: remotes, and upkeep.

Whatever is only read is read without it (`git_objects`).
"""

import base64
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from krm_windows.system import git_layout, programs
from krm_windows.system.errors import WorkspaceError
from krm_windows.system.git_layout import Layout
from krm_windows.system.git_objects import Objects
from krm_windows.system.programs import Ended, Limits

# What a remote may take; everything else ends in milliseconds.
_SECONDS = 60.0
# A repository of any size is packed in so long, or the next time.
_MAINTENANCE_SECONDS = 300.0
_SMALL = 4 << 20
# What the caller's environment must not decide: which repository, index or objects are meant.
_FOREIGN = re.compile(
    r"GIT_(DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR"
    r"|NAMESPACE|AUTHOR_\w+|COMMITTER_\w+|CONFIG_\w+|TRACE\w*|QUARANTINE_PATH)"
)
# As in `https://ada:secret@host/a`.
_CREDENTIALS = re.compile(r"(://)[^/\s]*@")
# What a commit of anybody may add to a repository in one file.
_MOST_FETCHED = 512 << 20
# Of what Git says, so much is passed on.
_SAID = 400


class MovedError(WorkspaceError):
    """A branch, here or at the remote, is not where it was when the change was made."""


class RemoteError(WorkspaceError):
    """The remote could not be reached, or refused what was pushed."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git, started in the repository at `layout`."""

    program: str
    layout: Layout

    @classmethod
    def of(cls, layout: Layout) -> "Git":
        """Find the program; raises WorkspaceError where there is none."""
        program = programs.find("git")
        if program is None:
            raise WorkspaceError("git is not installed")
        return cls(program, layout)

    def run(
        self,
        *arguments: str,
        extra: Mapping[str, str] | None = None,
        file: int | None = None,
        seconds: float = _SECONDS,
        upkeep: bool = False,
    ) -> Ended:
        """Run a command of Git on the repository, whatever its exit code is."""
        settings = [
            # A commit of the service is no commit of a person at a terminal: no hook, no signature.
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "push.gpgSign=false",
            # The operator named the directory: on a volume it may belong to somebody else.
            f"safe.directory={self.layout.top}",
            # Here and now, and not by a process that nobody waits for.
            "gc.autoDetach=false",
            "maintenance.autoDetach=false",
        ]
        # Whoever waits for an answer waits for no maintenance.
        if not upkeep:
            settings += ["gc.auto=0", "maintenance.auto=false"]
        command = [self.program, "-C", str(self.layout.top), "--no-pager"]
        # A repository without a working tree may have to be named (git-config(1),
        # safe.bareRepository).
        if self.layout.top == self.layout.own:
            command.append("--git-dir=.")
        for setting in settings:
            command += ["-c", setting]
        limits = Limits(seconds, _SMALL, file=file)
        environment = {**_environment(), **(extra or {})}
        return programs.run([*command, *arguments], environment=environment, limits=limits)

    def maintain(self) -> None:
        """Pack objects, if Git finds that they are too many (git-maintenance(1), --auto).

        What no branch leads to stays for two weeks: a commit that is being made does, too.
        """
        arguments = ("maintenance", "run", "--auto", "--quiet")
        ended = self.run(*arguments, seconds=_MAINTENANCE_SECONDS, upkeep=True)
        if ended.code != 0:
            raise WorkspaceError(f"git maintenance failed: {_said(ended)}")

    def check_remote(self, remote: str) -> None:
        """Refuse a name that no remote has; an address is taken as it is."""
        # As Git tells them apart: a path has a slash, an address a colon (gitremotes, git-push(1)).
        if "/" in remote or ":" in remote:
            return
        if self.run("remote", "get-url", "--", remote).code != 0:
            raise WorkspaceError(f"remote {remote!r} not found: see git remote")

    def address(self, remote: str) -> str:
        """Return the address of a remote, which may have a password in it; itself if it is one."""
        ended = self.run("remote", "get-url", "--", remote)
        return ended.output.decode(errors="replace").strip() if ended.code == 0 else remote

    def fetch(
        self, remote: str, what: str, *options: str, extra: Mapping[str, str] | None = None
    ) -> None:
        """Fetch into a ref of our own: FETCH_HEAD and remote-tracking branches are the user's."""
        ended = self.run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc", *options),
            *("--", remote, what),
            extra=extra,
            file=_MOST_FETCHED,
        )
        if ended.code != 0:
            name = what[:12] if git_layout.is_object_name(what) else what[1:].partition(":")[0]
            raise RemoteError(
                f"{name} cannot be fetched from {_plain(remote)} (at most {_MOST_FETCHED >> 20} "
                f"MiB are): {_said(ended)}"
            )

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

    def remove(self, remote: str, ref: str) -> None:
        """Remove a ref of a remote; what cannot be removed is left."""
        self.run("push", "--porcelain", "--", remote, f":{ref}")


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
    objects = Objects(directory)
    if objects.kind(commit)[0] != "commit":
        _fetch(objects, remote, commit, access)


def fetch_branch(directory: Path, remote: str, branch: str, access: Access | None = None) -> str:
    """Fetch a branch, and return its commit; raises WorkspaceError."""
    objects = Objects(directory)
    kept = f"refs/krm-windows/{branch}"
    _fetch(objects, remote, f"+refs/heads/{branch}:{kept}", access)
    return objects.commit_of(kept)


def _fetch(objects: Objects, remote: str, what: str, access: Access | None) -> None:
    """Fetch with the credentials of the repository, and then with others."""
    options = ("--no-recurse-submodules", "--upload-pack=git-upload-pack")
    git = Git.of(objects.layout)
    try:
        git.fetch(remote, what, *options, extra=_without_programs())
    except RemoteError:
        if access is None:
            raise
        # Not both at a time: GitHub refuses two headers of the one kind.
        extra = {**_without_programs(), **access.environment()}
        git.fetch(remote, what, *options, extra=extra)


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
    """Return a text without the user and the password of an address, which no log may have."""
    return _CREDENTIALS.sub(r"\1", text)

"""Who may let a change through a closed window, by a label and with a reason."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from krm_windows import patterns
from krm_windows.forge.errors import ForgeError
from krm_windows.forge.model import Forge, PullRequest

LABEL = "window:exempt"
# A line of its own, as the trailers of Git are.
_REASON = re.compile(r"^window-exempt:[ \t]*(\S[^\r\n]*)", re.IGNORECASE | re.MULTILINE)
_MOST_REASON = 80
# Of the file: a line for every directory of a large repository is far less.
_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Exemption:
    """Whether a change is exempt, and by whom and why, or why not."""

    granted: bool
    words: str


@dataclass(frozen=True, slots=True)
class Exemptions:
    """Who may: `logins` anything, and others what a file of the base branch gives them."""

    logins: frozenset[str] = frozenset()
    file: str = ""

    def answer(self, forge: Forge, change: PullRequest, files: Collection[str] | None) -> Exemption:
        """Say whether a change of some files that are gated is exempt; raises ForgeError.

        None where not all files are known.
        """
        setters = forge.label_setters(change, LABEL)
        who = ", ".join(sorted(setters)) or "nobody known"
        by = self._allowed(forge, change, setters, files)
        if by is None:
            words = f"{LABEL} was set by {who}, who is not allowed to"
            return Exemption(granted=False, words=words)
        reason = _REASON.search(change.text)
        if reason is None:
            words = f"{LABEL} needs a line `Window-Exempt: reason` in the description"
            return Exemption(granted=False, words=words)
        said = reason[1].rstrip()[:_MOST_REASON]
        return Exemption(granted=True, words=f"exempt by {who}{by}: {said}")

    def _allowed(
        self,
        forge: Forge,
        change: PullRequest,
        setters: frozenset[str],
        files: Collection[str] | None,
    ) -> str | None:
        """Return what to say of where it is said that some people may; None where they may not."""
        # Nobody known has set it: it may have come with the change itself.
        if not setters:
            return None
        names = set(map(_folded, setters))
        allowed = set(map(_folded, self.logins))
        if names <= allowed:
            return ""
        # What is not known may be anybody's.
        if not self.file or not files:
            return None
        # The base branch, never the change: a change would name its own author.
        content = forge.file(self.file, change.base)
        if content is None:
            return None
        owners = read(content)
        for file in files:
            if not names <= owners.of(file):
                return None
        return f" ({self.file})"


@dataclass(frozen=True, slots=True)
class Owners:
    """Patterns of paths in their order, each with the names of those who own it, `_folded`."""

    lines: tuple[tuple[str, frozenset[str]], ...]

    def of(self, path: str) -> frozenset[str]:
        """Return who owns a path: by the last pattern that matches, as in CODEOWNERS."""
        for pattern, names in reversed(self.lines):
            if patterns.matches(pattern, path):
                return names
        return frozenset()


def read(content: bytes) -> Owners:
    """Read lines such as `apps/* @ada @bob`; `#` begins a comment, `/` at the end is all below it.

    Raises ForgeError where it is no text. A team is nobody: no forge tells who is in it.
    """
    if len(content) > _MOST:
        raise ForgeError(f"the file of exemptions has more than {_MOST} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise ForgeError("the file of exemptions is not UTF-8") from None
    lines = []
    # Not `splitlines`, which also ends a line, so a comment, where nobody sees it: at U+2028.
    for line in text.split("\n"):
        words = line.partition("#")[0].split()
        if not words:
            continue
        # Paths of a forge begin with no slash.
        pattern = words[0].removeprefix("/")
        if pattern.endswith("/") or not pattern:
            pattern += "*"
        names = set()
        for word in words[1:]:
            names.add(_folded(word.removeprefix("@")))
        lines.append((pattern, frozenset(names)))
    return Owners(tuple(lines))


def _folded(name: str) -> str:
    """Return a name to be compared: no forge has two that differ in capital letters alone.

    Of ASCII, that is: to Unicode `straße` is `strasse`, and the Kelvin sign a `k`, but to a forge
    they may be two people. So a name with any other character is equal to itself alone.
    """
    return name.lower() if name.isascii() else name

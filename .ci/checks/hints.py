"""What the project asks anybody to install, pull, run or use.

It names only what is known to be whose it says.
Nobody has registered the name krm-windows on a public index or registry, so whoever does gets what
we send there: a hint that names it, or another name that is not on these lists, must not be in a
message, a page, an example or a script.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from checks.words import files

ROOT = Path(__file__).resolve().parents[2]

# What installs by name from a public index; each is followed by the words of its line.
INSTALLS = re.compile(
    r"\b(?P<tool>pip3?|pipx|uv|uvx|npm|npx|pnpm|yarn|poetry|pdm|conda|cargo|gem|go|brew|helm|krew"
    r"|apt|apt-get|dnf|apk)\s+"
    r"(?P<verb>install|i|add|run|exec|repo add|tool install|tool run|pip install|get)\s"
    r"(?P<rest>[^|;&`\n]*)"
)
# These have no verb.
RUNS = re.compile(r"(?<![\w/.-])(?P<tool>uvx|npx|bunx|pipx run)\s+(?P<rest>[^|;&`\n]*)")
PULLS = re.compile(
    r"\b(?:docker|podman|nerdctl|crictl|ctr|crane|skopeo)\b[^|;&`\n]*?\b(?:pull|run|copy)\b"
    r"(?P<rest>[^|;&`\n]*)"
)
PIPED = re.compile(r"\b(?:curl|wget)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b")
# But not what lies in the workspace, where the job itself has put it.
USES = re.compile(r"^\s*-?\s*uses:\s*(?P<action>(?!\./)\S+)(?P<comment>.*)$", re.MULTILINE)
IMAGES = re.compile(
    r"(?<![\w.@/-])(?P<registry>docker\.io|ghcr\.io|quay\.io|gcr\.io|[a-z0-9.-]+\.gcr\.io"
    r"|registry\.k8s\.io|mcr\.microsoft\.com|public\.ecr\.aws|registry\.gitlab\.com|lscr\.io)"
    r"/(?P<repository>[a-z0-9._/-]+)"
)

# Our image under a name that another machine than this one answers for.
OURS = re.compile(r"(?!localhost/|/)[\w.:/-]*krm-?windows")
ACTIONS = re.compile(r"(?:actions|github)/[\w./-]+@[0-9a-f]{40}")
OWNERS = (
    "docker.io/library/",
    "ghcr.io/fluxcd/",
    "ghcr.io/stefanprodan/",
    "quay.io/prometheus/",
    "registry.k8s.io/",
)
# Tests show what others have written, and compare texts; what users read is everywhere else.
SHOWN_ELSEWHERE = (
    "tests/fixtures/",
    "tests/unit/",
    "tests/property/",
    "tests/orchestrators/",
    "tests/supply/",
)
LOCAL = re.compile(r"\.{0,2}(?:/.*)?|\.\[[\w,-]+\]")
OPTIONS_WITH_VALUE = {
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "--target",
    "--python",
    "--only-binary",
}


def known() -> set[str]:
    """Return the packages of others that are used here, each pinned."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tools = (ROOT / "requirements/tools.txt").read_text()
    lines += re.findall(r"^[\w.-]+==[^ ]+", tools, re.MULTILINE)
    return {canonicalize_name(line.partition("==")[0]) for line in lines if "==" in line}


def problems() -> Iterator[str]:
    """Yield a sentence for every hint that anybody may take over."""
    packages = known()
    for path in files():
        if not path.startswith(SHOWN_ELSEWHERE) and not path.endswith(".sum"):
            for hint in foreign((ROOT / path).read_text(errors="replace"), packages):
                yield f"{path}: not known to be whose it says: {hint}"


def foreign(text: str, known: set[str]) -> Iterator[str]:
    """Yield every installation that a text names and that is not allowed."""
    for pattern in (INSTALLS, RUNS):
        for match in pattern.finditer(text):
            tool, verb, rest = match["tool"], match.groupdict().get("verb", ""), match["rest"]
            if not is_allowed(tool, verb or "", rest, known):
                yield match[0].strip()
    yield from (match[0] for match in PIPED.finditer(text))
    for match in PULLS.finditer(text):
        if any(OURS.match(word) for word in match["rest"].split()):
            yield match[0]
    for match in IMAGES.finditer(text):
        if not match[0].startswith(OWNERS):
            yield match[0]
    for match in USES.finditer(text):
        if not ACTIONS.fullmatch(match["action"]) or not re.search(
            r"# v\d+\.\d+\.\d+", match["comment"]
        ):
            yield match[0].strip()


def is_allowed(tool: str, verb: str, rest: str, known: set[str]) -> bool:
    """Each thing that is installed must be a path, or a package of others that is used here."""
    if tool in {"apt", "apt-get"}:
        return "krm" not in rest  # Debian's packages are signed by Debian
    if tool == "go":
        return (
            verb in {"run", "get"} or "krm-windows" not in rest
        )  # a module's name is where it lies
    if tool not in {"pip", "pip3"}:
        return False
    return all(is_known(word, known) for word in operands(rest))


def operands(rest: str) -> Iterator[str]:
    """Yield the words of a command line that are no options, nor values, nor prose after it."""
    try:
        words = shlex.split(rest.replace("\\", " "), comments=True)
    except ValueError:
        words = rest.split()
    value = False
    for word in words:
        if not value and not word.startswith("-"):
            yield word.strip("'\"").rstrip("'\",)")
        value = word in OPTIONS_WITH_VALUE


def is_known(word: str, known: set[str]) -> bool:
    """Return whether a word is a path, a variable of make or the shell, or a package of others."""
    if LOCAL.fullmatch(word) or word.startswith("$"):
        return True
    try:
        requirement = Requirement(word)
    except ValueError:
        return False
    return requirement.url is None and canonicalize_name(requirement.name) in known

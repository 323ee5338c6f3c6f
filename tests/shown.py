"""The commands that documents show, run as written.

They run from the root of the repository, in the order of the document. A ```console block holds
commands after `$ ` and what they print. `…` stands for any text of a line, and alone on a line for
any lines. `python tests/shown.py [DOCUMENT…]` runs them and writes what they print into the
documents, keeping what still matches; a document that needs a tool which is missing here stays as
it is.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Run by tests of tests/cluster, as their commands need a cluster.
IN_A_CLUSTER = (ROOT / "docs/how-to/break-glass.md", ROOT / "docs/how-to/edge-clusters.md")
DOCUMENTS = tuple(
    path
    for path in (
        ROOT / "README.md",
        *sorted(ROOT.glob("examples/*/README.md")),
        *sorted(ROOT.glob("docs/how-to/*.md")),
    )
    if path not in IN_A_CLUSTER
)
TOOLS = ("kubectl", "kustomize", "git", "curl", "pre-commit")

_BLOCK = re.compile(r"^```console\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_STEP = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*\n)(?P<shown>(?:(?!\$ ).*\n)*)", re.MULTILINE)
_GAPS = {"…\n": "(?:.*\n)*?", "…": ".*?"}
_MARK = "--8<-- end of a command --8<--\n"


def commands(text: str) -> list[str]:
    return [
        step["command"] for block in _BLOCK.finditer(text) for step in _STEP.finditer(block["body"])
    ]


def needs(text: str) -> set[str]:
    return {
        tool for command in commands(text) for tool in TOOLS if re.search(rf"\b{tool}\b", command)
    }


def missing(text: str) -> list[str]:
    return sorted(tool for tool in needs(text) if shutil.which(tool, path=_path()) is None)


def _path() -> str:
    ours = (str(Path(sys.executable).parent), str(ROOT / ".cache/bin"))
    return os.pathsep.join((*ours, os.environ["PATH"]))


def run(text: str, folder: Path, *, examples: bool = True) -> list[str]:
    if examples:
        shutil.copytree(ROOT / "examples", folder / "examples")
    environment = {
        **os.environ,
        "PATH": _path(),
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
    }
    between = f"{{ code=$?; printf '%s' '{_MARK}'; (exit $code); }}\n"
    script = "exec 2>&1\n" + "".join(f"{command}{between}" for command in commands(text))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout.split(_MARK)[:-1]


def renewed(text: str, printed: list[str]) -> str:
    """Return a document with what its commands printed, where that is not what it shows."""
    outputs = iter(printed)
    return _BLOCK.sub(
        lambda block: (
            f"```console\n{_STEP.sub(lambda step: _renewed(step, outputs), block['body'])}```"
        ),
        text,
    )


def _renewed(step: re.Match[str], outputs: Iterator[str]) -> str:
    printed = next(outputs)
    return (
        step[0] if _pattern(step["shown"]).fullmatch(printed) else f"$ {step['command']}{printed}"
    )


def _pattern(shown: str) -> re.Pattern[str]:
    parts = re.split(r"(^…\n|…)", shown, flags=re.MULTILINE)
    return re.compile("".join(_GAPS.get(part) or re.escape(part) for part in parts))


def main() -> int:
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for document in named or DOCUMENTS:
        text = document.read_text()
        lacking = missing(text)
        if lacking:
            # Or the document would show the shell's error messages.
            tools = ", ".join(lacking)
            sys.stderr.write(f"not written, for lack of {tools} (`bash .ci/setup`): {document}\n")
            continue
        with tempfile.TemporaryDirectory() as folder:
            document.write_text(renewed(text, run(text, Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

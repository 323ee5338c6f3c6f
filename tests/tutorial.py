"""The tutorial, as what a shell can run: docs/tutorial.md, with its files written where it says."""

import base64
import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/tutorial.md"
# A file that the page shows, by the path in the line above it.
_FILE = re.compile(
    r"^`(?P<path>[\w./-]+)`[^\n]*\n(?:[^\n]+\n)*\n```yaml\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_STEP = re.compile(r"^\$ (?P<command>.*)\n(?:(?!\$ |```).*\n)*", re.MULTILINE)


def runnable(page: str) -> str:
    """Return the page with a command in place of each file, which writes it there."""

    def written(shown: re.Match[str]) -> str:
        content = base64.b64encode(shown["text"].encode()).decode()
        return f"```console\n$ echo {content} | base64 -d > {shown['path']}\n```"

    return _FILE.sub(written, page)


def without(page: str, words: Iterable[str]) -> str:
    def kept(step: re.Match[str]) -> str:
        return "" if any(word in step["command"] for word in words) else step[0]

    return _STEP.sub(kept, page)

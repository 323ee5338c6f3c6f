"""The commands that pages propose to people, and that change a cluster."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What only reads, or changes no cluster, is left out.
_CHANGES = {
    "kubectl": re.compile(
        "annotate|apply|autoscale|cordon|create|delete|drain|edit|expose|label|patch|replace|"
        "rollout|run|scale|set|taint|uncordon"
    ),
    "flux": re.compile("create|delete|install|migrate|resume|suspend|uninstall"),
}
_PROGRAM = re.compile(r"(?<![\w./-])(kubectl|flux) ")
_OPTION = re.compile(r"(?:(?:-n|--namespace|--context|--kubeconfig)[ =]\S+|-\S+) ")
_CODE = re.compile(r"^```\w*\n(.*?)^```|`([^`]+)`", re.MULTILINE | re.DOTALL)


def commands(page: str, beginning: str = "") -> list[str]:
    """Return the commands of a page, by its path in the repository, that begin with some words."""
    text = (ROOT / page).read_text()
    found = [each for code in _CODE.findall(text) for each in in_code("".join(code))]
    return list(dict.fromkeys(each for each in found if each.startswith(beginning)))


def in_code(text: str) -> Iterator[str]:
    """Yield each command in a script or a sentence that changes a cluster, in one line."""
    whole = re.sub(r"\s*\\\n\s*", " ", text)
    for line in whole.splitlines():
        for found in _PROGRAM.finditer(line):
            rest = line[found.end() :]
            while option := _OPTION.match(rest):
                rest = rest[option.end() :]
            verb = rest.partition(" ")[0].strip("`\"'")
            if _CHANGES[found[1]].fullmatch(verb) and " " in rest:
                command = re.split(r"`| \| |\s+#", line[found.start() :])[0]
                yield " ".join(command.split())

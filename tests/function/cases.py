"""The golden cases: input, config, and what comes of them, in `tests/fixtures/<case>/`.

What comes of them is in `expected` and `errors`. `input.yaml` are the items, `config.yaml` is the
policy; `expected.yaml` are the items that come out, if they differ from the input; `errors.txt` is
what is said, if anything. What all emitted objects share is left out of `expected`: the gate
program, the Job and common labels, which have tests of their own.

`python tests/function/cases.py` writes what comes out as what is expected. Read the diff before it
is committed.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from calls import Answer, call, wire

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/config.yaml"))

_SHARED = re.compile(
    r"""
      # the gate program
      ^\ {2}"__main__\.py":\ \|\n (?:.*\n)*? (?=\ {2}timetable\.json:)
      # a Job
    | ^\ {2}(?:suspend:\ false\n\ {2}concurrencyPolicy|activeDeadlineSeconds|backoffLimit):.*\n
      (?:\ {2}.*\n)*
      # labels of everything
    | ^\ +(?:app\.kubernetes\.io/|kustomize\.toolkit\.fluxcd\.io/(?:substitute|force)).*\n
    """,
    re.MULTILINE | re.VERBOSE,
)
_HASH = re.compile(
    r"(/job_\S+-|^kind: Job\nmetadata:\n  name: \S+-)[0-9a-f]{16}(?=\.yaml$|$)", re.MULTILINE
)


def outcome(case: str) -> dict[str, str]:
    given = (FIXTURES / case / "input.yaml").read_text()
    items = [text for text in re.split(r"^---\n", given, flags=re.MULTILINE) if text.strip()]
    config = (FIXTURES / case / "config.yaml").read_text()
    answer = call(wire(*items, config=config), LOG_TO_STDERR="true")
    found = {"expected.yaml": shown(answer), "errors.txt": f"{answer.err}exit code {answer.code}\n"}
    if answer.code:
        del found["expected.yaml"]
        if not answer.out.startswith(wire(*items, config=config).encode()):
            raise AssertionError(f"{case}: an error, and yet something was changed")
    if answer == Answer(0, answer.out, ""):
        del found["errors.txt"]
    return found


def shown(answer: Answer) -> str:
    listed = answer.out.decode().partition("items:\n")[2].partition("functionConfig:\n")[0]
    documents = re.sub("(?m)^(?:  |- )", lambda mark: "---\n" * (mark[0] == "- "), listed)
    return _HASH.sub(r"\1<hash>", _SHARED.sub("", documents.removeprefix("---\n")))


def main() -> None:
    for case in CASES:
        found = outcome(case)
        for name in ("expected.yaml", "errors.txt"):
            path = FIXTURES / case / name
            path.unlink(missing_ok=True)
            if name in found:
                path.write_text(found[name])


if __name__ == "__main__":
    main()

"""Questions to whoever sits at a terminal, each asked until its answer is one."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from krm_windows.cli import output
from krm_windows.cli.inputs import UsageError
from krm_windows.krm import InputError

_Answer = TypeVar("_Answer")
# So many choices are listed; of more, others can be typed.
_MOST = 20


def ask(question: str, read: Callable[[str], _Answer], default: str = "") -> _Answer:
    """Return an answer as `read` understands it; InputError of it is said, and it is asked again.

    An empty answer is the default. Raises UsageError where somebody gives up.
    """
    prompt = f"{question} [{default}]:" if default else f"{question}:"
    while True:
        try:
            return read(output.ask(prompt) or default)
        except (EOFError, KeyboardInterrupt):
            output.log_list([""])
            raise UsageError("stopped: nothing was changed") from None
        except InputError as error:
            output.log(str(error))


def choose(question: str, names: Sequence[str]) -> str:
    """Return one of some names; the answer is its number, or what only it contains."""
    listed = {str(number): name for number, name in enumerate(names[:_MOST], 1)}
    output.log_list(f"{number:>3}  {name}" for number, name in listed.items())

    def read(answer: str) -> str:
        wanted = listed.get(answer, answer)
        found = [name for name in names if wanted in name]
        if wanted not in names and len(found) != 1:
            raise InputError(f"{answer!r}: {len(found)} of {len(names)} are called so")
        return wanted if wanted in names else found[0]

    return ask(question, read, "1")


def confirm(question: str) -> None:
    """Return where the answer is yes; raises UsageError where it is not."""
    if not ask(f"{question}, y or n", lambda answer: answer.lower() in ("y", "yes"), "n"):
        raise UsageError("stopped: nothing was changed")

"""Questions to whoever sits at a terminal, each asked until its answer is one."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from krm_windows.cli import output
from krm_windows.cli.inputs import UsageError
from krm_windows.krm import InputError
from krm_windows.policy.findings import closest

_Answer = TypeVar("_Answer")
# So many choices are listed; of more, others can be typed.
_MOST = 20
# Choices of so many characters are read faster in the question than as a list.
_SHORT = 50
_STOPPED = "stopped: nothing was changed"


def ask(question: str, read: Callable[[str], _Answer], default: str = "") -> _Answer:
    """Return an answer as `read` understands it; InputError of it is said, and it is asked again.

    An empty answer is the default. Raises UsageError where somebody gives up.
    """
    prompt = f"{question} [{default}]:" if default else f"{question}:"
    while True:
        try:
            return read(output.ask(prompt) or default)
        except EOFError:
            output.log_list([""])
            raise UsageError(_STOPPED) from None
        # Ctrl-C, or SIGTERM: the command ends with the code that it always has then.
        except KeyboardInterrupt:
            output.log_list([""])
            output.log(_STOPPED)
            raise
        except InputError as error:
            output.log(str(error))


def choose(
    question: str, names: Sequence[str], default: str = "1", others: Iterable[str] = ()
) -> str:
    """Return one of some names; the answer is its number, or what only it contains, in any case.

    It may be one of some `others` as well, which are not listed.
    """
    listed = {str(number): name for number, name in enumerate(names[:_MOST], 1)}
    line = ", ".join(names)
    if len(line) <= _SHORT:
        question, default = f"{question} ({line})", listed.get(default, "")
    elif more := len(names) - len(listed):
        # Numbers of a list would be taken for those in names, such as `site-0017`.
        output.log_list(f"  {name}" for name in listed.values())
        output.log_list([f"  and {more} more: type a name, or a part of it"])
        listed, default = {}, listed.get(default, "")
    else:
        output.log_list(f"{number:>3}  {name}" for number, name in listed.items())

    known = {name.lower(): name for name in (*names, *others)}

    def read(answer: str) -> str:
        wanted = listed.get(answer, answer).lower()
        # A letter alone is in many names; more often it is the answer to another question.
        fits = str.__contains__ if len(wanted) > 1 else str.startswith
        found = [wanted] if wanted in known else [name for name in known if fits(name, wanted)]
        if len(found) != 1:
            which = f"{len(found)} of these" if found else "none of these"
            near = closest(answer, names) or closest(answer, known)
            raise InputError(
                f"{answer!r} is {which}: give one, or a part of its name alone; for several run "
                f"this again{f'; did you mean {near}?' if near else ''}"
            )
        return known[found[0]]

    return ask(question, read, default)


def confirm(question: str, refusal: str, *, commits: bool) -> bool:
    """Return whether to commit as well; that is offered unless it `commits` anyway.

    A `refusal` says why it cannot. Raises UsageError where the answer is no.
    """
    choices = "y to write and commit it, or n" if commits else "y, n, or c to commit it as well"
    if refusal:
        output.log(f"not to be committed here: {refusal}")
        choices = "y or n"
    answer = ask(f"{question}: {choices}", str.lower, "n")
    if answer in ("c", "commit") and not refusal:
        return True
    if answer not in ("y", "yes"):
        raise UsageError(_STOPPED)
    return commits

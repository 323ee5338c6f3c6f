"""The arguments of commands: a parser of their own for each call."""

import argparse
import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from krm_windows.cli import output, version
from krm_windows.cli.commands import COMMANDS
from krm_windows.cli.examples import EXAMPLES
from krm_windows.exit_codes import ExitCode
from krm_windows.policy.findings import closest
from krm_windows.system.git_branch import Person

DESCRIPTION = """\
A KRM function: without a command it reads a ResourceList on standard input
and writes it back. With a WindowPolicy in functionConfig it adds what opens
and closes its windows: CronJobs, the program that they run, and RBAC. With
ChangeClasses it annotates every resource with its class, or keeps only those
of one class. With the path of a configuration file as its only argument it is
a kustomize exec plugin. At a terminal, alone, it says what should be open
now in this repository, until when, and what is stale."""


# What somebody in a hurry types, to whom 22 commands are listed.
_MEANT = {
    "open": "krm-windows override open [POLICY] --for 2h",
    "close": "krm-windows override closed [POLICY] --for 2h",
    "freeze": "`explain` lists freezes; to add one: krm-windows set --help",
}
_TYPED = re.compile("COMMAND: invalid choice: '([^']+)'")


class SingleValue(argparse.Action):
    """Stores the value of an option, and refuses a second one.

    argparse would take the last: of `--cluster north --cluster south` north would be forgotten.
    """

    _given = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse gives it to every action
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Store it. Raises ArgumentError where another value was given before."""
        if self._given and option_string and values != getattr(namespace, self.dest):
            raise argparse.ArgumentError(self, "takes only one value, but was given two")
        self._given = True
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are harmless."""

    # Of Python 3.14: an option or a command that is mistyped is answered with what was meant.
    suggest_on_error = True

    def error(self, message: str) -> NoReturn:
        """Say it in one harmless line below the usage, and end with the code of a wrong call."""
        if typed := _TYPED.search(message):
            message = _meant(typed[1]) or message
        output.log_wrong_call(self.format_usage(), f"{self.prog}: error: {message}")
        raise SystemExit(ExitCode.USAGE)


def _meant(word: str) -> str:
    """Say what is meant by a word that is no command, if anything is."""
    for begin, advice in _MEANT.items():
        if word.startswith(begin):
            return f"no such command: {advice}"
    near = closest(word, COMMANDS)
    return f"no such command {word!r}: did you mean {near}?" if near else ""


def parser(commands: Mapping[str, str], arguments: Sequence[str]) -> Parser:
    """Return the parser of a call, in which only the options of its own command are declared.

    `commands` are all there are, each with what it does.
    """
    as_typed = argparse.RawDescriptionHelpFormatter
    made = Parser(
        prog="krm-windows", description=DESCRIPTION, formatter_class=as_typed, allow_abbrev=False
    )
    made.epilog = "`krm-windows COMMAND --help` shows the options of a command, and examples."
    made.add_argument("-v", "--version", action="version", version=version.text())
    made.register("action", None, SingleValue)
    _debug(made, default=False)
    made.add_argument("--strict", action="store_true", help="as a function: exit 1 on warnings too")
    listed = made.add_subparsers(title="commands", metavar="COMMAND")
    # Behind a command nothing lists the others, each of which takes as long as all of its options.
    declared = commands
    if arguments and arguments[0] in commands:
        declared = {arguments[0]: commands[arguments[0]]}
    for name, summary in declared.items():
        command = listed.add_parser(
            name, help=summary, description=summary, formatter_class=as_typed, allow_abbrev=False
        )
        command.register("action", None, SingleValue)
        # Without a default here, `krm-windows --debug check` keeps what was given before the
        # command.
        _debug(command, default=argparse.SUPPRESS)
        # The modules of the other commands are never imported: they would cost most of a start.
        if name in arguments:
            examples = (f"  {example}" for example in EXAMPLES[name])
            command.epilog = "\n".join(["examples:", *examples])
            # `merge-gate` is the module `merge_gate`, and `import`, a keyword, is `import_`.
            plain = "import_" if name == "import" else name.replace("-", "_")
            module = importlib.import_module(f"krm_windows.cli.{plain}")
            module.options(command)
            command.set_defaults(run=module.run)
    return made


def policy(parser: argparse._ActionsContainer, name: str = "policy", *, nargs: str = "?") -> None:
    """Declare a policy, or several, as `policies.file` takes them."""
    parser.add_argument(
        name,
        metavar="POLICY",
        nargs=nargs,
        help="the file of a WindowPolicy, its name in this repository, or - for standard input",
    )


def output_format(
    parser: argparse.ArgumentParser,
    formats: Iterable[str] = ("text", "json"),
) -> None:
    """Declare `-o`: the first format that is named is the default."""
    choices = tuple(formats)
    parser.add_argument(
        "-o",
        "--output",
        choices=choices,
        default=choices[0],
        help=f"the output format (default: {choices[0]})",
    )


def _debug(parser: argparse.ArgumentParser, *, default: object) -> None:
    parser.add_argument(
        "--debug",
        action="store_true",
        default=default,
        help="show a traceback when the program itself fails",
    )


def person(text: str) -> Person:
    """Read `Ada Lovelace <ada@example.com>`; raises ArgumentTypeError.

    Git itself takes any other text for a pattern, and names the last author whom it fits
    (git-commit(1), `--author`).
    """
    found = Person.read(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"must be 'NAME <EMAIL>', got {text!r}")
    return found

"""The arguments of commands: a parser of their own for each call."""

import argparse
import importlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from krm_windows.cli import output, version
from krm_windows.cli.examples import EXAMPLES
from krm_windows.cli.inputs import UsageError
from krm_windows.exit_codes import ExitCode
from krm_windows.policy.findings import closest
from krm_windows.system.git_branch import Person

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

DESCRIPTION = """\
A KRM function: without a command it reads a ResourceList on standard input and writes it back.
With a WindowPolicy in functionConfig it adds what opens and closes its windows: CronJobs, the
program that they run, and RBAC. With ChangeClasses it annotates every resource with its class, or
keeps only those of one class. With the path of a configuration file as its only argument it is a
kustomize exec plugin."""


_DIRECTORY = "--output-dir"


class Once(argparse.Action):
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


class Formatter(argparse.HelpFormatter):
    """Fills paragraphs, and leaves examples as they are, so that they can be copied."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n  " in text:
            return text
        return super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """A parser that says in one harmless line what was wrong with a call.

    `moved` are options that there are not, and what is meant by whoever writes them.
    """

    moved: Mapping[str, str] = MappingProxyType({})

    # As typeshed has it.
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse a call, after what it means by an option that has another name here."""
        # Before argparse says that a required option, which has that other name, is missing.
        for index, argument in enumerate(args or ()):
            name, _, value = argument.partition("=")
            if name == "--":
                break
            if name in self.moved:
                following = (args or ())[index + 1 : index + 2]
                self.error(self._moved(name, value or "".join(following)))
        return super().parse_known_args(args, namespace)

    def _moved(self, name: str, value: str) -> str:
        """Say what an option is called here, with the value that was given to it."""
        meant = self.moved[name]
        if meant != _DIRECTORY:
            return f"unknown option {name}; did you mean {meant}?"
        return (
            f"unknown option {name}, which is the output format in other commands; did you mean "
            f"{meant} {value or 'DIR'}?"
        )

    def error(self, message: str) -> NoReturn:
        """Say it below the usage, and end with the code of a wrong call."""
        output.log_wrong_call(self.format_usage(), f"{self.prog}: error: {message}")
        raise SystemExit(ExitCode.USAGE)

    # argparse leaves out what cannot be written, and exits 0 (`krm-windows --help >/dev/full`).
    def _print_message(self, message: str, file: "SupportsWrite[str] | None" = None) -> None:
        """Write help or a version; raises OSError."""
        if file is None:
            super()._print_message(message)
        else:
            file.write(message)

    def known(self) -> list[str]:
        """Return the options that there are."""
        names: list[str] = []
        for action in self._actions:
            names += action.option_strings
        return names

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a value that is none of the choices, and say which was meant."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        meant = closest(str(value), choices)
        advice = f"; did you mean {meant}?" if meant else ""
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no other name
            listed = "`krm-windows --help` lists the commands"
            self.error(f"unknown command {value!r}{advice or f'; {listed}'}")
        if not meant and "-o" in action.option_strings and _DIRECTORY in self.known():
            advice = f"; to write to a directory, use {_DIRECTORY} {value}"
        must = f"must be one of {', '.join(choices)}, got {value!r}{advice}"
        raise argparse.ArgumentError(action, must)


def parse(made: Parser, arguments: Sequence[str]) -> argparse.Namespace:
    """Read a call; what is not known of it is refused with what was meant."""
    parsed, unknown = made.parse_known_args(arguments)
    if unknown:
        asked = getattr(parsed, "options", made)
        asked.error(_unknown(unknown[0], asked.known()))
    return parsed


def _unknown(argument: str, options: Sequence[str]) -> str:
    """Say that there is no such option, or that an argument is one too many."""
    name = argument.partition("=")[0]
    if not name.startswith("-"):
        return f"unexpected argument {argument!r}"
    # `krm-windows --quiet check`: the option is one of the command.
    if name in options:
        return f"put {name} after the command"
    meant = _meant(name, options)
    advice = f"; did you mean {meant}?" if meant else ""
    return f"unknown option {name}{advice}"


def _meant(name: str, options: Sequence[str]) -> str | None:
    """Return the option that was most likely meant, of those with as many dashes."""
    # All of them are alike in their dashes, which so say nothing.
    is_long = name.startswith("--")
    bare = {each.lstrip("-"): each for each in options if each.startswith("--") is is_long}
    found = closest(name.lstrip("-"), bare)
    return None if found is None else bare[found]


def parser(commands: Mapping[str, str], arguments: Sequence[str]) -> Parser:
    """Return the parser of a call, in which only the options of its own command are declared.

    `commands` are all there are, each with what it does.
    """
    made = Parser(
        prog="krm-windows", description=DESCRIPTION, formatter_class=Formatter, allow_abbrev=False
    )
    made.epilog = "`krm-windows COMMAND --help` shows the options of a command, and examples."
    made.add_argument("-v", "--version", action="version", version=version.text())
    made.register("action", None, Once)
    _debug(made, default=False)
    made.add_argument("--strict", action="store_true", help="as a function: exit 1 on warnings too")
    listed = made.add_subparsers(title="commands", metavar="COMMAND")
    # Behind a command nothing lists the others, each of which takes as long as all of its options.
    declared = commands
    if arguments and arguments[0] in commands:
        declared = {arguments[0]: commands[arguments[0]]}
    for name, summary in declared.items():
        command = listed.add_parser(
            name, help=summary, description=summary, formatter_class=Formatter, allow_abbrev=False
        )
        # What an option is that does not say otherwise.
        command.register("action", None, Once)
        # Without a default here, `krm-windows --debug check` keeps what was given before the
        # command.
        _debug(command, default=argparse.SUPPRESS)
        # The modules of the other commands are never imported: they would cost most of a start.
        if name in arguments:
            command.epilog = _examples(name)
            # `import-ics` is the module `import_ics`.
            module = importlib.import_module(f"krm_windows.cli.{name.replace('-', '_')}")
            module.options(command)
            command.moved = getattr(module, "MOVED", command.moved)
            command.set_defaults(run=module.run, options=command)
    return made


def _examples(command: str) -> str:
    lines = [f"  {line}" for line in EXAMPLES[command]]
    return "\n".join(["examples:", *lines])


def check_cluster(arguments: argparse.Namespace, *others: str) -> None:
    """Refuse `--cluster` beside any option that names more than one; raises InputError."""
    if arguments.cluster is None:
        return
    for option in ("--all-clusters", *others):
        # As argparse names it in the namespace: `--all-clusters` is `all_clusters`.
        if getattr(arguments, option.removeprefix("--").replace("-", "_")):
            raise UsageError(f"--cluster and {option} cannot be used together")


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

"""`krm-windows completion`: a script that completes commands, options and their values in a shell.

It is made of what the parsers of all commands say, so that no list of options is kept twice, and
starts no Python at a press of the tab key.
"""

import argparse
import shlex
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from krm_windows.cli import output
from krm_windows.cli.arguments import parser as parser_of
from krm_windows.cli.arguments import subparsers
from krm_windows.cli.commands import COMMANDS
from krm_windows.exit_codes import ExitCode

# What a metavar of our commands stands for; any other is text that nobody can complete.
_FILES = {"FILE", "JSON|@FILE|-", "NEW", "OLD", "PATH", "POLICY", "RENDERED", "URL|FILE"}
_DIRECTORIES = {"BASE", "DIR", "OUT"}


class Value(Enum):
    """What follows an option, or stands for itself."""

    NONE = auto()
    TEXT = auto()
    FILE = auto()
    DIRECTORY = auto()
    CHOICE = auto()


class Argument(NamedTuple):
    """An option by its names, or what stands without one: no names then."""

    names: Sequence[str]
    help: str
    value: Value
    choices: Sequence[str]


class Command(NamedTuple):
    """A command, and what it takes."""

    name: str
    help: str
    arguments: Sequence[Argument]

    def options(self) -> Iterator[Argument]:
        """Yield the options."""
        return (argument for argument in self.arguments if argument.names)

    def operands(self) -> Iterator[Argument]:
        """Yield what stands without a name."""
        return (argument for argument in self.arguments if not argument.names)

    def names(self) -> str:
        """Return the names of all options, separated by blanks."""
        return " ".join(" ".join(option.names) for option in self.options())

    def choices(self) -> str:
        """Return the words that may be without a name, separated by blanks."""
        return " ".join(" ".join(operand.choices) for operand in self.operands())

    def takes_files(self) -> bool:
        """Say whether a path may be without a name."""
        return any(each.value in (Value.FILE, Value.DIRECTORY) for each in self.operands())


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Print the script."""
    output.show(SHELLS[arguments.shell](commands()))
    return ExitCode.FINE


def commands() -> list[Command]:
    """Return every command, beginning with the program itself, which has no name here."""
    # With an option before them, the parsers of all that are named are made.
    whole = parser_of(COMMANDS, ["--help", *COMMANDS])
    found = [Command("", "", _arguments(whole))]
    for name, parser in subparsers(whole).items():
        found.append(Command(name, COMMANDS[name], _arguments(parser)))
    return found


def _arguments(parser: argparse.ArgumentParser) -> list[Argument]:
    found = []
    for action in parser._actions:  # noqa: SLF001 - argparse shows them in no other way
        is_command = isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - likewise
        if is_command or action.help == argparse.SUPPRESS:
            continue
        said = (action.help or "") % {**vars(action), "prog": parser.prog}
        value = _value(action)
        choices = tuple(map(str, action.choices or ()))
        found.append(Argument(action.option_strings, said, value, choices))
    return found


def _value(action: argparse.Action) -> Value:
    if action.choices is not None:
        return Value.CHOICE
    if action.nargs == 0:
        return Value.NONE
    if action.metavar in _FILES:
        return Value.FILE
    if action.metavar in _DIRECTORIES:
        return Value.DIRECTORY
    return Value.TEXT


# bash

_BASH = """\
# bash completion of krm-windows, made by `krm-windows completion bash`.
_krm_windows() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD-1]}} command= word
  # `--output=json` is three words.
  if [ "$current" = "=" ]; then
    current=
  elif [ "$option" = "=" ]; then
    option=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in
      -*) ;;
      *) command=$word; break ;;
    esac
  done
  COMPREPLY=()
  # What follows an option: words, a directory, a file, or nothing that can be known.
  case "$command $option" in
{values}
  esac
  case "$current" in
    -*)
      case "$command" in
{options}
      esac
      return ;;
  esac
  case "$command" in
{operands}
  esac
}}
_krm_windows_words() {{
  COMPREPLY=($(compgen -W "$1" -- "$current"))
}}
complete -o default -F _krm_windows krm-windows
"""
_BASH_VALUES = {
    Value.TEXT: "compopt +o default 2>/dev/null",
    Value.FILE: ":",
    Value.DIRECTORY: "compopt +o default -o dirnames 2>/dev/null",
}


def _bash(every: Sequence[Command]) -> str:
    values, named, operands = [], [], []
    for command in every:
        for option in command.options():
            if option.value is not Value.NONE:
                cases = "|".join(f'"{command.name} {name}"' for name in option.names)
                values.append(f"    {cases}) {_bash_value(option)}; return ;;")
        named.append(f'      "{command.name}") _krm_windows_words "{command.names()}" ;;')
        words = command.choices() if command.name else " ".join(COMMANDS)
        # Where no word fits, readline completes paths by itself, unless it is told not to.
        kept = "" if command.takes_files() else "compopt +o default 2>/dev/null; "
        operands.append(f'    "{command.name}") {kept}_krm_windows_words "{words}" ;;')
    return _BASH.format(
        values="\n".join(values), options="\n".join(named), operands="\n".join(operands)
    )


def _bash_value(option: Argument) -> str:
    if option.value is Value.CHOICE:
        words = " ".join(option.choices)
        return f'compopt +o default 2>/dev/null; _krm_windows_words "{words}"'
    return _BASH_VALUES[option.value]


# zsh

_ZSH = """\
#compdef krm-windows
# zsh completion of krm-windows, made by `krm-windows completion zsh`.
_krm_windows() {{
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -C \\
{program} \\
    '1:command:->command' \\
    '*::argument:->arguments'
  case $state in
    command)
      local -a commands=(
{names}
      )
      _describe command commands ;;
    arguments)
      case $words[1] in
{commands}
      esac ;;
  esac
}}
# In a directory of fpath it is the function; read by `source` it is bound to the command.
if [ "$funcstack[1]" = _krm-windows ]; then
  _krm_windows "$@"
else
  compdef _krm_windows krm-windows
fi
"""
_ZSH_VALUES = {Value.TEXT: " ", Value.FILE: "_files", Value.DIRECTORY: "_files -/"}


def _zsh(every: Sequence[Command]) -> str:
    program, *others = every
    names = []
    cases = []
    for command in others:
        names.append(f"        {shlex.quote(f'{command.name}:{_zsh_text(command.help)}')}")
        lines = " \\\n".join(_zsh_arguments(command, "            "))
        cases.append(f"        {command.name})\n          _arguments \\\n{lines} ;;")
    return _ZSH.format(
        program=" \\\n".join(_zsh_arguments(program, "    ")),
        names="\n".join(names),
        commands="\n".join(cases),
    )


def _zsh_arguments(command: Command, indent: str) -> Iterator[str]:
    """Yield what `_arguments` takes, a word a line (zshcompsys(1))."""
    for option in command.options():
        for name in option.names:
            # `*`: it may be given again, as far as the shell is concerned.
            head = f"*{name}[{_zsh_text(option.help)}]"
            tail = f":value:{_zsh_value(option)}" if option.value is not Value.NONE else ""
            yield f"{indent}{shlex.quote(head + tail)}"
    operands = list(command.operands())
    for number, operand in enumerate(operands, start=1):
        # The last one may be there more than once.
        place = "*" if number == len(operands) else str(number)
        yield f"{indent}{shlex.quote(f'{place}:argument:{_zsh_value(operand)}')}"


def _zsh_value(argument: Argument) -> str:
    if argument.value is Value.CHOICE:
        return f"({' '.join(argument.choices)})"
    return _ZSH_VALUES[argument.value]


def _zsh_text(text: str) -> str:
    """Escape what ends a description there."""
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return text


# fish


def _fish(every: Sequence[Command]) -> str:
    lines = [
        "# fish completion of krm-windows, made by `krm-windows completion fish`.",
        "complete -c krm-windows -f",
    ]
    for command in every:
        condition = f"__fish_seen_subcommand_from {command.name}"
        if not command.name:
            condition = "__fish_use_subcommand"
        start = f"complete -c krm-windows -n {_fish_quoted(condition)}"
        if command.name:
            lines.append(
                f"complete -c krm-windows -n __fish_use_subcommand -a {command.name} "
                f"-d {_fish_quoted(command.help)}"
            )
        for option in command.options():
            names = " ".join(map(_fish_name, option.names))
            value = _fish_value(option)
            lines.append(f"{start} {names}{value} -d {_fish_quoted(option.help)}")
        if command.takes_files():
            lines.append(f"{start} -F")
        if command.choices():
            lines.append(f"{start} -a {_fish_quoted(command.choices())}")
    return "\n".join([*lines, ""])


def _fish_name(name: str) -> str:
    if name.startswith("--"):
        return f"-l {name.removeprefix('--')}"
    return f"-s {name.removeprefix('-')}"


def _fish_value(option: Argument) -> str:
    if option.value is Value.CHOICE:
        return f" -x -a {_fish_quoted(' '.join(option.choices))}"
    return _FISH_VALUES[option.value]


_FISH_VALUES = {
    Value.NONE: "",
    Value.TEXT: " -x",
    Value.FILE: " -r -F",
    Value.DIRECTORY: " -x -a '(__fish_complete_directories)'",
}


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}

"""The command that rendered a directory, as a line of every kustomization that it made says it.

It is what renders the directory again. The line comes from a repository, which may be anybody's: it
is read by the parser of `render` alone, and its paths lead nowhere out of the repository.
"""

import argparse
import os
import posixpath
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import NoReturn

from krm_windows.krm import InputError
from krm_windows.render.flat import KUSTOMIZATION

CALL = ("krm-windows", "render")
OUTPUT_DIR = "--output-dir"
CLUSTER = "{cluster}"
"""In the path of `--resources`: the name of the cluster that is rendered for."""
_KEY = "# krm-windows.dev/rendered-by: "
# The arguments that are paths, beside the policies. In a line all are relative to the directory
# that it is in.
_PATHS = ("output_dir", "resources", "flux_kustomization")
# A line of a fleet names a policy in some dozen bytes; what is longer than this is none of ours.
_LONGEST = 100_000


def options(parser: argparse.ArgumentParser) -> None:
    """Declare what decides which files `render` writes, but for `--output-dir`.

    What is declared elsewhere is in no line.
    """
    parser.add_argument(
        "policies",
        metavar="POLICY",
        nargs="+",
        help="the file of a WindowPolicy, its name in this repository, or - for standard input",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the cluster to render for (default: the policy's buildFor)",
    )
    parser.add_argument(
        "--resources",
        metavar="DIR",
        help=(
            "the resources that a transformer would see: a directory of YAML, in whose path "
            "{cluster} stands for the cluster's name, or - for a stream"
        ),
    )
    parser.add_argument(
        "--uninstall",
        action="store_true",
        help=(
            "render a Job that resumes all targets that the policy closed, and removes its "
            "annotations"
        ),
    )
    parser.add_argument(
        "--flux-kustomization",
        metavar="FILE",
        help="the file of the Flux Kustomization that delivers DIR (default: looked for)",
    )
    parser.add_argument(
        "--all-clusters",
        action="store_true",
        help="render a base, and patches of it for every cluster that the policies name",
    )


class _Parser(argparse.ArgumentParser):
    """Reads a line, and says nothing of what is wrong with it."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError."""
        raise InputError(message)


def _parser() -> _Parser:
    parser = _Parser(add_help=False, allow_abbrev=False)
    options(parser)
    parser.add_argument(OUTPUT_DIR, type=Path, required=True)
    return parser


@dataclass(frozen=True)
class RenderCommand:
    """A call of `render` by its words behind `krm-windows render`, in one order for all of them.

    Its paths are all absolute, or all relative to one directory.
    """

    words: tuple[str, ...]

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "RenderCommand":
        """Take the arguments of a call that render reads; what decides no file is left out."""
        words: list[str] = []
        for action in _parser()._actions:  # noqa: SLF001 - argparse shows them in no other way
            value = getattr(arguments, action.dest)
            if not action.option_strings:
                words += value
            elif value is True:
                words.append(action.option_strings[0])
            elif value not in (None, action.default):
                words += (action.option_strings[0], str(value))
        return cls(tuple(words))

    @cached_property
    def arguments(self) -> argparse.Namespace:
        """The arguments as `render` reads them; raises InputError where it cannot."""
        return _parser().parse_args(self.words)

    @property
    def policies(self) -> tuple[str, ...]:
        """The files of the policies."""
        return tuple(self.arguments.policies)

    @property
    def output_dir(self) -> str:
        """The directory that is rendered."""
        return str(self.arguments.output_dir)

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths: what is read, and what is written."""
        others = (getattr(self.arguments, name) for name in _PATHS)
        return (*self.policies, *(str(each) for each in others if each is not None))

    def moved(self, change: Callable[[str], str]) -> "RenderCommand":
        """Return it with every path changed."""

        def changed(path: object) -> str:
            found = change(str(path))
            # It would be taken for an option.
            return f"./{found}" if found.startswith("-") else found

        values = dict(vars(self.arguments))
        values["policies"] = [changed(path) for path in self.policies]
        for name in _PATHS:
            if values[name] is not None:
                values[name] = changed(values[name])
        return self.of(argparse.Namespace(**values))

    def below(self, directory: str) -> "RenderCommand":
        """Return it with its paths as they are from above the directory that they are from now."""
        return self.moved(lambda path: posixpath.normpath(posixpath.join(directory, path)))

    def __str__(self) -> str:
        """Return the call as it is typed."""
        return shlex.join((*CALL, *self.words))


def called(
    arguments: argparse.Namespace, top: Callable[[Path], Path | None]
) -> RenderCommand | None:
    """Return a call with absolute paths, as it can be said in the repository of its output.

    None where another clone could not say it: something is read from standard input, or is outside
    of the repository whose `top` is that of the output; without one, outside of any directory.
    """
    command = RenderCommand.of(arguments)
    if "-" in (*command.policies, arguments.resources):
        return None
    command = command.moved(os.path.realpath)
    above = top(Path(command.output_dir)) or Path(os.path.commonpath(command.paths))
    if above == Path(above.anchor) or not all(_is_below(p, str(above)) for p in command.paths):
        return None
    return command


def line(command: RenderCommand, directory: str) -> str:
    """Return the line for a directory; empty where no line of text can say it.

    All paths are absolute.
    """
    found = f"{_KEY}{command.moved(lambda path: os.path.relpath(path, directory))}"
    # A line end in a name would end the comment.
    return found if found.isprintable() and len(found) <= _LONGEST else ""


def signed(files: Mapping[str, bytes], command: RenderCommand | None) -> dict[str, bytes]:
    """Return rendered files, by their paths in its output, with the line in each kustomization."""
    found = dict(files)
    if command is None:
        return found
    for path, content in files.items():
        folder, name = posixpath.split(path)
        if name != KUSTOMIZATION:
            continue
        said = line(command, posixpath.join(command.output_dir, folder))
        if said:
            found[path] = content.replace(b"\n", f"\n{said}\n".encode(), 1)
    return found


def read(content: bytes, directory: str) -> RenderCommand | None:
    """Return the command that a rendered kustomization in a directory of a repository names.

    Its paths are from the top, as is `directory`. None where it names none that can be run: another
    command, options that there are not, paths that lead out of the repository.
    """
    said = b"".join(content.split(b"\n", 2)[1:2]).decode(errors="replace")
    if not said.startswith(_KEY) or len(said) > _LONGEST or not said.isprintable():
        return None
    try:
        words = shlex.split(said.removeprefix(_KEY))
        typed = RenderCommand(tuple(words[len(CALL) :]))
        # What is absolute stays so.
        command = typed.below(directory)
    except (InputError, ValueError):
        return None
    if tuple(words[: len(CALL)]) != CALL or "-" in typed.paths:
        return None
    leads_out = any(f"{path}/".startswith(("/", "../")) for path in command.paths)
    return None if leads_out else command


def _is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory itself or below it; both are normal."""
    return PurePath(path).is_relative_to(directory)

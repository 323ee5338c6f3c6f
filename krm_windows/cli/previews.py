"""What the commands that look at a policy share: which versions of it, and how the answer is printed."""

import argparse
from collections.abc import Sequence

from krm_windows.cli import inputs, report, seen
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import KubeObject
from krm_windows.preview.versions import Choice, Source, Version


def options(
    parser: argparse.ArgumentParser, *, cluster: str = "default: the policy's buildFor"
) -> None:
    """Declare the options of every command that looks at a policy."""
    parser.add_argument("--cluster", metavar="NAME", help=f"the cluster ({cluster})")
    parser.add_argument(
        "--resources", metavar="DIR", help="where `closesEarly: auto` finds the targets' timeouts"
    )
    report.options(parser)


def load(
    paths: Sequence[str], choice: Choice, arguments: argparse.Namespace
) -> tuple[list[Version], ExitCode]:
    """Load the policies of some files; report what is wrong with any, and then return no version of any."""
    items = resources(arguments)
    loaded = [Source(inputs.policy(path), items).versions(choice) for path in paths]
    code = report.show(
        [result for _, results in loaded for result in results], strict=arguments.strict
    )
    return (
        [version for found, _ in loaded for version in found] if code is ExitCode.FINE else []
    ), code


def resources(arguments: argparse.Namespace) -> list[KubeObject]:
    """Read what `--resources` names."""
    return seen.resources(arguments.resources) if arguments.resources else []

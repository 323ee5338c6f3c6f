"""What the commands that look at a policy share.

Which versions of it, and how the answer is printed.
"""

import argparse
from collections.abc import Sequence

from krm_windows.cli import cluster_resources, inputs, output, report
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import KubeObject
from krm_windows.preview.versions import Choice, Source, Version
from krm_windows.results import Result


def options(
    parser: argparse.ArgumentParser, *, cluster: str = "default: the policy's buildFor"
) -> None:
    """Declare the options of every command that looks at a policy."""
    parser.add_argument("--cluster", metavar="NAME", help=f"the cluster ({cluster})")
    parser.add_argument(
        "--resources",
        metavar="DIR",
        help="where to read the targets' timeouts for `closesEarly: auto`",
    )
    report.options(parser)


def load(
    paths: Sequence[str],
    choice: Choice,
    arguments: argparse.Namespace,
) -> tuple[list[Version], ExitCode]:
    """Load the policies of some files.

    Report what is wrong with any, and then return no version of any.
    """
    # Nothing is drawn, and nothing loaded for it, where nobody looks.
    if output.progress_stream() is None:
        return _load(paths, choice, arguments)
    from krm_windows.cli import progress  # noqa: PLC0415

    with progress.waiting("reading policies"):
        return _load(paths, choice, arguments)


def _load(
    paths: Sequence[str],
    choice: Choice,
    arguments: argparse.Namespace,
) -> tuple[list[Version], ExitCode]:
    items = resources(arguments)
    versions: list[Version] = []
    results: list[Result] = []
    for path in paths:
        config = inputs.policy(path)
        found, said = Source(config, items).versions(choice)
        versions.extend(found)
        results.extend(report.located(said, {path: config}, arguments.resources))
    # All policies are loaded first, so that every mistake is shown at once.
    code = report.show(results, strict=arguments.strict)
    if code is not ExitCode.FINE:
        return [], code
    return versions, code


def resources(arguments: argparse.Namespace) -> list[KubeObject]:
    """Read what `--resources` names."""
    return cluster_resources.read(arguments.resources)

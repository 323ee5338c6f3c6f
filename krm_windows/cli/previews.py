"""What the commands that look at a policy share.

Which versions of it, and how the answer is printed.
"""

import argparse
from collections.abc import Iterator, Sequence

from krm_windows.cli import cluster_resources, inputs, output, report
from krm_windows.edit.patches import check_cluster
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import KubeObject
from krm_windows.plurals import some
from krm_windows.policy.load import PolicyDocument as Policy
from krm_windows.policy.load import read
from krm_windows.preview.versions import Choice, PolicySource, Version
from krm_windows.results import Result

# So many clusters are named before "and 12 more".
_FEW = 3


def options(
    parser: argparse.ArgumentParser,
    *,
    cluster: str = "default: the policy's buildFor",
    every: str = "",
) -> None:
    """Declare the options of every command that looks at a policy.

    With `every`, what it means, there is one for all clusters at once.
    """
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--cluster", metavar="NAME", help=f"the cluster ({cluster})")
    if every:
        group.add_argument("--all-clusters", action="store_true", help=every)
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
    items = resources(arguments)
    versions: list[Version] = []
    results: list[Result] = []
    notes: list[str] = []
    for path in paths:
        config = inputs.policy(path)
        check_cluster(config, choice.cluster)
        found, said = PolicySource(config, lambda _: items).versions(choice)
        versions += found
        results += report.located(said, {path: config}, arguments.resources)
        if choice == Choice() and not output.is_quiet():
            notes += of_no_cluster(path, read(config.node))
    # All policies are loaded first, so that every mistake is shown at once.
    code = report.show(results, strict=arguments.strict)
    if code is not ExitCode.FINE:
        return [], code
    for note in notes:
        output.log(note)
    return versions, code


def of_no_cluster(path: str, policy: Policy) -> Iterator[str]:
    """Yield of a policy for no cluster in particular that some of its clusters have another."""
    if policy.differing and policy.build_for is None:
        differ = some(policy.differing, _FEW)
        yield f"{path}: shown as it is without a cluster; {differ} may differ (--cluster NAME)"


def resources(arguments: argparse.Namespace) -> list[KubeObject]:
    """Read what `--resources` names."""
    return cluster_resources.read(arguments.resources)

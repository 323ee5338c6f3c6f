"""`krm-windows verify`: prove on what a build printed that the windows are in it, and in order."""

import argparse
from pathlib import Path

from krm_windows.cli import builds, inputs, report
from krm_windows.emit.delivery import FOLDERS
from krm_windows.emit.header import is_rendered
from krm_windows.exit_codes import ExitCode
from krm_windows.fleet import applied
from krm_windows.function import window_policy
from krm_windows.krm import KubeObject, documents
from krm_windows.render import KUSTOMIZATION
from krm_windows.results import Result
from krm_windows.system import walk
from krm_windows.system.reading import is_kustomization


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "rendered",
        metavar="RENDERED",
        help=(
            "a build's output: a file, a directory, or - for a stream; a kustomization is built "
            "first"
        ),
    )
    parser.add_argument(
        "--policy",
        action="append",
        required=True,
        metavar="POLICY",
        help="the file of the WindowPolicy (repeatable)",
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="the cluster it was built for (default: buildFor)"
    )
    builds.add_trust_option(parser)
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Report what is wrong with the output."""
    policies = {path: inputs.policy(path) for path in arguments.policy}
    items = _applied(arguments.rendered, arguments)
    results: list[Result] = []
    for path, config in policies.items():
        results += _verified(path, config, items, arguments)
    code = report.show(results, strict=arguments.strict)
    report.summarize(results)
    return code


def _verified(
    path: str, config: KubeObject, items: list[KubeObject], arguments: argparse.Namespace
) -> list[Result]:
    """Return what is wrong with what a policy has in the output."""
    results = list(window_policy.verify(config, items, arguments.cluster))
    if path != inputs.STDIN:
        results += applied.check(config, path)
    return report.located(results, {path: config}, arguments.rendered)


def _applied(path: str, arguments: argparse.Namespace) -> list[KubeObject]:
    """Return what is applied of a place, and of the directories in it that Flux applies apart."""
    items = _built(path, arguments)
    if path != inputs.STDIN and is_kustomization(Path(path)):
        for folder, names in walk.walk(path):
            is_apart = FOLDERS.fullmatch(Path(folder).name) and KUSTOMIZATION in names
            if is_apart and is_rendered(Path(folder, KUSTOMIZATION).read_bytes()):
                items += _built(folder, arguments)
    return items


def _built(path: str, arguments: argparse.Namespace) -> list[KubeObject]:
    """Return what is applied of a place.

    That is what kustomize builds, where it is there, else what the files hold.
    """
    if path == inputs.STDIN or not is_kustomization(Path(path)):
        return inputs.resources(path)
    # Nothing is fetched: a proof must not depend on what a server answers today.
    content = builds.built(path, arguments)
    # Without kustomize the files are judged as they are.
    return inputs.resources(path) if content is None else documents(content)

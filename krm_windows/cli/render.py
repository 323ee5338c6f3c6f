"""`krm-windows render`: the windows of a policy as plain files, for Flux, which runs no plugin."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from krm_windows import rules, tree, workspace
from krm_windows.checks import readonly
from krm_windows.cli import inputs, report
from krm_windows.exit_codes import ExitCode
from krm_windows.function import window_policy
from krm_windows.plan import uninstall
from krm_windows.plan.model import Plan
from krm_windows.results import Result, fails


def options(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("policy", metavar="POLICY", help="the file of the WindowPolicy, or - for standard input")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the directory to write")
    parser.add_argument("--cluster", metavar="NAME", help="the cluster to render for (default: the policy's buildFor)")
    parser.add_argument(
        "--resources", metavar="DIR", help="what a transformer would see: a directory of YAML, or - for a stream"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 with a diff if DIR is stale")
    parser.add_argument("--uninstall", action="store_true", help="render one Job that lifts our marks and suspensions")
    report.options(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Render, or compare with what was rendered before."""
    plan, results = _plan(arguments)
    code = report.show(results, strict=arguments.strict)
    if plan is None or code is not ExitCode.FINE:
        return code
    folder = workspace.Folder(arguments.output, tree.header(plan))
    files = tree.files(plan)
    if arguments.check:
        return _compare(folder, files)
    folder.write(files)
    return ExitCode.FINE


def _plan(arguments: argparse.Namespace) -> tuple[Plan | None, Sequence[Result]]:
    config = inputs.policy(arguments.policy)
    items = inputs.resources(arguments.resources) if arguments.resources else []
    compiled = window_policy.compile_onto(config, items, arguments.cluster)
    results = readonly.check(compiled.results, compiled.adopted)
    if arguments.uninstall:  # whoever cleans up names the targets, seen or not
        results = [result for result in results if result.tags.get("rule") != rules.TARGET_UNSEEN.id]
    if compiled.application is None or fails(results):
        return None, results
    plan = compiled.application.plan
    return (uninstall(plan) if arguments.uninstall else plan), results


def _compare(folder: workspace.Folder, files: dict[str, bytes]) -> ExitCode:
    diff = "".join(folder.stale(files))
    sys.stdout.write(diff)
    return ExitCode.ERROR if diff else ExitCode.FINE

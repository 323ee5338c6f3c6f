"""`krm-windows` alone, at a terminal: what is open in a repository, and what is stale."""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import inputs, output, rendered, report, times
from krm_windows.exit_codes import ExitCode
from krm_windows.krm import InputError, KubeObject
from krm_windows.policy.model import API_VERSION, KIND
from krm_windows.preview import sentences
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.render import outputs
from krm_windows.schedule.timeline import decide
from krm_windows.system import tops
from krm_windows.system.checkout import Checkout


def run(_arguments: argparse.Namespace) -> ExitCode | None:
    """Print what every policy of the repository should hold; None where there is no policy."""
    top = tops.top(Path(os.path.realpath(".")))
    if top is None:
        return None
    tree = Checkout.at(top)
    found = list(_policies(tree))
    if not found:
        return None
    every = rendered.find(tree)
    here = Path.cwd()
    now = times.now()
    failed = False
    for path, policy in found:
        versions, results = PolicySource(policy).versions(Choice(every=True))
        if not versions:
            report.show(report.located(results, {policy.file: policy}), strict=False)
            failed = True
            continue
        timetables = [version.timetable for version in versions]
        lines = sentences.held((each, decide(each, now)) for each in timetables)
        for each in outputs.of_policy(every, path, f"{policy.namespace}/{policy.name}"):
            directory = rendered.renew(top, each, here).directory(os.path.relpath(top))
            if directory.is_stale is not False:
                lines.append(directory.words)
        output.show_words(f"{escape.line(policy.file)}\n")
        output.show_words("".join(f"  {escape.line(line)}\n" for line in lines))
    return ExitCode.of(failed=failed)


def _policies(tree: Checkout) -> Iterator[tuple[str, KubeObject]]:
    """Yield every policy of a repository, with the path of its file."""
    for path in tree.manifests():
        content = tree.read(path) or b""
        # Most manifests are of other kinds: they are not parsed at all.
        if KIND.encode() in content and API_VERSION.encode() in content:
            try:
                items = inputs.objects(os.path.relpath(Path(tree.root, path)))
            except InputError as error:
                output.log(str(error))
                continue
            yield from ((path, item) for item in items if _is_policy(item))


def _is_policy(item: KubeObject) -> bool:
    return item.kind == KIND and item.api_version == API_VERSION

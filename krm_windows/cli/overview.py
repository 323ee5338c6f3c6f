"""`krm-windows` alone, at a terminal: what is open in a repository, and what is stale."""

import argparse
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from krm_windows import escape
from krm_windows.cli import output, policies, rendered, report, times, written
from krm_windows.exit_codes import ExitCode
from krm_windows.preview import color, sentences
from krm_windows.preview.versions import Choice, PolicySource
from krm_windows.preview.wrapping import wrapped
from krm_windows.render import outputs
from krm_windows.schedule.timeline import decide
from krm_windows.system import git_progress


def run(_arguments: argparse.Namespace) -> ExitCode | None:
    """Print what every policy of the repository should hold; None where there is no policy."""
    tree = policies.here()
    if tree is None:
        return None
    wrong: list[str] = []
    found = list(policies.every(tree, wrong.append))
    if not (found or wrong):
        return None
    top = Path(tree.root)
    every = rendered.find(tree)
    now = times.now()
    failed = bool(wrong)
    held = []
    for policy in found:
        versions, results = PolicySource(policy.config).versions(Choice(every=True))
        if not versions:
            report.show(report.located(results, {policy.file: policy.config}), strict=False)
            failed = True
            continue
        decisions = [(each.timetable, decide(each.timetable, now)) for each in versions]
        held += decisions
        # What is only written here holds in no cluster.
        more = ", not committed" if written.in_git(policy.file) is False else ""
        lines = [f"{policy.title} ({policy.file}{more})", *sentences.held(decisions, now)]
        made = rendered.directories(top, outputs.of_policy(every, policy.path, policy.title))
        lines += [f"  {each.words}" for each in made if each.is_stale is not False]
        _show(lines)
    for problem in wrong:
        output.log(problem)
    lines = list(sentences.opening(held, now))
    differs, steps = git_progress.push(top)
    if differs:
        lines.append(f"{differs}: {steps[0]}")
    lines.append("to open or close for a while: krm-windows override")
    rules = chain.from_iterable(decision.rules for _, decision in held)
    if any(rule.startswith("overrides.") for rule in rules):
        lines.append("to end that early: krm-windows override --end")
    _show(lines)
    return ExitCode.of(failed=failed)


def _show(lines: Sequence[str]) -> None:
    page = escape.lines(lines)
    output.show_painted(wrapped(page, output.width()), color.paint_states)

"""A report on a repository: what several clusters share is reported once, with file and line."""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from krm_windows.checks.report import Report, place, steps
from krm_windows.flux import Survey
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Finding
from krm_windows.plurals import counted, some
from krm_windows.results import File, Place, Result, Severity

_BEGINNING = Place(1, 1)
# So many objects are named before "and 12 more".
_FEW = 3
# Errors first, then warnings, then what is only good to know.
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def compose(directory: str, survey: Survey, findings: Iterable[Finding]) -> Report:
    """Return the report on a survey of the repository at `directory`, as it was named.

    Every result has its file, and its place in that. Errors come first, then by file and line.
    """
    # One fact in several clusters, or of several objects, is one result.
    found: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.grouping_key, []).append(finding)
    locator = Locator(survey.tree)
    # One result at one location is reported once, whatever cluster it was built for.
    placed: dict[Result, list[Finding]] = {}
    for same in found.values():
        placed.setdefault(_result(directory, locator, same[0]), []).extend(same)
    results = [_named(result, alike) for result, alike in placed.items()]
    results.sort(key=_order)
    heading = _heading(directory, survey)
    return Report(heading, heading, {"repository": directory}, tuple(results))


def _order(result: Result) -> tuple[object, ...]:
    """Return what results are sorted by."""
    # As numbers: as a text, line 10 would come before line 9.
    place = (result.file.path if result.file else "", result.place or _BEGINNING)
    return (_RANK[result.severity], *place, result.rule, result.message)


def _named(result: Result, findings: Sequence[Finding]) -> Result:
    """Return a result with its clusters, and how many objects share its fact."""
    # In the order in which they were found.
    clusters = dict.fromkeys(each.cluster for each in findings if each.cluster)
    objects = tuple(dict.fromkeys(str(each.of) for each in findings if each.of))
    message = result.message
    # One object is what the result is about anyway.
    if len(objects) > 1:
        message += f" ({len(objects)} objects: {some(objects, _FEW)})"
    return result._replace(message=message, clusters=tuple(clusters), objects=objects)


def _result(directory: str, locator: Locator, first: Finding) -> Result:
    """Return what a finding comes to, whatever cluster it is in."""
    file, at, index = first.file, Place(first.line, first.column), 0
    message = first.message
    if first.item is not None:
        at = place(first.item, first.path)
    elif first.about is not None:
        file, item, index = locator.locate(first.about)
        # Generated: the kustomization that has it made is the nearest location.
        at = place(item, first.path) if item else _BEGINNING
        path = steps(first.path)
        is_error = first.rule.severity is Severity.ERROR
        if is_error and item is not None and item.get(*path) != first.about.get(*path):
            message += "; this file says otherwise: look for a patch, a component or a variable"
    result = first.rule.result(
        message,
        path=first.path,
        current=first.current,
        ref=first.about.ref if first.about else None,
        # As seen from where the command was run, so that an editor finds it.
        file=File(str(PurePosixPath(directory, file)), index),
    )
    return result.at(at)


def _heading(directory: str, survey: Survey) -> str:
    policies: set[str] = set()
    every = 0
    followed = 0
    for cluster in survey.clusters:
        # A policy that holds in several clusters is one.
        policies.update(gate.policy for gate in cluster.gates)
        every += len(cluster.kustomizations)
        followed += sum(each.is_followed for each in cluster.kustomizations.values())
    counts = (
        counted(len(survey.clusters), "cluster"),
        f"{followed} of {counted(every + len(survey.unread), 'Kustomization')}",
        counted(len(policies), "policy"),
    )
    return f"{directory}: {', '.join(counts)}"

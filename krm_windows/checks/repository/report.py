"""A report on a repository: what several clusters share is reported once, with file and line."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from krm_windows.checks import report
from krm_windows.flux import Survey
from krm_windows.flux.locations import Locator
from krm_windows.flux.model import Finding
from krm_windows.plurals import counted
from krm_windows.results import File, Place, Result, Severity

_BEGINNING = Place(1, 1)
# So many clusters or objects are named before "12 more".
_FEW = 3
# Errors first, then warnings, then what is only good to know.
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True)
class RepositoryReport(report.Findings):
    """What was found on the repository at `directory`, as it was named.

    Every result has its file, and its place in that. `title` says how much was looked at.
    """

    directory: str
    title: str
    results: tuple[Result, ...]

    @property
    def name(self) -> str:
        """What was looked at, and how much of it."""
        return self.title

    def scope(self, result: Result) -> str:
        """Return the object that a result is about, or its file."""
        if result.resource_ref:
            return str(result.resource_ref)
        return result.file.path if result.file else self.directory

    def written(self, result: Result) -> str:
        """Return the line for a person, the location first, as compilers write it."""
        return f"{result}{_on(result)}"

    def record(self) -> dict[str, object]:
        """Return what was found, and where."""
        return {"repository": self.directory, **super().record()}


def _on(result: Result) -> str:
    """Return the first few clusters that a result is about, in brackets."""
    if not result.clusters:
        return ""
    names = list(result.clusters[:_FEW])
    more = len(result.clusters) - _FEW
    if more > 0:
        names.append(f"{more} more")
    return f" [{', '.join(names)}]"


def compose(
    directory: str,
    survey: Survey,
    findings: Iterable[Finding],
) -> RepositoryReport:
    """Return the report on a survey of the repository at `directory`.

    Errors first, then by file and line.
    """
    # One fact in several clusters, or of several objects, is one result.
    found: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.grouping_key, []).append(finding)
    locator = Locator(survey.tree)
    # One result at one location is reported once, whatever cluster it was built for.
    placed: dict[Result, list[Finding]] = {}
    for same in found.values():
        result = _result(directory, locator, same[0])
        placed.setdefault(result, []).extend(same)
    results = [_named(result, alike) for result, alike in placed.items()]
    results.sort(key=_order)
    heading = _heading(directory, survey)
    return RepositoryReport(directory, heading, tuple(results))


def _order(result: Result) -> tuple[object, ...]:
    """Return what results are sorted by."""
    file = ""
    if result.file:
        file = result.file.path
    return (
        _RANK[result.severity],
        file,
        # As numbers: as a text, line 10 would come before line 9.
        result.place or _BEGINNING,
        result.rule,
        result.message,
    )


def _named(result: Result, findings: Sequence[Finding]) -> Result:
    """Return a result with its clusters, and how many objects share its fact."""
    clusters = _each_once(finding.cluster for finding in findings)
    objects = _each_once(str(finding.of or "") for finding in findings)
    count = len(objects)
    message = result.message
    # One object is what the result is about anyway.
    if count > 1:
        some = ", ".join(objects[:_FEW])
        if count > _FEW:
            some += f" and {count - _FEW} more"
        message += f" ({count} objects: {some})"
    return result._replace(message=message, clusters=tuple(clusters), objects=tuple(objects))


def _each_once(names: Iterable[str]) -> list[str]:
    """Return names in the order in which they were found, without the empty one."""
    found = dict.fromkeys(names)
    found.pop("", None)
    return list(found)


def _result(directory: str, locator: Locator, first: Finding) -> Result:
    """Return what a finding comes to, whatever cluster it is in."""
    file, place, index, doubt = _place(locator, first)
    ref = None
    if first.about:
        ref = first.about.ref
    # As seen from where the command was run, so that an editor finds it.
    path = PurePosixPath(directory, file)
    result = first.rule.result(
        first.message + doubt,
        path=first.path,
        current=first.current,
        proposed=first.proposed,
        ref=ref,
        file=File(str(path), index),
    )
    return result.at(place)


def _place(locator: Locator, finding: Finding) -> tuple[str, Place, int, str]:
    """Return file, place, and the index of the document, and what that does not say itself."""
    if finding.item is not None:
        return finding.file, report.place(finding.item, finding.path), 0, ""
    about = finding.about
    if about is None:
        return finding.file, Place(finding.line, finding.column), 0, ""
    file, item, index = locator.locate(about)
    # Generated: the kustomization that has it made is the nearest location.
    if item is None:
        return file, _BEGINNING, 0, ""
    doubt = ""
    steps = report.steps(finding.path)
    if item.get(*steps) != about.get(*steps):
        doubt = "; this file says otherwise: look for a patch, a component or a variable of it"
    return file, report.place(item, finding.path), index, doubt


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

"""Where resources are only looked at: whatever a transformer would change in them is an error."""

from collections.abc import Iterable

from krm_windows import rules
from krm_windows.inventory import Resource
from krm_windows.results import File, Result

ADVICE = (
    "this command does not edit these files: make the change by hand, or run the function "
    "as a transformer"
)


def refused(results: Iterable[Result], adopted: Iterable[Resource]) -> list[Result]:
    """Return the results, each change to an existing object as an error.

    It names the file and the change.
    """
    # To adopt a CronJob is to rewrite it, which is no result of its own.
    return [*map(_edits, results), *map(_adopts, adopted)]


def _edits(result: Result) -> Result:
    # All other results only report something, and change nothing.
    if result.rule != rules.SUSPEND_FALSE.id:
        return result
    where = _in(result.file)
    return rules.RENDER_READ_ONLY.result(
        f"remove this line{where}: it would undo every close at the next reconcile; {ADVICE}",
        path=result.path,
        current="false",
        ref=result.resource_ref,
        file=result.file,
    )


def _adopts(resource: Resource) -> Result:
    where = _in(resource.file)
    return rules.RENDER_READ_ONLY.result(
        f"remove this CronJob{where}: the policy adopts it in `cronJobs`, and it is rendered "
        f"again; {ADVICE}",
        path="metadata.name",
        current=resource.name,
        ref=resource.ref,
        file=resource.file,
    )


def _in(file: File | None) -> str:
    if file is None or not file.path:
        return ""
    return f" in {file.path}"

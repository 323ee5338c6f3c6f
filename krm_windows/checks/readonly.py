"""Where resources are only looked at: whatever a transformer would change in them is an error."""

from collections.abc import Iterable

from krm_windows import rules
from krm_windows.inventory import Resource
from krm_windows.results import Result

ADVICE = (
    "these files are not edited here: make the change by hand, or run the function as a transformer"
)


def check(results: Iterable[Result], adopted: Iterable[Resource]) -> list[Result]:
    """Return the results with each change to an existing object turned into an error that names file and change."""
    return [*map(_edits, results), *map(_adopts, adopted)]


def _edits(result: Result) -> Result:
    if result.tags.get("rule") != rules.SUSPEND_FALSE.id:
        return result
    path = result.field.path if result.field else ""
    return rules.RENDER_READ_ONLY.result(
        f"remove this line{_in(result.file)}: it would undo every close at the next reconcile; {ADVICE}",
        path=path,
        current="false",
        ref=result.resource_ref,
        file=result.file,
    )


def _adopts(resource: Resource) -> Result:
    return rules.RENDER_READ_ONLY.result(
        f"remove this CronJob{_in(resource.file)}: the policy's cronJobs adopts it, and it is rendered anew; {ADVICE}",
        path="metadata.name",
        current=resource.name,
        ref=resource.ref,
        file=resource.file,
    )


def _in(file: object) -> str:
    path = getattr(file, "path", "")
    return f" in {path}" if path else ""

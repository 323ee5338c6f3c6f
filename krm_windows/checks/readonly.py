"""Where resources are only looked at: whatever a transformer would change in them is an error."""

from collections.abc import Iterable, Iterator

from krm_windows import rules
from krm_windows.inventory import Resource
from krm_windows.results import File, Result

ADVICE = (
    "this command does not edit these files: make the change by hand, or run the function "
    "as a transformer"
)


def refused(results: Iterable[Result], adopted: Iterable[Resource]) -> Iterator[Result]:
    """Yield the results, each change to an existing object as an error.

    It names the file and the change.
    """
    for result in results:
        # All other results only report something, and change nothing.
        if result.rule != rules.SUSPEND_FALSE.id:
            yield result
            continue
        where = _in(result.file)
        yield rules.RENDER_READ_ONLY.result(
            f"remove this line{where}: it would undo every close at the next reconcile; {ADVICE}",
            path=result.path,
            current="false",
            ref=result.resource_ref,
            file=result.file,
        )
    # To adopt a CronJob is to rewrite it, which is no result of its own.
    for resource in adopted:
        where = _in(resource.file)
        yield resource.result(
            rules.RENDER_READ_ONLY,
            f"remove this CronJob{where}: the policy adopts it in `cronJobs`, and it is rendered "
            f"again; {ADVICE}",
            path="metadata.name",
            current=resource.name,
        )


def _in(file: File | None) -> str:
    return f" in {file.path}" if file and file.path else ""

"""What a migration says: for a person as text, for a program as JSON."""

import shlex
from collections.abc import Callable, Iterator
from posixpath import join, normpath

from krm_windows import escape, rules
from krm_windows.migrate import findings
from krm_windows.migrate.migration import Migration
from krm_windows.migrate.policies import Policy, Windows
from krm_windows.results import fails


def text(migration: Migration) -> str:
    """Return a paragraph for each policy, and a line for each finding as compilers write it."""
    return "".join(f"{escape.line(line)}\n" for line in _lines(migration))


def _lines(migration: Migration) -> Iterator[str]:
    for policy in migration.policies:
        yield from _paragraph(policy)
    suspended = {
        findings.location_of(result).file
        for result in migration.results
        if result.rule == rules.MIGRATE_SUSPEND.id
    }
    for path in migration.files:
        # Policies are at the top, and are reported above.
        if "/" in path:
            what = "`suspend: false`" if path in suspended else "the old windows"
            yield f"{path}: without {what}"
    for path in migration.obsolete:
        yield f"{path}: no longer used"
    for result in migration.results:
        yield findings.line(result)
    if not migration.policies:
        yield f"no policy was made: {_why_nothing(migration)}"
    missing = renders(migration)
    if missing:
        yield (
            "not rendered yet, so not in force; once the repository has these files, and those no "
            "longer used are gone, run at its top:"
        )
        yield from (f"  {command}" for command in missing)


def renders(migration: Migration) -> list[str]:
    """Return the commands that render the policies, into a directory of each cluster.

    That is possible only once the old CronJobs are gone, whose places the new ones take.
    """
    found: list[str] = []
    for policy in migration.policies:
        names = filter(migration.directories.__contains__, policy.draft.clusters)
        found += (_render(policy, name, migration.directories[name]) for name in names)
    return found


def _render(policy: Policy, cluster: str | None, root: str) -> str:
    words = ["krm-windows", "render", policy.file]
    if cluster:
        words += ["--cluster", cluster]
    words += ["--output-dir", normpath(join(root, policy.name)), "--resources", root]
    return shlex.join(words)


def _why_nothing(migration: Migration) -> str:
    """Say why there is no policy."""
    found = {result.rule for result in migration.results}
    if fails(migration.results):
        # The most important first: an error may be the reason for all that follows.
        return "fix the errors above first"
    if rules.MIGRATE_CLUSTER_UNKNOWN.id in found:
        return "the CronJobs above are not applied to any cluster that was found"
    if rules.MIGRATE_SUSPENDED.id in found:
        return "all CronJobs that suspend or resume anything are themselves suspended"
    return "no CronJob in this repository suspends or resumes anything"


def _paragraph(policy: Policy) -> Iterator[str]:
    yield f"{policy.file}: WindowPolicy {policy.namespace}/{policy.name}"
    for name, held in policy.draft.clusters.items():
        targets = ", ".join(map(str, held.targets))
        line = f"{_times(held)} {held.zone}, gates {targets}"
        if name:
            line = f"{name}: {line}"
        yield f"  {line}"


def _times(held: Windows) -> str:
    written = (f'opens "{pair.opening}", closes "{pair.closes.schedule}"' for pair in held.pairs)
    return "; ".join(written)


def as_json(migration: Migration) -> str:
    """Return policies by file, and the results as the functions specification has them."""
    record = {
        "policies": list(map(_record, migration.policies)),
        "files": sorted(migration.files),
        "obsolete": migration.obsolete,
        "commands": renders(migration),
        "results": [result.value() for result in migration.results],
    }
    return escape.json_page(record)


def _record(policy: Policy) -> dict[str, object]:
    return {
        "file": policy.file,
        "policy": f"{policy.namespace}/{policy.name}",
        "clusters": sorted(name for name in policy.draft.clusters if name),
    }


FORMATS: dict[str, Callable[[Migration], str]] = {"text": text, "json": as_json}

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
        yield f"{policy.file}: WindowPolicy {policy.namespace}/{policy.name}"
        for name, held in policy.draft.clusters.items():
            targets = ", ".join(map(str, held.targets))
            line = f"{_times(held)} {held.zone}, gates {targets}"
            yield f"  {name}: {line}" if name else f"  {line}"
    for result in migration.results:
        yield findings.line(result)
    if not migration.policies:
        yield f"no policy was made: {_why_nothing(migration)}"
    if migration.steps:
        yield "to remove the old windows:"
        yield from (f"  {step}" for step in migration.steps)
    commands = renders(migration)
    if commands:
        yield "not rendered yet, so not in force; after these steps, run at the repository's top:"
        yield from (f"  {command}" for command in commands)


def renders(migration: Migration) -> list[str]:
    """Return the commands that render the policies, into a directory of each cluster.

    That is possible only once the old CronJobs are gone, whose places the new ones take.
    """
    found = []
    for policy in migration.policies:
        for cluster in policy.draft.clusters:
            if cluster in migration.directories:
                root = migration.directories[cluster]
                directory = normpath(join(root, policy.name))
                words = ["krm-windows", "render", policy.file]
                words += ["--cluster", cluster] if cluster else []
                words += ["--output-dir", directory, "--resources", root]
                found.append(shlex.join(words))
    return found


def _why_nothing(migration: Migration) -> str:
    """Say why there is no policy."""
    found = {result.rule for result in migration.results}
    # The most important first: an error may be the reason for all that follows.
    if fails(migration.results):
        return "fix the errors above first"
    if rules.MIGRATE_CLUSTER_UNKNOWN.id in found:
        return "the CronJobs above are not applied to any cluster that was found"
    if rules.MIGRATE_SUSPENDED.id in found:
        return "all CronJobs that suspend or resume anything are themselves suspended"
    return "no CronJob in this repository suspends or resumes anything"


def _times(held: Windows) -> str:
    written = (f'opens "{pair.opening}", closes "{pair.closes.schedule}"' for pair in held.pairs)
    return "; ".join(written)


def as_json(migration: Migration) -> str:
    """Return policies by file, and the results as the functions specification has them."""
    record = {
        "policies": list(map(_record, migration.policies)),
        # Line 0 is the file as a whole.
        "steps": [{"file": s.file, "line": s.line, "text": s.text} for s in migration.steps],
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

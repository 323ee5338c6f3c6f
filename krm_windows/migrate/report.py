"""What a migration says."""

import shlex
from collections.abc import Iterator
from posixpath import join, normpath

from krm_windows import escape
from krm_windows.migrate.migration import Migration
from krm_windows.results import fails


def text(migration: Migration) -> str:
    """Return a paragraph for each policy, and a line for each finding as compilers write it."""
    return "".join(f"{escape.line(line)}\n" for line in _lines(migration))


def _lines(migration: Migration) -> Iterator[str]:
    for policy in migration.policies:
        yield f"{policy.file}: WindowPolicy {policy.namespace}/{policy.name}"
        for name, held in policy.clusters.items():
            times = "; ".join(f'opens "{w.opens}", closes "{w.closes}"' for w in held.windows)
            line = f"{times} {held.zone}, gates {', '.join(map(str, sorted(held.targets)))}"
            yield f"  {name}: {line}" if name else f"  {line}"
    yield from map(migration.report.written, migration.results)
    if fails(migration.results) and not migration.policies:
        yield "no policy was made: fix the errors above first"
    elif not migration.policies:
        yield "no policy was made: no CronJob at work in a cluster closes what a policy can gate"
    if migration.steps:
        yield "to remove the old windows, and what is there for them alone (patches, rights):"
        yield from (f"  {step}" for step in migration.steps)
    commands = renders(migration)
    if commands:
        yield "not rendered yet, so not in force; after these steps, run at the repository's top:"
        yield from (f"  {command}" for command in commands)
        yield "  krm-windows check --repo ."


def renders(migration: Migration) -> list[str]:
    """Return the commands that render the policies, into a directory of each cluster.

    That is possible only once the old CronJobs are gone, whose places the new ones take.
    """
    found = []
    for policy in migration.policies:
        for cluster in policy.clusters.keys() & migration.directories.keys():
            root = migration.directories[cluster]
            directory = normpath(join(root, policy.name))
            words = ["krm-windows", "render", policy.file]
            words += ["--cluster", cluster] if cluster else []
            words += ["--output-dir", directory, "--resources", root]
            found.append(shlex.join(words))
    return sorted(found)

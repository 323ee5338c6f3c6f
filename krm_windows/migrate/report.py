"""What a migration says: for a person as text, for a program as JSON."""

from collections.abc import Callable, Iterator

from krm_windows import escape, rules
from krm_windows.migrate import findings
from krm_windows.migrate.migration import Migration
from krm_windows.migrate.policies import Policy, Windows
from krm_windows.results import fails


def text(migration: Migration) -> str:
    """Return a paragraph for each policy, and a line for each finding as compilers write it."""
    lines = [line for policy in migration.policies for line in _paragraph(policy)]
    lines += [f"{path}: without the old windows" for path in migration.files if "/" in path]
    lines += [f"{path}: not used any more" for path in migration.obsolete]
    lines += [findings.line(result) for result in migration.results]
    if not migration.policies:
        lines.append(_nothing(migration))
    return "".join(f"{escape.line(line)}\n" for line in lines)


def _nothing(migration: Migration) -> str:
    """Say why there is no policy."""
    found = {result.tags["rule"] for result in migration.results}
    if fails(migration.results):
        return "no policy was made: the errors above stand in the way"
    if rules.MIGRATE_CLUSTER_UNKNOWN.id in found:
        return "no policy was made: the CronJobs above are applied to no cluster that was found"
    if rules.MIGRATE_SUSPENDED.id in found:
        return "no policy was made: all CronJobs that suspend or resume anything are suspended themselves"
    return "no policy was made: there is no CronJob that suspends or resumes anything"


def _paragraph(policy: Policy) -> Iterator[str]:
    yield f"{policy.name}.yaml: WindowPolicy {policy.namespace}/{policy.name}"
    for name, held in policy.draft.sites.items():
        where = f"{name}: " if name else ""
        targets = ", ".join(map(str, held.targets))
        yield f"  {where}{_times(held)} {held.zone}, gates {targets}"


def _times(held: Windows) -> str:
    return "; ".join(
        f'opens "{pair.opening}", closes "{pair.closes.schedule}"' for pair in held.pairs
    )


def as_json(migration: Migration) -> str:
    """Return policies by file, and the results as the functions specification has them."""
    record = {
        "policies": [
            {
                "file": f"{policy.name}.yaml",
                "policy": f"{policy.namespace}/{policy.name}",
                "clusters": sorted(name for name in policy.draft.sites if name),
            }
            for policy in migration.policies
        ],
        "files": sorted(migration.files),
        "obsolete": migration.obsolete,
        "results": [result.value() for result in migration.results],
    }
    return escape.json_page(record)


FORMATS: dict[str, Callable[[Migration], str]] = {"text": text, "json": as_json}

"""A migration: the files of a repository in; policies, edited kustomizations and findings out. It reads no clock."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from krm_windows.krm import KubeObject
from krm_windows.migrate import faults, findings, gating, policies, sites
from krm_windows.migrate.cutover import Cutover
from krm_windows.migrate.gating import Gating
from krm_windows.migrate.policies import Policy
from krm_windows.migrate.repository import Repository
from krm_windows.policy.load import load
from krm_windows.results import Result, fails


@dataclass(frozen=True, slots=True)
class Migration:
    """What a repository comes to: `files` to be written, by path, after which nothing refers to the `obsolete` ones."""

    policies: tuple[Policy, ...]
    files: Mapping[str, bytes]
    obsolete: tuple[str, ...]
    results: tuple[Result, ...]


def migrate(contents: Mapping[str, bytes], adopt_until: str) -> Migration:
    """Migrate the files of a repository, by path relative to it; until `adopt_until` suspensions are taken over.

    Kustomizations are written only where everything was translated: half a change would leave windows to nobody.
    """
    repository = Repository(contents)
    found = sites.find(repository)
    gatings = tuple(gating.read(site) for site in found)
    made, results = policies.make(gatings, adopt_until)
    every = [*results, *_findings(repository, gatings), *_refusals(made)]
    files = {f"{policy.name}.yaml": policy.text.encode() for policy in made}
    if fails(every) or not made:
        return Migration(tuple(made), files, (), tuple(findings.sort(every)))
    after = Cutover(repository, gatings)
    every += after.results
    return Migration(tuple(made), {**after.files, **files}, after.obsolete, tuple(findings.sort(every)))


def _findings(repository: Repository, gatings: Sequence[Gating]) -> Iterator[Result]:
    """Yield what is wrong with the repository as it is."""
    parts = [part for each in gatings for part in each.site.parts]
    for part in parts:
        yield from part.build.results
    for each in gatings:
        yield from (*each.results, *faults.check(each), *sites.idle(each.site))
    used = frozenset(path for part in parts for path in part.build.files)
    names = frozenset(job.name for each in gatings for job in each.jobs)
    yield from (*faults.unused(repository, used, names), *faults.unread(repository), *faults.unreadable(repository))


def _refusals(made: Iterable[Policy]) -> Iterator[Result]:
    """Yield what the policies themselves are refused for, or doubted."""
    for policy in made:
        yield from load(KubeObject.from_value(policy.content).node).results

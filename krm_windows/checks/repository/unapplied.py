"""What is written and not in force: windows, or a policy, that nothing applies.

And a policy that is applied itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from posixpath import basename, dirname, join, normpath

from krm_windows import rules
from krm_windows.checks import local_config
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.emit import timetables
from krm_windows.emit.delivery import FOLDERS
from krm_windows.emit.header import is_rendered
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Cluster, Gate, Object, Survey
from krm_windows.flux.closure import close
from krm_windows.flux.fields import PLUGINS
from krm_windows.flux.model import Finding
from krm_windows.flux.objects import readable
from krm_windows.gate.timetable import Timetable
from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted
from krm_windows.policy.model import KIND
from krm_windows.system.reading import KUSTOMIZATIONS

# Without any of these nothing closes: the CronJobs, what they run, and its rights.
_NEEDED = ("CronJob", "ConfigMap", "ServiceAccount", "Role", "RoleBinding")


def without_effect(survey: Survey) -> Iterator[Finding]:
    """Yield what a reader would take to be in force."""
    reported: set[str] = set()
    for policy, finding in _unapplied(survey, list(_timetables(survey))):
        reported.add(policy)
        yield finding
    plugins = _plugins(survey)
    for cluster in survey.clusters:
        gated = GatedCluster(cluster)
        yield from _applied_itself(gated)
        yield from _alone(cluster, reported, plugins)


def _alone(
    cluster: Cluster,
    reported: Collection[str],
    plugins: Collection[str],
) -> Iterator[Finding]:
    """Yield the policies that are in a file, and are neither rendered nor a plugin of a build."""
    for gate in cluster.gates:
        file = gate.manifest.file
        # It is known by what was rendered, or a build runs it.
        if gate.manifest.kind != KIND or file in plugins:
            continue
        # Of windows that were rendered and are not applied it is said in full.
        if gate.policy in reported:
            continue
        message = (
            "the cluster applies nothing that was rendered from this policy, so it has no "
            "effect: render it, run it in a build, or, if CI renders it elsewhere, check the "
            "rendered output"
        )
        yield Finding(rules.POLICY_FILE_ALONE, message, gate.manifest, cluster=cluster.name)


def _plugins(survey: Survey) -> set[str]:
    """Return the files that kustomizations run, of directories among them all that a build reads.

    One that holds a plugin's text itself is among them.
    """
    found: set[str] = set()
    for path in survey.tree.manifests():
        content = survey.tree.read(path) or b""
        # Few kustomizations have plugins, and the others are not read.
        if basename(path) in KUSTOMIZATIONS and any(key.encode() in content for key in PLUGINS):
            found |= close(survey.tree, dirname(path) or ".", {}).run
    return found


def _applied_itself(gated: GatedCluster) -> Iterator[Finding]:
    for _, item in gated.applied():
        if item.kind == KIND and group_of(item.api_version) == GROUP:
            yield Finding(
                rules.LOCAL_CONFIG,
                local_config.MESSAGE,
                item,
                local_config.PATH,
                cluster=gated.cluster.name,
            )


def _unapplied(
    survey: Survey, rendered: Sequence[tuple[str, Timetable]]
) -> Iterator[tuple[str, Finding]]:
    """Yield the rendered windows that are not applied, or in part only, with the policy's name."""
    # Where one policy was rendered twice for a cluster, which of the two is applied is not known.
    places = Counter((timetable.policy, timetable.cluster) for _, timetable in rendered)
    for file, timetable in rendered:
        clusters = _clusters(survey, timetable)
        labels = _labels(clusters, timetable)
        lack = ""
        # What takes all of them away on their way is said where it does.
        if not labels and not _are_lost(clusters):
            name = timetable.cluster or "any cluster"
            lack = f"nothing that {name} applies includes them, so they have no effect"
        elif labels and places[timetable.policy, timetable.cluster] == 1:
            lack = _lacking(survey, file, clusters, labels)
        if lack:
            yield timetable.policy, _lacks(survey, file, timetable, clusters, lack)


def _labels(clusters: Sequence[Cluster], timetable: Timetable) -> set[str | None]:
    """Return the labels of a policy's objects where it is in force by what was rendered."""
    found: set[str | None] = set()
    for each in clusters:
        for gate in each.gates:
            if _is_rendered(gate) and gate.policy == timetable.policy:
                found.add(gate.manifest.note(POLICY))
    return found


def _lacks(
    survey: Survey,
    file: str,
    timetable: Timetable,
    clusters: Sequence[Cluster],
    lack: str,
) -> Finding:
    rule = rules.WINDOWS_UNAPPLIED
    doubt = ""
    # What is not followed may be what applies them.
    if not all(each.complete for each in clusters):
        rule = rules.POLICY_FILE_ALONE
        doubt = ", unless a part that could not be read does"
    chart, templates, _ = f"./{file}".rpartition("/templates/")
    if templates and survey.tree.read(normpath(f"{chart}/Chart.yaml")):
        rule = rules.POLICY_FILE_ALONE
        doubt = (
            f", unless a release of the chart {normpath(chart)} does: charts are not rendered, so "
            "what it makes of them was not checked; `helm template` shows it"
        )
    message = (
        f"the windows of {timetable.policy} were rendered here, and {lack}{doubt}: list "
        f"{dirname(file) or '.'} in a kustomization, or apply it with a Flux Kustomization"
    )
    return Finding(rule, message, file=file, cluster=timetable.cluster or "")


def _clusters(survey: Survey, timetable: Timetable) -> Sequence[Cluster]:
    """Return the clusters that windows are for.

    All of them where none is named, or none has that name here.
    """
    named = [each for each in survey.clusters if timetable.cluster in names(each)]
    # A fleet may name clusters otherwise than this repository does.
    return named or survey.clusters


def _is_rendered(gate: Gate) -> bool:
    """Whether a policy is in force by what was rendered from it, not by its own file."""
    return gate.manifest.kind != KIND


def _lacking(
    survey: Survey,
    file: str,
    clusters: Sequence[Cluster],
    labels: Collection[str | None],
) -> str:
    """Say how much of what is beside a timetable a cluster applies, where that is not all.

    Else nothing.
    """
    wanted = _rendered_kinds(survey, dirname(file))
    for each in clusters:
        # What takes some of them away on their way is said where it does.
        if any(applied.alterations for applied in each.kustomizations.values()):
            continue
        applied = [gate for gate in each.gates if _is_rendered(gate)]
        if not any(gate.manifest.note(POLICY) in labels for gate in applied):
            continue
        found = Counter(item.kind for item in _ours(each) if item.note(POLICY) in labels)
        for kind, count in wanted.items():
            if found[kind] < count:
                return f"{each.name} applies {found[kind]} of their {counted(count, kind)}"
    return ""


def _are_lost(clusters: Iterable[Cluster]) -> bool:
    """Whether something takes windows away on their way to clusters."""
    for cluster in clusters:
        for each in cluster.kustomizations.values():
            if any(alteration.removed for alteration in each.alterations):
                return True
    return False


def _rendered_kinds(survey: Survey, folder: str) -> dict[str, int]:
    """Return how many objects of each needed kind were rendered into a folder."""
    found = dict.fromkeys(_NEEDED, 0)
    for path in _beside(survey, folder):
        content = survey.tree.read(path) or b""
        if not is_rendered(content):
            continue
        for item in readable(content):
            if item.kind in found:
                found[item.kind] += 1
    return found


def _beside(survey: Survey, folder: str) -> Iterator[str]:
    """Yield the paths in a folder, and in those below it of what is delivered by itself."""
    for name in survey.tree.names(folder or "."):
        path = join(folder, name)
        if FOLDERS.fullmatch(name):
            yield from (join(path, inner) for inner in survey.tree.names(path))
        else:
            yield path


def _ours(cluster: Cluster) -> Iterator[Object]:
    """Yield the objects of needed kinds with the label of a policy."""
    for _, item in GatedCluster(cluster).applied():
        # To look for the text is quicker than to parse the labels.
        if item.kind in _NEEDED and item.item.mentions(POLICY):
            yield item


def names(cluster: Cluster) -> tuple[str, ...]:
    """Return the names by which a policy may know a cluster.

    Its own, and the directories that lead to it.
    """
    # `clusters/staging/eu` is staging, or eu, to whoever wrote the policy.
    return cluster.name, *cluster.root.split("/")


def _timetables(survey: Survey) -> Iterator[tuple[str, Timetable]]:
    """Yield every timetable that was rendered into the repository, with its file."""
    for path in survey.tree.manifests():
        content = survey.tree.read(path) or b""
        # The header is the very first line, so the other files are not read.
        if is_rendered(content):
            for found in _read(content):
                yield path, found


def _read(content: bytes) -> Iterator[Timetable]:
    """Yield the timetables in a rendered file.

    Of an object, or of the patches of a cluster's kustomization.
    """
    try:
        for manifest in timetables.manifests(content):
            found = timetables.read(KubeObject.parse(manifest))
            if found is not None:
                yield found
    except InputError:
        # A build of it says so.
        return

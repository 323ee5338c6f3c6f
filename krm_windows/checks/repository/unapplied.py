"""What is written and not in force: windows, or a policy, that nothing applies.

And a policy that is applied itself.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from posixpath import basename, dirname, join, normpath

from krm_windows import rules
from krm_windows.checks import local_config
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.emit import timetables
from krm_windows.emit.delivery import FOLDERS
from krm_windows.emit.header import is_rendered
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Cluster, Survey
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
    rendered = list(_timetables(survey))
    # Where one policy was rendered twice for a cluster, which of the two is applied is not known.
    places = Counter((timetable.policy, timetable.cluster) for _, timetable in rendered)
    for file, timetable in rendered:
        is_once = places[timetable.policy, timetable.cluster] == 1
        finding = _unapplied(survey, file, timetable, is_once=is_once)
        if finding is not None:
            reported.add(timetable.policy)
            yield finding
    plugins = _plugins(survey)
    for cluster in survey.clusters:
        for _, item in GatedCluster(cluster).applied():
            if item.kind == KIND and group_of(item.api_version) == GROUP:
                yield Finding(
                    rules.LOCAL_CONFIG,
                    local_config.MESSAGE,
                    item,
                    local_config.PATH,
                    cluster=cluster.name,
                )
        for gate in cluster.gates:
            manifest = gate.manifest
            # It is known by what was rendered, or a build runs it. Of windows that were rendered
            # and are not applied it is said in full.
            if manifest.kind == KIND and not (manifest.file in plugins or gate.policy in reported):
                message = (
                    "the cluster applies nothing that was rendered from this policy, so it has no "
                    "effect: render it, run it in a build, or, if CI renders it elsewhere, check "
                    "the rendered output"
                )
                yield Finding(rules.POLICY_FILE_ALONE, message, manifest, cluster=cluster.name)


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


def _unapplied(survey: Survey, file: str, timetable: Timetable, *, is_once: bool) -> Finding | None:
    """Return that rendered windows are not applied, or in part only."""
    # All clusters where none is named, or none has that name here: a fleet may name clusters
    # otherwise than this repository does.
    clusters = [each for each in survey.clusters if is_for(timetable, each)] or survey.clusters
    every = chain.from_iterable(each.kustomizations.values() for each in clusters)
    # What takes some of them away on their way, or changes them, is said where it does.
    alterations = list(chain.from_iterable(each.alterations for each in every))
    if any(each.removed for each in alterations):
        return None
    # The labels of the policy's objects, where it is in force by what was rendered.
    gates = chain.from_iterable(each.gates for each in clusters)
    labels = {
        gate.manifest.note(POLICY)
        for gate in gates
        if gate.manifest.kind != KIND and gate.policy == timetable.policy
    }
    lack = ""
    if not labels:
        name = timetable.cluster or "any cluster"
        lack = f"nothing that {name} applies includes them, so they have no effect"
    elif is_once and not alterations:
        lack = next(filter(None, (_lacking(survey, file, each, labels) for each in clusters)), "")
    if not lack:
        return None
    rule = rules.WINDOWS_UNAPPLIED
    # What is not followed may be what applies them; and charts are not rendered.
    chart, inside, _ = f"./{file}".rpartition("/templates/")
    is_chart = inside and survey.tree.read(normpath(f"{chart}/Chart.yaml"))
    if is_chart or not all(each.complete for each in clusters):
        rule = rules.POLICY_FILE_ALONE
        lack += ", unless a part that was not read does, such as another repository or a chart"
    message = (
        f"the windows of {timetable.policy} were rendered here, and {lack}: list "
        f"{dirname(file) or '.'} in a kustomization, or apply it with a Flux Kustomization"
    )
    return Finding(rule, message, file=file, cluster=timetable.cluster or "")


def _lacking(survey: Survey, file: str, cluster: Cluster, labels: Collection[str | None]) -> str:
    """Say how much of what is beside a timetable a cluster applies, where that is not all."""
    found = Counter(
        item.kind
        for _, item in GatedCluster(cluster).applied()
        # To look for the text is quicker than to parse the labels.
        if item.kind in _NEEDED and item.item.mentions(POLICY) and item.note(POLICY) in labels
    )
    # Another cluster may be the one that applies them.
    wanted = Counter(item.kind for item in _rendered(survey, dirname(file))) if found else {}
    for kind in _NEEDED:
        if found[kind] < wanted.get(kind, 0):
            return f"{cluster.name} applies {found[kind]} of their {counted(wanted[kind], kind)}"
    return ""


def _rendered(survey: Survey, folder: str) -> Iterator[KubeObject]:
    """Yield what was rendered into a folder, and into those below it that are delivered apart."""
    for name in survey.tree.names(folder or "."):
        path = join(folder, name)
        if FOLDERS.fullmatch(name):
            yield from _rendered(survey, path)
        elif is_rendered(content := survey.tree.read(path) or b""):
            yield from readable(content)


def is_for(timetable: Timetable, cluster: Cluster) -> bool:
    """Whether windows are for a cluster, by its name or one of the directories that lead to it."""
    # `clusters/staging/eu` is staging, or eu, to whoever wrote the policy.
    return timetable.cluster in (cluster.name, *cluster.root.split("/"))


def _timetables(survey: Survey) -> Iterator[tuple[str, Timetable]]:
    """Yield every timetable that was rendered into the repository, with its file.

    Of an object, or of the patches of a cluster's kustomization.
    """
    for path in survey.tree.manifests():
        content = survey.tree.read(path) or b""
        # The header is the very first line, so the other files are not read.
        if not is_rendered(content):
            continue
        # A build says so where one cannot be read.
        with suppress(InputError):
            for manifest in timetables.manifests(content):
                found = timetables.read(KubeObject.parse(manifest))
                if found is not None:
                    yield path, found

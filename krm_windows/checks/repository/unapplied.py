"""What is written and not in force: windows, or a policy, that nothing applies.

And a policy that is applied itself.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from posixpath import basename, dirname, normpath

from krm_windows import rules
from krm_windows.checks import local_config
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.emit import timetables
from krm_windows.emit.header import is_rendered
from krm_windows.flux import Cluster, Survey
from krm_windows.flux.closure import close
from krm_windows.flux.fields import PLUGINS
from krm_windows.flux.model import Finding
from krm_windows.gate.timetable import Timetable
from krm_windows.gateable import GROUP, group_of
from krm_windows.krm import InputError, KubeObject
from krm_windows.policy.model import KIND
from krm_windows.system.reading import KUSTOMIZATIONS


def without_effect(survey: Survey) -> Iterator[Finding]:
    """Yield what a reader would take to be in force."""
    reported: set[str] = set()
    for file, timetable in _timetables(survey):
        finding = _unapplied(survey, file, timetable)
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


def _unapplied(survey: Survey, file: str, timetable: Timetable) -> Finding | None:
    """Return that rendered windows are not applied; where they are in part, `delivered` says so."""
    # All clusters where none is named, or none has that name here: a fleet may name clusters
    # otherwise than this repository does.
    clusters = [each for each in survey.clusters if is_for(timetable, each)] or survey.clusters
    every = chain.from_iterable(each.kustomizations.values() for each in clusters)
    # What takes some of them away on their way, or changes them, is said where it does.
    alterations = list(chain.from_iterable(each.alterations for each in every))
    if any(each.removed for each in alterations):
        return None
    gates = chain.from_iterable(each.gates for each in clusters)
    # It is in force by what was rendered.
    if any(gate.manifest.kind != KIND and gate.policy == timetable.policy for gate in gates):
        return None
    name = timetable.cluster or "any cluster"
    lack = f"nothing that {name} applies includes them, so they have no effect"
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

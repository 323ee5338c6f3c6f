"""What is written and not in force: windows, or a policy, that nothing applies; and a policy that is applied itself."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from posixpath import basename, dirname, join, normpath

from krm_windows import rules
from krm_windows.checks import local_config, timetables
from krm_windows.checks.repository.finding import Finding
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Cluster, Gate, Object, Survey
from krm_windows.flux.fields import PLUGINS
from krm_windows.gate.timetable import Timetable
from krm_windows.krm import InputError, KubeObject
from krm_windows.plurals import counted
from krm_windows.policy.model import KIND
from krm_windows.system.reading import KUSTOMIZATIONS

_RENDERED = b"# Rendered by krm-windows from WindowPolicy "


def check(survey: Survey) -> Iterator[Finding]:
    """Yield what a reader would take to be in force."""
    rendered = list(_timetables(survey))
    unapplied = list(_unapplied(survey, rendered))
    yield from (finding for _, finding in unapplied)
    told = {policy for policy, _ in unapplied}
    plugins = _plugins(survey)
    for cluster in survey.clusters:
        yield from _applied_itself(cluster)
        yield from _alone(cluster, told, plugins)


def _alone(cluster: Cluster, told: Collection[str], plugins: Collection[str]) -> Iterator[Finding]:
    """Yield the policies that stand in a file, and are neither rendered nor a plugin of a build."""
    for gate in cluster.gates:
        file = gate.place.file
        is_plugin = any(file == plugin or file.startswith(f"{plugin}/") for plugin in plugins)
        if gate.place.kind == KIND and not is_plugin and gate.policy not in told:
            message = (
                "nothing that the cluster applies comes from this policy, so its file alone closes nothing: render it, "
                "run it in a build, or, where CI renders it into what this repository does not hold, check that there"
            )
            yield Finding(rules.POLICY_FILE_ALONE, message, gate.place, cluster=cluster.name)


def _plugins(survey: Survey) -> set[str]:
    """Return the files and directories that kustomizations run; one that holds a plugin's text itself is among them."""
    found: set[str] = set()
    for path in survey.tree.manifests():
        content = survey.tree.read(path) if basename(path) in KUSTOMIZATIONS else None
        if content is not None and any(field.encode() in content for field in PLUGINS):
            found |= set(_named(path, content))
    return found


def _named(path: str, content: bytes) -> Iterator[str]:
    try:
        item = KubeObject.parse(content)
        fields = [item.get(field) for field in PLUGINS]
    except InputError:  # a build of it says so
        return
    for entries in fields:
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                yield path if "\n" in entry else normpath(join(dirname(path), entry))


def _applied_itself(cluster: Cluster) -> Iterator[Finding]:
    for kustomization in cluster.kustomizations.values():
        for item in kustomization.objects:
            if item.kind == KIND and item.api_version.startswith(local_config.GROUP):
                yield Finding(
                    rules.LOCAL_CONFIG,
                    local_config.MESSAGE,
                    item,
                    local_config.PATH,
                    cluster=cluster.name,
                )


def _unapplied(
    survey: Survey, rendered: Sequence[tuple[str, Timetable]]
) -> Iterator[tuple[str, Finding]]:
    """Yield the rendered windows that are not applied, or in part only, with the policy's name."""
    places = Counter((timetable.policy, timetable.cluster) for _, timetable in rendered)
    for file, timetable in rendered:
        clusters = _clusters(survey, timetable)
        labels = {
            gate.place.note(POLICY)
            for each in clusters
            for gate in each.gates
            if _applies(gate, timetable)
        }
        message = ""
        if not labels:
            message = f"nothing that {timetable.cluster or 'any cluster'} applies has them, so they close nothing"
        elif places[timetable.policy, timetable.cluster] == 1:
            message = _lacking(survey, file, clusters, labels)
        if message:
            # What is not followed may be what applies them.
            known = all(each.complete for each in clusters)
            rule = rules.WINDOWS_UNAPPLIED if known else rules.POLICY_FILE_ALONE
            doubt = "" if known else ", unless what was not followed does"
            message = (
                f"the windows of {timetable.policy} were rendered here, and {message}{doubt}: list "
                f"{dirname(file) or '.'} in a kustomization, or have a Flux Kustomization apply it"
            )
            yield (
                timetable.policy,
                Finding(rule, message, file=file, cluster=timetable.cluster or ""),
            )


def _clusters(survey: Survey, timetable: Timetable) -> Sequence[Cluster]:
    """Return the clusters that windows are for: all of them where none is named, or none has that name here."""
    named = [each for each in survey.clusters if timetable.cluster in _names(each)]
    return named or survey.clusters


def _applies(gate: Gate, timetable: Timetable) -> bool:
    """Whether a policy is in force by what was rendered from it."""
    return gate.place.kind != KIND and gate.policy == timetable.policy


def _lacking(
    survey: Survey, file: str, clusters: Sequence[Cluster], labels: Collection[str | None]
) -> str:
    """Say how many of the CronJobs beside a timetable a cluster applies, where those are not all; else nothing."""
    folder = dirname(file)
    beside = [name for name in survey.tree.names(folder or ".") if name.startswith("cronjob_")]
    wanted = sum(
        (survey.tree.read(join(folder, name)) or b"").startswith(_RENDERED) for name in beside
    )
    for each in clusters:
        if any(
            gate.place.note(POLICY) in labels and gate.place.kind != KIND for gate in each.gates
        ):
            found = sum(item.note(POLICY) in labels for item in _cron_jobs(each))
            if found < wanted:
                return f"{each.name} applies {found} of their {counted(wanted, 'CronJob')}"
    return ""


def _cron_jobs(cluster: Cluster) -> Iterator[Object]:
    for kustomization in cluster.kustomizations.values():
        yield from (
            item
            for item in kustomization.objects
            if item.kind == "CronJob" and item.item.mentions(POLICY)
        )


def _names(cluster: Cluster) -> tuple[str, ...]:
    """Return the names by which a policy may know a cluster: its own, and the directories that lead to it."""
    return cluster.name, *cluster.root.split("/")


def _timetables(survey: Survey) -> Iterator[tuple[str, Timetable]]:
    """Yield every timetable that was rendered into the repository, with its file."""
    for path in survey.tree.manifests():
        content = survey.tree.read(path) or b""
        if content.startswith(_RENDERED):
            for found in _read(content):
                yield path, found


def _read(content: bytes) -> Iterator[Timetable]:
    """Yield the timetables in a rendered file: of an object, or of the patches of a cluster's kustomization."""
    try:
        for manifest in timetables.manifests(content):
            found = timetables.read(KubeObject.parse(manifest))
            if found is not None:
                yield found
    except InputError:  # a build of it says so
        return

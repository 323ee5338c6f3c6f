"""What lies between the rendered windows and the cluster: whatever keeps them away or changes them.

Fields that no build shows are looked for by name; for all others, what is applied was compared with
what was rendered (`flux.layers`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from krm_windows import rules
from krm_windows.checks import delivery
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.checks.repository.unapplied import names
from krm_windows.emit import timetables
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Gate, Kustomization, Object, Survey, selectors
from krm_windows.flux.layers import ABSTAINS
from krm_windows.flux.model import Alteration, Finding, ObjectIdentity
from krm_windows.gate.timetable import Target
from krm_windows.gateable import KUSTOMIZE

_OBEYED = "metadata.annotations"
# So many changed fields are named.
_FEW = 3


def hindered(gated: GatedCluster) -> Iterator[Finding]:
    """Yield what is wrong with the delivery of a cluster's windows."""
    cluster = gated.cluster
    delivering: dict[str, Kustomization] = {}
    for gate in cluster.gates:
        by = cluster.kustomizations.get(gate.delivered_by or "")
        if by is not None:
            delivering[by.key] = by
            yield from _elsewhere(gated, gate, by)
            yield from _waiting(gated, gate, by)
            yield from _never_begun(gated, gate, by)
    for each in cluster.kustomizations.values():
        for alteration in each.alterations:
            yield from _altered(each, alteration)
        ours = list(filter(_is_ours, each.objects))
        if ours:
            delivering[each.key] = each
            yield from _idle(each, ours)
    above: dict[str, Kustomization] = {}
    for each in delivering.values():
        yield from _fields(gated, each)
        yield from _ignored(each)
        for one in _chain(gated, each):
            above[one.key] = one
    for each in above.values():
        yield from _stopped(gated, each)


def _is_ours(item: Object) -> bool:
    """Whether an object has the label of a policy."""
    # To look for the text is quicker, and may find what is none.
    return item.item.mentions(POLICY) and item.note(POLICY) is not None


def _chain(gated: GatedCluster, each: Kustomization) -> Iterator[Kustomization]:
    """Yield a Kustomization and all that deliver it, up to the root."""
    found: Kustomization | None = each
    while found is not None:
        yield found
        found = gated.cluster.kustomizations.get(found.parent or "")


def _at(each: Kustomization, path: str, message: str, current: str | None = None) -> Finding:
    """Return a finding at a field of a Flux Kustomization."""
    return Finding(rules.DELIVERY_FIELD, message, each.own, path, current=current)


def _idle(each: Kustomization, ours: Iterable[Object]) -> Iterator[Finding]:
    """Look for windows that never run: the base that each cluster has to patch."""
    # What a layer suspends is said of that.
    if each.alterations:
        return
    for item in ours:
        if item.kind == "CronJob" and item.get("spec", "suspend") is True:
            message = (
                f"must not lead to {item}, which is suspended: this is the base of the windows of "
                "several clusters, so nothing would open or close; apply what was rendered for "
                "this cluster, clusters/<name>/reconciliation-window"
            )
            yield _applied_from(each, message, item)
            return


def foreign(survey: Survey) -> Iterator[Finding]:
    """Yield the windows that are applied to another cluster than the one they were rendered for."""
    for cluster in survey.clusters:
        for gate in cluster.gates:
            by = cluster.kustomizations.get(gate.delivered_by or "")
            found = timetables.read(gate.manifest.item)
            if by is None or found is None or found.cluster is None:
                continue
            others = [each for each in survey.clusters if found.cluster in names(each)]
            # A fleet may name its clusters otherwise than this repository does.
            if others and cluster not in others:
                message = (
                    f"must not lead to the windows of {gate.policy} for {found.cluster}: "
                    f"{cluster.name} would open and close by the clock and the rules of that "
                    "cluster; apply what was rendered for this one"
                )
                finding = _applied_from(by, message, gate.manifest)
                yield replace(finding, cluster=cluster.name)


def _applied_from(each: Kustomization, message: str, item: Object) -> Finding:
    """Return a finding at the path that a Kustomization applies, at `item` if it is in no file."""
    if each.own is None:
        return Finding(rules.DELIVERY_FIELD, message, item)
    return _at(each, "spec.path", message, each.path)


def _stopped(gated: GatedCluster, each: Kustomization) -> Iterator[Finding]:
    """Look for what stops a Kustomization that delivers windows, or what delivers them."""
    own = each.own
    # One that is gated is suspended by its windows, and reported where it must not be.
    if own is None or gated.suspends(each):
        return
    for path, current, message in delivery.stopped(own.item):
        yield _at(each, path, message, current)
    # The root reconciles, whether it is applied or not.
    if each is not gated.cluster.first:
        for key, text in sorted(ABSTAINS - {(f"{KUSTOMIZE}/ssa", "IfNotPresent")}):
            if (own.note(key) or "").lower() == text.lower():
                message = (
                    f"must not have {key}: {text}, because it delivers windows: Flux neither "
                    "creates nor updates it; remove it"
                )
                yield _at(each, _OBEYED, message, text)
    source = gated.cluster.objects.get(each.source) if each.source else None
    if source is not None and not gated.gates(source[1]):
        _, item = source
        if item.get("spec", "suspend") is True:
            message = (
                f"must not be true on the source of {each}, which delivers windows: no change "
                "to them would arrive; remove it"
            )
            yield Finding(rules.DELIVERY_FIELD, message, item, "spec.suspend", current="true")


def _fields(gated: GatedCluster, each: Kustomization) -> Iterator[Finding]:
    """Look for fields by which windows that are no longer in Git stay in the cluster."""
    if each.own is None:
        return
    for path, current, message in delivery.lasting(each.own.item):
        # Without its root a cluster has no Flux; that its objects stay is prudent.
        if path != "spec.deletionPolicy" or each is not gated.cluster.first:
            yield _at(each, path, message, current)


def _elsewhere(gated: GatedCluster, gate: Gate, by: Kustomization) -> Iterator[Finding]:
    """Look for windows on another cluster than their targets."""
    cluster = gated.cluster
    there = cluster.destination(by)
    for target in gate.targets:
        owners = _owners(gated, target)
        # What nothing in Git has is reported as missing.
        if not owners or there in {cluster.destination(owner) for owner in owners}:
            continue
        place = _described(cluster.destination(owners[0]))
        message = (
            f"the windows of {gate.policy} are applied to {_described(there)}, and {target} is on "
            f"{place}, so nothing gates it: apply them there"
        )
        remote = next((each for each in _chain(gated, by) if each.remote), None)
        if remote is None:
            yield Finding(rules.DELIVERY_FIELD, message, gate.manifest, gate.path)
        else:
            yield _at(remote, "spec.kubeConfig", message)
        return


def _owners(gated: GatedCluster, target: Target) -> list[Kustomization]:
    identity = ObjectIdentity.of_target(target)
    return [each for each, item in gated.applied() if item.identity == identity]


def _described(destination: Sequence[str]) -> str:
    if not destination:
        return "the cluster itself"
    return f"the cluster of {destination[0]}"


def _waiting(gated: GatedCluster, gate: Gate, by: Kustomization) -> Iterator[Finding]:
    """Look for what the delivery waits for and the policy itself closes."""
    for index, key in enumerate(by.depends_on):
        path = f"spec.dependsOn[{index}]"
        for each, is_awaited in waits_for(gated, key):
            if each.identity not in gate.identities:
                yield from _never_ready(gated, by, each, path)
                continue
            locks = "while it is closed"
            if is_awaited:
                locks = "if it is closed while it is not ready, as after a failure"
            message = (
                f"the windows must not gate {each}, which their delivery waits for: {locks}, no "
                "change to them would be applied; targets may depend on the windows, but not the "
                "other way round"
            )
            yield Finding(rules.SELF_LOCK, message, by.own, path, current=key)
        if key not in gated.cluster.kustomizations and gated.cluster.complete:
            message = (
                f"must not name Kustomization {key}, which nothing applies to the cluster: the "
                "windows would wait for it for ever; remove it, or correct its name"
            )
            yield _at(by, path, message, key)


def _never_begun(gated: GatedCluster, gate: Gate, by: Kustomization) -> Iterator[Finding]:
    """Look for targets that wait for the windows, which on a new cluster arrive only by them."""
    # What delivers them itself, or is waited for, must not be gated at all.
    known = {each.key for each in gated.chain(gate)}
    for key in by.depends_on:
        known.update(each.key for each, _ in waits_for(gated, key))
    for key in sorted(gated.before(by) - known):
        each = gated.cluster.kustomizations[key]
        if gate.waits and each.identity in gate.identities:
            message = (
                f"must not gate {each} with `firstApply: Wait`: on a new cluster only the windows "
                f"open it, and {by}, which delivers them, is not applied before; apply that, and "
                "what it depends on, from a Kustomization that is not gated"
            )
            yield Finding(rules.SELF_LOCK, message, gate.manifest, gate.path, current=key)


def _never_ready(
    gated: GatedCluster, by: Kustomization, each: Kustomization, path: str
) -> Iterator[Finding]:
    """Look for a dependency that is suspended in Git, so that it has no new revision."""
    if each.own is None or gated.suspends(each) or each.own.get("spec", "suspend") is not True:
        return
    message = (
        f"must not lead to {each}, which is suspended in Git: it is never ready for a new "
        "revision, so no change to the windows would be applied; remove one of the two"
    )
    yield _at(by, path, message, each.key)


def waits_for(gated: GatedCluster, key: str) -> Iterable[tuple[Kustomization, bool]]:
    """Return a dependency, with all that has to be ready for it to be.

    Each with whether it is waited for by `spec.wait` or a health check only. A suspended object
    keeps its `Ready`, so that is no lock where it was ready.
    """
    found: dict[str, tuple[Kustomization, bool]] = {}
    waiting = [(key, False)]
    while waiting:
        name, is_awaited = waiting.pop(0)
        each = gated.cluster.kustomizations.get(name)
        # Flux refuses a cycle.
        if each is not None and each.key not in found:
            found[each.key] = (each, is_awaited)
            waiting += ((name, is_awaited) for name in each.depends_on)
            waiting += ((name, True) for name in each.awaits)
    return found.values()


def _ignored(each: Kustomization) -> Iterator[Finding]:
    """Look for fields of the windows that Flux leaves as they are (`spec.ignore`, Flux 2.9)."""
    if each.own is None:
        return
    for index, rule in enumerate(each.own.parts("spec", "ignore")):
        paths = rule.get("paths")
        if not isinstance(paths, list):
            continue
        for item in each.objects:
            if not _is_ours(item) or not selectors.selects(rule.get("target"), item):
                continue
            path = next((path for path in paths if _has(item, str(path))), None)
            if path is not None:
                message = (
                    f"must not contain {path} for {item}: Flux would not apply changes of it, so "
                    "the windows would stay as they are; name the objects that it is for with "
                    "`target`"
                )
                yield _at(each, f"spec.ignore[{index}]", message, str(path))
                break


def _has(item: Object, pointer: str) -> bool:
    """Whether an object has the field of a JSON pointer (RFC 6901) that matters to the windows."""
    steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    # `/spec/suspend` is left alone for the sake of the targets; no object of ours is opened by it.
    if steps in (["spec", "suspend"], []) or steps[0] in ("metadata", "status"):
        return False
    return item.get(*(int(part) if part.isdecimal() else part for part in steps)) is not None


def _altered(each: Kustomization, alteration: Alteration) -> Iterator[Finding]:
    """Report what becomes of windows between the rendered files and the cluster."""
    effects = []
    if alteration.removed:
        removed = _named(alteration.removed)
        effects.append(f"removes, renames or moves {removed}, without which the windows fail")
    fields = list(dict.fromkeys(chain.from_iterable(paths for _, paths in alteration.changed)))
    if alteration.changed:
        named = _named([item for item, _ in alteration.changed])
        effects.append(f"changes {named} ({', '.join(fields[:_FEW])}), not as the policy says")
    does = "; ".join(effects)
    if alteration.layer is None:
        message = f"{each} applies something else than this: it {does}; apply it as it was rendered"
        items = [*alteration.removed, *(item for item, _ in alteration.changed)]
        path = "" if alteration.removed else fields[0]
        yield Finding(rules.DELIVERY_CHANGED, message, items[0], path)
        return
    mend = (
        "remove it, or keep it from the windows; to change windows, change their policy and "
        "render it again"
    )
    if fields and not alteration.removed and all(path.endswith(".image") for path in fields):
        mend = (
            "to run another image, set `actuator.image` in the policy and render it again, or "
            "keep this from the windows"
        )
    yield Finding.at(rules.DELIVERY_FIELD, f"{does}: {mend}", alteration.layer)


def _named(items: Sequence[Object]) -> str:
    first = str(items[0])
    if len(items) == 1:
        return first
    return f"{first} and {len(items) - 1} more"

"""What lies between the rendered windows and the cluster: whatever keeps them away or changes them.

Fields that no build shows are looked for by name; for all others, what is applied was compared with
what was rendered (`flux.layers`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from krm_windows import rules
from krm_windows.checks import delivery
from krm_windows.checks.repository.gated import GatedCluster
from krm_windows.checks.repository.unapplied import is_for
from krm_windows.emit import timetables
from krm_windows.emit.labels import POLICY
from krm_windows.flux import Gate, Kustomization, Object, Survey, selectors
from krm_windows.flux.layers import ABSTAINS
from krm_windows.flux.model import Alteration, Finding, ObjectIdentity
from krm_windows.gateable import KUSTOMIZE
from krm_windows.plurals import some

# So many altered objects are named.
_FEW = 3
_MEND = (
    "remove what does it, or keep it from the windows; to change windows, change their policy and "
    "render it again"
)


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
    for each in cluster.kustomizations.values():
        yield from (_altered(each, alteration) for alteration in each.alterations)
        ours = list(filter(_is_ours, each.objects))
        if ours:
            delivering[each.key] = each
            yield from _idle(each, ours)
    above: dict[str, Kustomization] = {}
    for each in delivering.values():
        # Fields by which windows that are no longer in Git stay in the cluster.
        for path, current, message in delivery.lasting(each.own.item) if each.own else ():
            # Without its root a cluster has no Flux; that its objects stay is prudent.
            if path != "spec.deletionPolicy" or each is not cluster.first:
                yield _at(each, path, message, current)
        yield from _ignored(each)
        above |= {one.key: one for one in gated.above(each)}
    for each in above.values():
        # One that is gated is suspended by its windows, and reported where it must not be.
        if each.own is not None and not gated.suspends(each):
            yield from _stopped(gated, each, each.own)


def _is_ours(item: Object) -> bool:
    """Whether an object has the label of a policy."""
    # To look for the text is quicker, and may find what is none.
    return item.item.mentions(POLICY) and item.note(POLICY) is not None


def _at(each: Kustomization, path: str, message: str, current: str | None = None) -> Finding:
    """Return a finding at a field of a Flux Kustomization."""
    return Finding(rules.DELIVERY_FIELD, message, each.own, path, current=current)


def _idle(each: Kustomization, ours: Iterable[Object]) -> Iterator[Finding]:
    """Look for windows that never run: the base that each cluster has to patch."""
    base = (item for item in ours if item.kind == "CronJob" and item.get("spec", "suspend") is True)
    item = next(base, None)
    # What a layer suspends is said of that.
    if item is not None and not each.alterations:
        message = (
            f"must not lead to {item}, which is suspended: this is the base of the windows of "
            "several clusters, so nothing would open or close; apply what was rendered for "
            "this cluster, clusters/<name>/reconciliation-window"
        )
        yield _applied_from(each, message, item)


def foreign(survey: Survey) -> Iterator[Finding]:
    """Yield the windows that are applied to another cluster than the one they were rendered for."""
    for cluster in survey.clusters:
        for gate in cluster.gates:
            by = cluster.kustomizations.get(gate.delivered_by or "")
            found = timetables.read(gate.manifest.item)
            if by is None or found is None or found.cluster is None:
                continue
            others = [each for each in survey.clusters if is_for(found, each)]
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


def _stopped(gated: GatedCluster, each: Kustomization, own: Object) -> Iterator[Finding]:
    """Look for what stops a Kustomization that delivers windows, or what delivers them."""
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
                yield _at(each, "metadata.annotations", message, text)
    source = gated.cluster.objects.get(each.source) if each.source else None
    item = source and source[1]
    if item and not gated.gates(item.identity) and item.get("spec", "suspend") is True:
        message = (
            f"must not be true on the source of {each}, which delivers windows: no change "
            "to them would arrive; remove it"
        )
        yield Finding(rules.DELIVERY_FIELD, message, item, "spec.suspend", current="true")


def _elsewhere(gated: GatedCluster, gate: Gate, by: Kustomization) -> Iterator[Finding]:
    """Look for windows on another cluster than their targets."""
    cluster = gated.cluster
    there = cluster.destination(by)
    for target in gate.targets:
        identity = ObjectIdentity.of_target(target)
        places = [
            cluster.destination(each) for each, item in gated.applied() if item.identity == identity
        ]
        # What nothing in Git has is reported as missing.
        if places and there not in places:
            message = (
                f"the windows of {gate.policy} are not applied to the cluster that {target} is on "
                "(`spec.kubeConfig`), so nothing gates it: apply them there"
            )
            remote = next((each for each in gated.above(by) if each.remote), None)
            if remote is None:
                yield Finding(rules.DELIVERY_FIELD, message, gate.manifest, gate.path)
            else:
                yield _at(remote, "spec.kubeConfig", message)
            return


def _waiting(gated: GatedCluster, gate: Gate, by: Kustomization) -> Iterator[Finding]:
    """Look for what the delivery waits for and the policy itself closes."""
    # What delivers them itself, or is waited for, must not be gated at all.
    known = {each.key for each in gated.chain(gate)}
    for index, key in enumerate(by.depends_on):
        for each in waits_for(gated, key):
            known.add(each.key)
            if each.identity in gate.identities:
                message = (
                    f"the windows must not gate {each}, which their delivery waits for: while it "
                    "is closed, no change to them may be applied; targets may depend on the "
                    "windows, but not the other way round"
                )
                path = f"spec.dependsOn[{index}]"
                yield Finding(rules.SELF_LOCK, message, by.own, path, current=key)
    for key in sorted(gated.before(by) - known) if gate.waits else ():
        each = gated.cluster.kustomizations[key]
        if each.identity in gate.identities:
            message = (
                f"must not gate {each} with `firstApply: Wait`: on a new cluster only the windows "
                f"open it, and {by}, which delivers them, is not applied before; apply that, and "
                "what it depends on, from a Kustomization that is not gated"
            )
            yield Finding(rules.SELF_LOCK, message, gate.manifest, gate.path, current=key)


def waits_for(gated: GatedCluster, key: str) -> Iterable[Kustomization]:
    """Return a dependency, with all that has to be ready for it to be."""
    found: dict[str, Kustomization] = {}
    waiting = [key]
    while waiting:
        each = gated.cluster.kustomizations.get(waiting.pop(0))
        # Flux refuses a cycle.
        if each is not None and each.key not in found:
            found[each.key] = each
            waiting += (*each.depends_on, *each.awaits)
    return found.values()


def _ignored(each: Kustomization) -> Iterator[Finding]:
    """Look for fields of the windows that Flux leaves as they are (`spec.ignore`, Flux 2.9)."""
    for index, rule in enumerate(each.own.parts("spec", "ignore") if each.own else ()):
        paths = rule.get("paths")
        for item in filter(_is_ours, each.objects):
            if not isinstance(paths, list) or not selectors.selects(rule.get("target"), item):
                continue
            path = next((str(path) for path in paths if _has(item, str(path))), None)
            if path is not None:
                message = (
                    f"must not contain {path} for {item}: Flux would not apply changes of it, so "
                    "the windows would stay as they are; name the objects that it is for with "
                    "`target`"
                )
                yield _at(each, f"spec.ignore[{index}]", message, path)
                break


def _has(item: Object, pointer: str) -> bool:
    """Whether an object has the field of a JSON pointer (RFC 6901) that matters to the windows."""
    steps = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    # `/spec/suspend` is left alone for the sake of the targets; no object of ours is opened by it.
    if steps in (["spec", "suspend"], []) or steps[0] in ("metadata", "status"):
        return False
    return item.get(*(int(part) if part.isdecimal() else part for part in steps)) is not None


def _altered(each: Kustomization, alteration: Alteration) -> Finding:
    """Report what becomes of windows between the rendered files and the cluster."""
    gone = some(list(map(str, alteration.removed)), _FEW)
    effects = [f"removes, renames or moves {gone}"] if gone else []
    effects += (f"changes {some(paths, _FEW)} of {item}" for item, paths in alteration.changed)
    does = some(effects, _FEW)
    if len(alteration.causes) == 1:
        [cause] = alteration.causes
        message = f"{does}, not as the policy says: {_MEND}"
        found = Finding(rules.DELIVERY_FIELD, message, cause.about, cause.path)
        return replace(found, file=cause.file, item=cause.item)
    altered = [*((item, ("",)) for item in alteration.removed), *alteration.changed]
    item, paths = altered[0]
    message = f"{each} applies something else than this: it {does}; apply it as it was rendered"
    if alteration.causes:
        fields = [f"`{cause.path}` of {cause.about or cause.file}" for cause in alteration.causes]
        message += f", without what does it among {', '.join(fields)}"
    return Finding(rules.DELIVERY_CHANGED, message, item, paths[0])

"""What policies gate: targets that exist, once, and never what delivers the policy or what must stay live."""

from collections.abc import Iterator
from contextlib import suppress

from krm_windows import rules
from krm_windows.apply import marks
from krm_windows.checks.repository.finding import Finding
from krm_windows.checks.repository.holding import Holding, identity, is_live
from krm_windows.flux import Gate, Kustomization, Object
from krm_windows.flux.model import Identity
from krm_windows.gate.timetable import Target
from krm_windows.krm import InputError
from krm_windows.policy.trouble import closest


def check(holding: Holding) -> Iterator[Finding]:
    """Yield what is wrong with the policies of a cluster."""
    for gate in holding.cluster.gates:
        yield from _locks(holding, gate)
        yield from _sources(holding, gate)
        yield from _targets(holding, gate)
    yield from _doubled(holding)
    yield from _marked(holding)


def _marked(holding: Holding) -> Iterator[Finding]:
    """Look for marks and hook notes in Git, on whatever it is: what is no target today may be one tomorrow."""
    for kustomization in holding.cluster.kustomizations.values():
        for item in kustomization.objects:
            with suppress(InputError):
                for path in marks.paths(item.item):
                    yield Finding(rules.MARK_IN_GIT, marks.MESSAGE, item, path)


def _locks(holding: Holding, gate: Gate) -> Iterator[Finding]:
    for each in dict.fromkeys(holding.chain(gate)):
        if identity(each) in gate.identities:
            does = (
                "delivers the policy"
                if each.key == gate.delivered_by
                else "delivers the cluster's own directory"
            )
            message = (
                f"must not gate {each}, which {does}: while closed no edit of the windows would arrive; "
                "gate the Kustomizations that apply what may wait"
            )
            yield Finding(rules.SELF_LOCK, message, gate.place, gate.path, current=each.key)


def _sources(holding: Holding, gate: Gate) -> Iterator[Finding]:
    for target in gate.targets:
        users = [
            each
            for each in holding.cluster.kustomizations.values()
            if each.source == _identity(target)
        ]
        chain = [each for each in holding.chain(gate) if each in users]
        if reason := next(
            (f"{each} uses it, which delivers the policy" for each in chain), None
        ) or next((f"the live {each} uses it" for each in users if is_live(each)), None):
            message = f"must not gate {target}: {reason}; declare a second {target.kind} for what may wait, and gate that one"
            yield Finding(rules.SOURCE_SHARED, message, gate.place, gate.path, current=target.name)


def _identity(target: Target) -> Identity:
    return target.group, target.kind, target.namespace, target.name


def _targets(holding: Holding, gate: Gate) -> Iterator[Finding]:
    cluster = holding.cluster
    for target in gate.targets:
        found = cluster.objects.get(_identity(target))
        if found is not None:
            yield from _suspended(gate, target, *found)
        elif (target.kind, f"{target.namespace}/{target.name}") != (
            "Kustomization",
            holding.chain(gate)[-1].key,
        ):
            yield _missing(holding, gate, target)


def _suspended(
    gate: Gate, target: Target, parent: Kustomization, item: Object
) -> Iterator[Finding]:
    """Look for the field in Git by which the gate closes a target: its parent would bring it back."""
    value = item.get(*target.field)
    if value is None or _is_ignored(parent, target):
        return
    path = ".".join(target.field)
    does = "opens it again while closed" if value is False else "closes it again while open"
    message = (
        f"must not stand in Git on a target of the policy {gate.policy}: {parent}, its parent, {does} at its next "
        f"reconcile; remove it, or have the parent's `spec.ignore` name /{'/'.join(target.field)} (Flux 2.9)"
    )
    yield Finding(rules.TARGET_SUSPEND, message, item, path, current=str(value).lower())


def _is_ignored(parent: Kustomization, target: Target) -> bool:
    """Whether a parent leaves the field alone (`spec.ignore`, Flux 2.9); a target selector has to name it."""
    for rule in parent.own.parts("spec", "ignore") if parent.own else ():
        paths, selector = rule.get("paths"), rule.get("target")
        wanted = selector if isinstance(selector, dict) else {}
        if wanted.get("kind") in (None, target.kind) and wanted.get("name") in (None, target.name):
            return isinstance(paths, list) and f"/{'/'.join(target.field)}" in paths
    return False


def _missing(holding: Holding, gate: Gate, target: Target) -> Finding:
    cluster = holding.cluster
    alike = [
        key[3]
        for key in cluster.objects
        if key[:3] == (target.group, target.kind, target.namespace)
    ]
    near = closest(target.name, alike)
    same = [
        key[2]
        for key in cluster.objects
        if (*key[:2], key[3]) == (target.group, target.kind, target.name)
    ]
    if cluster.complete:
        message = f"there is no {target} in the cluster: nothing that it applies has it"
        rule = rules.TARGET_MISSING
    else:
        message = f"{target} was not found; it may be in what was not followed"
        rule = rules.TARGET_UNSEEN
    message += (
        f"; there is one in {', '.join(sorted(same))}: say so with `namespace`" if same else ""
    )
    message += f'; did you mean "{near}"?' if near and not same else ""
    return Finding(rule, message, gate.place, gate.path, current=target.name, proposed=near)


def _doubled(holding: Holding) -> Iterator[Finding]:
    gates = holding.cluster.gates
    for index, gate in enumerate(gates):
        for target in gate.targets:
            other = next(
                (each for each in gates[:index] if _identity(target) in each.identities), None
            )
            if other is not None and other.policy != gate.policy:
                message = (
                    f"{target} is gated by the policy {other.policy} too; leave it to one of them"
                )
                yield Finding(
                    rules.TWO_POLICIES, message, gate.place, gate.path, current=target.name
                )

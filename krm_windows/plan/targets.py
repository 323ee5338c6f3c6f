"""From what a policy says of its targets to the objects the gate turns, by name."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from krm_windows import gateable, rules
from krm_windows.gate.timetable import Target
from krm_windows.gateable import Gateable
from krm_windows.inventory import POLICY, Inventory, Resource, each
from krm_windows.policy.targets import TargetSelector
from krm_windows.results import Result

DEFINITION = "CustomResourceDefinition"

Address = tuple[str, str, str, str]
"""Group, resource, namespace and name."""


def address(target: Target) -> Address:
    """Return what makes it one object: the version of an API makes no other."""
    return target.group, target.resource, target.namespace, target.name


class Selection(NamedTuple):
    """One entry of `targets`: its path in the policy, its kind's row, and its names."""

    path: str
    selector: TargetSelector
    row: Gateable
    version: str | None
    namespace: str
    names: tuple[str, ...]

    def targets(self) -> Iterator[Target]:
        """Yield the objects as the gate addresses them."""
        for name in self.names:
            yield Target(
                group=self.row.group,
                version=self.version,
                resource=self.row.resource,
                kind=self.row.kind,
                namespace=self.namespace,
                name=name,
                field=self.row.field,
                applied=self.row.applied,
            )

    def seen(self, inventory: Inventory) -> Iterator[Resource]:
        """Yield those of the objects that are in the stream."""
        found = (
            inventory.find(self.row.group, self.row.kind, self.namespace, name)
            for name in self.names
        )
        return (resource for resource in found if resource is not None)


def select(
    selector: TargetSelector,
    path: str,
    namespace: str,
    inventory: Inventory,
) -> Selection:
    """Resolve one entry; `namespace` is the policy's, the default."""
    row = _row(selector)
    where = selector.namespace or namespace
    version = None
    if selector.api_version:
        # `helm.toolkit.fluxcd.io/v2` is group and version; the core group has no slash.
        version = selector.api_version.rpartition("/")[2]
    names = tuple(selector.names or ())
    if selector.match_labels:
        found = inventory.of(row.group, row.kind, where)
        matching = (each.name for each in found if _matches(each, selector))
        # In the order of their names: the stream may have them in any.
        names = tuple(sorted(matching))
    return Selection(path, selector, row, version, where, names)


def _row(selector: TargetSelector) -> Gateable:
    """Return the table's row, overridden by what the policy says of a kind that is not in it."""
    known = gateable.find(selector.kind, selector.api_version)
    if known is not None and selector.resource is None and selector.suspend_field is None:
        return known
    row = known or Gateable(selector.kind, "", "", gateable.SUSPEND, ())
    # What the policy does not say of another field is as with `suspend`.
    row = row._replace(field=gateable.SUSPEND)
    if selector.api_version:
        row = row._replace(group=gateable.group_of(selector.api_version))
    if selector.resource:
        row = row._replace(resource=selector.resource)
    if selector.suspend_field:
        row = row._replace(field=tuple(selector.suspend_field.split(".")))
    return row


def _matches(resource: Resource, selector: TargetSelector) -> bool:
    # What delivers a part of the windows is never closed by them.
    if POLICY in resource.item.labels:
        return False
    return (selector.match_labels or {}).items() <= resource.item.labels.items()


def check(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield what speaks against gating the objects of one entry."""
    # What cannot be gated at all is not looked for in the stream, too.
    refused = list(_refused(selection, inventory))
    if refused:
        yield from refused
        return
    yield from _missing(selection, inventory)
    for resource in selection.seen(inventory):
        yield from _cautions(selection, resource)


def check_released(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    """Yield what speaks against opening the objects of one entry for good.

    They need not be visible.
    """
    yield from _refused(selection, inventory)
    yield from _unmatched(selection, inventory)


def _refused(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    definition = _definition(selection, inventory)
    if definition is not None and definition.text("spec", "scope") == "Cluster":
        yield rules.TARGET_CLUSTER_SCOPED.result(
            f"must be a namespaced kind: {DEFINITION} {definition.name} says that "
            f"{selection.row.kind} is cluster-scoped, which is not supported yet; gate the "
            "Kustomization or HelmRelease that applies it instead",
            path=f"{selection.path}.kind",
            current=selection.row.kind,
        )
    reason = gateable.refusal(selection.row.kind, selection.selector.api_version)
    if reason:
        yield rules.TARGET_REFUSED.result(
            f'must be a kind that can be gated, got "{selection.row.kind}": {reason}',
            path=f"{selection.path}.kind",
            current=selection.row.kind,
        )


def _definition(selection: Selection, inventory: Inventory) -> Resource | None:
    """Return the CustomResourceDefinition of a kind that the policy itself describes."""
    row = selection.row
    for found in each(inventory, "apiextensions.k8s.io", DEFINITION):
        # Its name is `plural.group`; what is not asked about is not parsed, as many are large.
        plural, _, group = found.name.partition(".")
        if not selection.selector.resource or group != row.group:
            continue
        if plural == row.resource or found.text("spec", "names", "kind") == row.kind:
            return found
    return None


def _missing(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    selector, row = selection.selector, selection.row
    if selector.match_labels:
        yield from _unmatched(selection, inventory)
        return
    # `mustExist: false` says that it may come later.
    if selector.must_exist is False:
        return
    found = inventory.of(row.group, row.kind, selection.namespace)
    others = [each for each in found if POLICY not in each.item.labels]
    # Where some of a kind are seen, all of them should be.
    rule = rules.TARGET_MISSING if others or selector.must_exist else rules.TARGET_UNSEEN
    advice = _advice(others, selector)
    for i, name in enumerate(selection.names):
        if not inventory.find(row.group, row.kind, selection.namespace, name):
            target = f"{row.kind} {selection.namespace}/{name}"
            message = f"{target} not found in the resources{advice}"
            if not inventory.visible:
                message = (
                    f"no resources were given (--resources DIR), so {target} was not checked"
                    f"{advice}"
                )
            yield rule.result(
                message,
                path=f"{selection.path}.names[{i}]",
                current=name,
            )


def _advice(others: Sequence[Resource], selector: TargetSelector) -> str:
    advice = ""
    if others:
        advice += f"; found: {', '.join(sorted(each.name for each in others))}"
    if not selector.must_exist:
        advice += "; set `mustExist` to say whether it must exist"
    return advice


def _unmatched(selection: Selection, inventory: Inventory) -> Iterator[Result]:
    if selection.names:
        # Names stand for themselves; only labels can match nothing.
        return
    labels = sorted((selection.selector.match_labels or {}).items())
    seen = "none of the resources does"
    if not inventory.visible:
        seen = "no resources are visible here"
    yield rules.TARGET_UNMATCHED.result(
        f"must match at least one {selection.row.kind} in {selection.namespace}, but {seen}; "
        "list the targets in `names`, or run the function where it sees them",
        path=f"{selection.path}.matchLabels",
        current=", ".join(f"{key}={value}" for key, value in labels),
    )


def _cautions(selection: Selection, resource: Resource) -> Iterator[Result]:
    """Yield what is to be known of one visible target."""
    if POLICY in resource.item.labels:
        message = f"must not be gated: {resource.kind} {resource.name} is a part of the windows"
        yield resource.result(rules.SELF_LOCK, message, path="metadata.name", current=resource.name)
    # kustomize keeps the names that an object had in an annotation while it builds.
    renamed = [name for name in resource.previous_names if name != resource.name]
    if renamed:
        message = (
            f'was renamed from "{renamed[-1]}" by the kustomization; the Role and the timetable '
            "do not follow a rename in a layer above, so run the function in the outermost layer"
        )
        yield resource.result(
            rules.TARGET_RENAMED, message, path="metadata.name", current=resource.name
        )
    # It only holds the address for others (Flux, HelmRepository API, "Helm OCI repository").
    if selection.row.kind == "HelmRepository" and resource.text("spec", "type") == "oci":
        message = (
            "must not be of type oci: such a HelmRepository is never reconciled, so gating it "
            "has no effect; gate the HelmRelease or an OCIRepository"
        )
        yield resource.result(rules.TARGET_REFUSED, message, path="spec.type", current="oci")
    # What was to run while it was suspended counts as missed, and without a deadline is started
    # as soon as it is not (Kubernetes, CronJob, "Schedule suspension").
    deadline = resource.item.get("spec", "startingDeadlineSeconds")
    if selection.row.group == "batch" and deadline is None:
        message = "is not set: a run missed while the window was closed starts when it opens"
        yield resource.result(
            rules.CRONJOB_NO_DEADLINE, message, path="spec.startingDeadlineSeconds", proposed="300"
        )

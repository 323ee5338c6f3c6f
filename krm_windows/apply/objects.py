"""The emitted objects in the stream.

Update those that are there, add the others, remove what is no longer yielded.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from krm_windows import rules
from krm_windows.apply.paths import Directory
from krm_windows.emit import Identity, Manifest, admission, identity, names
from krm_windows.emit.labels import POLICY
from krm_windows.inventory import file_of, ref_of
from krm_windows.krm import KubeObject, mentioning
from krm_windows.plan.model import Plan
from krm_windows.results import Result

# Kinds without a namespace; the API server would not take one on them.
KINDS_OF_CLUSTERS = admission.KINDS
KINDS = KINDS_OF_CLUSTERS | {
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "CronJob",
    "Job",
    "NetworkPolicy",
    "PrometheusRule",
}


class Existing(NamedTuple):
    """What the stream holds already under the names of a plan, or with its label."""

    ours: dict[Identity, KubeObject]
    foreign: dict[Identity, KubeObject]


def existing(plan: Plan, items: Iterable[KubeObject]) -> Existing:
    """Find the objects of a plan among the items, looking only into those that could be."""
    own = names.own_labels(plan)
    ours: dict[Identity, KubeObject] = {}
    foreign: dict[Identity, KubeObject] = {}
    # To look for a text is much cheaper than to parse an item, and most are of others.
    for item in mentioning(items, *_mentioned(plan)):
        if item.kind not in KINDS:
            continue
        namespace = item.namespace or plan.namespace
        if item.kind in KINDS_OF_CLUSTERS:
            namespace = ""
        key = (item.kind, namespace, item.name)
        # By the label, not by the name: whoever has a name of ours may have had it first.
        if item.labels.get(POLICY) in own:
            ours[key] = item
        else:
            foreign[key] = item
    return Existing(ours, foreign)


def _mentioned(plan: Plan) -> set[str]:
    """Return what an object of this plan cannot but mention.

    A cut name still begins like the policy's.
    """
    # Those of `cronJobs` are anybody's names.
    given = {trigger.given for trigger in plan.triggers if trigger.given}
    return {names.beginning(plan), *names.own_labels(plan), *given}


def check(
    plan: Plan,
    wanted: Sequence[Manifest],
    found: Existing,
) -> Iterator[Result]:
    """Yield an error for each foreign object under a name of ours that is not claimed."""
    yield from _own_targets(plan, wanted)
    adopted = claimed(plan, found)
    for manifest in wanted:
        item = found.foreign.get(identity(manifest))
        if item is None or item in adopted:
            continue
        adopt = ""
        # Only CronJobs have names that a policy can give.
        if item.kind == "CronJob":
            adopt = ", or name it in the window's cronJobs to adopt it"
        yield rules.NAME_TAKEN.result(
            "already exists among the resources and was not made by krm-windows; rename it or "
            f"the policy {plan.policy}{adopt}",
            path="metadata.name",
            current=item.name,
            ref=ref_of(item),
            file=file_of(item),
        )


def _own_targets(plan: Plan, wanted: Iterable[Manifest]) -> Iterator[Result]:
    """Yield an error for each CronJob of a policy that it gates itself."""
    own = set(map(identity, wanted))
    for target in plan.timetable.targets:
        # A policy may gate CronJobs by label, and its own have labels, too.
        if target.group == "batch" and (target.kind, target.namespace, target.name) in own:
            yield rules.SELF_LOCK.result(
                f"must not gate {target}, which belongs to this policy: once suspended, it "
                "could not start the gate that opens it",
                path="spec.targets",
                current=target.name,
            )


def claimed(plan: Plan, found: Existing) -> list[KubeObject]:
    """Return the foreign CronJobs that the policy names in `cronJobs`."""
    keys = [("CronJob", plan.namespace, trigger.given or "") for trigger in plan.triggers]
    return [found.foreign[key] for key in keys if key in found.foreign]


def edit(
    wanted: Iterable[Manifest],
    found: Existing,
    items: Sequence[KubeObject],
    directory: Directory,
) -> list[KubeObject]:
    """Return the items with the wanted objects.

    Updated where they are, new ones at the end, others of ours gone.
    """
    # Ours come last: under one key they win over what is to be adopted.
    here = {**found.foreign, **found.ours}
    manifests = {identity(manifest): manifest for manifest in wanted}
    added = []
    for key, manifest in manifests.items():
        if key in here:
            _update(here[key], manifest)
        else:
            added.append(KubeObject.from_value(directory.with_path(manifest)))
    # Compared by identity: two items of one name may be in the stream.
    gone = {item for key, item in found.ours.items() if key not in manifests}
    return [*(item for item in items if item not in gone), *added]


def _update(item: KubeObject, manifest: Manifest) -> None:
    """Make an object say what the manifest says, but keep its other metadata and comments."""
    for key, value in manifest.items():
        if key != "metadata":
            item.set(value, key)
    # Labels and annotations of others stay, such as those of Flux or of an orchestrator.
    for label, value in manifest["metadata"]["labels"].items():
        item.set_label(label, value)
    for annotation, value in manifest["metadata"]["annotations"].items():
        item.set_annotation(annotation, value)

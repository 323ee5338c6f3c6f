"""The function of the kind ChangeClasses.

Every resource annotated with its class, or those of one class alone.
"""

from collections.abc import Iterable

from krm_windows.classes import cross_references
from krm_windows.classes.load import load
from krm_windows.classes.model import Spec
from krm_windows.classes.partition import Partition, divide
from krm_windows.function import configuration
from krm_windows.inventory import CHANGE_CLASS, file_of, ref_of
from krm_windows.krm import KubeObject, ResourceList
from krm_windows.results import Result, fails


def transform(resources: ResourceList, config: KubeObject) -> None:
    """Return what `keep` asks for; on an error nothing is changed."""
    spec, partition, results = partition_of(config, resources.items)
    resources.results.extend(results)
    if spec is None or fails(results):
        return
    # Without `keep` the whole stream stays, and each resource says its class.
    if spec.keep is None:
        _annotate(partition)
    else:
        # By identity: two equal objects in a stream are still two, and only one of them may be of a
        # class.
        others = {
            id(placed.resource.item)
            for placed in partition.placements
            if placed.change_class != spec.keep
        }
        # In place, as the caller writes this very list. Items that were not placed stay.
        resources.items[:] = [item for item in resources.items if id(item) not in others]


def validate(resources: ResourceList, config: KubeObject) -> None:
    """Look at the classes and change nothing; kustomize wants a validator to print nothing."""
    resources.silent = True
    resources.results.extend(partition_of(config, resources.items)[2])


def partition_of(
    config: KubeObject, items: Iterable[KubeObject]
) -> tuple[Spec | None, Partition, list[Result]]:
    """Return what the classes say, the partition of the items, and all findings.

    The classes are None where they are wrong.
    """
    classes, found = load(config.node, file=file_of(config))
    # A warning about the configuration holds even where the classes are wrong.
    results = [*found, *configuration.narrowed(config)]
    if classes is None:
        return None, Partition(()), results
    partition = divide(classes.spec, items)
    said, unused = cross_references.check(classes.spec, partition)
    # A finding about an unused rule is about the configuration, not about a resource.
    ref, file = ref_of(config), file_of(config)
    own = [finding.result(finding.path, ref, file) for finding in unused]
    return classes.spec, partition, [*results, *partition.results, *said, *own]


def _annotate(partition: Partition) -> None:
    for placed in partition.placements:
        # An annotation that says so already is left as it is written, quotes and all.
        if placed.resource.item.annotations.get(CHANGE_CLASS) != placed.change_class:
            placed.resource.item.set_annotation(CHANGE_CLASS, placed.change_class)

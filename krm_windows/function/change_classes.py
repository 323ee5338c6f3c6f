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
    if spec.keep is None:
        _annotate(partition)
    else:
        others = {
            id(placed.resource.item)
            for placed in partition.placements
            if placed.change_class != spec.keep
        }
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
    results = [*found, *configuration.narrowed(config)]
    if classes is None:
        return None, Partition(()), results
    partition = divide(classes.spec, items)
    said, unused = cross_references.check(classes.spec, partition)
    ref, file = ref_of(config), file_of(config)
    own = [finding.result(finding.path, ref, file) for finding in unused]
    return classes.spec, partition, [*results, *partition.results, *said, *own]


def _annotate(partition: Partition) -> None:
    for placed in partition.placements:
        if placed.resource.item.annotations.get(CHANGE_CLASS) != placed.change_class:
            placed.resource.item.set_annotation(CHANGE_CLASS, placed.change_class)

"""Change classes shown: what goes where, and why."""

from krm_windows import escape
from krm_windows.classes.model import ChangeClass, Spec
from krm_windows.classes.partition import Partition, Placement, Reason, title
from krm_windows.plurals import counted


def text(spec: Spec, partition: Partition) -> str:
    """Return a block of lines for each class: a resource, and what decided."""
    return "\n".join(_block(declared, partition.of(declared.name)) for declared in spec.classes)


def _block(declared: ChangeClass, placed: list[Placement]) -> str:
    gate = f"gated by {declared.policy}" if declared.policy else "never gated"
    titles = [escape.word(title(placement.resource)) for placement in placed]
    width = max(map(len, titles), default=0)
    lines = [f"{declared.name}, {gate}: {counted(len(placed), 'object')}\n"]
    for name, placement in zip(titles, placed, strict=True):
        lines.append(f"  {name:{width}}  {escape.word(why(placement))}\n")
    return "".join(lines)


def why(placement: Placement) -> str:
    """Return in words what put a resource into its class."""
    decided = "default"
    if placement.rule is not None:
        decided = f"spec.rules[{placement.rule}]"
    if placement.reason is Reason.ANNOTATION:
        return f"annotation, over {decided}"
    if placement.needed_by is not None:
        return f"needed by {title(placement.needed_by)}"
    return decided


def as_json(spec: Spec, partition: Partition) -> str:
    """Return the classes and the resources in their order."""
    record = {
        "classes": [
            {"name": declared.name, "policy": declared.policy} for declared in spec.classes
        ],
        "objects": [_record(placed) for placed in partition.placements],
    }
    return escape.json_page(record)


def _record(placed: Placement) -> dict[str, object]:
    resource = placed.resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": resource.namespace or None,
        "name": resource.name,
        "class": placed.change_class,
        "reason": placed.reason.value,
        "rule": placed.rule,
        "neededBy": None if placed.needed_by is None else title(placed.needed_by),
    }

"""Change classes shown: what goes where, and why."""

from krm_windows import escape
from krm_windows.classes.model import ChangeClass, Spec
from krm_windows.classes.partition import Partition, Placement, Reason, title
from krm_windows.plurals import counted


def text(spec: Spec, partition: Partition) -> str:
    """Return a block of lines for each class: a resource, and what decided."""
    blocks = [_block(declared, partition.of(declared.name)) for declared in spec.classes]
    return "\n".join(blocks)


def _block(declared: ChangeClass, placed: list[Placement]) -> str:
    gate = "never gated"
    if declared.policy:
        gate = f"gated by {declared.policy}"
    titles = [escape.word(title(placement.resource)) for placement in placed]
    # As wide as the longest, so that the reasons begin below one another.
    width = max(map(len, titles), default=0)
    lines = [f"{declared.name}, {gate}: {counted(len(placed), 'object')}\n"]
    for name, placement in zip(titles, placed, strict=True):
        lines.append(f"  {name:{width}}  {escape.word(why(placement))}\n")
    return "".join(lines)


def why(placement: Placement) -> str:
    """Return in words what put a resource into its class."""
    # `spec.default`, where nothing else decides.
    decided = "default"
    if placement.rule is not None:
        decided = f"spec.rules[{placement.rule}]"
    # An annotation wins over the rules, and a reader wants to know over which.
    if placement.reason is Reason.ANNOTATION:
        return f"annotation, over {decided}"
    if placement.needed_by is not None:
        return f"needed by {title(placement.needed_by)}"
    return decided

"""Which resources a rule or an address means."""

from krm_windows import patterns
from krm_windows.classes import generated
from krm_windows.classes.model import ClassRule, is_like
from krm_windows.inventory import Resource


def matches(rule: ClassRule, resource: Resource) -> bool:
    """Whether every selector of a rule matches a resource, whose name counts without its hash."""
    # The kind first: it leaves the least to look at.
    if rule.kinds is not None and not any(_is_kind(kind, resource) for kind in rule.kinds):
        return False
    if rule.names and not is_like(rule.names, generated.base_name(resource)):
        return False
    if rule.namespaces and not is_like(rule.namespaces, resource.namespace):
        return False
    # Labels and annotations are read last, as the object must be parsed for them.
    item = resource.item
    if rule.match_labels and not rule.match_labels.items() <= item.labels.items():
        return False
    wanted = rule.match_annotations
    return not wanted or wanted.items() <= item.annotations.items()


def is_at(address: str, resource: Resource) -> bool:
    """Whether an address means a resource.

    `Kind/namespace/name`, or `Kind/name` where there is no namespace.
    """
    # A kind with a group has dots, and never a slash.
    kind, _, path = address.partition("/")
    namespace, _, name = path.rpartition("/")
    if not _is_kind(kind, resource):
        return False
    if not patterns.matches(namespace, resource.namespace):
        return False
    return patterns.matches(name, generated.base_name(resource))


def _is_kind(name: str, resource: Resource) -> bool:
    # `Service.serving.knative.dev`; without a group it is the kind of any.
    kind, dot, group = name.partition(".")
    if resource.kind != kind:
        return False
    return not dot or resource.group == group

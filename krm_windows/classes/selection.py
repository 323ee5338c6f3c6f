"""Which resources a rule or an address means, and what one rule leaves for another."""

from collections.abc import Iterable

from krm_windows import patterns
from krm_windows.classes import generated
from krm_windows.classes.model import ClassRule
from krm_windows.inventory import Resource


def selectors(rule: ClassRule) -> bool:
    """Whether a rule selects at all: an empty map demands nothing."""
    given = (
        rule.kinds,
        rule.names,
        rule.namespaces,
        rule.match_labels,
        rule.match_annotations,
    )
    return any(given)


def matches(rule: ClassRule, resource: Resource) -> bool:
    """Whether every selector of a rule matches a resource, whose name counts without its hash."""
    # The kind first: it leaves the least to look at.
    if rule.kinds is not None and not any(_is_kind(kind, resource) for kind in rule.kinds):
        return False
    if not _any_like(rule.names, generated.base_name(resource)):
        return False
    if not _any_like(rule.namespaces, resource.namespace):
        return False
    # Labels and annotations are read last, as the object must be parsed for them.
    item = resource.item
    if rule.match_labels and not rule.match_labels.items() <= item.labels.items():
        return False
    wanted = rule.match_annotations
    return not wanted or wanted.items() <= item.annotations.items()


def covers(earlier: ClassRule, later: ClassRule) -> bool:
    """Whether the earlier rule matches whatever the later one does, one selector at a time.

    Never wrongly true; that several earlier rules together leave nothing is not found.
    """
    return (
        _covers_kinds(earlier.kinds, later.kinds)
        and _covers_globs(earlier.names, later.names)
        and _covers_globs(earlier.namespaces, later.namespaces)
        and earlier.match_labels.items() <= later.match_labels.items()
        and earlier.match_annotations.items() <= later.match_annotations.items()
    )


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


def _any_like(globs: Iterable[str] | None, text: str) -> bool:
    # No selector demands nothing.
    if globs is None:
        return True
    return any(patterns.matches(pattern, text) for pattern in globs)


def _covers_kinds(earlier: tuple[str, ...] | None, later: tuple[str, ...] | None) -> bool:
    if earlier is None or later is None:
        return earlier is None
    for kind in later:
        # A kind without a group is that kind of every group.
        without_group, _, _ = kind.partition(".")
        if kind not in earlier and without_group not in earlier:
            return False
    return True


def _covers_globs(earlier: tuple[str, ...] | None, later: tuple[str, ...] | None) -> bool:
    """Whether every later glob is in an earlier one.

    A glob that matches the text of another matches all it does.
    """
    if earlier is None or later is None:
        return earlier is None
    # `web-*` matches the text `web-a*`, and so whatever that matches.
    return all(_any_like(earlier, narrow) for narrow in later)

"""Generated ConfigMaps and Secrets: kustomize appends a hash of the content to their names.

The hash is ten of the sixteen characters that kustomize writes hexadecimal digits with
(`api/hasher`). While a build runs it is not there yet, and an annotation says that it will be
(`api/internal/utils`).
"""

import re

from krm_windows.inventory import Resource

NEEDS_HASH = "internal.config.kubernetes.io/needsHashSuffix"

# The digits without vowels and what looks like them: no word comes of it by chance.
_HASH = re.compile(r"-[2456789bcdfghkmt]{10}\Z")


def base_name(resource: Resource) -> str:
    """Return a resource's name without its hash."""
    # A Deployment named `api-2456789bcd` has that name from its author.
    if not _may_be(resource):
        return resource.name
    return _HASH.sub("", resource.name)


def has_hash(resource: Resource) -> bool:
    """Whether a resource's name ends in a hash."""
    return base_name(resource) != resource.name


def will_have_hash(resource: Resource) -> bool:
    """Whether kustomize is still going to append a hash."""
    if not _may_be(resource):
        return False
    # kustomize says so with this one word.
    return resource.item.annotations.get(NEEDS_HASH) == "enabled"


def _may_be(resource: Resource) -> bool:
    # Of the core group, whose name is empty.
    if resource.group:
        return False
    return resource.kind in ("ConfigMap", "Secret")

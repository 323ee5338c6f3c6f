"""Revisions as Flux writes them, and as a cluster's sources offer them."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from krm_windows.gate.objects import dig
from krm_windows.gate.revisions import RESOURCES, SOURCE, is_same, text
from krm_windows.status.objects import Address, LiveObject, instant
from krm_windows.system.kubectl import Query

Head = Callable[[str, str], str]
"""Takes a branch and a commit."""

# What `flux push artifact --revision` and image builders note of where an artifact comes from
# (OCI image specification, annotations).
_ORIGIN = "org.opencontainers.image.revision"
# `main@sha1:…` and `sha1:…`, and `main/…` of source-controller before 1.0.
_COMMIT = re.compile(r"(?:(?:^|@)sha1:|/)([0-9a-f]{40})\Z")


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision, or the version of a chart.

    `origin` is the revision of Git that an artifact was made of, empty where nothing says it.
    `since` is the UTC instant at which a source had it first, None where nothing says it.
    """

    text: str
    origin: str = ""
    since: datetime | None = None

    @property
    def commit(self) -> str:
        """The name of the commit that it is, or was made of; empty where it names none."""
        # Of Git the revision itself; of an artifact the one that it was made of.
        for revision in (self.text, self.origin):
            found = _COMMIT.search(revision)
            if found:
                return found[1]
        return ""

    def is_same(self, other: "Revision") -> bool:
        """Whether both name the same content."""
        return is_same(self.text, other.text)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that were read, by address; `unread` says why one could not be.

    `head` gives the commit of a branch in a repository that has a given commit, too; empty where
    there is none. It is None without a repository.
    """

    found: Mapping[Address, LiveObject]
    unread: Mapping[Address, str]
    head: Head | None = None

    def missing(self, address: Address) -> str:
        """Say in words why nothing is known of a source."""
        return self.unread.get(address, f"{named(address)} not found among the objects")


def named(address: Address) -> str:
    """Name a source as `GitRepository flux-system/fleet`."""
    _, kind, namespace, name = address
    return f"{kind} {namespace}/{name}"


def queries(addresses: Iterable[Address]) -> Iterable[tuple[Query, list[Address]]]:
    """Yield what kubectl is asked for to read some sources, each query with those it reads."""
    groups: dict[tuple[str, str], list[Address]] = {}
    for address in dict.fromkeys(addresses):
        _, kind, namespace, _ = address
        groups.setdefault((kind, namespace), []).append(address)
    # A query is a process, and asks for objects of one kind in one namespace.
    for (kind, namespace), members in groups.items():
        resource = RESOURCES.get(kind)
        # An object may name anything; only a kind of Flux's sources is asked for.
        if resource is not None:
            names = tuple(address[3] for address in members)
            yield Query(f"{resource}.{SOURCE}", namespace, names=names), members


def artifact(source: LiveObject) -> Revision | None:
    """Return the revision that a source has now, None where it has none."""
    found = dig(source, "status", "artifact")
    revision = text(found, "revision")
    if not revision:
        return None
    origin = text(found, "metadata", _ORIGIN)
    return Revision(revision, origin, instant(dig(found, "lastUpdateTime")))

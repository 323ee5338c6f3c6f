"""What lies between the revision that is applied and the one that is offered.

Plain values, which whoever only shows them needs no reader of repositories for.
"""

from dataclasses import dataclass
from enum import Enum

from krm_windows.system.git_objects import Commit


class Kind(Enum):
    """How an object changes, by the sign that `diff` has for it."""

    ADDED = "+"
    CHANGED = "~"
    REMOVED = "-"


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """An object that changes, as `Deployment shop/web`."""

    kind: Kind
    object: str


@dataclass(frozen=True, slots=True)
class Between:
    """What lies between two revisions, the newest commit first.

    `commits` is None where nothing was applied before, so that the whole history is new. `reverted`
    are commits that the offered revision has no longer. `gaps` say what is not known.
    """

    commits: tuple[Commit, ...] | None = ()
    reverted: tuple[Commit, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    gaps: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it is known that nothing in it is for the target: only the revision is another.

        In a repository of many applications most commits are about others.
        """
        # With a gap nobody can know it.
        if self.gaps or self.commits is None:
            return False
        return not (self.commits or self.reverted or self.objects)

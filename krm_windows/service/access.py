"""Who calls, and what they may do."""

from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request

from krm_windows.system.git_branch import Person


class Scope(StrEnum):
    """What a caller may do."""

    READ = "read"
    WRITE = "write"
    OVERRIDE = "override"


EVERYTHING = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who calls: `name` is unique, `person` is the author of their commits."""

    name: str
    person: Person
    scopes: frozenset[Scope]


class Access:
    """Tells who calls."""

    def __init__(self, anonymous: Caller | None) -> None:
        """Take everybody for one caller; None lets nobody in who does not say who they are."""
        self._anonymous = anonymous

    def caller(self, request: Request) -> Caller | None:  # noqa: ARG002
        """Return who makes a request; None where that is not known."""
        return self._anonymous

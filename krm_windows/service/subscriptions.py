"""The calendars that people subscribe to: each has an address with a token of its own.

They are kept in a file of the service's own folder, so that they outlive a restart; of a token,
its hash alone.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from http import HTTPStatus

from pydantic import TypeAdapter

from krm_windows.service.access import Access, Caller, Scope, digest, new_token
from krm_windows.service.policies import Place
from krm_windows.service.problems import Problem, Record
from krm_windows.service.windows import Windows
from krm_windows.system.directories import Directory
from krm_windows.system.errors import WorkspaceError

MOST = 20
"""So many addresses one caller may have."""
_FILE = "calendars"
_BROKEN = (
    f"the calendar addresses cannot be read: mend or remove krm-windows/{_FILE} in the Git folder"
)


@dataclass(frozen=True, slots=True)
class Subscription:
    """A calendar that somebody made an address of; `hash` is that of its token.

    `has_token` is whether its owner has a line in the file of tokens, and loses it with that.
    """

    hash: str
    place: Place
    cluster: str | None
    owner: str
    has_token: bool
    made: datetime
    asked: date | None = None

    def record(self) -> Record:
        """Return it as JSON says it."""
        return {
            "id": self.hash,
            "cluster": self.cluster,
            "owner": self.owner,
            "made": self.made.isoformat(timespec="seconds"),
            "asked": self.asked and self.asked.isoformat(),
        }

    def is_of(self, caller: Caller) -> bool:
        """Whether somebody may see it, and revoke it."""
        return self.owner == caller.name or caller.may(Scope.ADMIN)


_KEPT = TypeAdapter(tuple[Subscription, ...])


class Subscriptions:
    """Makes, finds and revokes them; several services may do so in one clone."""

    def __init__(self, windows: Windows, access: Access) -> None:
        """Take those that the clone has."""
        self._windows = windows
        self._access = access
        self._folder = Directory.at(windows.folder)

    def every(self) -> tuple[Subscription, ...]:
        """Return all of them, as they were made; raises WorkspaceError."""
        try:
            return _KEPT.validate_json(self._folder.read(_FILE) or b"[]")
        except ValueError:
            # Not begun anew: whoever has an address would lose it.
            raise WorkspaceError(_BROKEN) from None

    def of(self, caller: Caller, place: Place, cluster: str | None) -> list[Subscription]:
        """Return those of a policy, or of a cluster, that somebody may revoke."""
        return [
            each
            for each in self.every()
            if each.place.key == place.key
            and cluster in (None, each.cluster)
            and each.is_of(caller)
        ]

    def make(self, caller: Caller, place: Place, cluster: str | None) -> str:
        """Make one; return its token, which nobody gets again. Raises Problem for too many."""
        token = new_token()
        has_token = self._access.holder(caller.name) == caller
        made = Subscription(
            digest(token), place, cluster, caller.name, has_token, self._windows.now()
        )
        with self._windows.alone():
            every = self.every()
            own = [each.place.title for each in every if each.owner == caller.name]
            if len(own) >= MOST:
                detail = f"you have {MOST} calendar addresses: revoke one first, as of {own[0]}"
                raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail)
            self._keep([*every, made])
        return token

    def revoke(self, caller: Caller, place: Place, known_by: str) -> bool:
        """Revoke the one of a policy with a hash, if it is theirs; False where there is none."""
        with self._windows.alone():
            every = self.every()
            own = self.of(caller, place, None)
            left = [each for each in every if each.hash != known_by or each not in own]
            self._keep(left)
        return len(left) < len(every)

    def find(self, token: str) -> Subscription | None:
        """Return the one of a token; None where there is none, or its owner may read no more."""
        known_by = digest(token)
        found = next((each for each in self.every() if each.hash == known_by), None)
        if found is None or not found.has_token:
            return found
        holder = self._access.holder(found.owner)
        return found if holder is not None and holder.may(Scope.READ) else None

    def note(self, asked: Subscription) -> None:
        """Keep on which day it was last asked for."""
        today = self._windows.now().astimezone(UTC).date()
        # Once a day; where somebody is writing, the next time.
        if asked.asked != today:
            with suppress(WorkspaceError), self._folder.alone():
                self._keep(
                    replace(each, asked=today) if each.hash == asked.hash else each
                    for each in self.every()
                )

    def _keep(self, every: Iterable[Subscription]) -> None:
        self._folder.put(_FILE, _KEPT.dump_json(tuple(every)), mode=0o600)

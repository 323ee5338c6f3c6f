"""The Job of a hook: it is created once, under a name by which any run finds it, and waited for."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from time import monotonic, sleep

from krm_windows.gate.kubernetes import REFUSED, ApiError, Cluster
from krm_windows.gate.objects import dig
from krm_windows.gate.target import true_of

# To the same question the API server will say the same again.
_FINAL = {400, 401, 403, 404, 413, 422}


@dataclass(frozen=True)
class Hook:
    """A Job: what its name begins with, the seconds it may take, metadata and spec.

    `aborts`: where it fails, nothing is opened, or all is closed.
    """

    name: str
    seconds: int
    metadata: dict[str, object]
    spec: dict[str, object]
    aborts: bool = False


class JobEnd(Enum):
    """How a hook's Job ended."""

    WELL = auto()
    BAD = auto()
    NEVER_BEGAN = auto()
    BROKEN_OFF = auto()  # nobody waits for it any more, as its window has closed


@dataclass
class Job:
    """A Job of a hook; `begins`: it is yet to be created."""

    cluster: Cluster
    namespace: str
    name: str
    hook: Hook
    begins: bool

    def wait(self, lasts: Callable[[], bool], *, pause: float, grace: float) -> str | None:
        """Wait for its end while it `lasts`, with `pause` seconds between two questions.

        The Job controller has `grace` seconds to end what is late. Says what went wrong, nothing if
        all was well; None if the wait was broken off.
        """
        over = monotonic() + self.hook.seconds + grace
        while lasts():
            self.cluster.renew(0)  # a hook may take longer than a run has
            failure = self._ask()
            if failure is not None:
                return failure
            sleep(pause)
            if monotonic() > over:
                return f"not finished within {self.hook.seconds} s"
        return None

    def _ask(self) -> str | None:
        """Create it if it is yet to be, and ask for its end.

        Says what went wrong, nothing if all was well; None where it has not ended, or another
        question may say more.
        """
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        try:
            if self.begins:
                self.cluster.ask("POST", path, self._manifest())
                self.begins = False
            return _end_of(self.cluster.ask("GET", f"{path}/{self.name}"), self.name)
        except ApiError as error:
            if error.status == HTTPStatus.CONFLICT:  # AlreadyExists: another run has created it
                self.begins = False
            final = _FINAL if self.begins else {HTTPStatus.NOT_FOUND}
            if error.status in final:
                return str(error)
            return None

    def _manifest(self) -> dict[str, object]:
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**self.hook.metadata, "name": self.name},
            "spec": self.hook.spec,
        }


def _end_of(job: object, name: str) -> str | None:
    """Say what went wrong with a Job, nothing if all was well; None if it has not ended."""
    # A proxy may mix up answers, and a Job that ended well would open.
    if dig(job, "metadata", "name") not in (None, name):
        raise ApiError(REFUSED, f"another Job than {name}")
    conditions = true_of(job)
    if "Failed" in conditions:
        failed = conditions["Failed"]
        return f"{dig(failed, 'reason')}: {dig(failed, 'message')}"
    if "Complete" in conditions:
        return ""
    return None

"""The Job of a hook: it is created once, under a name by which any run finds it, and waited for."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from time import monotonic, sleep

from krm_windows.gate.kubernetes import ApiError, Cluster
from krm_windows.gate.objects import Json, dig

# To the same question the API server will say the same again.
_FINAL = {400, 401, 403, 404, 413, 422}


@dataclass(frozen=True)
class Hook:
    """A Job: what its name begins with, the seconds it may take, metadata and spec.

    `aborts`: where it fails, nothing is opened, or all is closed.
    """

    name: str
    seconds: int
    metadata: Json
    spec: Json
    aborts: bool = False


class JobEnd(Enum):
    """How a hook's Job ended."""

    WELL = auto()
    BAD = auto()
    NEVER_BEGAN = auto()
    BROKEN_OFF = auto()  # nobody waits for it any more, as its window has closed


@dataclass(frozen=True)
class Jobs:
    """The Jobs of a namespace in a cluster.

    `pause` is in seconds, between two questions; `grace` is how many the Job controller has to end
    what is late.
    """

    cluster: Cluster
    namespace: str
    pause: float = 5
    grace: float = 60

    def run(
        self, name: str, hook: Hook, lasts: Callable[[], bool], *, begins: bool
    ) -> tuple[JobEnd, str]:
        """Create a Job if it `begins`, and wait for its end while it `lasts`.

        Gives how it ended, and what went wrong.
        """
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        job: Json = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {**hook.metadata, "name": name},
            "spec": hook.spec,
        }
        over = monotonic() + hook.seconds + self.grace
        while lasts():
            self.cluster.renew(0)  # a hook may take longer than a run has
            try:
                if begins:
                    self.cluster.ask("POST", path, job)
                    begins = False
                ended = _end_of(self.cluster.ask("GET", f"{path}/{name}"), name)
                if ended:
                    return ended
            except ApiError as error:
                if begins and error.status in _FINAL:
                    return JobEnd.NEVER_BEGAN, str(error)
                if not begins and error.status == HTTPStatus.NOT_FOUND:
                    return JobEnd.BAD, str(error)
                # AlreadyExists: another run has created it.
                begins = begins and error.status != HTTPStatus.CONFLICT
            sleep(self.pause)
            if monotonic() > over:
                end = JobEnd.NEVER_BEGAN if begins else JobEnd.BAD
                return end, f"not finished within {hook.seconds} s"
        return JobEnd.BROKEN_OFF, ""


def true_of(live: object) -> Json:
    """Give the conditions of an object that hold, by type."""
    every = dig(live, "status", "conditions") or ()
    return {str(dig(each, "type")): each for each in every if dig(each, "status") == "True"}


def _end_of(job: object, name: str) -> tuple[JobEnd, str] | None:
    """Say how a Job ended, and what went wrong with it; None if it has not ended."""
    # A proxy may mix up answers, and a Job that ended well would open.
    if dig(job, "metadata", "name") not in (None, name):
        raise ApiError(f"another Job than {name}")
    ends = true_of(job)
    if "Failed" in ends:
        return JobEnd.BAD, f"{dig(ends['Failed'], 'reason')}: {dig(ends['Failed'], 'message')}"
    return (JobEnd.WELL, "") if "Complete" in ends else None

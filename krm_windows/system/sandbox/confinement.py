"""What a confined program may open, and how it is held to that.

Landlock and seccomp bind a thread, and whatever is started from it (docs.kernel.org, Landlock;
seccomp(2)). So a thread that lives for one start gives up its rights, and the rest of the process
keeps its own.
"""

import os
from dataclasses import dataclass

from krm_windows.system.errors import WorkspaceError
from krm_windows.system.sandbox import kernel, landlock, seccomp


class NotConfinedError(WorkspaceError):
    """The kernel does not confine a program here, so it was not started.

    The message says what is lacking.
    """


@dataclass(frozen=True, slots=True)
class Confinement:
    """Absolute paths without links that a program may start, read and change.

    `reads_below` and `changes_below` are whole directories. There is no network, and no other
    process.
    """

    runs: tuple[str, ...] = ()
    reads_below: tuple[str, ...] = ()
    changes_below: tuple[str, ...] = ()

    def enter(self) -> None:
        """Confine the thread that calls this, and all that it starts, for good.

        Raises NotConfinedError where the kernel cannot.
        """
        allowed = [(os.devnull, landlock.READ | landlock.WRITE)]
        allowed += [(path, landlock.RUN) for path in self.runs]
        allowed += [(path, landlock.READ_BELOW) for path in self.reads_below]
        allowed += [(path, landlock.CHANGE_BELOW) for path in self.changes_below]
        try:
            # Both are asked first: where one is missing, nothing is given up by halves.
            architecture = seccomp.architecture()
            known = landlock.version()
            # Its table is read while that is still allowed.
            code = seccomp.program(architecture)
            # Without it the kernel takes no filter from an ordinary user, as set-user-ID programs
            # would run under it (seccomp(2)).
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            landlock.restrict(allowed, known)
            # Last, as the filter allows no call of Landlock.
            seccomp.restrict(architecture, code)
        except OSError as error:
            raise NotConfinedError(
                "this system cannot confine a program (needs Landlock and seccomp, Linux 5.13 or "
                f"later): {error.strerror}"
            ) from error

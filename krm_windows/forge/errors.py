"""What can go wrong with a forge."""

from krm_windows.system.errors import WorkspaceError


class ForgeError(WorkspaceError):
    """A forge did not do what it was asked to, in words that repeat nothing secret."""


class RefusedError(ForgeError):
    """The token does not have the right, or there is no such thing: another try changes nothing."""


class ConflictError(ForgeError):
    """A change is not, or no longer, as it was asked to be merged.

    `reason` is what the forge says of it in its answer, empty where it says nothing.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason

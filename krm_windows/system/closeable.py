"""What holds something of the system's, and lets go of it at the end of its `with`."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self


class Closing(ABC):
    """A context that gives itself, and is closed when it is left, whatever happened."""

    # Without it, a subclass with slots would still have a dictionary for each instance.
    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Let go of what is held."""

    def __enter__(self) -> Self:
        """Give what is closed at the end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; an exception goes on its way."""
        self.close()

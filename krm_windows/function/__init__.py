"""What an orchestrator calls: dispatch by the kind of the functionConfig."""

from krm_windows.function.dispatch import process

__all__ = ["process"]

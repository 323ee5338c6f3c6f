"""Policy to plan: what one cluster needs for one policy, not yet written down as objects."""

from krm_windows.plan.compile import compile_policy, compile_timetable, kinds, uninstall
from krm_windows.plan.edges import AUDITED

__all__ = ["AUDITED", "compile_policy", "compile_timetable", "kinds", "uninstall"]

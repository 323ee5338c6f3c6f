"""Policy to plan: everything that one cluster needs for one policy, worked out but not yet written down."""

from krm_windows.plan.compile import compile_policy, kinds, uninstall
from krm_windows.plan.edges import AUDITED

__all__ = ["AUDITED", "compile_policy", "kinds", "uninstall"]

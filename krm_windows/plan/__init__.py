"""Policy to plan: everything that one cluster needs for one policy, worked out but not yet written down."""

from krm_windows.plan.compile import compile_policy, kinds, uninstall

__all__ = ["compile_policy", "kinds", "uninstall"]

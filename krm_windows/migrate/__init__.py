"""Hand-written windows to policies.

It reads repositories whose CronJobs run `flux suspend` and `flux resume`.
"""

from krm_windows.migrate.migration import Migration, migrate
from krm_windows.migrate.removal import Step
from krm_windows.migrate.report import text

__all__ = ["Migration", "Step", "migrate", "text"]

"""Hand-written windows to policies: repositories whose CronJobs run `flux suspend` and `flux resume`."""

from krm_windows.migrate.migration import Migration, migrate
from krm_windows.migrate.report import FORMATS
from krm_windows.migrate.repository import NAMES

__all__ = ["FORMATS", "NAMES", "Migration", "migrate"]

"""Repositories with hand-written windows: those under fixtures/migrate, and small ones that a test writes itself."""

from pathlib import Path

from krm_windows import workspace
from krm_windows.migrate import NAMES, Migration, migrate

FIXTURES = Path(__file__).resolve().parent / "fixtures/migrate"
ADOPT_UNTIL = "2026-12-31"

JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {name}
  namespace: flux-system
spec:
  schedule: "{schedule}"
  timeZone: Etc/UTC
  jobTemplate:
    spec:
      template:
        spec:
          serviceAccountName: keeper
          restartPolicy: Never
          containers:
          - name: flux
            image: ghcr.io/fluxcd/flux-cli:v2.9.5
            command: [/bin/sh, -c]
            args:
            - {line}
"""


def job(name: str, schedule: str, line: str) -> str:
    """Write a CronJob that runs a line of shell."""
    return JOB.format(name=name, schedule=schedule, line=line)


def pair(opens: str, closes: str, targets: str = "kustomization apps") -> dict[str, str]:
    """Write the two CronJobs of a window."""
    return {
        "open.yaml": job("open-shop", opens, f"flux resume {targets}"),
        "close.yaml": job("close-shop", closes, f"flux suspend {targets}"),
    }


def run(files: dict[str, str]) -> Migration:
    """Migrate a repository given as texts by path."""
    return migrate({path: text.encode() for path, text in files.items()}, ADOPT_UNTIL)


def read(folder: Path) -> Migration:
    """Migrate a repository of a folder."""
    return migrate(dict(workspace.contents(folder, NAMES)), ADOPT_UNTIL)


def rules(found: Migration) -> list[str]:
    """Return the ids of the rules that fired, in the order of the report."""
    return [result.tags["rule"] for result in found.results]

"""The calendar: a year of one policy, and of a fleet in which every cluster has its own times."""

import json
import tempfile
from pathlib import Path

from measure import IMPORTS, OURS, Command, compare

CLUSTERS = 1_000
FORMATS = ("json", "text", "ics", "svg", "html")
POLICY = """\
apiVersion: krm-windows.dev/v1alpha1
kind: WindowPolicy
metadata:
  name: office-hours
  namespace: flux-system
spec:
  timeZone: Europe/Berlin
  targets:
  - kind: Kustomization
    names: [infra, apps]
  windows:
    working-week:
      opens: Mon 08:00
      closes: Thu 17:00
  freezes:
    christmas:
      starts: "2026-12-20"
      ends: "2027-01-03"
      reason: Year-end change freeze
"""


def fleet() -> str:
    """Return the policy with a patch for each of many clusters, no two of them alike."""
    clusters = {f"edge-{n:04}": {"windows": {"working-week": _times(n)}} for n in range(CLUSTERS)}
    return f"{POLICY}  clusters: {json.dumps(clusters)}\n"


def _times(number: int) -> dict[str, str]:
    return {"opens": f"Mon {number % 24:02}:{number // 24:02}", "closes": "Thu 17:00"}


def run() -> None:
    """Print what a year takes, and what it takes for a fleet in each format."""
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder) / "one.yaml", Path(folder) / "many.yaml"
        one.write_text(POLICY)
        many.write_text(fleet())
        year = [*_calendar(one, 365), "-o", "json"]
        ours, imports = compare([year, IMPORTS], 15)
        print(
            f"a year of one policy: {ours.seconds:.3f} s; "
            f"import yaml, BaseModel: {imports.seconds:.3f} s"
        )
        for days in (28, 365):
            commands = [[*_calendar(many, days), "--all-clusters", "-o", form] for form in FORMATS]
            figures = zip(FORMATS, compare(commands, 1), strict=True)
            results = ", ".join(
                f"{form} {run.seconds:.1f} s {run.memory:.0f} MiB" for form, run in figures
            )
            print(f"{days} days of {CLUSTERS:,} clusters, no two alike: {results}", flush=True)


def _calendar(policy: Path, days: int) -> Command:
    return [OURS, "calendar", policy, "--from", "2026-01-01", "--days", str(days)]
